//! Checks after each launch that what was counted adds up.

use std::fmt;

use super::Totals;

/// Two counts that should be equal and are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Imbalance {
    /// What was counted on one side.
    pub left: &'static str,
    /// Its value.
    pub left_value: u64,
    /// What was counted on the other side.
    pub right: &'static str,
    /// Its value.
    pub right_value: u64,
}

impl fmt::Display for Imbalance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Imbalance { left, left_value, right, right_value } = self;
        write!(f, "{left} = {left_value}, but {right} = {right_value}")
    }
}

/// The rules that do not hold.
macro_rules! imbalances {
    ($($left:expr => $right:expr;)*) => {
        [$(Imbalance {
            left: stringify!($left),
            left_value: $left,
            right: stringify!($right),
            right_value: $right,
        },)*]
    };
}

/// What does not add up in a GPU that is idle.
pub(super) fn check(totals: &Totals) -> Result<(), Imbalance> {
    let Totals { gpu, sm, memory, crossbar, l2, dram } = totals;
    let (l1, lsu, coalescer) = (&sm.memory.l1, &sm.memory.pipeline, &sm.memory.coalescer);
    let rules = imbalances! {
        gpu.ctas_ended => gpu.ctas_started;
        l1.load_sector_hits + l1.load_sectors_merged + l1.load_sector_misses => l1.load_sectors;
        lsu.replies + gpu.copy_replies => memory.replies;
        lsu.requests_sent + gpu.copy_requests => memory.requests;
        memory.replies => memory.requests;
        crossbar.request_packets => memory.requests;
        crossbar.reply_packets => memory.replies;
        l2.requests => memory.requests;
        l2.tag_hits + l2.tag_misses => l2.requests;
        l2.hits + l2.misses => l2.sectors_read + l2.sectors_written + l2.sectors_atomic + l2.sectors_reduction;
        dram.reads + dram.forwarded => l2.fetches;
        dram.writes => l2.write_backs;
        dram.read_row_hits + dram.read_row_misses => dram.reads;
        dram.write_row_hits + dram.write_row_misses => dram.writes;
    };
    let _ = coalescer;
    rules.into_iter().find(|rule| rule.left_value != rule.right_value).map_or(Ok(()), Err)
}
