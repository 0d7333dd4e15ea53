//! Conservation rules, checked after each launch.

use std::fmt;

use super::Totals;
use crate::dram::{BankCounts, ChannelCounts};
use crate::fidelity::{Dram, FidelitySpec, Interconnect, L2};
use crate::message::{RequestKind, Requester};
use crate::statistics::Counter;

/// A violated rule: two counts that should be equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Imbalance {
    /// Left expression.
    pub left: &'static str,
    /// Value of the left expression.
    pub left_value: u64,
    /// Right expression.
    pub right: &'static str,
    /// Value of the right expression.
    pub right_value: u64,
}

impl Imbalance {
    /// The points of a series do not add up to the counter.
    pub(super) fn of_series(counter: &'static Counter, count: u64, sum: u64) -> Imbalance {
        Imbalance { left: counter.name, left_value: count, right: "the sum of its series", right_value: sum }
    }

    /// The counts by program counter do not add up to a counter.
    pub(super) fn of_pcs(left: &'static str, left_value: u64, right_value: u64) -> Imbalance {
        Imbalance { left, left_value, right: "the sum by program counter", right_value }
    }
}

impl fmt::Display for Imbalance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Imbalance { left, left_value, right, right_value } = self;
        write!(f, "{left} = {left_value}, but {right} = {right_value}")
    }
}

/// Fidelities under which a rule holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    Always,
    /// Unless the L2 is ideal.
    WithL2,
    /// With a crossbar in cycles.
    WithCrossbar,
    /// With DRAM in cycles.
    WithDram,
}

impl Holds {
    fn under(self, fidelity: &FidelitySpec) -> bool {
        let has_l2 = fidelity.l2 != L2::Ideal;
        match self {
            Holds::Always => true,
            Holds::WithL2 => has_l2,
            Holds::WithCrossbar => fidelity.interconnect == Interconnect::Detailed,
            Holds::WithDram => has_l2 && fidelity.dram == Dram::Detailed,
        }
    }
}

/// Declares the conservation rules, each after the fidelities under which it holds.
macro_rules! rules {
    ($totals:pat, $($holds:ident: $left:expr => $right:expr;)*) => {
        /// Both sides of every rule, with its fidelities.
        fn rules($totals: &Totals) -> impl Iterator<Item = (Holds, Imbalance)> {
            [$((Holds::$holds, Imbalance {
                left: stringify!($left),
                left_value: $left,
                right: stringify!($right),
                right_value: $right,
            }),)*]
            .into_iter()
        }
    };
}

rules! {
    Totals { gpu, sm, memory, crossbar, l2, dram, channels, power: _ },
    Always: gpu.ctas_ended => gpu.ctas_started;
    Always: sm.activity.ctas => gpu.ctas_started;
    Always: sm.memory.l1.load_hits.count() + sm.memory.l1.load_misses.count() + sm.memory.l1.load_tlb_waits.count()
        => sm.memory.l1.loads;
    Always: sm.memory.l1.load_sector_hits + sm.memory.l1.load_sectors_merged + sm.memory.l1.load_sector_misses
        => sm.memory.l1.load_sectors;
    Always: sm.memory.pipeline.replies => sm.memory.pipeline.requests_sent;
    Always: gpu.copy_replies => gpu.copy_requests;
    Always: sm.memory.pipeline.requests_sent + sm.front_end.l2_lines + gpu.copy_requests => memory.requests;
    Always: sm.memory.constant.hits + sm.memory.constant.misses => sm.memory.constant.requests;
    Always: sm.memory.tlb.hits + sm.memory.tlb.misses + sm.memory.tlb.merged => sm.memory.tlb.requests;
    Always: sm.memory.constant.lines => sm.front_end.constant_lines;
    WithL2: 4 * sm.front_end.constant_l2_lines => l2.sectors_constant;
    WithL2: 4 * sm.front_end.l2_lines => l2.sectors_constant + l2.sectors_instruction;
    Always: memory.replies.count() => memory.requests;
    WithCrossbar: crossbar.request_packets => memory.requests;
    WithCrossbar: crossbar.reply_packets => memory.replies.count();
    WithL2: l2.requests => memory.requests;
    WithL2: l2.request_hits.count() + l2.request_misses.count() => l2.requests;
    WithL2: l2.tag_hits + l2.tag_misses => l2.requests;
    WithL2: l2.hits + l2.misses
        => l2.sectors_read + l2.sectors_written + l2.sectors_atomic + l2.sectors_reduction;
    WithL2: l2.sectors_global + l2.sectors_local + l2.sectors_texture + l2.sectors_constant
        + l2.sectors_instruction + l2.sectors_copy
        => l2.hits + l2.misses;
    WithL2: sm.memory.l1.sectors_fetched + sm.memory.l1.load_sectors_bypassed + l2.sectors_constant
        + l2.sectors_instruction + gpu.copy_sectors_read
        => l2.sectors_read;
    WithL2: sm.memory.l1.store_sectors + gpu.copy_sectors_written => l2.sectors_written;
    WithL2: l2.sources.of(Requester::Copy, RequestKind::Read).sectors => gpu.copy_sectors_read;
    WithL2: l2.sources.of(Requester::Copy, RequestKind::Write).sectors => gpu.copy_sectors_written;
    WithL2: dram.reads + dram.forwarded => l2.fetches;
    WithDram: dram.read_latencies.count() => l2.fetches;
    WithL2: dram.writes => l2.write_backs;
    WithDram: dram.read_row_hits + dram.read_row_misses => dram.reads;
    WithDram: dram.write_row_hits + dram.write_row_misses => dram.writes;
    WithDram: of_banks(channels, |bank| bank.reads) => dram.reads;
    WithDram: of_banks(channels, |bank| bank.writes) => dram.writes;
    WithDram: of_banks(channels, |bank| bank.row_hits) => dram.read_row_hits + dram.write_row_hits;
    WithDram: of_banks(channels, |bank| bank.activates) => dram.activates;
}

