//! Static re-reference interval prediction with two bits and hit priority (Jaleel et al., ISCA
//! 2010).
//!
//! The mark is the predicted distance of the next use. A line comes with a long distance and a use
//! makes the distance near, so a stream of lines that nobody uses again leaves the used lines
//! alone. The line with the largest distance goes, the oldest among equals; the other lines'
//! distances grow by as much as the victim's lacked.

use super::{Lines, LinesMut, Policy};

/// Distance of a line that was just used.
const NEAR: u8 = 0;

/// Distance of a line that has just come.
const LONG: u8 = 2;

/// Distance of a line that is not expected to be used: the largest of two bits.
const DISTANT: u8 = 3;

pub(super) struct Srrip;

impl Policy for Srrip {
    fn filled<L: LinesMut>(lines: &mut L, line: L::Line) {
        lines.set_mark(line, LONG);
    }

    #[inline(always)]
    fn hit<L: LinesMut>(lines: &mut L, line: L::Line) {
        lines.set_mark(line, NEAR);
    }

    fn victim<L: Lines>(lines: &L) -> Option<L::Line> {
        (NEAR..=DISTANT).rev().find_map(|distance| lines.oldest(|mark| mark.min(DISTANT) == distance))
    }

    fn evicted<L: LinesMut>(lines: &mut L, victim: L::Line) {
        let lacked = DISTANT.saturating_sub(lines.mark(victim));
        let mut next = lines.younger(None).filter(|_| lacked > 0);
        while let Some(line) = next {
            lines.set_mark(line, lines.mark(line).saturating_add(lacked).min(DISTANT));
            next = lines.younger(Some(line));
        }
    }
}
