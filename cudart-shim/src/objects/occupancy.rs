//! Occupancy: the number of CTAs of a kernel that fit on a multiprocessor (CUDA programming guide,
//! "Multiprocessor Level"). Allocation units come from the profile.

use crate::objects::device::DeviceObjects;
use crate::objects::module::Kernel;
use crate::profile::Attribute;
use functional::bind::KernelResources;
use ptx_frontend::ir::LaunchBounds;

impl DeviceObjects {
    /// Registers per thread (32 bits each), as machine code for this GPU has them. Without such code,
    /// an estimate of the assembler's allocation, within launch bounds and the program's limit.
    pub(crate) fn registers(&self, kernel: &Kernel, resources: &KernelResources) -> u32 {
        let most = self.profile.occupancy.max_registers_per_thread;
        if let Some(assembled) = kernel.assembled() {
            return assembled.registers.clamp(1, most);
        }
        let asked = kernel.module.max_registers.unwrap_or(most);
        let of_sm = self.profile.amount(Attribute::MaxRegistersPerMultiprocessor);
        resources.registers_within_bounds(of_sm).min(asked).clamp(1, most)
    }

    /// Limit of a launch's dynamic shared memory in bytes: the default limit minus the kernel's
    /// static shared memory, or the program's opt-in.
    pub(crate) fn max_dynamic_shared(&self, kernel: &Kernel, static_shared: u32) -> u64 {
        let usual = self.profile.amount(Attribute::MaxSharedMemoryPerBlock).saturating_sub(static_shared);
        kernel.settings.lock().max_dynamic_shared.unwrap_or(usual).into()
    }

    /// Most threads of a CTA of the kernel.
    pub(crate) fn max_threads(&self, bounds: &LaunchBounds) -> u32 {
        let device = self.profile.amount(Attribute::MaxThreadsPerBlock);
        let bound = bounds.maximum_threads.or(bounds.required_threads);
        bound.map_or(device, |bound| {
            u32::try_from(crate::abi::launch_sizes::product(bound)).unwrap_or(device).min(device)
        })
    }

    /// Resident CTAs per multiprocessor for `threads` threads and `dynamic_shared` bytes each; 0 if
    /// such a launch would fail.
    pub(crate) fn active_ctas(
        &self,
        kernel: &Kernel,
        resources: &KernelResources,
        threads: u32,
        dynamic_shared: usize,
    ) -> u32 {
        let amount = |attribute| self.profile.amount(attribute);
        let units = self.profile.occupancy;
        let warp_size = amount(Attribute::WarpSize).max(1);
        if threads == 0
            || threads > self.max_threads(resources.bounds())
            || dynamic_shared as u64 > self.max_dynamic_shared(kernel, resources.static_shared)
        {
            return 0;
        }
        let warps = threads.div_ceil(warp_size);
        let by_warps = amount(Attribute::MaxThreadsPerMultiprocessor) / warp_size / warps;
        let shared = u64::from(resources.static_shared)
            .saturating_add(dynamic_shared as u64)
            .saturating_add(amount(Attribute::ReservedSharedMemoryPerBlock).into())
            .checked_next_multiple_of(units.shared_memory_allocation_unit.into())
            .unwrap_or(u64::MAX);
        let by_shared = u64::from(amount(Attribute::MaxSharedMemoryPerMultiprocessor))
            .checked_div(shared)
            .map_or(u32::MAX, |ctas| u32::try_from(ctas).unwrap_or(u32::MAX));
        let per_warp =
            (self.registers(kernel, resources) * warp_size).next_multiple_of(units.register_allocation_unit);
        let warps_by_registers = amount(Attribute::MaxRegistersPerMultiprocessor) / per_warp.max(1);
        let granularity = units.warp_allocation_granularity;
        let by_registers =
            warps_by_registers / granularity * granularity / warps.next_multiple_of(granularity);
        by_warps.min(by_shared).min(by_registers).min(amount(Attribute::MaxBlocksPerMultiprocessor))
    }

    /// Dynamic shared memory per CTA in bytes when `ctas` CTAs share a multiprocessor, at most the
    /// kernel's own limit.
    pub(crate) fn available_dynamic_shared(
        &self,
        kernel: &Kernel,
        resources: &KernelResources,
        ctas: u32,
    ) -> u64 {
        let amount = |attribute| u64::from(self.profile.amount(attribute));
        let unit = u64::from(self.profile.occupancy.shared_memory_allocation_unit);
        let share =
            amount(Attribute::MaxSharedMemoryPerMultiprocessor) / u64::from(ctas.max(1)) / unit * unit;
        share
            .min(amount(Attribute::MaxSharedMemoryPerBlockOptin))
            .saturating_sub(resources.static_shared.into())
            .saturating_sub(amount(Attribute::ReservedSharedMemoryPerBlock))
            .min(self.max_dynamic_shared(kernel, resources.static_shared))
    }

    /// The CTA size with the most resident threads, and the grid that fills the device: (CTAs,
    /// threads). `dynamic_shared` gives the bytes that a CTA of some size needs; `limit` bounds the
    /// size (0: no bound).
    pub(crate) fn best_cta_size(
        &self,
        kernel: &Kernel,
        resources: &KernelResources,
        limit: u32,
        dynamic_shared: impl Fn(u32) -> usize,
    ) -> (u32, u32) {
        let warp_size = self.profile.amount(Attribute::WarpSize).max(1);
        let most = self.max_threads(resources.bounds());
        let most = if limit == 0 { most } else { most.min(limit) };
        let mut best = (0, 0, 0);
        let mut threads = most.next_multiple_of(warp_size);
        while threads >= warp_size {
            let size = threads.min(most);
            let ctas = self.active_ctas(kernel, resources, size, dynamic_shared(size));
            if ctas * size > best.0 {
                best = (ctas * size, ctas, size);
            }
            threads -= warp_size;
        }
        (best.1 * self.profile.amount(Attribute::MultiprocessorCount), best.2)
    }
}
