//! Second chance (clock algorithm): the mark is a reference bit, set by a use.
//!
//! The oldest line without reference bit is evicted. Older lines with the bit lose it and become
//! the youngest, as if the clock's hand had passed them. If every line has the bit, all lose it and
//! the oldest is evicted.

use super::{Lines, LinesMut, Policy};

/// Mark of a line used since its fill or since the hand passed.
const USED: u8 = 1;

pub(super) struct SecondChance;

impl Policy for SecondChance {
    #[inline(always)]
    fn hit<L: LinesMut>(lines: &mut L, line: L::Line) {
        lines.set_mark(line, USED);
    }

    fn victim<L: Lines>(lines: &L) -> Option<L::Line> {
        lines.oldest(|mark| mark != USED).or_else(|| lines.oldest(|_| true))
    }

    fn evicted<L: LinesMut>(lines: &mut L, victim: L::Line) {
        // A marked victim means a full turn of the hand, which restores the order.
        let whole_turn = lines.mark(victim) == USED;
        let mut next = lines.younger(None);
        while let Some(line) = next.filter(|line| whole_turn || *line != victim) {
            next = lines.younger(Some(line));
            if lines.mark(line) == USED {
                lines.set_mark(line, 0);
                if !whole_turn {
                    lines.renew(line);
                }
            }
        }
    }
}
