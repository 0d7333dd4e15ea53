//! Loose round robin: the next eligible warp after the one that was issued last.

use super::{Policy, View};

pub(super) struct Lrr;

impl Policy for Lrr {
    type Spec = ();
    type State = ();

    #[inline(always)]
    fn pick((): &(), (): &(), view: &View<'_>) -> u32 {
        view.warps.after_last(view.eligible)
    }
}
