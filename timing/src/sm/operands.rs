//! Register file of a sub-core: operand collectors and bank ports.
//!
//! An instruction holds a collector from the cycle after issue until its unit accepts it, and reads
//! operands as ports become free. Writes compete for ports only with other writes: each bank
//! accepts as many results a cycle as it has ports (Huerta et al., section 2.2). Ports are reserved
//! cycles ahead in issue order.

use std::hint::cold_path;

use serde::{Deserialize, Serialize};
use warp_stream::host_cache::read_all;

use crate::gpu_file::{Document, SpecificationError};
use crate::restore::{Validity, ensure, near};

/// Most banks, the size of [`BankCounts`].
const MAXIMUM_BANKS: u32 = 8;

/// Reservation horizon in cycles.
const HORIZON: u64 = 64;

/// Highest bit of every count.
const TOP: u64 = 0x8080_8080_8080_8080;

/// One in every count.
const ONES: u64 = 0x0101_0101_0101_0101;

crate::specification! {
    /// Register file and operand collectors of a sub-core.
    pub struct OperandSpec in "operands" {
        /// Register banks; the register number selects one.
        banks: u32 ["banks"],
        /// Read ports of a bank, and as many write ports.
        ports: u32 ["registers per core cycle"],
        /// Operand collectors.
        collectors: u32 ["instructions"],
        /// Operands of an instruction are kept for the next instruction of its warp.
        reuse: bool [""],
    }
}

impl OperandSpec {
    pub(crate) fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        let wrong = |name, reason| Err(document.wrong("operands", name, reason));
        if !(1..=MAXIMUM_BANKS).contains(&self.banks) {
            return wrong("banks", "must be 1 to 8");
        }
        if !(1..=64).contains(&self.ports) {
            return wrong("ports", "must be 1 to 64");
        }
        if !(1..=64).contains(&self.collectors) {
            return wrong("collectors", "must be 1 to 64");
        }
        Ok(())
    }

    /// The bank of a register.
    pub fn bank(&self, register: u16) -> u32 {
        u32::from(register) % self.banks
    }
}

crate::counters! {
    /// Register file of sub-cores.
    pub struct OperandCounters in "operands" {
        /// Registers read.
        reads: "registers" = "",
        /// Registers reused from the previous instruction.
        reused: "registers" = "",
        /// Registers written.
        writes: "registers" = "",
        /// Cycles added to instructions because read ports are busy.
        read_conflicts: "cycles" = "",
        /// Cycles that results wait because bus slots or write ports are busy.
        write_conflicts: "cycles" = "",
    }
}

/// Register counts by bank, one byte each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BankCounts(u64);

impl BankCounts {
    /// Increments a bank's count, up to 127.
    pub fn count(&mut self, bank: u32) {
        let shift = 8 * (bank % MAXIMUM_BANKS);
        if self.0 >> shift & 0x7f < 0x7f {
            self.0 += 1 << shift;
        }
    }

    /// Sum over all banks, below 256.
    pub fn total(self) -> u64 {
        self.0.wrapping_mul(ONES) >> 56
    }

    /// Largest count of a bank.
    pub fn most(self) -> u32 {
        self.0.to_le_bytes().into_iter().max().map_or(0, u32::from)
    }

    /// Difference to counts that are included in these.
    pub fn without(self, other: BankCounts) -> BankCounts {
        BankCounts(self.0 - other.0)
    }

    /// Tells whether `counts` more fit; `slack` holds 127 minus the ports in each byte.
    fn leaves(self, counts: BankCounts, slack: u64) -> bool {
        (self.0 + counts.0 + slack) & TOP == 0
    }

    fn is_zero(self) -> bool {
        self.0 == 0
    }
}

/// Reservations for a cycle, kept small because each epoch uses those of all SMs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Reserved {
    /// Read ports in use.
    reads: BankCounts,
    /// Write ports in use.
    writes: BankCounts,
    /// Low bits of the cycle divided by [`HORIZON`]; the index gives the remainder.
    round: u32,
    /// Result bus slots in use.
    results: u16,
}

/// Reservations of ports and result bus slots for the next cycles.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ports {
    reserved: Vec<Reserved>,
    /// 127 minus the ports of a bank, in every byte.
    slack: u64,
    ports: u8,
}

