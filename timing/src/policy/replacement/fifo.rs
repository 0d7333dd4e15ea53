//! First in, first out: evicts the line filled first, whatever its uses.

use super::{Lines, Policy};

pub(super) struct Fifo;

impl Policy for Fifo {
    #[inline(always)]
    fn victim<L: Lines>(lines: &L) -> Option<L::Line> {
        lines.oldest(|_| true)
    }
}
