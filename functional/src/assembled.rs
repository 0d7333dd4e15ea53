//! Resources of a kernel that the module's owner knows better than lowering: from the vendor's machine
//! code, or from the user.

use std::fmt;

use warp_stream::RegisterSource;

/// Resources of a kernel that replace those of its lowered code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assembled {
    /// 32-bit registers per thread.
    pub registers: u32,
    /// Origin of the registers.
    pub source: RegisterSource,
    /// Bytes of static shared memory per CTA, if known.
    pub static_shared: Option<u32>,
    /// Bytes of local memory per thread, if known.
    pub local_bytes: Option<u32>,
}

/// Known resources of a module's kernels.
pub trait AssembledKernels: fmt::Debug + Send + Sync {
    /// Resources of the kernel with this mangled name; `None` leaves those of its lowered code.
    fn of(&self, kernel: &str) -> Option<Assembled>;
}
