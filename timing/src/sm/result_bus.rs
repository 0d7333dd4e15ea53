//! Result bus of a sub-core: when results of a fixed latency are written.

use super::operands::{BankCounts, Ports};
use crate::specification::{Document, SpecificationError};

/// Cycles that a dispatch is put off at most; behind them nothing is reserved.
const PATIENCE: u64 = 12;

/// Between a dispatch and the write of its result there are so many cycles less than between issue and dependent issue:
/// issue, operand read, and write itself.
const STAGES: u64 = 3;

crate::choice! {
    /// Resources that a result needs in the cycle in which it is ready.
    pub enum WriteBack {
        /// A bus slot and a write port of each destination bank (Huerta et al., section 2.2).
        SlotAndPort = "slot-and-port",
        /// A bus slot, as in Accel-Sim.
        Slot = "slot",
    }
}

crate::specification! {
    /// Result bus of a sub-core.
    pub struct ResultBusSpec in "result_bus" {
        /// Results a cycle.
        slots: u32 ["results per core cycle"],
        /// Resources that a result needs.
        write_back: WriteBack [""],
    }
}

impl ResultBusSpec {
    pub(crate) fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        match self.slots {
            0 => Err(document.wrong("result_bus", "slots", "must be at least 1")),
            _ => Ok(()),
        }
    }

    /// The first cycle from `dispatch` on in which an instruction of a latency can go to its unit so that its result can be
    /// written when it is there, which is not before `not_before`. Gives that cycle and the one of the write.
    #[inline(always)]
    pub fn reserve(
        &self,
        ports: &mut Ports,
        dispatch: u64,
        latency: u32,
        not_before: u64,
        writes: BankCounts,
    ) -> (u64, u64) {
        let way = u64::from(latency).saturating_sub(STAGES);
        let first = dispatch.max(not_before.saturating_sub(way));
        let needed = (self.write_back == WriteBack::SlotAndPort).then_some(writes);
        for dispatch in first..first + PATIENCE {
            if ports.take_result(dispatch + way, self.slots, needed) {
                return (dispatch, dispatch + way);
            }
        }
        (first + PATIENCE, first + PATIENCE + way)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sm::operands::OperandSpec;

    fn ports() -> Ports {
        Ports::new(&OperandSpec { banks: 2, ports: 1, collectors: 2, reuse: false })
    }

    fn bus(slots: u32, write_back: WriteBack) -> ResultBusSpec {
        ResultBusSpec { slots, write_back }
    }

    fn one_in(bank: u32) -> BankCounts {
        let mut counts = BankCounts::default();
        counts.count(bank);
        counts
    }

    /// Cycles at which results are written whose instructions are dispatched at cycles, to banks.
    fn written(bus: &ResultBusSpec, dispatched: &[(u64, u32)]) -> Vec<u64> {
        let mut ports = ports();
        let write = |&(cycle, bank)| bus.reserve(&mut ports, cycle, 4, 0, one_in(bank)).1;
        dispatched.iter().map(write).collect()
    }

    #[test]
    fn a_result_is_written_two_cycles_before_a_dependent_issue_of_its_latency() {
        // Dispatched two cycles after issue, and read in the cycle after the write at the earliest.
        let bus = bus(1, WriteBack::SlotAndPort);
        for latency in [4, 5, 48] {
            let reserved = bus.reserve(&mut ports(), 12, latency, 0, one_in(0));
            assert_eq!(reserved, (12, 10 + u64::from(latency) - 1), "{latency}");
        }
    }

    #[test]
    fn a_slot_streams_a_result_a_cycle() {
        let stream: Vec<_> = (10..60).map(|cycle| (cycle, 0)).collect();
        for write_back in [WriteBack::SlotAndPort, WriteBack::Slot] {
            assert!(written(&bus(1, write_back), &stream).into_iter().eq(11..61));
        }
    }

    #[test]
    fn results_of_one_cycle_take_slots_in_the_order_of_their_dispatch() {
        let together: Vec<_> = (0..6).map(|number| (10, number % 2)).collect();
        assert_eq!(written(&bus(1, WriteBack::Slot), &together), [11, 12, 13, 14, 15, 16]);
        assert_eq!(written(&bus(2, WriteBack::Slot), &together), [11, 11, 12, 12, 13, 13]);
        assert_eq!(written(&bus(3, WriteBack::Slot), &together), [11, 11, 11, 12, 12, 12]);
    }

    #[test]
    fn results_of_one_bank_stream_at_the_rate_of_its_ports_where_they_need_one() {
        let together = [(10, 0); 6];
        assert_eq!(written(&bus(2, WriteBack::SlotAndPort), &together), [11, 12, 13, 14, 15, 16]);
        assert_eq!(written(&bus(2, WriteBack::Slot), &together), [11, 11, 12, 12, 13, 13]);
    }

    #[test]
    fn a_dispatch_waits_until_its_result_has_a_slot() {
        let (bus, mut ports) = (bus(1, WriteBack::Slot), ports());
        assert_eq!(bus.reserve(&mut ports, 10, 6, 0, one_in(0)), (10, 13));
        assert_eq!(bus.reserve(&mut ports, 12, 4, 0, one_in(1)), (13, 14));
    }

    #[test]
    fn a_result_is_not_written_before_it_may() {
        let bus = bus(1, WriteBack::Slot);
        assert_eq!(bus.reserve(&mut ports(), 10, 4, 20, one_in(0)), (19, 20));
    }
}
