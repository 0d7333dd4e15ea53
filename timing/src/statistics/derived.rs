//! What counters give beside themselves: rates, shares, means, and the profiler's metrics that are sums.

use super::Ratio;

/// Declares ratios: `section.name: unit = metric, scale * numerator / denominator`.
macro_rules! ratios {
    ($($(#[doc = $meaning:literal])* $section:ident.$name:ident: $unit:literal = $metric:literal,
       $scale:literal * [$($numerator:ident.$over:ident),+] / [$($denominator:ident.$under:ident),*];)*) => {
        &[$(Ratio {
            section: stringify!($section),
            name: stringify!($name),
            meaning: concat!($($meaning),*).trim_ascii(),
            unit: $unit,
            metric: $metric,
            scale: $scale,
            numerator: &[$(concat!(stringify!($numerator), ".", stringify!($over))),+],
            denominator: &[$(concat!(stringify!($denominator), ".", stringify!($under))),*],
        },)*]
    };
}

/// All of them.
pub const DERIVED: &[Ratio] = ratios! {
    /// Warp instructions in a cycle of the GPU.
    gpu.ipc: "instructions per core cycle" = "", 1.0 * [sm.instructions] / [gpu.cycles];
    /// Sectors of loads in L1 that were there or on their way.
    l1.load_hit_rate: "%" = "l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct",
        100.0 * [l1.load_sector_hits, l1.load_sectors_merged] / [l1.load_sectors];
    /// Sectors in L2 that were there.
    l2.hit_rate: "%" = "lts__t_sector_hit_rate.pct", 100.0 * [l2.hits] / [l2.hits, l2.misses];
};
