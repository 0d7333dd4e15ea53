//! Links in progress: PTX texts join into one image, whose names are resolved when it is loaded.

use crate::abi::error::{Error, Result};
use crate::code::image::Code;
use crate::code::unresolved::Stage;
use crate::objects::jit::JitOptions;
use ptx_frontend::Module as PtxModule;
use ptx_frontend::container::{Linked, Origin};
use rustc_hash::FxHashMap;
use std::ffi::c_int;
use std::sync::Arc;

/// `CUjitInputType`.
const CUBIN: c_int = 0;
const PTX: c_int = 1;
const FAT_BINARY: c_int = 2;
const OBJECT: c_int = 3;
const LIBRARY: c_int = 4;

/// A link in progress.
#[derive(Debug)]
pub(crate) struct Link {
    options: JitOptions,
    /// Added inputs.
    modules: Vec<Arc<PtxModule>>,
    /// The finished image, readable by the program until it destroys the link.
    image: Vec<u8>,
}

impl Link {
    /// Adds an input of a type. Logs go to the buffers of this input's options `own`, else to those
    /// of the link.
    pub(crate) fn add(&mut self, kind: c_int, bytes: &[u8], own: JitOptions, capability: u32) -> Result<()> {
        let mut code = Code::default();
        let added = match kind {
            CUBIN | PTX | FAT_BINARY => code.add_bytes(bytes, Origin::ModuleImage, capability),
            OBJECT => code.add_object(bytes, Origin::ModuleImage, capability),
            LIBRARY => code.add_library(bytes, Origin::ModuleImage, capability),
            _ => return Err(Error::InvalidValue),
        };
        let options = if own.has_logs() { own } else { self.options };
        let code = options.finish(added.map(|()| code), capability)?;
        self.modules.extend(code.modules);
        Ok(())
    }

    /// Creates the image, which the link keeps. Every name must be defined.
    pub(crate) fn complete(&mut self, capability: u32) -> Result<&[u8]> {
        let code = Code { modules: self.modules.clone(), ..Code::default() };
        let made = self.options.finish(code.resolved(Stage::Link), capability);
        let Code { modules, max_registers, .. } = made?;
        let texts = modules.iter().map(|module| module.source().text().as_bytes()).collect();
        self.image = Linked { texts, max_registers }.to_bytes();
        Ok(&self.image)
    }
}

/// Links in progress.
#[derive(Debug, Default)]
pub(crate) struct Links {
    live: FxHashMap<usize, Link>,
    created: usize,
}

/// Handles lie in an address range that no process uses.
const LINK_HANDLES: usize = 0x5600_0000_0000_0000;

impl Links {
    /// Begins a link and returns its handle.
    pub(crate) fn begin(&mut self, options: JitOptions) -> usize {
        self.created += 1;
        let handle = LINK_HANDLES | (self.created << 4);
        self.live.insert(handle, Link { options, modules: Vec::new(), image: Vec::new() });
        handle
    }

    /// The link with a handle.
    pub(crate) fn link(&mut self, handle: usize) -> Result<&mut Link> {
        self.live.get_mut(&handle).ok_or(Error::InvalidResourceHandle)
    }

    /// Ends a link.
    pub(crate) fn end(&mut self, handle: usize) -> Result<()> {
        self.live.remove(&handle).map(|_| ()).ok_or(Error::InvalidResourceHandle)
    }
}
