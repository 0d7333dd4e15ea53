//! The kernels, and launches of them.

use std::ffi::{CStr, c_void};

use standin_driver::{Context, Grid, Modules, Source, Stream};

use crate::status::Answer;

macro_rules! ptx {
    ($name:literal) => {
        match CStr::from_bytes_with_nul(
            concat!(include_str!(concat!("../../kernels/blas/", $name)), "\0").as_bytes(),
        ) {
            Ok(text) => text,
            Err(_) => c"",
        }
    };
}

/// The PTX of this library.
const SOURCES: &[Source] = &[
    Source { ptx: ptx!("gemm.ptx"), capability: 70 },
    Source { ptx: ptx!("gemm_half.ptx"), capability: 70 },
    Source { ptx: ptx!("gemm_80.ptx"), capability: 80 },
];

/// The kernels of [`SOURCES`].
pub(crate) static MODULES: Modules = Modules::new(SOURCES);

/// Launches a kernel on a stream.
///
/// # Safety
/// `arguments` are the addresses of values with the types of the kernel's parameters.
pub(crate) unsafe fn launch(
    context: Context,
    stream: Stream,
    kernel: &'static str,
    grid: Grid,
    arguments: &mut [*mut c_void],
) -> Answer {
    // SAFETY: passed on from the caller.
    unsafe { MODULES.launch(context, kernel, grid, stream, arguments)? };
    Ok(())
}

/// Addresses of values, as a launch takes them.
macro_rules! addresses {
    ($($value:expr),* $(,)?) => { &mut [$((&raw mut $value).cast()),*] };
}
pub(crate) use addresses;
