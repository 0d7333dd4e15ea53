//! Attributes of kernels, for both APIs (`cudaFuncAttributes`, `CUfunction_attribute`).

use crate::abi::Out;
use crate::error::{Error, Result};
use crate::module::Kernel;
use crate::profile::Attribute;
use crate::simulator::Simulator;
use std::ffi::c_int;

/// `CUfunction_attribute`, `cudaFuncAttribute`.
mod attribute {
    pub(super) const MAX_THREADS_PER_BLOCK: i32 = 0;
    pub(super) const SHARED_SIZE: i32 = 1;
    pub(super) const CONST_SIZE: i32 = 2;
    pub(super) const LOCAL_SIZE: i32 = 3;
    pub(super) const REGISTERS: i32 = 4;
    pub(super) const PTX_VERSION: i32 = 5;
    pub(super) const BINARY_VERSION: i32 = 6;
    pub(super) const CACHE_MODE_CA: i32 = 7;
    pub(super) const MAX_DYNAMIC_SHARED_SIZE: i32 = 8;
    pub(super) const CARVEOUT: i32 = 9;
    /// Cluster sizes and their policy, which need compute capability 9.0.
    pub(super) const CLUSTER_FIRST: i32 = 10;
    pub(super) const CLUSTER_LAST: i32 = 15;
}

/// What a program can ask of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KernelAttributes {
    /// Static shared memory, bytes.
    pub(crate) shared: usize,
    /// Local memory of a thread, bytes.
    pub(crate) local: usize,
    /// Largest CTA.
    pub(crate) max_threads: c_int,
    /// Registers of a thread.
    pub(crate) registers: c_int,
    /// Ten times the compute capability the PTX was made for.
    pub(crate) ptx_version: c_int,
    /// Ten times the compute capability of the device.
    pub(crate) binary_version: c_int,
    /// Dynamic shared memory a launch may ask for, bytes.
    pub(crate) max_dynamic_shared: c_int,
    /// Preferred share of shared memory, percent; -1 is no preference.
    pub(crate) carveout: c_int,
}

fn int(value: impl TryInto<c_int>) -> c_int {
    value.try_into().unwrap_or(c_int::MAX)
}

impl Simulator {
    /// What a program can ask of a kernel.
    pub(crate) fn kernel_attributes(&self, kernel: &Kernel) -> Result<KernelAttributes> {
        let program = kernel.program()?;
        let target = kernel.module.target;
        Ok(KernelAttributes {
            shared: program.static_shared as usize,
            local: program.kernel().local_bytes as usize,
            max_threads: int(self.max_threads(&program)),
            registers: int(self.registers(&program)),
            ptx_version: int(if target == 0 { self.capability() } else { target }),
            binary_version: int(self.capability()),
            max_dynamic_shared: int(self.max_dynamic_shared(kernel, &program)),
            carveout: kernel.settings.lock().carveout,
        })
    }

    /// One attribute by number.
    pub(crate) fn kernel_attribute(&self, kernel: &Kernel, number: c_int) -> Result<c_int> {
        let attributes = self.kernel_attributes(kernel)?;
        Ok(match number {
            attribute::MAX_THREADS_PER_BLOCK => attributes.max_threads,
            attribute::SHARED_SIZE => int(attributes.shared),
            attribute::CONST_SIZE | attribute::CACHE_MODE_CA => 0,
            attribute::LOCAL_SIZE => int(attributes.local),
            attribute::REGISTERS => attributes.registers,
            attribute::PTX_VERSION => attributes.ptx_version,
            attribute::BINARY_VERSION => attributes.binary_version,
            attribute::MAX_DYNAMIC_SHARED_SIZE => attributes.max_dynamic_shared,
            attribute::CARVEOUT => attributes.carveout,
            attribute::CLUSTER_FIRST..=attribute::CLUSTER_LAST => 0,
            _ => return Err(Error::InvalidValue),
        })
    }

    /// Sets one of the attributes that can be set.
    pub(crate) fn set_kernel_attribute(&self, kernel: &Kernel, number: c_int, value: c_int) -> Result<()> {
        match number {
            attribute::MAX_DYNAMIC_SHARED_SIZE => {
                let shared = u32::try_from(value).map_err(|_| Error::InvalidValue)?;
                let most = self.profile.amount(Attribute::MaxSharedMemoryPerBlockOptin);
                if shared > most.saturating_sub(kernel.program()?.static_shared) {
                    return Err(Error::InvalidValue);
                }
                kernel.settings.lock().max_dynamic_shared = Some(shared);
                Ok(())
            }
            attribute::CARVEOUT if (-1..=100).contains(&value) => {
                kernel.settings.lock().carveout = value;
                Ok(())
            }
            attribute::CLUSTER_FIRST..=attribute::CLUSTER_LAST => Err(Error::NotSupported),
            _ => Err(Error::InvalidValue),
        }
    }
}

/// Offset and size in bytes of a kernel's parameter; past the last one is an invalid value.
pub(crate) fn parameter(kernel: &Kernel, index: usize, offset: Out<usize>, size: Out<usize>) -> Result<()> {
    let program = kernel.program()?;
    let parameter = program.kernel().source.parameters.get(index).ok_or(Error::InvalidValue)?;
    offset.set(parameter.offset as usize)?;
    size.set_if_wanted(parameter.size as usize);
    Ok(())
}
