//! Oldest first: picks the eligible warp that began first.

use super::{Policy, View};

pub(super) struct Oldest;

impl Policy for Oldest {
    type Spec = ();
    type State = ();

    #[inline(always)]
    fn pick((): &(), (): &(), view: &View<'_>) -> u32 {
        view.warps.oldest(view.eligible)
    }
}
