//! Statistics with GPGPU-Sim's names, as it prints them after each kernel: some of the kernel, most of all kernels so far.

use std::fmt::Write as _;

use super::{Report, Total};
use crate::ratios;
use crate::statistics::Ratio;

/// What it prints of the kernel. The section is not printed.
pub(super) const KERNEL: &[Ratio] = ratios! {
    /// Core cycles.
    gpgpu_sim.gpu_sim_cycle: "" = "", 1.0 * [gpu.cycles];
    /// Instructions of threads.
    gpgpu_sim.gpu_sim_insn: "" = "", 1.0 * [sm.thread_instructions];
    /// Instructions of threads in a cycle.
    gpgpu_sim.gpu_ipc: "" = "", 1.0 * [sm.thread_instructions] / [gpu.cycles];
    /// Warps there, in per cent.
    gpgpu_sim.gpu_occupancy: "" = "",
        100.0 * [sm.warp_cycles] * [gpu.sm_cycles] / [sm.active_cycles] * [gpu.warp_slot_cycles];
    /// GB/s.
    gpgpu_sim.L2_BW: "" = "", 32.0 * [crossbar.reply_packets] / [gpu.nanoseconds];
};

/// What it prints of all kernels so far.
pub(super) const TOTAL: &[Ratio] = ratios! {
    /// Core cycles.
    gpgpu_sim.gpu_tot_sim_cycle: "" = "", 1.0 * [gpu.cycles];
    /// Instructions of threads.
    gpgpu_sim.gpu_tot_sim_insn: "" = "", 1.0 * [sm.thread_instructions];
    /// Instructions of threads in a cycle.
    gpgpu_sim.gpu_tot_ipc: "" = "", 1.0 * [sm.thread_instructions] / [gpu.cycles];
    /// CTAs.
    gpgpu_sim.gpu_tot_issued_cta: "" = "", 1.0 * [gpu.ctas_started];
    /// Warps there, in per cent.
    gpgpu_sim.gpu_tot_occupancy: "" = "",
        100.0 * [sm.warp_cycles] * [gpu.sm_cycles] / [sm.active_cycles] * [gpu.warp_slot_cycles];
    /// Sectors.
    gpgpu_sim.L1D_total_cache_accesses: "" = "", 1.0 * [l1.load_sectors, l1.store_sectors];
    /// Sectors.
    gpgpu_sim.L1D_total_cache_misses: "" = "", 1.0 * [l1.load_sector_misses, l1.store_sectors];
    /// Misses of accesses.
    gpgpu_sim.L1D_total_cache_miss_rate: "" = "",
        1.0 * [l1.load_sector_misses, l1.store_sectors] / [l1.load_sectors, l1.store_sectors];
    /// Sectors.
    gpgpu_sim.L1D_total_cache_pending_hits: "" = "", 1.0 * [l1.load_sectors_merged];
    /// Cycles.
    gpgpu_sim.L1D_total_cache_reservation_fails: "" = "",
        1.0 * [l1.line_reservation_failures, l1.miss_reservation_failures, l1.merge_reservation_failures,
               l1.queue_reservation_failures];
    /// Instructions of warps.
    gpgpu_sim.gpgpu_n_tot_w_icount: "" = "", 1.0 * [sm.warp_instructions];
    /// The same by 32, as GPGPU-Sim counts them.
    gpgpu_sim.gpgpu_n_tot_thrd_icount: "" = "", 32.0 * [sm.warp_instructions];
    /// Sectors.
    gpgpu_sim.gpgpu_n_mem_read_local: "" = "", 1.0 * [coalescer.local_load_sectors];
    /// Sectors.
    gpgpu_sim.gpgpu_n_mem_write_local: "" = "", 1.0 * [coalescer.local_store_sectors];
    /// Sectors.
    gpgpu_sim.gpgpu_n_mem_read_global: "" = "", 1.0 * [coalescer.global_load_sectors];
    /// Sectors.
    gpgpu_sim.gpgpu_n_mem_write_global: "" = "", 1.0 * [coalescer.global_store_sectors];
    /// Sectors.
    gpgpu_sim.gpgpu_n_mem_texture: "" = "", 1.0 * [coalescer.texture_sectors];
    /// Passes.
    gpgpu_sim.gpgpu_n_shmem_bkconflict: "" = "",
        1.0 * [shared.load_conflicts, shared.store_conflicts, shared.atomic_conflicts];
    /// Cycles from a request to its reply.
    gpgpu_sim.averagemflatency: "" = "", 1.0 * [memory.latency] / [memory.replies];
    /// Sectors.
    gpgpu_sim.L2_total_cache_accesses: "" = "", 1.0 * [l2.hits, l2.misses];
    /// Sectors.
    gpgpu_sim.L2_total_cache_misses: "" = "", 1.0 * [l2.misses];
    /// Misses of accesses.
    gpgpu_sim.L2_total_cache_miss_rate: "" = "", 1.0 * [l2.misses] / [l2.hits, l2.misses];
    /// Sectors.
    gpgpu_sim.L2_total_cache_pending_hits: "" = "", 1.0 * [l2.pending_hits];
    /// Cycles.
    gpgpu_sim.L2_total_cache_reservation_fails: "" = "",
        1.0 * [l2.mshr_stalls, l2.merge_stalls, l2.set_stalls, l2.dram_stalls];
    /// Sectors.
    gpgpu_sim.total_dram_reads: "" = "", 1.0 * [dram.reads];
    /// Sectors.
    gpgpu_sim.total_dram_writes: "" = "", 1.0 * [dram.writes];
    /// Packets.
    gpgpu_sim.Req_Network_injected_packets_num: "" = "", 1.0 * [crossbar.request_packets];
    /// Packets.
    gpgpu_sim.Reply_Network_injected_packets_num: "" = "", 1.0 * [crossbar.reply_packets];
};

pub(super) fn write(report: &Report) -> String {
    let mut text = String::new();
    let mut total = Total::default();
    for launch in &report.launches {
        total.add(launch);
        let _ = writeln!(text, "kernel_name = {} ", launch.kernel);
        let _ = writeln!(text, "kernel_launch_uid = {} ", launch.launch);
        let _ = writeln!(text, "kernel_stream_id = {}", launch.stream);
        let kernel = KERNEL.iter().map(|ratio| (ratio, ratio.of(&launch.counters)));
        let all = TOTAL.iter().map(|ratio| (ratio, ratio.of(&total.counters)));
        for (ratio, value) in kernel.chain(all) {
            let value = value.unwrap_or_default();
            // Sums are whole, and are printed so.
            let _ = match ratio.denominator {
                [] => writeln!(text, "{} = {value:.0}", ratio.name),
                _ => writeln!(text, "{} = {value:.4}", ratio.name),
            };
        }
    }
    text
}
