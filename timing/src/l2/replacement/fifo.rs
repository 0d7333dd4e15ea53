//! First in, first out: only the allocation counts.

use crate::l2::tags::Line;

/// The time of the allocation.
pub(super) fn used(line: &Line) -> u64 {
    line.used
}
