//! Result bus of a sub-core: when results of a fixed latency are written.

use super::operands::{BankCounts, Ports};
use crate::specification::{Document, SpecificationError};

/// Cycles that a dispatch is put off at most; behind them nothing is reserved.
const PATIENCE: u64 = 12;

/// Between a dispatch and the write of its result there are so many cycles less than between issue and dependent issue:
/// issue, operand read, and write itself.
const STAGES: u64 = 3;

crate::choice! {
    /// What a result needs in the cycle in which it is there.
    pub enum WriteBack {
        /// A slot of the bus, and a port of each bank that it is written to (Huerta et al., section 2.2).
        SlotAndPort = "slot-and-port",
        /// A slot of the bus, as in Accel-Sim.
        Slot = "slot",
    }
}

crate::specification! {
    /// Result bus of a sub-core.
    pub struct ResultBusSpec in "result_bus" {
        /// Results a cycle.
        slots: u32 ["results per core cycle"],
        /// What a result needs.
        write_back: WriteBack [""],
    }
}

impl ResultBusSpec {
    pub(crate) fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        match self.slots {
            0 => Err(document.wrong("result_bus", "slots", "nothing could ever be done")),
            _ => Ok(()),
        }
    }

    /// The first cycle from `dispatch` on in which an instruction of a latency can go to its unit so that its result can be
    /// written when it is there, which is not before `not_before`. Gives that cycle and the one of the write.
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
