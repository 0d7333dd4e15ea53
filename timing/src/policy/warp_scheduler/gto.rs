//! Greedy, then oldest (Rogers et al., MICRO 2012): the warp that was issued last goes on as long
//! as it can, then the oldest.

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
