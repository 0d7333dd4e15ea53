//! Saved state of an SM for a launch.

use serde::{Deserialize, Serialize};

use super::source::Resident;
use crate::engine::grid::Grid;
use crate::engine::stepping::{Deferred, SavedDeferred, SavedSteps, SteppedCluster};

/// Maximum CTA slots per SM.
const MOST_SLOTS: usize = 1 << 10;

/// Saved state of an SM: CTAs between two instructions, and their deferred ops.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedSm {
    /// Number of the SM.
    pub(crate) sm: u32,
    /// CTA in each slot; `None` in free slots.
    ctas: Vec<Option<SavedSteps>>,
    deferred: SavedDeferred,
}

impl SavedSm {
    /// State of an SM, if the SM has any.
    pub(super) fn of(sm: u32, resident: &mut Resident) -> Option<SavedSm> {
        let ctas: Vec<_> = resident.ctas.iter_mut().map(SteppedCluster::save).collect();
        let deferred = resident.deferred.save();
        ctas.iter().any(Option::is_some).then_some(SavedSm { sm, ctas, deferred })
    }

    /// Checks that SMs can be in this state; the error names the inconsistency.
    pub(crate) fn check_all(all: &[SavedSm], grid: &Grid<'_>) -> Result<(), &'static str> {
        if !all.is_sorted_by(|one, next| one.sm < next.sm) {
            return Err("an SM that occurs twice");
        }
        let mut numbers: Vec<u64> =
            all.iter().flat_map(|saved| saved.ctas.iter().flatten()).map(SavedSteps::index).collect();
        numbers.sort_unstable();
        if !numbers.is_sorted_by(|one, next| one < next) {
            return Err("a CTA that is resident twice");
        }
        all.iter().try_for_each(|saved| saved.check(grid))
    }

    fn check(&self, grid: &Grid<'_>) -> Result<(), &'static str> {
        if self.ctas.len() > MOST_SLOTS {
            return Err("more CTAs than an SM can hold");
        }
        for (slot, cta) in (0..).zip(&self.ctas) {
            cta.as_ref().map_or(Ok(()), |cta| cta.check(grid, slot, &self.deferred))?;
        }
        let pending = self.ctas.iter().flatten().map(SavedSteps::pending).sum();
        self.deferred.check(&grid.program, pending)
    }

    /// Restores the SM from checked data.
    pub(super) fn restore(&self, grid: &Grid<'_>) -> Resident {
        let restore = |(slot, saved): (u32, &Option<SavedSteps>)| match saved {
            Some(saved) => SteppedCluster::resumed(grid, (self.sm, slot), saved),
            None => SteppedCluster::ended(grid, slot),
        };
        Resident {
            ctas: (0..).zip(&self.ctas).map(restore).collect(),
            deferred: Deferred::restore(&self.deferred, &grid.program),
        }
    }
}
