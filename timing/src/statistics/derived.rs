//! What counters give beside themselves: rates, shares, means, and the profiler's metrics that are sums.

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

/// All of them.
pub const DERIVED: &[Ratio] = ratios! {
    /// Warp instructions in a cycle of the GPU.
    gpu.ipc: "instructions per core cycle" = "",
        1.0 * [sm.warp_instructions] / [gpu.cycles];
    /// Warp instructions of an SM in a cycle in which it has a CTA.
    sm.ipc_active: "instructions per core cycle" = "sm__inst_executed.avg.per_cycle_active",
        1.0 * [sm.warp_instructions] / [sm.active_cycles];
    /// Machine instructions for each instruction of PTX that they were made of.
    sm.lowering: "instructions per PTX instruction" = "",
        1.0 * [sm.warp_instructions] / [sm.ptx_instructions];
    /// Lanes that take part in an instruction.
    sm.lanes: "lanes per instruction" = "smsp__thread_inst_executed_per_inst_executed.ratio",
        1.0 * [sm.thread_instructions] / [sm.warp_instructions];
    /// Cycles in which an SM has a CTA.
    sm.active_cycles_mean: "core cycles" = "sm__cycles_active.avg",
        1.0 * [sm.active_cycles] * [gpu.cycles] / [gpu.sm_cycles];
    /// Warps on an SM that has a CTA, of those that it can hold.
    sm.occupancy: "%" = "sm__warps_active.avg.pct_of_peak_sustained_active",
        100.0 * [sm.warp_cycles] * [gpu.sm_cycles] / [sm.active_cycles] * [gpu.warp_slot_cycles];
    /// Issue slots with an instruction, of all issue slots of SMs that have a CTA, whatever the issue width.
    issue.utilisation: "%" = "smsp__issue_active.avg.pct_of_peak_sustained_active",
        100.0 * [issue.issued] / [issue.issued, issue.scoreboard, issue.long_scoreboard, issue.instruction_fetch,
                                  issue.unit_busy, issue.operand_conflict, issue.barrier, issue.memory_throttle,
                                  issue.sleep, issue.idle];
    /// Sectors of a load of global memory.
    coalescer.sectors_per_global_load: "sectors per request" = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
        1.0 * [coalescer.global_load_sectors] / [coalescer.global_load_requests];
    /// Sectors of a store to global memory.
    coalescer.sectors_per_global_store: "sectors per request" = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio",
        1.0 * [coalescer.global_store_sectors] / [coalescer.global_store_requests];
    /// Requests to L1.
    l1.requests: "requests" = "l1tex__t_requests.sum",
        1.0 * [coalescer.global_load_requests, coalescer.global_store_requests, coalescer.local_load_requests,
               coalescer.local_store_requests, coalescer.atomic_requests, coalescer.reduction_requests,
               coalescer.texture_requests];
    /// Sectors in L1 that loads find there or on their way, and that stores write to lines that are there, of those of loads and stores.
    /// On HyFiSS's GV100 stores of `needle` hit in lines of which it has read another part, and in no others; those of `dynproc` hit in lines
    /// that were only written too, which L1 does not keep here.
    l1.hit_rate: "%" = "l1tex__t_sector_hit_rate.pct",
        100.0 * [l1.load_sector_hits, l1.load_sectors_merged, l1.store_sector_hits] / [l1.load_sectors, l1.store_sectors];
    /// Sectors in L1 that loads find there or on their way, of those that they look up. On HyFiSS's GV100 what 2DConvolution and atax
    /// miss is what is asked of L2; dynproc, bpnn and b+tree miss a few per cent less.
    l1.load_hit_rate: "%" = "l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct",
        100.0 * [l1.load_sector_hits, l1.load_sectors_merged] / [l1.load_sectors];
    /// Lines in L1 whose tag loads find there.
    l1.load_line_hit_rate: "%" = "",
        100.0 * [l1.load_line_hits] / [l1.load_lines];
    /// Sectors that L1 reads from L2.
    l1.sectors_read_from_l2: "sectors" = "l1tex__m_xbar2l1tex_read_sectors_mem_lg_op_ld.sum",
        1.0 * [l1.sectors_fetched, l1.load_sectors_bypassed];
    /// Sectors that L1 writes to L2.
    l1.sectors_written_to_l2: "sectors" = "l1tex__m_l1tex2xbar_write_sectors_mem_lg_op_st.sum",
        1.0 * [l1.store_sectors];
    /// Requests of L1 to L2.
    l1.requests_to_l2: "requests" = "lts__t_requests_srcunit_tex.sum",
        1.0 * [memory_pipeline.requests_sent];
    /// Lines on their way to an SM that has some.
    l1.mean_misses: "lines" = "",
        1.0 * [l1.miss_occupancy] / [l1.miss_cycles];
    /// Of loads of which all is in L1, from the address stage to the write-back latch.
    l1.mean_load_hit_latency: "core cycles" = "",
        1.0 * [l1.load_hit_latency] / [l1.load_hits];
    /// Of loads that wait for L2, and for no translation.
    l1.mean_load_miss_latency: "core cycles" = "",
        1.0 * [l1.load_miss_latency] / [l1.load_misses];
    /// Of loads that wait for the L1 TLB and for L2.
    l1.mean_load_tlb_wait_latency: "core cycles" = "",
        1.0 * [l1.load_tlb_wait_latency] / [l1.load_tlb_waits];
    /// Passes of L1 for an access of global or local memory.
    l1.passes_per_request: "passes per request" = "",
        1.0 * [l1.passes]
            / [coalescer.global_load_requests, coalescer.global_store_requests, coalescer.local_load_requests,
               coalescer.local_store_requests, coalescer.atomic_requests, coalescer.reduction_requests];
    /// Passes that conflicts of banks add, of L1 and of shared memory.
    l1.bank_conflicts: "passes" = "l1tex__data_bank_conflicts_pipe_lsu.sum",
        1.0 * [l1.load_conflicts, l1.store_conflicts, l1.atomic_conflicts, shared.load_conflicts, shared.store_conflicts,
               shared.atomic_conflicts];
    /// Passes of shared memory for a request.
    shared.passes_per_request: "passes per request" = "",
        1.0 * [shared.passes] / [shared.load_requests, shared.store_requests, shared.atomic_requests];
    /// From a request of an SM to its reply.
    memory.mean_latency: "core cycles" = "",
        1.0 * [memory.latency] / [memory.replies];
    /// Sectors in L2 that were there, on their way, or are written. That profilers count these as hits is inferred from HyFiSS's GV100: its
    /// rates come out to a point or two then, apart from parameters, which are not counted here.
    l2.hit_rate: "%" = "lts__t_sector_hit_rate.pct",
        100.0 * [l2.read_hits, l2.pending_hits, l2.sectors_written, l2.atomic_hits, l2.reduction_hits] / [l2.hits, l2.misses];
    /// Sectors read in L2 that were there.
    l2.read_hit_rate: "%" = "lts__t_sector_op_read_hit_rate.pct",
        100.0 * [l2.read_hits] / [l2.sectors_read];
    /// MSHRs that are used of a slice that uses some.
    l2.mean_mshrs: "sectors" = "",
        1.0 * [l2.mshr_occupancy] / [l2.mshr_cycles];
    /// From a request's arrival at its slice to its reply, of those that do not wait for DRAM.
    l2.mean_hit_latency: "L2 cycles" = "",
        1.0 * [l2.hit_latency] / [l2.request_hits];
    /// The same, of those that wait for DRAM.
    l2.mean_miss_latency: "L2 cycles" = "",
        1.0 * [l2.miss_latency] / [l2.request_misses];
    /// Sectors that SMs read of global and local memory, textures and surfaces.
    l2.sm_reads: "sectors" = "lts__t_sectors_srcunit_tex_op_read.sum",
        1.0 * [l2.global_reads, l2.local_reads, l2.texture_reads];
    /// Sectors that they write.
    l2.sm_writes: "sectors" = "lts__t_sectors_srcunit_tex_op_write.sum",
        1.0 * [l2.global_writes, l2.local_writes, l2.texture_writes];
    /// Of the sectors that they read, those that were there.
    l2.sm_read_hits: "sectors" = "lts__t_sectors_srcunit_tex_op_read_lookup_hit.sum",
        1.0 * [l2.global_read_hits, l2.local_read_hits, l2.texture_read_hits];
    /// Cycles in which tags of L2 are used.
    l2.utilisation: "%" = "lts__t_sectors.avg.pct_of_peak_sustained_elapsed",
        100.0 * [l2.tag_cycles] / [gpu.l2_cycles];
    /// Bytes through L2.
    l2.bandwidth: "GB/s" = "",
        32.0 * [l2.hits, l2.misses] / [gpu.nanoseconds];
    /// Sectors of DRAM.
    dram.sectors: "sectors" = "dram__sectors.sum",
        1.0 * [dram.reads, dram.writes];
    /// Bytes from and to DRAM.
    dram.bandwidth: "GB/s" = "dram__bytes.sum.per_second",
        32.0 * [dram.reads, dram.writes] / [gpu.nanoseconds];
    /// Cycles in which data is on the bus.
    dram.utilisation: "%" = "dram__throughput.avg.pct_of_peak_sustained_elapsed",
        100.0 * [dram.bus_cycles] / [gpu.dram_cycles];
    /// The same, of those in which there is something to do.
    dram.efficiency: "%" = "",
        100.0 * [dram.bus_cycles] / [dram.busy_cycles];
    /// From a read's coming to a channel to the end of its data.
    dram.mean_read_latency: "DRAM cycles" = "",
        1.0 * [dram.read_latency] / [dram.read_requests];
    /// Reads whose row is open.
    dram.read_row_hit_rate: "%" = "",
        100.0 * [dram.read_row_hits] / [dram.reads];
};
