//! Loose round robin: picks the next eligible warp after the last issued one.

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
