//! Static re-reference interval prediction with two bits and hit priority (Jaleel et al., ISCA
//! 2010).
//!
//! The mark is the predicted distance of the next use. A fill sets a long distance and a use sets a
//! near one, so a stream of single-use lines does not evict reused lines. The line with the largest
//! distance is evicted, the oldest among equals. The distances of the others then increase by as
//! much as the victim's was below the maximum.

use super::{Lines, LinesMut, Policy};

/// Distance after a use.
const NEAR: u8 = 0;

/// Distance after a fill.
const LONG: u8 = 2;

/// Distance of a line without expected use: the maximum of two bits.
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