impl Ports {
    /// An unused register file.
    pub fn new(spec: &OperandSpec) -> Ports {
        let ports = spec.ports.min(64) as u8;
        Ports {
            reserved: vec![Reserved::default(); HORIZON as usize],
            slack: ONES * u64::from(0x7f - ports),
            ports,
        }
    }

    /// Checks restored reservations at a cycle.
    pub fn check(&self, spec: &OperandSpec, now: u64) -> Validity {
        let Ports { reserved, slack, ports } = Ports::new(spec);
        let same = (reserved.len(), slack, ports) == (self.reserved.len(), self.slack, self.ports);
        ensure(same, "the ports of the register file differ")?;
        let few = |counts: BankCounts| counts.0.to_le_bytes().iter().all(|count| *count <= ports);
        let cycle = |reserved: &Reserved| u64::from(reserved.round) * HORIZON;
        let fine =
            |reserved: &Reserved| few(reserved.reads) && few(reserved.writes) && near(cycle(reserved), now);
        ensure(self.reserved.iter().all(fine), "too many ports are in use")
    }

    /// Prefetches the host's cache lines.
    pub fn prefetch_host(&self) {
        read_all(&self.reserved);
    }

    fn at(&mut self, cycle: u64) -> &mut Reserved {
        let (reserved, round) = (&mut self.reserved[(cycle % HORIZON) as usize], (cycle / HORIZON) as u32);
        if reserved.round != round {
            *reserved = Reserved { round, ..Reserved::default() };
        }
        reserved
    }

    /// Reserves operand reads from a cycle on, and returns the last cycle.
    #[inline(always)]
    pub fn read(&mut self, start: u64, counts: BankCounts) -> u64 {
        self.spread(start, counts, |reserved| &mut reserved.reads)
    }

    /// Reserves result writes from a cycle on, and returns the last cycle.
    #[inline(always)]
    pub fn write(&mut self, start: u64, counts: BankCounts) -> u64 {
        self.spread(start, counts, |reserved| &mut reserved.writes)
    }

    #[inline(always)]
    fn spread(
        &mut self,
        start: u64,
        counts: BankCounts,
        of: impl Fn(&mut Reserved) -> &mut BankCounts,
    ) -> u64 {
        if counts.is_zero() {
            return start;
        }
        let slack = self.slack;
        let used = of(self.at(start));
        if used.leaves(counts, slack) {
            used.0 += counts.0;
            return start;
        }
        self.spread_later(start, counts, of)
    }

    /// Slow path for too few free ports in the first cycle.
    #[cold]
    fn spread_later(
        &mut self,
        start: u64,
        counts: BankCounts,
        of: impl Fn(&mut Reserved) -> &mut BankCounts,
    ) -> u64 {
        let mut left = counts.0.to_le_bytes();
        let mut cycle = start;
        loop {
            let ports = self.ports;
            let used = of(self.at(cycle));
            let mut counts = used.0.to_le_bytes();
            for (left, used) in left.iter_mut().zip(&mut counts) {
                let now = (*left).min(ports.saturating_sub(*used));
                *left -= now;
                *used += now;
            }
            used.0 = u64::from_le_bytes(counts);
            if left == [0; 8] || cycle - start >= HORIZON / 4 {
                return cycle;
            }
            cycle += 1;
        }
    }

    /// Reserves a result bus slot at a cycle, out of `slots`, and write ports for `ports`, if free.
    /// Without `ports`, only the slot.
    #[inline(always)]
    pub fn take_result(&mut self, cycle: u64, slots: u32, ports: Option<BankCounts>) -> bool {
        // A result that needs more ports than exist takes all of them once.
        let ports = ports.map_or(BankCounts::default(), |counts| self.capped(counts));
        let slack = self.slack;
        let reserved = self.at(cycle);
        if u32::from(reserved.results) >= slots || !reserved.writes.leaves(ports, slack) {
            return false;
        }
        reserved.results = reserved.results.saturating_add(1);
        reserved.writes.0 += ports.0;
        true
    }

    fn capped(&self, counts: BankCounts) -> BankCounts {
        if (counts.0 + self.slack) & TOP == 0 {
            return counts;
        }
        cold_path();
        BankCounts(u64::from_le_bytes(counts.0.to_le_bytes().map(|count| count.min(self.ports))))
    }
}

/// Release cycles of a sub-core's operand collectors.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Collectors {
    /// Sorted release cycles.
    free: Vec<u64>,
    /// The earliest release cycle, cached.
    first: u64,
}

