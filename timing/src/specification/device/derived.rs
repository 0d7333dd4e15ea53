//! Answers that follow from the model's values, so that a program is told what is simulated.

use warp_stream::WARP_SIZE;

use crate::gpu_file::capability::limit;
use crate::specification::GpuSpec;

/// Kilohertz in a megahertz.
const KILOHERTZ: u64 = 1000;

/// Attribute, value, and the keys that it follows from.
pub(super) fn answers(gpu: &GpuSpec, capability: u32) -> Vec<(&'static str, i32, &'static str)> {
    let GpuSpec { chip, clocks, cta, shared, partition, l2, dram, .. } = gpu;
    let limit = |name| limit(name, capability).and_then(|limit| u64::try_from(limit).ok());
    let threads = u64::from(cta.warps) * WARP_SIZE as u64;
    let largest_shared = u64::from(shared.sizes.last().copied().unwrap_or_default());
    // A part of each CTA's shared memory is the system's.
    let reserved = limit("reserved_shared_memory_per_block").unwrap_or_default();
    let at_most = |value: u64, name| limit(name).map_or(value, |limit| value.min(limit));
    // The data rate of a pin is twice the clock that CUDA tells, whatever the DRAM.
    let memory_clock = u64::from(clocks.dram) * u64::from(dram.beats_per_cycle) * KILOHERTZ / 2;
    let pins = u64::from(partition.channels) * u64::from(dram.pseudo_channels) * u64::from(dram.bus) * 8;
    let answers = [
        ("multiprocessor_count", chip.sms.into(), "chip.sms"),
        ("clock_rate", u64::from(clocks.core) * KILOHERTZ, "clocks.core"),
        ("memory_clock_rate", memory_clock, "clocks.dram and dram.beats_per_cycle"),
        ("global_memory_bus_width", pins, "partition.channels, dram.pseudo_channels and dram.bus"),
        (
            "l2_cache_size",
            u64::from(partition.all_slices()) * u64::from(l2.size),
            "partition.channels, partition.slices and l2.size",
        ),
        ("max_threads_per_block", at_most(threads, "max_threads_per_block"), "cta.warps"),
        ("max_threads_per_multiprocessor", threads, "cta.warps"),
        ("max_blocks_per_multiprocessor", cta.ctas.into(), "cta.ctas"),
        ("max_registers_per_multiprocessor", cta.registers.into(), "cta.registers"),
        (
            "max_registers_per_block",
            at_most(cta.registers.into(), "max_registers_per_block"),
            "cta.registers",
        ),
        ("register_allocation_unit", cta.register_unit.into(), "cta.register_unit"),
        ("shared_memory_allocation_unit", cta.shared_unit.into(), "cta.shared_unit"),
        ("max_shared_memory_per_multiprocessor", largest_shared, "shared.sizes"),
        (
            "max_shared_memory_per_block_optin",
            at_most(largest_shared.saturating_sub(reserved), "max_shared_memory_per_block_optin"),
            "shared.sizes",
        ),
        (
            "max_shared_memory_per_block",
            at_most(largest_shared.saturating_sub(reserved), "max_shared_memory_per_block"),
            "shared.sizes",
        ),
    ];
    let told = |(name, value, keys)| (name, i32::try_from(value).unwrap_or(i32::MAX), keys);
    answers.map(told).to_vec()
}
