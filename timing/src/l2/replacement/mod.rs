//! Which line of a set makes room: one file for each policy.

mod fifo;
mod lru;

use super::Replacement;
use super::tags::Line;

impl Replacement {
    /// When a line was last used that is used at `time` (a count of uses), as far as this policy cares.
    pub(super) fn used(self, line: &Line, time: u64) -> u64 {
        match self {
            Replacement::Lru => lru::used(time),
            Replacement::Fifo => fifo::used(line),
        }
    }
}
