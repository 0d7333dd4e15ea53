//! First ready, first come first served (Rixner et al., "Memory Access Scheduling", ISCA 2000): accesses to a bank's open
//! row before others; among banks the oldest that is ready.

use super::bank::Queue;

/// Whether the bank's oldest access to the open row may have a column command.
pub(super) fn may_have_column(queue: &Queue) -> bool {
    queue.hit.is_some()
}

/// Whether the bank's row may be changed for its oldest access.
pub(super) fn may_change_row(queue: &Queue) -> bool {
    queue.hit.is_none()
}
