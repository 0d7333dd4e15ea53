//! FR-FCFS with a cap (Mutlu and Moscibroda, "Stall-Time Fair Memory Access Scheduling", MICRO 2007): accesses to a bank's open
//! row pass an older access to another row `dram.cap` times; then the row changes for the oldest access.
//!
//! The cap bounds the wait that a stream of row hits causes; FR-FCFS without a cap does not bound it.

use serde::{Deserialize, Serialize};

use super::{Parameters, Policy, SchedulerState, Waiting, filtered};
use crate::restore::{Fits, fits};

/// Accesses in a row that have passed an older access, by bank; banks beyond the end have 0.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Passed(Vec<u32>);

impl Passed {
    pub(super) fn check(&self, banks: u32) -> Fits {
        fits(self.0.len() <= banks as usize, "a DRAM scheduler counts accesses of more banks than there are")
    }

    fn of(&self, bank: u8) -> u32 {
        self.0.get(usize::from(bank)).copied().unwrap_or(0)
    }
}

pub(super) struct FrFcfsCap;

/// Banks whose open row has to give way to their oldest access.
fn capped(parameters: &Parameters, state: &SchedulerState, waiting: &impl Waiting) -> u64 {
    filtered(waiting.hits(), |bank| state.passed.of(bank) >= parameters.cap && !waiting.oldest_hits(bank))
}

impl Policy for FrFcfsCap {
    fn columns(parameters: &Parameters, state: &SchedulerState, waiting: &impl Waiting, _: u64) -> u64 {
        waiting.hits() & !capped(parameters, state, waiting)
    }

    fn rows(parameters: &Parameters, state: &SchedulerState, waiting: &impl Waiting, _: u64) -> u64 {
        waiting.occupied() & !waiting.hits() | capped(parameters, state, waiting)
    }

    fn issued(state: &mut SchedulerState, bank: u8, oldest: bool) {
        let counts = &mut state.passed.0;
        let place = usize::from(bank);
        if counts.len() <= place {
            counts.resize(place + 1, 0);
        }
        counts[place] = if oldest { 0 } else { counts[place].saturating_add(1) };
    }
}
