//! Which line of a set makes room: one file for each policy.

mod fifo;
mod lru;

use super::Replacement;

impl Replacement {
    /// When a line was last used that is used at `time` and was at `before` (counts of uses), as far as this policy cares.
    pub(super) fn used(self, before: u64, time: u64) -> u64 {
        match self {
            Replacement::Lru => lru::used(time),
            Replacement::Fifo => fifo::used(before),
        }
    }
}
