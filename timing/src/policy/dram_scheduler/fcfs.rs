//! First come, first served: each bank serves its oldest request. A request also waits while an
//! older request of the channel waits behind another request of its bank.

use super::{Policy, Turn, Waiting, banks, filtered};

pub(super) struct Fcfs;

impl Policy for Fcfs {
    type Spec = ();
    type State = ();

    fn limit(waiting: &impl Waiting) -> u64 {
        banks(waiting.occupied()).filter_map(|bank| waiting.second_request(bank)).min().unwrap_or(u64::MAX)
    }

    fn columns((): &(), (): &(), waiting: &impl Waiting, turn: Turn) -> u64 {
        filtered(waiting.hits(), |bank| waiting.oldest_hits(bank) && waiting.oldest_age(bank) < turn.limit)
    }

    fn rows((): &(), (): &(), waiting: &impl Waiting, turn: Turn) -> u64 {
        filtered(waiting.occupied(), |bank| {
            !waiting.oldest_hits(bank) && waiting.oldest_age(bank) < turn.limit
        })
    }
}