impl Collectors {
    /// Collectors that are all free.
    pub fn new(spec: &OperandSpec) -> Collectors {
        Collectors { free: vec![0; spec.collectors as usize], first: 0 }
    }

    /// Restores collectors at a cycle.
    ///
    /// # Errors
    /// The state is invalid.
    pub fn restore(&mut self, spec: &OperandSpec, now: u64) -> Validity {
        self.free.sort_unstable();
        ensure(self.free.len() == spec.collectors as usize, "the number of operand collectors differs")?;
        ensure(self.free.first() == Some(&self.first), "the earliest operand collector differs")?;
        ensure(self.free.iter().all(|free| near(*free, now)), "an operand collector is busy for too long")
    }

    /// Earliest release in core cycles.
    pub fn next_free(&self) -> u64 {
        self.first
    }

    /// Occupies the earliest collector until a cycle (exclusive).
    pub fn take(&mut self, until: u64) {
        let mut place = 0;
        while let Some(next) = self.free.get(place + 1).copied().filter(|next| *next < until) {
            self.free[place] = next;
            place += 1;
        }
        self.free[place] = until;
        self.first = self.free[0];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ports() -> Ports {
        Ports::new(&OperandSpec { banks: 2, ports: 2, collectors: 2, reuse: false })
    }

    fn counts(banks: [u32; 2]) -> BankCounts {
        let mut counts = BankCounts::default();
        for (bank, count) in (0..).zip(banks) {
            (0..count).for_each(|_| counts.count(bank));
        }
        counts
    }

    #[test]
    fn bank_reads_a_register_per_port_and_cycle() {
        assert_eq!(ports().read(10, counts([2, 2])), 10);
        assert_eq!(ports().read(10, counts([3, 0])), 11);
        assert_eq!(ports().read(10, counts([0, 5])), 12);
    }

    #[test]
    fn later_reads_use_the_remaining_ports() {
        let mut ports = ports();
        ports.read(10, counts([1, 2]));
        assert_eq!(ports.read(10, counts([1, 0])), 10);
        assert_eq!(ports.read(10, counts([1, 1])), 11);
    }

    #[test]
    fn operand_reads_stream_at_the_port_rate() {
        for each in 1..=4 {
            let mut ports = ports();
            let ends: Vec<_> = (0..8).map(|_| ports.read(10, counts([each, 0]))).collect();
            let last_of = |instruction: u32| 10 + u64::from((instruction * each).div_ceil(2)) - 1;
            assert!(ends.into_iter().eq((1..=8).map(last_of)), "{each} operands");
        }
    }

    #[test]
    fn banks_are_read_independently() {
        let mut ports = ports();
        let ends: Vec<_> = (0..8)
            .map(|i| ports.read(10, if i % 2 == 0 { counts([2, 0]) } else { counts([0, 2]) }))
            .collect();
        assert_eq!(ends, [10, 10, 11, 11, 12, 12, 13, 13]);
    }

    #[test]
    fn result_needs_a_slot_and_ports() {
        let mut ports = ports();
        assert!(ports.take_result(10, 2, Some(counts([1, 0]))));
        assert!(ports.take_result(10, 2, Some(counts([1, 0]))));
        assert!(!ports.take_result(10, 2, Some(counts([0, 1]))), "no slot is left");
        assert_eq!(ports.write(11, counts([2, 0])), 11);
        assert!(!ports.take_result(11, 2, Some(counts([1, 0]))), "no port is left");
        assert!(ports.take_result(11, 2, None));
    }

    #[test]
    fn writes_do_not_wait_for_reads() {
        let mut ports = ports();
        ports.read(10, counts([3, 3]));
        assert!(ports.take_result(10, 2, Some(counts([1, 1]))));
        assert_eq!(ports.write(10, counts([1, 1])), 10);
    }

    #[test]
    fn earliest_free_collector_is_used() {
        let mut collectors =
            Collectors::new(&OperandSpec { banks: 2, ports: 2, collectors: 2, reuse: false });
        collectors.take(5);
        assert_eq!(collectors.next_free(), 0);
        collectors.take(7);
        assert_eq!(collectors.next_free(), 5);
        collectors.take(6);
        assert_eq!(collectors.next_free(), 6);
        collectors.take(9);
        assert_eq!(collectors.next_free(), 7);
    }
}
