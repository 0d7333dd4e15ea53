//! Result bus of a sub-core: write-back of fixed-latency results.

use super::operands::{BankCounts, Ports};
use crate::fidelity::Arithmetic;
use crate::gpu_file::{Document, SpecificationError};

/// Longest delay of a dispatch in cycles; nothing is reserved beyond it.
const PATIENCE: u64 = 12;

/// Stages between issue and dependent issue that are not between dispatch and write-back: issue,
/// operand read, and the write itself.
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

    /// The first dispatch cycle from `dispatch` on for which the write-back can be reserved at its
    /// latency, but not before `not_before`. Returns the cycles of dispatch and write-back.
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

    /// As [`reserve`](Self::reserve), for an arithmetic pipeline that is not detailed: with a result
    /// slot and no write port, or with neither.
    pub fn reserve_simply(
        &self,
        arithmetic: Arithmetic,
        ports: &mut Ports,
        dispatch: u64,
        latency: u32,
    ) -> (u64, u64) {
        let way = u64::from(latency).saturating_sub(STAGES);
        let has_slot = |cycle: u64, ports: &mut Ports| {
            arithmetic == Arithmetic::Ideal || ports.take_result(cycle + way, self.slots, None)
        };
        let taken = (dispatch..dispatch + PATIENCE).find(|cycle| has_slot(*cycle, ports));
        let taken = taken.unwrap_or(dispatch + PATIENCE);
        (taken, taken + way)
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

    /// Write-back cycles of instructions with given dispatch cycles and banks.
    fn written(bus: &ResultBusSpec, dispatched: &[(u64, u32)]) -> Vec<u64> {
        let mut ports = ports();
        let write = |&(cycle, bank)| bus.reserve(&mut ports, cycle, 4, 0, one_in(bank)).1;
        dispatched.iter().map(write).collect()
    }

    #[test]
    fn write_back_is_two_cycles_before_dependent_issue() {
        // Dispatch is two cycles after issue, and the earliest read is one cycle after the write.
        let bus = bus(1, WriteBack::SlotAndPort);
        for latency in [4, 5, 48] {
            let reserved = bus.reserve(&mut ports(), 12, latency, 0, one_in(0));
            assert_eq!(reserved, (12, 10 + u64::from(latency) - 1), "{latency}");
        }
    }

    #[test]
    fn bus_slot_streams_a_result_a_cycle() {
        let stream: Vec<_> = (10..60).map(|cycle| (cycle, 0)).collect();
        for write_back in [WriteBack::SlotAndPort, WriteBack::Slot] {
            assert!(written(&bus(1, write_back), &stream).into_iter().eq(11..61));
        }
    }

    #[test]
    fn simultaneous_results_take_slots_in_dispatch_order() {
        let together: Vec<_> = (0..6).map(|number| (10, number % 2)).collect();
        assert_eq!(written(&bus(1, WriteBack::Slot), &together), [11, 12, 13, 14, 15, 16]);
        assert_eq!(written(&bus(2, WriteBack::Slot), &together), [11, 11, 12, 12, 13, 13]);
        assert_eq!(written(&bus(3, WriteBack::Slot), &together), [11, 11, 11, 12, 12, 12]);
    }

    #[test]
    fn results_of_one_bank_stream_at_the_port_rate() {
        let together = [(10, 0); 6];
        assert_eq!(written(&bus(2, WriteBack::SlotAndPort), &together), [11, 12, 13, 14, 15, 16]);
        assert_eq!(written(&bus(2, WriteBack::Slot), &together), [11, 11, 12, 12, 13, 13]);
    }

    #[test]
    fn dispatch_waits_for_a_bus_slot() {
        let (bus, mut ports) = (bus(1, WriteBack::Slot), ports());
        assert_eq!(bus.reserve(&mut ports, 10, 6, 0, one_in(0)), (10, 13));
        assert_eq!(bus.reserve(&mut ports, 12, 4, 0, one_in(1)), (13, 14));
    }

    #[test]
    fn write_back_respects_its_lower_bound() {
        let bus = bus(1, WriteBack::Slot);
        assert_eq!(bus.reserve(&mut ports(), 10, 4, 20, one_in(0)), (19, 20));
    }
}
