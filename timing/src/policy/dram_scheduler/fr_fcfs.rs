//! First ready, first come, first served (Rixner et al., "Memory Access Scheduling", ISCA 2000):
//! accesses to a bank's open row pass all others. Among banks the channel takes the oldest access
//! that is ready.

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
