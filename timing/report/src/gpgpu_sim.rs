//! Statistics under GPGPU-Sim's names, as GPGPU-Sim prints them after each kernel: some of the
//! kernel, most of all kernels so far. Lines without an equal counter here are left out.

use std::fmt::Write as _;
use std::io;

use super::{Run, Total, channels, pass_on};
use timing::ratios;
use timing::statistics::{Counts, Ratio, value};

/// Lines of the kernel; the unit follows the number, the section is not printed.
pub(super) const KERNEL: &[Ratio] = ratios! {
    /// Core cycles.
    gpgpu_sim.gpu_sim_cycle: "" = "", 1.0 * [gpu.cycles];
    /// Thread instructions.
    gpgpu_sim.gpu_sim_insn: "" = "", 1.0 * [sm.thread_instructions];
    /// Thread instructions per cycle.
    gpgpu_sim.gpu_ipc: "" = "", 1.0 * [sm.thread_instructions] / [gpu.cycles];
    /// Resident warps in per cent of slots.
    gpgpu_sim.gpu_occupancy: "% " = "",
        100.0 * [sm.warp_cycles] * [gpu.sm_cycles] / [sm.active_cycles] * [gpu.warp_slot_cycles];
    /// GB/s.
    gpgpu_sim.L2_BW: " GB/Sec" = "", 32.0 * [crossbar.reply_packets] / [gpu.nanoseconds];
};

/// Lines of all kernels so far.
pub(super) const TOTAL: &[Ratio] = ratios! {
    /// Core cycles.
    gpgpu_sim.gpu_tot_sim_cycle: "" = "", 1.0 * [gpu.cycles];
    /// Thread instructions.
    gpgpu_sim.gpu_tot_sim_insn: "" = "", 1.0 * [sm.thread_instructions];
    /// Thread instructions per cycle.
    gpgpu_sim.gpu_tot_ipc: "" = "", 1.0 * [sm.thread_instructions] / [gpu.cycles];
    /// CTAs.
    gpgpu_sim.gpu_tot_issued_cta: "" = "", 1.0 * [gpu.ctas_started];
    /// Resident warps in per cent of slots.
    gpgpu_sim.gpu_tot_occupancy: "% " = "",
        100.0 * [sm.warp_cycles] * [gpu.sm_cycles] / [sm.active_cycles] * [gpu.warp_slot_cycles];
    /// GB/s.
    gpgpu_sim.L2_BW_total: " GB/Sec" = "", 32.0 * [crossbar.reply_packets] / [gpu.nanoseconds];
    /// Sectors.
    gpgpu_sim.L1D_total_cache_accesses: "" = "", 1.0 * [l1.load_sectors, l1.store_sectors];
    /// Sectors.
    gpgpu_sim.L1D_total_cache_misses: "" = "", 1.0 * [l1.load_sector_misses, l1.store_sectors];
    /// Miss rate.
    gpgpu_sim.L1D_total_cache_miss_rate: "" = "",
        1.0 * [l1.load_sector_misses, l1.store_sectors] / [l1.load_sectors, l1.store_sectors];
    /// Sectors.
    gpgpu_sim.L1D_total_cache_pending_hits: "" = "", 1.0 * [l1.load_sectors_merged];
    /// Cycles.
    gpgpu_sim.L1D_total_cache_reservation_fails: "" = "",
        1.0 * [l1.line_reservation_failures, l1.miss_reservation_failures, l1.merge_reservation_failures,
               l1.queue_reservation_failures];
    /// Distinct words of warp accesses.
    gpgpu_sim.L1C_total_cache_accesses: "" = "", 1.0 * [constant.requests];
    /// Distinct words that missed.
    gpgpu_sim.L1C_total_cache_misses: "" = "", 1.0 * [constant.misses];
    /// Miss rate.
    gpgpu_sim.L1C_total_cache_miss_rate: "" = "", 1.0 * [constant.misses] / [constant.requests];
    /// Warp instructions.
    gpgpu_sim.gpgpu_n_tot_w_icount: "" = "", 1.0 * [sm.warp_instructions];
    /// Warp instructions times 32, as GPGPU-Sim counts.
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
    /// Thread instructions of global and local memory. Atomic operations count as loads.
    gpgpu_sim.gpgpu_n_load_insn: "" = "", 1.0 * [coalescer.load_lanes, coalescer.atomic_lanes];
    /// Thread instructions of global and local memory.
    gpgpu_sim.gpgpu_n_store_insn: "" = "", 1.0 * [coalescer.store_lanes];
    /// Thread instructions.
    gpgpu_sim.gpgpu_n_shmem_insn: "" = "", 1.0 * [shared.lanes];
    /// Thread instructions.
    gpgpu_sim.gpgpu_n_const_mem_insn: "" = "", 1.0 * [thread_instructions.load_constant];
    /// Thread instructions.
    gpgpu_sim.gpgpu_n_tex_insn: "" = "", 1.0 * [thread_instructions.texture];
    /// Passes.
    gpgpu_sim.gpgpu_n_shmem_bkconflict: "" = "",
        1.0 * [shared.load_conflicts, shared.store_conflicts, shared.atomic_conflicts];
    /// Passes.
    gpgpu_sim.gpgpu_n_l1cache_bkconflict: "" = "",
        1.0 * [l1.load_conflicts, l1.store_conflicts, l1.atomic_conflicts];
    /// Request to reply, in cycles.
    gpgpu_sim.averagemflatency: "" = "", 1.0 * [memory.latency] / [memory.replies];
    /// Sectors.
    gpgpu_sim.L2_total_cache_accesses: "" = "", 1.0 * [l2.hits, l2.misses];
    /// Sectors.
    gpgpu_sim.L2_total_cache_misses: "" = "", 1.0 * [l2.misses];
    /// Miss rate.
    gpgpu_sim.L2_total_cache_miss_rate: "" = "", 1.0 * [l2.misses] / [l2.hits, l2.misses];
    /// Sectors.
    gpgpu_sim.L2_total_cache_pending_hits: "" = "", 1.0 * [l2.pending_hits];
    /// Cycles.
    gpgpu_sim.L2_total_cache_reservation_fails: "" = "",
        1.0 * [l2.mshr_stalls, l2.merge_stalls, l2.set_stalls, l2.dram_stalls];
    /// Packets.
    gpgpu_sim.Req_Network_injected_packets_num: "" = "", 1.0 * [crossbar.request_packets];
    /// Packets.
    gpgpu_sim.Reply_Network_injected_packets_num: "" = "", 1.0 * [crossbar.reply_packets];
    /// Flits.
    gpgpu_sim.icnt_total_pkts_mem_to_simt: "" = "", 1.0 * [crossbar.reply_flits];
    /// Flits.
    gpgpu_sim.icnt_total_pkts_simt_to_mem: "" = "", 1.0 * [crossbar.request_flits];
};

