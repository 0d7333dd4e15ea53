//! FR-FCFS with a cap (Mutlu and Moscibroda, "Stall-Time Fair Memory Access Scheduling", MICRO
//! 2007): accesses to a bank's open row pass an older access to another row `dram.cap` times; then
//! the row changes for the oldest access.
//!
//! The cap bounds the wait that a stream of row hits causes; FR-FCFS without a cap does not bound
//! it.

use serde::{Deserialize, Serialize};

use super::{Issued, Policy, Turn, Waiting, filtered};
use crate::restore::{Validity, ensure};

crate::specification! {
    /// FR-FCFS with a cap.
    pub struct CapSpec in "dram" {
        /// Accesses to an open row that pass an older access to another row, by the scheduler
        /// fr-fcfs-cap.
        cap: u32 ["accesses"] = 4,
    }
}

/// Accesses in a row that have passed an older access, by bank; banks beyond the end have 0.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Passed(Vec<u32>);

impl Passed {
    fn of(&self, bank: u8) -> u32 {
        self.0.get(usize::from(bank)).copied().unwrap_or(0)
    }
}

pub(super) struct FrFcfsCap;

/// Banks whose open row has to give way to their oldest access.
fn capped(spec: &CapSpec, passed: &Passed, waiting: &impl Waiting) -> u64 {
    filtered(waiting.hits(), |bank| passed.of(bank) >= spec.cap && !waiting.oldest_hits(bank))
}

impl Policy for FrFcfsCap {
    type Spec = CapSpec;
    type State = Passed;

    fn check(_: &CapSpec, state: &Passed, banks: u32) -> Validity {
        ensure(
            state.0.len() <= banks as usize,
            "a DRAM scheduler counts accesses of more banks than there are",
        )
    }

    fn columns(spec: &CapSpec, state: &Passed, waiting: &impl Waiting, _: Turn) -> u64 {
        waiting.hits() & !capped(spec, state, waiting)
    }

    fn rows(spec: &CapSpec, state: &Passed, waiting: &impl Waiting, _: Turn) -> u64 {
        waiting.occupied() & !waiting.hits() | capped(spec, state, waiting)
    }

    fn issued(_: &CapSpec, Passed(counts): &mut Passed, issued: Issued) {
        let place = usize::from(issued.bank);
        if counts.len() <= place {
            counts.resize(place + 1, 0);
        }
        counts[place] = if issued.oldest { 0 } else { counts[place].saturating_add(1) };
    }
}
