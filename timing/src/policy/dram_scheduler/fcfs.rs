//! First come, first served: each bank works on its oldest request. A request waits as long as an older request waits behind
//! another request of its bank.

use super::{Parameters, Policy, SchedulerState, Waiting, banks, filtered};

pub(super) struct Fcfs;

impl Policy for Fcfs {
    fn limit(waiting: &impl Waiting) -> u64 {
        banks(waiting.occupied()).filter_map(|bank| waiting.second_request(bank)).min().unwrap_or(u64::MAX)
    }

    fn columns(_: &Parameters, _: &SchedulerState, waiting: &impl Waiting, limit: u64) -> u64 {
        filtered(waiting.hits(), |bank| waiting.oldest_hits(bank) && waiting.oldest_age(bank) < limit)
    }

    fn rows(_: &Parameters, _: &SchedulerState, waiting: &impl Waiting, limit: u64) -> u64 {
        filtered(waiting.occupied(), |bank| !waiting.oldest_hits(bank) && waiting.oldest_age(bank) < limit)
    }
}
