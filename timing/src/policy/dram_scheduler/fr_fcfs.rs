//! First ready, first come, first served (Rixner et al., "Memory Access Scheduling", ISCA 2000):
//! row hits precede all other accesses of a bank. Among banks, the channel serves the oldest ready
//! access.

use super::{Policy, Turn, Waiting};

pub(super) struct FrFcfs;

impl Policy for FrFcfs {
    type Spec = ();
    type State = ();

    #[inline(always)]
    fn columns((): &(), (): &(), waiting: &impl Waiting, _: Turn) -> u64 {
        waiting.hits()
    }

    #[inline(always)]
    fn rows((): &(), (): &(), waiting: &impl Waiting, _: Turn) -> u64 {
        waiting.occupied() & !waiting.hits()
    }
}
