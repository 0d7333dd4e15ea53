//! First ready, first come, first served (Rixner et al., "Memory Access Scheduling", ISCA 2000): accesses to a bank's open row
//! pass all others. Among banks the channel takes the oldest access that is ready.

use super::{Parameters, Policy, SchedulerState, Waiting};

pub(super) struct FrFcfs;

impl Policy for FrFcfs {
    #[inline(always)]
    fn columns(_: &Parameters, _: &SchedulerState, waiting: &impl Waiting, _: u64) -> u64 {
        waiting.hits()
    }

    #[inline(always)]
    fn rows(_: &Parameters, _: &SchedulerState, waiting: &impl Waiting, _: u64) -> u64 {
        waiting.occupied() & !waiting.hits()
    }
}
