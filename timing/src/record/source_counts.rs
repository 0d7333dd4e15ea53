//! Counts of launches by program counter.

use serde::{Deserialize, Serialize};
use warp_stream::{MachineCode, OperationClass};

use crate::sm::memory::SECTORS;
use crate::sm::{IssueCounters, PcCounts, STALLS};
use crate::statistics::{Counter, Counters, Counts};

/// Counts of a launch by program counter.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SourceCounts {
    /// Number of the listing of the launch's code, if there is one.
    pub listing: Option<u64>,
    /// Instructions with counts, by address.
    pub rows: Vec<PcRow>,
}

/// An instruction with its counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PcRow {
    /// Bytes from the start of the kernel's code.
    pub address: u32,
    /// Line of the PTX text, from 1; 0 if unknown.
    pub line: u32,
    /// Operation class.
    pub class: OperationClass,
    /// Counts.
    pub counts: PcCounts,
}

impl SourceCounts {
    /// The counts of a launch by position in its code.
    pub(crate) fn new(code: &MachineCode, counts: &[PcCounts]) -> SourceCounts {
        let rows = code.instructions.iter().zip(counts);
        let rows = rows.filter(|(_, counts)| **counts != PcCounts::default());
        let row = |(instruction, counts): (&warp_stream::MachineInstruction, &PcCounts)| PcRow {
            address: instruction.address,
            line: instruction.line,
            class: instruction.class,
            counts: *counts,
        };
        SourceCounts { listing: None, rows: rows.map(row).collect() }
    }

    /// The first counter that the counts do not add up to, with its value and their sum. Counters
    /// that the run does not model are left out.
    pub fn imbalance(&self, counters: &Counts) -> Option<(&'static str, u64, u64)> {
        let mut sum = PcCounts::default();
        self.rows.iter().for_each(|row| sum.add(&row.counts));
        let of = |names: &[(&str, &str)]| {
            let named = |counter: &Counter| names.contains(&(counter.section, counter.name));
            counters.iter().filter(|(counter, _)| named(counter)).map(|(_, value)| value).sum::<u64>()
        };
        let conflicts = |section| {
            [(section, "load_conflicts"), (section, "store_conflicts"), (section, "atomic_conflicts")]
        };
        let sums = [
            ("sm.warp_instructions", of(&[("sm", "warp_instructions")]), sum.warp_instructions),
            ("sm.thread_instructions", of(&[("sm", "thread_instructions")]), sum.thread_instructions),
            ("the sectors of the coalescer", of(&SECTORS), sum.sectors),
            ("the conflicts of shared memory", of(&conflicts("shared")), sum.shared_conflicts),
            ("the conflicts of L1", of(&conflicts("l1")), sum.l1_conflicts),
        ];
        let stalls = stalls().into_iter().zip(sum.stalls);
        let stalls = stalls.map(|(counter, sum)| (counter.name, of(&[(counter.section, counter.name)]), sum));
        sums.into_iter().chain(stalls).find(|(_, count, sum)| count != sum)
    }
}

/// Counters of empty issue slots that belong to an instruction, in their order.
pub fn stalls() -> Vec<&'static Counter> {
    let mut counters = Vec::new();
    IssueCounters::default().each(&mut |counter, _| counters.push(counter));
    counters.into_iter().skip(1).take(STALLS).collect()
}
