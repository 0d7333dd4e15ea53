//! `cudaFuncAttributes`, whose length depends on the version of the runtime.

use std::ffi::c_int;

/// `cudaFuncAttributes`, with `MORE` numbers after those of CUDA 11.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct FunctionAttributes<const MORE: usize> {
    pub(crate) shared_size: usize,
    pub(crate) const_size: usize,
    pub(crate) local_size: usize,
    pub(crate) max_threads_per_block: c_int,
    pub(crate) registers: c_int,
    pub(crate) ptx_version: c_int,
    pub(crate) binary_version: c_int,
    pub(crate) cache_mode_ca: c_int,
    pub(crate) max_dynamic_shared_size: c_int,
    pub(crate) preferred_carveout: c_int,
    pub(crate) more: [c_int; MORE],
}

/// `cudaFuncAttributes` of CUDA 11.
pub(crate) type FunctionAttributes11 = FunctionAttributes<0>;

/// `cudaFuncAttributes` of CUDA 12 and 13, with six cluster numbers and 16 reserved ones.
pub(crate) type FunctionAttributes12 = FunctionAttributes<22>;

impl<const MORE: usize> FunctionAttributes<MORE> {
    /// The structure's bytes in memory.
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let sizes = [self.shared_size, self.const_size, self.local_size].map(usize::to_ne_bytes);
        let numbers = [
            self.max_threads_per_block,
            self.registers,
            self.ptx_version,
            self.binary_version,
            self.cache_mode_ca,
            self.max_dynamic_shared_size,
            self.preferred_carveout,
        ];
        let numbers = numbers.into_iter().chain(self.more).flat_map(c_int::to_ne_bytes);
        let mut bytes: Vec<u8> = sizes.into_iter().flatten().chain(numbers).collect();
        bytes.resize(size_of::<Self>(), 0);
        bytes
    }
}
