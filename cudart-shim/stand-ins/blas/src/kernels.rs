//! The kernels, and launches of them.

use std::ffi::c_void;

use standin_driver::{Context, Grid, Modules, Source, Stream};

use crate::status::Answer;

/// Text of a PTX file, with a zero byte at the end.
macro_rules! ptx {
    ($name:literal) => {
        concat!(include_str!(concat!("../../kernels/blas/", $name)), "\0")
    };
}

/// The PTX of this library.
const SOURCES: &[Source] = &[
    Source { ptx: ptx!("gemm.ptx"), capability: 70 },
    Source { ptx: ptx!("gemm_half.ptx"), capability: 70 },
    Source { ptx: ptx!("gemm_80.ptx"), capability: 80 },
    Source { ptx: ptx!("vector.ptx"), capability: 70 },
    Source { ptx: ptx!("matrix.ptx"), capability: 70 },
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

/// Name of a kernel that exists for single, double and both complex types.
macro_rules! by_type {
    ($kind:expr, $name:literal) => {
        match $kind {
            Type::F64 => concat!("voltsim_", $name, "_f64"),
            Type::C32 => concat!("voltsim_", $name, "_c32"),
            Type::C64 => concat!("voltsim_", $name, "_c64"),
            _ => concat!("voltsim_", $name, "_f32"),
        }
    };
}
pub(crate) use by_type;
