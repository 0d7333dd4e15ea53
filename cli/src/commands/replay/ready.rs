//! A captured launch with all that it needs in device memory.

use std::collections::BTreeMap;

use cuda_driver::{Driver, DriverError, Function, Module, Sizes};
use launch_capture::{Accessible, Capture};
use warp_stream::{Past, UsedPage};

use super::ground::Ground;
use super::objects::Objects;
use super::placement::Placement;
use super::refused;
use crate::failure::Failure;

/// Bytes that are compared, and written if they differ, at a time.
const PIECE: usize = 64 << 10;

/// A launch that can be started.
pub(super) struct Ready<'a> {
    driver: &'a Driver,
    capture: &'a Capture,
    /// What was allocated, if that is known.
    accessible: Option<&'a Accessible>,
    function: Function,
    pub(super) placement: Placement,
    pub(super) objects: Objects,
    /// Bytes of its memory that were other than they had to be, in whole pieces.
    pub(super) restored: u64,
}

impl<'a> Ready<'a> {
    /// Brings its memory to what it was.
    pub(super) fn new(
        driver: &'a Driver,
        module: Module,
        (capture, accessible): (&'a Capture, Option<&'a Accessible>),
        ground: &mut Ground,
    ) -> Result<Ready<'a>, Failure> {
        let failed = |error: DriverError| refused(capture, error);
        let launch = capture.launch();
        let function = driver.function(module, &launch.kernel).map_err(failed)?;
        let mut placement = Placement::new(driver, module, (capture, accessible), ground).map_err(failed)?;
        let objects = Objects::new(driver, module, capture, &placement)?;
        placement.objects.clone_from(&objects.handles);
        let mut ready = Ready { driver, capture, accessible, function, placement, objects, restored: 0 };
        ready.fill(ground.is_used_again())?;
        let omitted = launch.omitted.iter().map(|what| format!("not captured, so not as it was: {what}"));
        for warning in omitted.chain(ready.placement.warnings.iter().cloned()) {
            eprintln!("voltsim: {}: {warning}", capture.path().display());
        }
        Ok(ready)
    }

    /// Writes the buffers as they were, with new addresses in them. The module's variables come first: they tell where
    /// device functions are. Memory that launches before have used is written where it differs.
    fn fill(&mut self, used: bool) -> Result<(), Failure> {
        let capture = self.capture;
        let failed = |error: DriverError| refused(capture, error);
        let buffers = &capture.launch().buffers;
        let variables = buffers.iter().enumerate().filter(|(_, buffer)| buffer.variable.is_some());
        let others = buffers.iter().enumerate().filter(|(_, buffer)| buffer.variable.is_none());
        for (number, buffer) in variables.chain(others) {
            let address = self.placement.address(number);
            let mut bytes = capture.contents(number)?;
            let there = self.driver.peek(address, buffer.size).map_err(failed)?;
            if !buffer.functions.is_empty() {
                if buffer.variable.is_some() {
                    self.placement.learn_functions(&mut bytes, &there, &buffer.functions);
                } else {
                    self.placement.relocate_functions(number, &mut bytes, &buffer.functions);
                }
            }
            self.placement.relocate(&mut bytes, &buffer.pointers);
            self.placement.relocate_objects(&mut bytes, &buffer.objects);
            for (piece, (wanted, found)) in bytes.chunks(PIECE).zip(there.chunks(PIECE)).enumerate() {
                if !used || wanted != found {
                    let at = address.wrapping_add((piece * PIECE) as u64);
                    self.driver.put(at, wanted).map_err(failed)?;
                    self.restored += wanted.len() as u64;
                }
            }
        }
        Ok(())
    }

    /// What came before it, with the pages on which its buffers lie now, if they lay on pages that were used.
    pub(super) fn past_here(&self, mut past: Past) -> Past {
        let before: BTreeMap<u64, u64> = past.pages.iter().map(|page| (page.address, page.ctas)).collect();
        for (number, buffer) in self.capture.launch().buffers.iter().enumerate() {
            let pages = Past::pages_of(buffer.address.0, buffer.size);
            if let Some(ctas) = pages.filter_map(|page| before.get(&page).copied()).max() {
                let pages = Past::pages_of(self.placement.address(number), buffer.size);
                past.pages.extend(pages.map(|address| UsedPage { address, ctas }));
            }
        }
        past
    }

    /// Starts it. What was not allocated then is not from here on.
    pub(super) fn launch(&self) -> Result<(), Failure> {
        let launch = self.capture.launch();
        let mut parameters = launch.parameter_block();
        for parameter in &launch.parameters {
            let from = parameter.offset as usize;
            if let Some(value) = parameters.get_mut(from..from + parameter.bytes.len()) {
                self.placement.relocate(value, &parameter.pointers);
                self.placement.relocate_objects(value, &parameter.objects);
            }
        }
        let offsets: Vec<usize> =
            launch.parameters.iter().map(|parameter| parameter.offset as usize).collect();
        let sizes = Sizes {
            grid: launch.grid,
            block: launch.block,
            dynamic_shared: launch.dynamic_shared,
            cooperative: launch.cooperative,
            cluster: launch.cluster,
        };
        if let Some(accessible) = self.accessible {
            self.driver.narrow(Some(&accessible.ranges));
        }
        let launched = self.driver.launch(self.function, sizes, &mut parameters, &offsets);
        launched.map_err(|error| refused(self.capture, error))
    }
}
