//! Checks after each launch that what was counted adds up.

use std::fmt;

use super::Totals;

/// Two counts that should be equal.
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

/// Declares what has to be equal.
macro_rules! rules {
    ($totals:ident; $($left:expr => $right:expr;)*) => {
        /// Both sides of all rules.
        fn rules($totals: &Totals) -> impl Iterator<Item = Imbalance> {
            [$(Imbalance {
                left: stringify!($left),
                left_value: $left,
                right: stringify!($right),
                right_value: $right,
            },)*]
            .into_iter()
        }
    };
}

rules! {
    t;
    t.gpu.ctas_ended => t.gpu.ctas_started;
    t.sm.activity.ctas => t.gpu.ctas_started;
    t.sm.memory.l1.load_sector_hits + t.sm.memory.l1.load_sectors_merged + t.sm.memory.l1.load_sector_misses
        => t.sm.memory.l1.load_sectors;
    t.sm.memory.pipeline.replies => t.sm.memory.pipeline.requests_sent;
    t.gpu.copy_replies => t.gpu.copy_requests;
    t.sm.memory.pipeline.requests_sent + t.sm.front_end.l2_lines + t.gpu.copy_requests => t.memory.requests;
    t.memory.replies => t.memory.requests;
    t.crossbar.request_packets => t.memory.requests;
    t.crossbar.reply_packets => t.memory.replies;
    t.l2.requests => t.memory.requests;
    t.l2.tag_hits + t.l2.tag_misses => t.l2.requests;
    t.l2.hits + t.l2.misses
        => t.l2.sectors_read + t.l2.sectors_written + t.l2.sectors_atomic + t.l2.sectors_reduction;
    t.l2.sectors_global + t.l2.sectors_local + t.l2.sectors_texture + t.l2.sectors_constant
        + t.l2.sectors_instruction + t.l2.sectors_copy
        => t.l2.hits + t.l2.misses;
    t.sm.memory.l1.sectors_fetched + t.sm.memory.l1.load_sectors_bypassed + t.l2.sectors_constant
        + t.l2.sectors_instruction + t.gpu.copy_sectors_read
        => t.l2.sectors_read;
    t.sm.memory.l1.store_sectors + t.gpu.copy_sectors_written => t.l2.sectors_written;
    t.dram.reads + t.dram.forwarded => t.l2.fetches;
    t.dram.writes => t.l2.write_backs;
    t.dram.read_row_hits + t.dram.read_row_misses => t.dram.reads;
    t.dram.write_row_hits + t.dram.write_row_misses => t.dram.writes;
}

/// The first rule that does not hold in a GPU that is idle.
pub(super) fn check(totals: &Totals) -> Result<(), Imbalance> {
    rules(totals).find(|rule| rule.left_value != rule.right_value).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A counter that was counted once too often.
    const FAULTS: &[fn(&mut Totals)] = &[
        |t| t.gpu.ctas_ended += 1,
        |t| t.sm.activity.ctas += 1,
        |t| t.sm.memory.l1.load_sectors += 1,
        |t| t.sm.memory.pipeline.replies += 1,
        |t| t.gpu.copy_replies += 1,
        |t| t.sm.front_end.l2_lines += 1,
        |t| t.memory.replies += 1,
        |t| t.crossbar.request_packets += 1,
        |t| t.crossbar.reply_packets += 1,
        |t| t.l2.requests += 1,
        |t| t.l2.tag_hits += 1,
        |t| t.l2.misses += 1,
        |t| t.l2.sectors_local += 1,
        |t| t.sm.memory.l1.sectors_fetched += 1,
        |t| t.sm.memory.l1.store_sectors += 1,
        |t| t.l2.fetches += 1,
        |t| t.l2.write_backs += 1,
        |t| t.dram.read_row_hits += 1,
        |t| t.dram.write_row_hits += 1,
    ];

    #[test]
    fn every_rule_finds_a_fault_that_is_its_own() {
        for (number, rule) in rules(&Totals::default()).enumerate() {
            let mut totals = Totals::default();
            FAULTS[number](&mut totals);
            let broken: Vec<_> = rules(&totals).filter(|rule| rule.left_value != rule.right_value).collect();
            assert!(broken.iter().any(|other| other.left == rule.left), "{}", rule.left);
        }
    }

    #[test]
    fn an_imbalance_names_both_sides_with_their_values() {
        let mut totals = Totals::default();
        totals.dram.writes = 7;
        totals.dram.write_row_hits = 7;
        let text = check(&totals).unwrap_err().to_string();
        assert_eq!(text, "t.dram.writes = 7, but t.l2.write_backs = 0");
    }
}
