//! The CUDA driver as stand-ins for NVIDIA's libraries use it: contexts, modules with PTX, launches,
//! memory. A stand-in works with every driver, since it calls exported functions alone.

#![allow(unsafe_code)]

mod exports;
mod functions;
mod modules;
mod refusal;

pub use functions::{Address, Context, Driver, Grid, Stream, driver};
pub use modules::{Modules, Source};
pub use refusal::{refuse, warn_once};

/// A call of the driver failed, with its `CUresult`; or there is no driver, with
/// [`Error::NO_DRIVER`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error(pub i32);

impl Error {
    /// The process has no driver, or one without a needed function.
    pub const NO_DRIVER: Error = Error(-1);
    /// `CUDA_ERROR_OUT_OF_MEMORY`
    pub const OUT_OF_MEMORY: Error = Error(2);
}
