//! Linking: PTX texts join into one image, whose names are resolved when it is loaded.

use crate::abi::error::{Error, Result};
use crate::abi::{Address, In, Out, Text};
use crate::api::entry::api;
use crate::objects::image::Code;
use crate::objects::jit::JitOptions;
use crate::objects::ownership::{self, Object};
use crate::objects::unresolved::Stage;
use crate::session::process::process;
use crate::session::simulator::{Simulator, simulator};
use ptx_frontend::Module as PtxModule;
use ptx_frontend::container::{Linked, Origin};
use rustc_hash::FxHashMap;
use std::ffi::{OsStr, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

/// `CUjitInputType`.
const CUBIN: c_int = 0;
const PTX: c_int = 1;
const FAT_BINARY: c_int = 2;
const OBJECT: c_int = 3;
const LIBRARY: c_int = 4;

/// A link in progress.
#[derive(Debug)]
struct Link {
    options: JitOptions,
    /// Added inputs.
    modules: Vec<Arc<PtxModule>>,
    /// The finished image, readable by the program until it destroys the link.
    image: Vec<u8>,
}

/// Links in progress.
#[derive(Debug, Default)]
pub(crate) struct Links {
    live: FxHashMap<usize, Link>,
    created: usize,
}

/// Handles lie in an address range that no process uses.
const LINK_HANDLES: usize = 0x5600_0000_0000_0000;

fn with_link<T>(state: Address, use_it: impl FnOnce(&mut Link) -> Result<T>) -> Result<T> {
    let mut links = process().links.lock();
    use_it(links.live.get_mut(&state.0).ok_or(Error::InvalidResourceHandle)?)
}

/// Adds an input. Logs go to the buffers of this input's options `own`, else to those of the link.
fn add(simulator: &Simulator, state: Address, kind: c_int, bytes: &[u8], own: JitOptions) -> Result<()> {
    let capability = simulator.capability();
    with_link(state, |link| {
        let mut code = Code::default();
        let added = match kind {
            CUBIN | PTX | FAT_BINARY => code.add_bytes(bytes, Origin::ModuleImage, capability),
            OBJECT => code.add_object(bytes, Origin::ModuleImage, capability),
            LIBRARY => code.add_library(bytes, Origin::ModuleImage, capability),
            _ => return Err(Error::InvalidValue),
        };
        let options = if own.has_logs() { own } else { link.options };
        let code = options.finish(added.map(|()| code), capability)?;
        link.modules.extend(code.modules);
        Ok(())
    })
}

/// Ends a link.
pub(crate) fn destroy(link: usize) -> Result<()> {
    ownership::disown(Object::Link(link));
    let removed = process().links.lock().live.remove(&link);
    removed.map(|_| ()).ok_or(Error::InvalidResourceHandle)
}

api! { Driver;
    /// Begins a link.
    fn cuLinkCreate_v2(
        numOptions: c_uint, options: In<c_int>, optionValues: *mut *mut c_void, stateOut: Out<Address>,
    ) {
        stateOut.check()?;
        let options = JitOptions::read(numOptions, options, optionValues)?;
        let mut links = process().links.lock();
        links.created += 1;
        let handle = LINK_HANDLES | (links.created << 4);
        links.live.insert(handle, Link { options, modules: Vec::new(), image: Vec::new() });
        ownership::adopt(Object::Link(handle));
        stateOut.set(Address(handle))
    }

    /// Adds PTX, a fat binary, an object file or a library from memory. Machine code cannot be
    /// linked.
    fn cuLinkAddData_v2(
        state: Address, kind: c_int, data: *const u8, size: usize, _name: Text, numOptions: c_uint,
        options: In<c_int>, optionValues: *mut *mut c_void,
    ) {
        let simulator = simulator()?;
        if data.is_null() {
            return Err(Error::InvalidValue);
        }
        let options = JitOptions::read(numOptions, options, optionValues)?;
        // SAFETY: by the API's contract `size` bytes start there.
        add(simulator, state, kind, unsafe { std::slice::from_raw_parts(data, size) }, options)
    }

    /// Adds an input from a file.
    fn cuLinkAddFile_v2(
        state: Address, kind: c_int, path: Text, numOptions: c_uint, options: In<c_int>,
        optionValues: *mut *mut c_void,
    ) {
        let simulator = simulator()?;
        let bytes = std::fs::read(Path::new(OsStr::from_bytes(path.get()?.to_bytes())));
        let options = JitOptions::read(numOptions, options, optionValues)?;
        add(simulator, state, kind, &bytes.map_err(|_| Error::FileNotFound)?, options)
    }

    /// Creates the image, valid as long as the link. Every name must be defined.
    fn cuLinkComplete(state: Address, cubinOut: Out<Address>, sizeOut: Out<usize>) {
        cubinOut.check()?;
        let capability = simulator()?.capability();
        with_link(state, |being_made| {
            let code = Code { modules: being_made.modules.clone(), ..Code::default() };
            let made = being_made.options.finish(code.resolved(Stage::Link), capability);
            let Code { modules, max_registers, .. } = made?;
            let texts = modules.iter().map(|module| module.source().text().as_bytes()).collect();
            being_made.image = Linked { texts, max_registers }.to_bytes();
            sizeOut.set_if_wanted(being_made.image.len());
            cubinOut.set(Address(being_made.image.as_ptr() as usize))
        })
    }

    /// Ends a link.
    fn cuLinkDestroy(state: Address) {
        destroy(state.0)
    }
}