fn of_banks(channels: &[ChannelCounts], of_bank: impl Fn(&BankCounts) -> u64) -> u64 {
    channels.iter().flat_map(|channel| &channel.banks).map(of_bank).sum()
}

/// Checks an idle GPU and returns the first violated rule of the units that are modelled.
pub(super) fn check(totals: &Totals, fidelity: &FidelitySpec) -> Result<(), Imbalance> {
    let held = rules(totals).filter(|(holds, _)| holds.under(fidelity)).map(|(_, rule)| rule);
    held.into_iter().find(|rule| rule.left_value != rule.right_value).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fidelity::Mode;

    /// Faults: each counts one event once too often.
    const FAULTS: &[fn(&mut Totals)] = &[
        |t| t.gpu.ctas_ended += 1,
        |t| t.sm.activity.ctas += 1,
        |t| t.sm.memory.l1.loads += 1,
        |t| t.sm.memory.l1.load_sectors += 1,
        |t| t.sm.memory.pipeline.replies += 1,
        |t| t.gpu.copy_replies += 1,
        |t| t.sm.front_end.l2_lines += 1,
        |t| t.sm.memory.constant.hits += 1,
        |t| t.sm.memory.tlb.hits += 1,
        |t| t.sm.memory.constant.lines += 1,
        |t| t.l2.sectors_constant += 1,
        |t| t.l2.sectors_instruction += 1,
        |t| t.memory.replies.add_one(1),
        |t| t.crossbar.request_packets += 1,
        |t| t.crossbar.reply_packets += 1,
        |t| t.l2.requests += 1,
        |t| t.l2.request_hits.add_one(1),
        |t| t.l2.tag_hits += 1,
        |t| t.l2.misses += 1,
        |t| t.l2.sectors_local += 1,
        |t| t.sm.memory.l1.sectors_fetched += 1,
        |t| t.sm.memory.l1.store_sectors += 1,
        |t| t.gpu.copy_sectors_read += 1,
        |t| t.gpu.copy_sectors_written += 1,
        |t| t.l2.fetches += 1,
        |t| t.dram.read_latencies.add_one(1),
        |t| t.l2.write_backs += 1,
        |t| t.dram.read_row_hits += 1,
        |t| t.dram.write_row_hits += 1,
        |t| t.dram.reads += 1,
        |t| t.dram.writes += 1,
        |t| t.dram.read_row_hits += 1,
        |t| t.dram.activates += 1,
    ];

    #[test]
    fn every_rule_detects_its_own_fault() {
        for (number, (_, rule)) in rules(&Totals::default()).enumerate() {
            let mut totals = Totals::default();
            FAULTS[number](&mut totals);
            let all = rules(&totals).map(|(_, rule)| rule);
            let broken: Vec<_> = all.filter(|rule| rule.left_value != rule.right_value).collect();
            assert!(broken.iter().any(|other| other.left == rule.left), "{}", rule.left);
        }
    }

    #[test]
    fn imbalance_names_both_sides_and_values() {
        let mut totals = Totals::default();
        totals.dram.writes = 7;
        totals.dram.write_row_hits = 7;
        let detailed = Mode::named("detailed").unwrap().fidelity().unwrap();
        let text = check(&totals, &detailed).unwrap_err().to_string();
        assert_eq!(text, "dram.writes = 7, but l2.write_backs = 0");
    }
}
