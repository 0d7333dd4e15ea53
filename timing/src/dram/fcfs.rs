//! First come, first served: each bank works on the oldest access, and on none that is younger than one whose bank is
//! taken by an older one.

use super::bank::{Bank, Direction, Queue};

/// The age from which on accesses have to wait: that of the oldest whose bank has an older one.
pub(super) fn limit(banks: &[Bank], direction: Direction) -> u64 {
    let second = |bank: &Bank| bank.queues[direction as usize].accesses.get(1).map(|access| access.age);
    banks.iter().filter_map(second).min().unwrap_or(u64::MAX)
}

/// Whether the bank's oldest access to the open row may have a column command.
pub(super) fn may_have_column(queue: &Queue, limit: u64) -> bool {
    queue.hit == Some(0) && queue.accesses[0].age < limit
}

/// Whether the bank's row may be changed for its oldest access.
pub(super) fn may_change_row(queue: &Queue, limit: u64) -> bool {
    queue.hit != Some(0) && queue.accesses[0].age < limit
}
