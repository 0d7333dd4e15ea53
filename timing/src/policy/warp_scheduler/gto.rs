//! Greedy, then oldest (Rogers et al., MICRO 2012): stays with the last issued warp while it is
//! eligible, then picks the oldest.

use super::{Policy, View};

pub(super) struct Gto;

impl Policy for Gto {
    type Spec = ();
    type State = ();

    #[inline(always)]
    fn pick((): &(), (): &(), view: &View<'_>) -> u32 {
        let last = view.warps.last();
        if view.eligible >> last & 1 != 0 { last } else { view.warps.oldest(view.eligible) }
    }
}
