//! Second chance (the clock algorithm): the mark is a reference bit that a use sets.
//!
//! The oldest line without the bit goes. Marked lines that are older lose the bit and become the
//! youngest, as if the clock's hand had passed them. Where every line has the bit, all lose it and
//! the oldest goes.

use super::{Lines, LinesMut, Policy};

/// Mark of a line that was used since it came, or since the hand passed.
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
        // A marked victim means a whole turn of the hand, after which the order is what it was.
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
