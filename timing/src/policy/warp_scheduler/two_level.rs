//! Two-level scheduling (Narasiman et al., "Improving GPU Performance via Large Warps and Two-Level
//! Warp Scheduling", MICRO 2011): a few active warps issue round robin. A warp that waits for
//! memory leaves the active set, and the oldest eligible warp replaces it.

use serde::{Deserialize, Serialize};

use super::{Policy, View, Warps};
use crate::gpu_file::{Document, SpecificationError};
use crate::restore::{Validity, ensure};

crate::specification! {
    /// Two-level scheduling.
    pub struct TwoLevelSpec in "issue" {
        /// Active warps of the two-level policy.
        active_warps: u32 ["warps"],
    }
}

/// The active warps.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct State {
    active: u32,
}

pub(super) struct TwoLevel;

/// The active warps at an issue, at least one of them eligible.
fn active(spec: &TwoLevelSpec, state: &State, view: &View<'_>) -> u32 {
    let View { warps, eligible, waits_for_memory, .. } = *view;
    let mut active = state.active & !waits_for_memory;
    while eligible & !active != 0 && active.count_ones() < spec.active_warps {
        active |= 1 << warps.oldest(eligible & !active);
    }
    if eligible & active == 0 {
        // The oldest eligible warp replaces a blocked active one.
        active &= active.wrapping_sub(1);
        active |= 1 << warps.oldest(eligible);
    }
    active
}

impl Policy for TwoLevel {
    type Spec = TwoLevelSpec;
    type State = State;

    fn check_spec(spec: &TwoLevelSpec, document: &Document) -> Result<(), SpecificationError> {
        match spec.active_warps {
            0 => Err(document.wrong("issue", "active_warps", "must be at least 1")),
            _ => Ok(()),
        }
    }

    fn check(_: &TwoLevelSpec, state: &State, warps: &Warps) -> Validity {
        ensure(state.active & !warps.present() == 0, "an absent warp is active")
    }

    fn pick(spec: &TwoLevelSpec, state: &State, view: &View<'_>) -> u32 {
        view.warps.after_last(view.eligible & active(spec, state, view))
    }

    fn issued(spec: &TwoLevelSpec, state: &mut State, view: &View<'_>, _: u32) {
        state.active = active(spec, state, view);
    }

    fn ended(state: &mut State, warp: u32) {
        state.active &= !(1 << warp);
    }
}
