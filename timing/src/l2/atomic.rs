//! Atomic unit of a slice, which serialises operations at each address.
//!
//! The unit accepts a sector a cycle. Lanes of a request at one address combine, `atomic_lanes` to
//! an operation. Operations at an address start `atomic_interval` cycles apart; other addresses'
//! operations run in between.

use serde::{Deserialize, Serialize};

use super::L2Spec;
use crate::message::{MemoryRequest, RequestKind};
use crate::restore::{Validity, ensure, near};

/// Demand of a request on the unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Atomic {
    /// Sectors with operations.
    sectors: u16,
    /// Operations at the most contended address.
    operations: u16,
    /// Words of 4 B with operations, a bit each.
    words: u32,
}

impl Atomic {
    /// Demand of a request; `None` if it has no atomic operations.
    pub(super) fn of(spec: &L2Spec, request: &MemoryRequest) -> Option<Atomic> {
        matches!(request.kind, RequestKind::Atomic | RequestKind::Reduction)
            .then(|| Atomic::of_operations(spec, request))
    }

    // Separate, because most requests have none.
    #[inline(never)]
    fn of_operations(spec: &L2Spec, request: &MemoryRequest) -> Atomic {
        let words = (0..32).filter(|word| (request.bytes >> (word * 4)) & 0xf != 0);
        let words = words.fold(0_u32, |mask, word| mask | 1 << word);
        let lanes_at_word = request.lanes.count_ones().div_ceil(words.count_ones().max(1)).max(1);
        Atomic {
            sectors: (request.sectors & 0xf).count_ones().max(1) as u16,
            operations: lanes_at_word.div_ceil(spec.atomic_lanes) as u16,
            words,
        }
    }

    /// Operations at an address beyond its first.
    pub(super) fn conflicts(&self) -> u64 {
        u64::from(self.operations - 1)
    }

    /// Checks restored values.
    pub(super) fn check(&self) -> Validity {
        let sizes = (1..=4).contains(&self.sectors) && (1..=32).contains(&self.operations);
        ensure(sizes, "an atomic operation has impossible sizes")
    }
}

/// Words with operations in flight.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Busy {
    line: u64,
    words: u32,
    /// L2 cycle of the next possible operation there.
    until: u64,
}

/// State of the unit.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct AtomicUnit {
    /// L2 cycle at which it accepts the next request.
    free_at: u64,
    /// Busy words; empty if operations at an address need no interval.
    busy: Vec<Busy>,
    /// Busy cycles.
    pub(super) cycles: u64,
}

impl AtomicUnit {
    /// Accepts a request for a complete line at an L2 cycle; returns the cycle of its last
    /// operation.
    #[inline(never)]
    pub(super) fn perform(&mut self, spec: &L2Spec, cycle: u64, line: u64, atomic: Atomic) -> u64 {
        let Atomic { sectors, operations, words } = atomic;
        let (taken, repeats) = (u64::from(sectors), u64::from(operations - 1));
        let mut start = cycle.max(self.free_at);
        self.free_at = start + taken + repeats;
        self.cycles += taken + repeats;
        let interval = u64::from(spec.atomic_interval);
        if interval > 1 {
            let same = |busy: &Busy| busy.line == line && busy.words & words != 0;
            let first = self.busy.iter().filter(|busy| same(busy)).map(|busy| busy.until).max();
            start = start.max(first.unwrap_or(0));
            self.busy.retain(|busy| busy.until > cycle && !(same(busy) && busy.words & !words == 0));
            self.busy.push(Busy { line, words, until: start + interval * (repeats + 1) });
        }
        start + taken - 1 + interval * repeats
    }

    /// Checks restored state against an L2 cycle.
    pub(super) fn check(&self, now: u64) -> Validity {
        let near = near(self.free_at, now) && self.busy.iter().all(|busy| near(busy.until, now));
        ensure(near, "the atomic unit is busy too far into the future")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Requester;
    use crate::specification::GpuSpec;

    fn spec(atomic_lanes: u32, atomic_interval: u32) -> L2Spec {
        L2Spec { atomic_lanes, atomic_interval, ..GpuSpec::built_in("titan-v").unwrap().l2 }
    }

    fn request(kind: RequestKind, sectors: u8, bytes: u128, lanes: u32) -> MemoryRequest {
        let requester = Requester::Global;
        MemoryRequest { line: 0, sectors, bytes, kind, lanes, requester, sm: 0, tag: 0, deferred: None }
    }

    /// For each request with its line, the cycle after 100 of its last operation; requests arrive
    /// at cycle 100.
    fn ends(spec: &L2Spec, requests: &[(u64, MemoryRequest)]) -> Vec<u64> {
        let mut unit = AtomicUnit::default();
        let end = |(line, request): &(u64, MemoryRequest)| {
            unit.perform(spec, 100, *line, Atomic::of(spec, request).unwrap()) - 100
        };
        requests.iter().map(end).collect()
    }

    const ONE_WORD: MemoryRequest = MemoryRequest {
        line: 0,
        sectors: 1,
        bytes: 0xf,
        kind: RequestKind::Reduction,
        lanes: !0,
        requester: Requester::Global,
        sm: 0,
        tag: 0,
        deferred: None,
    };

    #[test]
    fn loads_and_stores_bypass_the_atomic_unit() {
        for kind in [RequestKind::Read, RequestKind::Write] {
            assert_eq!(Atomic::of(&spec(16, 1), &request(kind, 1, 0xf, 1)), None);
        }
    }

    #[test]
    fn warp_at_one_word_combines_its_lanes() {
        for (lanes, last) in [(1, 31), (16, 1), (32, 0)] {
            assert_eq!(ends(&spec(lanes, 1), &[(0, ONE_WORD)]), [last]);
        }
    }

    #[test]
    fn warp_at_32_words_takes_a_cycle_per_sector() {
        let spread = request(RequestKind::Atomic, 15, u128::MAX, !0);
        assert_eq!(ends(&spec(16, 9), &[(0, spread), (1, spread)]), [3, 7]);
    }

    #[test]
    fn operations_at_one_address_start_an_interval_apart() {
        let one = MemoryRequest { lanes: 1, ..ONE_WORD };
        let requests = [(0, one), (1, one), (0, one), (1, one), (0, one)];
        assert_eq!(ends(&spec(16, 9), &requests), [0, 1, 9, 10, 18]);
        assert_eq!(ends(&spec(16, 1), &requests), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn operations_at_other_words_of_a_line_do_not_wait() {
        let one = MemoryRequest { lanes: 1, ..ONE_WORD };
        let other = MemoryRequest { bytes: 0xf0, ..one };
        assert_eq!(ends(&spec(16, 9), &[(0, one), (0, other)]), [0, 1]);
    }
}
