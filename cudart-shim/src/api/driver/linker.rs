//! Linking: PTX texts join into one image, whose names are resolved when it is loaded.

use crate::abi::error::{Error, Result};
use crate::abi::{Address, In, Out, Text};
use crate::api::entry::api;
use crate::objects::jit::JitOptions;
use crate::objects::ownership::{self, Object};
use crate::root::{process, shared, simulator};
use crate::session::simulator::Simulator;
use std::ffi::{OsStr, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Adds an input. Logs go to the buffers of this input's options `own`, else to those of the link.
fn add(simulator: &Simulator, state: Address, kind: c_int, bytes: &[u8], own: JitOptions) -> Result<()> {
    process().links.lock().link(state.0)?.add(kind, bytes, own, simulator.capability())
}

api! { Driver;
    /// Begins a link.
    fn cuLinkCreate_v2(
        numOptions: c_uint, options: In<c_int>, optionValues: *mut *mut c_void, stateOut: Out<Address>,
    ) {
        stateOut.check()?;
        let options = JitOptions::read(numOptions, options, optionValues)?;
        let handle = process().links.lock().begin(options);
        ownership::adopt(shared(), Object::Link(handle));
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
        let mut links = process().links.lock();
        let image = links.link(state.0)?.complete(capability)?;
        sizeOut.set_if_wanted(image.len());
        cubinOut.set(Address(image.as_ptr() as usize))
    }

    /// Ends a link.
    fn cuLinkDestroy(state: Address) {
        ownership::disown(shared(), Object::Link(state.0));
        process().links.lock().end(state.0)
    }
}