/// Sums of all kernels so far whose names are no identifiers, in sectors; GPGPU-Sim counts each as
/// an access.
pub(super) const SUMS: &[(&str, &str)] = &[
    ("\tTotal_core_cache_stats_breakdown[GLOBAL_ACC_R][HIT]", "l1.global_load_sector_hits"),
    ("\tTotal_core_cache_stats_breakdown[GLOBAL_ACC_R][MSHR_HIT]", "l1.global_load_sectors_merged"),
    ("\tTotal_core_cache_stats_breakdown[GLOBAL_ACC_R][TOTAL_ACCESS]", "l1.global_load_sectors"),
    ("\tTotal_core_cache_stats_breakdown[LOCAL_ACC_R][HIT]", "l1.local_load_sector_hits"),
    ("\tTotal_core_cache_stats_breakdown[LOCAL_ACC_R][MSHR_HIT]", "l1.local_load_sectors_merged"),
    ("\tTotal_core_cache_stats_breakdown[LOCAL_ACC_R][TOTAL_ACCESS]", "l1.local_load_sectors"),
    ("\tTotal_core_cache_stats_breakdown[TEXTURE_ACC_R][HIT]", "l1.texture_load_sector_hits"),
    ("\tTotal_core_cache_stats_breakdown[TEXTURE_ACC_R][MSHR_HIT]", "l1.texture_load_sectors_merged"),
    ("\tTotal_core_cache_stats_breakdown[TEXTURE_ACC_R][TOTAL_ACCESS]", "l1.texture_load_sectors"),
    ("\tTotal_core_cache_stats_breakdown[CONST_ACC_R][HIT]", "constant.hits"),
    ("\tTotal_core_cache_stats_breakdown[CONST_ACC_R][TOTAL_ACCESS]", "constant.requests"),
    ("\tTotal_core_cache_stats_breakdown[GLOBAL_ACC_W][HIT]", "l1.global_store_sector_hits"),
    ("\tTotal_core_cache_stats_breakdown[GLOBAL_ACC_W][TOTAL_ACCESS]", "l1.global_store_sectors"),
    ("\tTotal_core_cache_stats_breakdown[LOCAL_ACC_W][HIT]", "l1.local_store_sector_hits"),
    ("\tTotal_core_cache_stats_breakdown[LOCAL_ACC_W][TOTAL_ACCESS]", "l1.local_store_sectors"),
    ("\tL2_cache_stats_breakdown[GLOBAL_ACC_R][HIT]", "l2.global_read_hits"),
    ("\tL2_cache_stats_breakdown[GLOBAL_ACC_R][TOTAL_ACCESS]", "l2.global_reads"),
    ("\tL2_cache_stats_breakdown[LOCAL_ACC_R][HIT]", "l2.local_read_hits"),
    ("\tL2_cache_stats_breakdown[LOCAL_ACC_R][TOTAL_ACCESS]", "l2.local_reads"),
    ("\tL2_cache_stats_breakdown[TEXTURE_ACC_R][HIT]", "l2.texture_read_hits"),
    ("\tL2_cache_stats_breakdown[TEXTURE_ACC_R][TOTAL_ACCESS]", "l2.texture_reads"),
    ("\tL2_cache_stats_breakdown[CONST_ACC_R][HIT]", "l2.constant_read_hits"),
    ("\tL2_cache_stats_breakdown[CONST_ACC_R][TOTAL_ACCESS]", "l2.constant_reads"),
    ("\tL2_cache_stats_breakdown[INST_ACC_R][HIT]", "l2.instruction_read_hits"),
    ("\tL2_cache_stats_breakdown[INST_ACC_R][TOTAL_ACCESS]", "l2.instruction_reads"),
    ("\tL2_cache_stats_breakdown[GLOBAL_ACC_W][HIT]", "l2.global_write_hits"),
    ("\tL2_cache_stats_breakdown[GLOBAL_ACC_W][TOTAL_ACCESS]", "l2.global_writes"),
    ("\tL2_cache_stats_breakdown[LOCAL_ACC_W][HIT]", "l2.local_write_hits"),
    ("\tL2_cache_stats_breakdown[LOCAL_ACC_W][TOTAL_ACCESS]", "l2.local_writes"),
    ("total dram reads", "dram.reads"),
    ("total dram writes", "dram.writes"),
];

