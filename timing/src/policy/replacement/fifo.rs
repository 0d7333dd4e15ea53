//! First in, first out: a use changes nothing, and the line that came first goes.

use super::{Lines, Policy};

pub(super) struct Fifo;

impl Policy for Fifo {
    #[inline(always)]
    fn victim<L: Lines>(lines: &L) -> Option<L::Line> {
        lines.oldest(|_| true)
    }
}
