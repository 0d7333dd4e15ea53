//! Derived statistics: rates, shares, means, and profiler metrics that are sums of counters.

use super::Ratio;

/// Declares ratios: `section.name: unit = metric, scale * [sum] * … / [sum] * …`.
#[macro_export]
macro_rules! ratios {
    ($($(#[doc = $meaning:literal])* $section:ident.$name:ident: $unit:literal = $metric:literal,
       $scale:literal $(* [$($over:ident.$a:ident),+])+ $(/ [$($under:ident.$b:ident),+] $(* [$($under2:ident.$c:ident),+])?)?;)*) => {
        &[$($crate::statistics::Ratio {
            section: stringify!($section),
            name: stringify!($name),
            meaning: concat!($($meaning),*).trim_ascii(),
            unit: $unit,
            metric: $metric,
            scale: $scale,
            numerator: &[$(&[$(concat!(stringify!($over), ".", stringify!($a))),+]),+],
            denominator: &[$(
                &[$(concat!(stringify!($under), ".", stringify!($b))),+],
                $(&[$(concat!(stringify!($under2), ".", stringify!($c))),+])?
            )?],
        },)*]
    };
}

/// All derived statistics.
pub const DERIVED: &[Ratio] = ratios! {
    /// Warp instructions per cycle of the GPU.
    gpu.ipc: "instructions per core cycle" = "",
        1.0 * [sm.warp_instructions] / [gpu.cycles];
    /// Warp instructions of an SM per active cycle.
    sm.ipc_active: "instructions per core cycle" = "sm__inst_executed.avg.per_cycle_active",
        1.0 * [sm.warp_instructions] / [sm.active_cycles];
    /// Machine instructions per PTX instruction.
    sm.lowering: "instructions per PTX instruction" = "",
        1.0 * [sm.warp_instructions] / [sm.ptx_instructions];
    /// Active lanes per warp instruction.
    sm.lanes: "lanes per instruction" = "smsp__thread_inst_executed_per_inst_executed.ratio",
        1.0 * [sm.thread_instructions] / [sm.warp_instructions];
    /// Mean active cycles of an SM.
    sm.active_cycles_mean: "core cycles" = "sm__cycles_active.avg",
        1.0 * [sm.active_cycles] * [gpu.cycles] / [gpu.sm_cycles];
    /// Resident warps of active SMs, as a share of their warp slots.
    sm.occupancy: "%" = "sm__warps_active.avg.pct_of_peak_sustained_active",
        100.0 * [sm.warp_cycles] * [gpu.sm_cycles] / [sm.active_cycles] * [gpu.warp_slot_cycles];
    /// Share of issue slots that issued an instruction, on active SMs, for any issue width.
    issue.utilisation: "%" = "smsp__issue_active.avg.pct_of_peak_sustained_active",
        100.0 * [issue.issued] / [issue.issued, issue.scoreboard, issue.long_scoreboard, issue.instruction_fetch,
                                  issue.unit_busy, issue.operand_conflict, issue.barrier, issue.memory_throttle,
                                  issue.held_load, issue.sleep, issue.idle];
    /// Sectors per global load.
    coalescer.sectors_per_global_load: "sectors per request" = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
        1.0 * [coalescer.global_load_sectors] / [coalescer.global_load_requests];
    /// Sectors per global store.
    coalescer.sectors_per_global_store: "sectors per request" = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio",
        1.0 * [coalescer.global_store_sectors] / [coalescer.global_store_requests];
    /// Requests to L1.
    l1.requests: "requests" = "l1tex__t_requests.sum",
        1.0 * [coalescer.global_load_requests, coalescer.global_store_requests, coalescer.local_load_requests,
               coalescer.local_store_requests, coalescer.atomic_requests, coalescer.reduction_requests,
               coalescer.texture_requests];
    /// Share of load and store sectors that hit L1: loads of valid or outstanding sectors, stores
    /// to resident lines. On HyFiSS's GV100, stores of `needle` hit only lines that it has partly
    /// read. Stores of `dynproc` also hit lines that were only written, which L1 does not keep
    /// here.
    l1.hit_rate: "%" = "l1tex__t_sector_hit_rate.pct",
        100.0 * [l1.load_sector_hits, l1.load_sectors_merged, l1.store_sector_hits] / [l1.load_sectors, l1.store_sectors];
    /// Share of load sectors that hit L1, valid or outstanding. On HyFiSS's GV100, the misses of
    /// 2DConvolution and atax equal their requests to L2; dynproc, bpnn and b+tree miss a few per
    /// cent less.
    l1.load_hit_rate: "%" = "l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct",
        100.0 * [l1.load_sector_hits, l1.load_sectors_merged] / [l1.load_sectors];
    /// Share of lines looked up by loads whose tag hit.
    l1.load_line_hit_rate: "%" = "",
        100.0 * [l1.load_line_hits] / [l1.load_lines];
    /// Sectors that L1 reads from L2.
    l1.sectors_read_from_l2: "sectors" = "l1tex__m_xbar2l1tex_read_sectors_mem_lg_op_ld.sum",
        1.0 * [l1.sectors_fetched, l1.load_sectors_bypassed];
    /// Sectors that L1 writes to L2.
    l1.sectors_written_to_l2: "sectors" = "l1tex__m_l1tex2xbar_write_sectors_mem_lg_op_st.sum",
        1.0 * [l1.store_sectors];
    /// Requests from L1 to L2.
    l1.requests_to_l2: "requests" = "lts__t_requests_srcunit_tex.sum",
        1.0 * [memory_pipeline.requests_sent];
    /// Mean outstanding lines of an SM that has any.
    l1.mean_misses: "lines" = "",
        1.0 * [l1.miss_occupancy] / [l1.miss_cycles];
    /// Mean latency of loads that hit L1 entirely, from the address stage to the write-back latch.
    l1.mean_load_hit_latency: "core cycles" = "",
        1.0 * [l1.load_hit_latency] / [l1.load_hits];
    /// Mean latency of loads that wait for L2 with a TLB hit.
    l1.mean_load_miss_latency: "core cycles" = "",
        1.0 * [l1.load_miss_latency] / [l1.load_misses];
    /// Mean latency of loads that wait for the L1 TLB and L2.
    l1.mean_load_tlb_wait_latency: "core cycles" = "",
        1.0 * [l1.load_tlb_wait_latency] / [l1.load_tlb_waits];
    /// L1 passes per global or local access.
    l1.passes_per_request: "passes per request" = "",
        1.0 * [l1.passes]
            / [coalescer.global_load_requests, coalescer.global_store_requests, coalescer.local_load_requests,
               coalescer.local_store_requests, coalescer.atomic_requests, coalescer.reduction_requests];
    /// Extra passes of L1 and shared memory through bank conflicts.
    l1.bank_conflicts: "passes" = "l1tex__data_bank_conflicts_pipe_lsu.sum",
        1.0 * [l1.load_conflicts, l1.store_conflicts, l1.atomic_conflicts, shared.load_conflicts, shared.store_conflicts,
               shared.atomic_conflicts];
    /// Shared-memory passes per request.
    shared.passes_per_request: "passes per request" = "",
        1.0 * [shared.passes] / [shared.load_requests, shared.store_requests, shared.atomic_requests];
    /// Mean time from an SM's request to its reply.
    memory.mean_latency: "core cycles" = "",
        1.0 * [memory.latency] / [memory.replies];
    /// Share of L2 sectors that were valid, outstanding or written. Profilers appear to count all
    /// of these as hits: the rates of HyFiSS's GV100 then match within two points. This rate leaves
    /// out parameters.
    l2.hit_rate: "%" = "lts__t_sector_hit_rate.pct",
        100.0 * [l2.read_hits, l2.pending_hits, l2.sectors_written, l2.atomic_hits, l2.reduction_hits] / [l2.hits, l2.misses];
    /// Share of read sectors that hit L2.
    l2.read_hit_rate: "%" = "lts__t_sector_op_read_hit_rate.pct",
        100.0 * [l2.read_hits] / [l2.sectors_read];
    /// Mean MSHRs in use of a slice that uses any.
    l2.mean_mshrs: "sectors" = "",
        1.0 * [l2.mshr_occupancy] / [l2.mshr_cycles];
    /// Mean time from a request's arrival at its slice to its reply, for requests served without
    /// DRAM.
    l2.mean_hit_latency: "L2 cycles" = "",
        1.0 * [l2.hit_latency] / [l2.request_hits];
    /// Mean time from a request's arrival at its slice to its reply, for requests that wait for
    /// DRAM.
    l2.mean_miss_latency: "L2 cycles" = "",
        1.0 * [l2.miss_latency] / [l2.request_misses];
    /// Sectors that SMs read: global and local memory, textures and surfaces.
    l2.sm_reads: "sectors" = "lts__t_sectors_srcunit_tex_op_read.sum",
        1.0 * [l2.global_reads, l2.local_reads, l2.texture_reads];
    /// Sectors that SMs write: global and local memory, textures and surfaces.
    l2.sm_writes: "sectors" = "lts__t_sectors_srcunit_tex_op_write.sum",
        1.0 * [l2.global_writes, l2.local_writes, l2.texture_writes];
    /// Sectors that SMs read and that hit L2.
    l2.sm_read_hits: "sectors" = "lts__t_sectors_srcunit_tex_op_read_lookup_hit.sum",
        1.0 * [l2.global_read_hits, l2.local_read_hits, l2.texture_read_hits];
    /// Share of L2 cycles with a tag lookup.
    l2.utilisation: "%" = "lts__t_sectors.avg.pct_of_peak_sustained_elapsed",
        100.0 * [l2.tag_cycles] / [gpu.l2_cycles];
    /// Bytes through L2 per second.
    l2.bandwidth: "GB/s" = "",
        32.0 * [l2.hits, l2.misses] / [gpu.nanoseconds];
    /// Sectors read and written in DRAM.
    dram.sectors: "sectors" = "dram__sectors.sum",
        1.0 * [dram.reads, dram.writes];
    /// Bytes read and written in DRAM per second.
    dram.bandwidth: "GB/s" = "dram__bytes.sum.per_second",
        32.0 * [dram.reads, dram.writes] / [gpu.nanoseconds];
    /// Share of DRAM cycles with data on the bus.
    dram.utilisation: "%" = "dram__throughput.avg.pct_of_peak_sustained_elapsed",
        100.0 * [dram.bus_cycles] / [gpu.dram_cycles];
    /// Share of busy DRAM cycles with data on the bus.
    dram.efficiency: "%" = "",
        100.0 * [dram.bus_cycles] / [dram.busy_cycles];
    /// Mean time from a read's arrival at its channel to the end of its data.
    dram.mean_read_latency: "DRAM cycles" = "",
        1.0 * [dram.read_latency] / [dram.read_requests];
    /// Share of DRAM reads that hit an open row.
    dram.read_row_hit_rate: "%" = "",
        100.0 * [dram.read_row_hits] / [dram.reads];
    /// Mean power of the card.
    power.watts: "W" = "",
        0.001 * [power.energy] / [gpu.nanoseconds];
    /// Mean power of SMs beside their caches: fetches, issue, registers, execution units.
    power.core_watts: "W" = "",
        0.001 * [power.core] / [gpu.nanoseconds];
    /// Mean power of L1 data caches, shared memory and constant caches.
    power.l1_watts: "W" = "",
        0.001 * [power.l1] / [gpu.nanoseconds];
    /// Mean power of the crossbar.
    power.interconnect_watts: "W" = "",
        0.001 * [power.interconnect] / [gpu.nanoseconds];
    /// Mean power of L2 slices.
    power.l2_watts: "W" = "",
        0.001 * [power.l2] / [gpu.nanoseconds];
    /// Mean power of DRAM accesses, with the memory controllers.
    power.dram_watts: "W" = "",
        0.001 * [power.dram] / [gpu.nanoseconds];
    /// Mean static power of SMs with CTAs.
    power.active_static_watts: "W" = "",
        0.001 * [power.active_static] / [gpu.nanoseconds];
    /// Mean power of SMs without CTAs.
    power.idle_watts: "W" = "",
        0.001 * [power.idle] / [gpu.nanoseconds];
    /// Power of the card beside its units.
    power.constant_watts: "W" = "",
        0.001 * [power.constant] / [gpu.nanoseconds];
    /// Energy of the card per thread instruction.
    power.energy_per_instruction: "pJ per instruction" = "",
        1.0 * [power.energy] / [sm.thread_instructions];
};
