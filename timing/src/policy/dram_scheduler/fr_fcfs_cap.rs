//! FR-FCFS with a cap: after `dram.cap` row hits ahead of an older access to another row, the bank
//! activates that row. Source: Mutlu and Moscibroda, "Stall-Time Fair Memory Access Scheduling",
//! MICRO 2007.
//!
//! The cap bounds the wait behind a stream of row hits, which FR-FCFS leaves unbounded.

use serde::{Deserialize, Serialize};

use super::{Issued, Policy, Turn, Waiting, filtered};
use crate::restore::{Validity, ensure};

crate::specification! {
    /// FR-FCFS with a cap.
    pub struct CapSpec in "dram" {
        /// Row hits that fr-fcfs-cap serves ahead of an older access to another row.
        cap: u32 ["accesses"] = 4,
    }
}

/// Consecutive row hits served ahead of an older access, by bank; missing entries are 0.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Passed(Vec<u32>);

impl Passed {
    fn of(&self, bank: u8) -> u32 {
        self.0.get(usize::from(bank)).copied().unwrap_or(0)
    }
}

pub(super) struct FrFcfsCap;

/// Banks that must close their row for the oldest access.
fn capped(spec: &CapSpec, passed: &Passed, waiting: &impl Waiting) -> u64 {
    filtered(waiting.hits(), |bank| passed.of(bank) >= spec.cap && !waiting.oldest_hits(bank))
}

impl Policy for FrFcfsCap {
    type Spec = CapSpec;
    type State = Passed;

    fn check(_: &CapSpec, state: &Passed, banks: u32) -> Validity {
        ensure(state.0.len() <= banks as usize, "a DRAM scheduler has too many bank counts")
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
