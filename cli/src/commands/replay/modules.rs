//! The modules of a stream's launches, loaded once each, their variables where they lay.

use std::collections::HashMap;

use cuda_driver::{Driver, Module};
use launch_capture::{Capture, Entry, KernelStream};
use voltsim_checkpoint::contents::Content;

use super::address_space::AddressSpace;
use super::refused;
use crate::failure::Failure;

/// Modules by what their texts are.
#[derive(Default)]
pub(super) struct Modules<'a> {
    variables: HashMap<&'a [Content], HashMap<&'a str, u64>>,
    loaded: HashMap<&'a [Content], Module>,
}

impl<'a> Modules<'a> {
    /// Modules of the launches, by entry, before any is loaded. The variables that a launch can
    /// reach have their addresses.
    pub(super) fn of(
        stream: &'a KernelStream,
        launches: impl IntoIterator<Item = (usize, &'a Capture)>,
        space: &AddressSpace,
    ) -> Modules<'a> {
        let mut modules = Modules::default();
        for (entry, capture) in launches {
            let places = modules.variables.entry(texts(stream, entry)).or_default();
            for buffer in &capture.launch().buffers {
                let (start, end) = (buffer.address.0, buffer.address.0.saturating_add(buffer.size));
                // Where functions are is learnt from what is loaded, which must not lie where a
                // variable of another module does.
                if let Some(name) = &buffer.variable
                    && buffer.functions.is_empty()
                    && space.has(start, end)
                {
                    places.insert(name, start);
                }
            }
        }
        modules
    }

    /// The module of an entry's launch.
    pub(super) fn load(
        &mut self,
        driver: &Driver,
        stream: &'a KernelStream,
        entry: usize,
        capture: &Capture,
    ) -> Result<Module, Failure> {
        let texts = texts(stream, entry);
        if let Some(module) = self.loaded.get(texts) {
            return Ok(*module);
        }
        if let Some(variables) = self.variables.get(texts) {
            driver.place_variables(variables);
        }
        let module = driver.load(&capture.modules()?).map_err(|error| refused(capture, error))?;
        self.loaded.insert(texts, module);
        Ok(module)
    }
}

fn texts(stream: &KernelStream, entry: usize) -> &[Content] {
    match stream.entries().get(entry) {
        Some(Entry::Launch { modules, .. }) => modules,
        _ => &[],
    }
}
