//! Addresses of driver functions for programs of the runtime API.

use crate::abi::error::{Error, Result};
use crate::abi::{DefaultStream, In, Out, Text};
use crate::api::driver::{Found, export_table, look_up};
use crate::api::entry::api;
use std::ffi::{c_int, c_uint, c_void};

/// Flags: 0 for the program's default, 1 for the legacy default stream, 2 for the thread's own.
const LAST_FLAG: u64 = 2;

/// Runtime versions: a lookup without a version means the runtime's.
const VERSION_11: c_uint = 11_080;
const VERSION_12: c_uint = 12_090;
const VERSION_13: c_uint = 13_050;

fn get(
    symbol: Text,
    result: Out<*const c_void>,
    version: c_uint,
    flags: u64,
    default: DefaultStream,
    status: Out<c_int>,
) -> Result<()> {
    result.check()?;
    if flags > LAST_FLAG {
        return Err(Error::InvalidValue);
    }
    let name = symbol.get()?.to_str().map_err(|_| Error::InvalidValue)?;
    let per_thread = flags == 2 || (flags == 0 && default == DefaultStream::PerThread);
    let found = look_up(name, version, per_thread);
    result.set(if let Found::Function(function) = found { function } else { std::ptr::null() })?;
    let reported = status.set_if_wanted(found.status());
    match found {
        Found::Function(_) => Ok(()),
        _ if reported => Ok(()),
        _ => Err(Error::SymbolNotFound),
    }
}

api! { Runtime;
    /// The driver function of this name; `cudaGetDriverEntryPoint` of CUDA 11.
    fn cudaGetDriverEntryPoint_v11, cudaGetDriverEntryPoint_v11_ptsz [default] (
        symbol: Text, funcPtr: Out<*const c_void>, flags: u64,
    ) {
        get(symbol, funcPtr, VERSION_11, flags, default, Out::new(std::ptr::null_mut()))
    }

    /// The driver function of this name, and the lookup's result.
    fn cudaGetDriverEntryPoint, cudaGetDriverEntryPoint_ptsz [default] (
        symbol: Text, funcPtr: Out<*const c_void>, flags: u64, driverStatus: Out<c_int>,
    ) {
        get(symbol, funcPtr, VERSION_12, flags, default, driverStatus)
    }

    /// As the previous call, in CUDA 13.
    fn cudaGetDriverEntryPoint_v13, cudaGetDriverEntryPoint_v13_ptsz [default] (
        symbol: Text, funcPtr: Out<*const c_void>, flags: u64, driverStatus: Out<c_int>,
    ) {
        get(symbol, funcPtr, VERSION_13, flags, default, driverStatus)
    }

    /// The driver function of this name and version, and the lookup's result.
    fn cudaGetDriverEntryPointByVersion, cudaGetDriverEntryPointByVersion_ptsz [default] (
        symbol: Text, funcPtr: Out<*const c_void>, cudaVersion: c_uint, flags: u64, driverStatus: Out<c_int>,
    ) {
        get(symbol, funcPtr, cudaVersion, flags, default, driverStatus)
    }

    /// A private table of the vendor.
    fn cudaGetExportTable(table: Out<*const c_void>, id: In<[u8; 16]>) { export_table(table, id) }
}
