//! Least recently used: a use makes a line the youngest, and the oldest line is evicted.

use super::{Lines, LinesMut, Policy};

pub(super) struct Lru;

impl Policy for Lru {
    #[inline(always)]
    fn hit<L: LinesMut>(lines: &mut L, line: L::Line) {
        lines.renew(line);
    }

    #[inline(always)]
    fn victim<L: Lines>(lines: &L) -> Option<L::Line> {
        lines.oldest(|_| true)
    }
}