/// Issue slots without an instruction, under the names of the warp occupancy line.
pub(super) const SLOTS: &[(&str, &[&str])] = &[
    ("Stall", &["issue.unit_busy", "issue.operand_conflict", "issue.memory_throttle", "issue.held_load"]),
    ("W0_Idle", &["issue.idle", "issue.instruction_fetch", "issue.barrier", "issue.sleep"]),
    ("W0_Scoreboard", &["issue.scoreboard", "issue.long_scoreboard"]),
];

pub(super) fn write(run: &Run<'_>, out: &mut dyn io::Write) -> io::Result<()> {
    let mut text = String::new();
    let mut total = Total::default();
    for launch in run.launches() {
        let launch = launch?;
        total.add(&launch);
        let _ = writeln!(text, "kernel_name = {} ", launch.kernel);
        let _ = writeln!(text, "kernel_launch_uid = {} ", launch.launch);
        let _ = writeln!(text, "kernel_stream_id = {}", launch.stream);
        let kernel = KERNEL.iter().map(|ratio| (ratio, ratio.of(&launch.counters)));
        let all = TOTAL.iter().map(|ratio| (ratio, ratio.of(&total.counters)));
        for (ratio, value) in kernel.chain(all) {
            let (Ratio { name, unit, .. }, value) = (ratio, value.unwrap_or_default());
            // Sums are integers.
            let _ = match ratio.denominator {
                [] => writeln!(text, "{name} = {value:.0}{unit}"),
                _ => writeln!(text, "{name} = {value:.4}{unit}"),
            };
        }
        for (name, counter) in SUMS {
            let _ = writeln!(text, "{name} = {}", value(&total.counters, counter).unwrap_or(0));
        }
        warps(&mut text, &total.counters);
        channels::gpgpu_sim(&mut text, &total.channels, &total.counters);
        pass_on(&mut text, out)?;
    }
    // Accel-Sim's scripts treat a run without this line as incomplete.
    match run.partial {
        None => out.write_all(b"GPGPU-Sim: *** exit detected ***\n"),
        Some(cause) => writeln!(out, "partial: ended by {cause}"),
    }
}

/// Warp occupancy line: idle slots by reason, then instructions by active lanes.
fn warps(text: &mut String, counters: &Counts) {
    let sum = |names: &[&str]| names.iter().filter_map(|name| value(counters, name)).sum::<u64>();
    let slots = SLOTS.iter().map(|(name, counters)| format!("{name}:{}", sum(counters)));
    let lanes = (1..=32).map(|lanes| format!("W{lanes}:{}", sum(&[&format!("lanes.w{lanes}")])));
    let _ =
        writeln!(text, "Warp Occupancy Distribution:\n{}", slots.chain(lanes).collect::<Vec<_>>().join("\t"));
}
