//! First come, first served: each bank works on the oldest request, and on none that is younger than one whose bank is
//! taken by an older one. Sets of banks are masks.

use super::bank::{Access, Bank, Direction, Queue, bits};

/// The age from which on accesses have to wait: that of the oldest whose bank has one of an older request. A request is of so
/// many columns.
pub(super) fn limit(banks: &[Bank], queue: Direction, columns: u16) -> u64 {
    let younger = |bank: &Bank| {
        let mut accesses = bank.queues[queue as usize].accesses.iter();
        let request = |access: &Access| (access.row, access.column / columns, access.direction);
        let first = request(accesses.next()?);
        accesses.find(|access| request(access) != first).map(|access| access.age)
    };
    banks.iter().filter_map(younger).min().unwrap_or(u64::MAX)
}

/// Banks whose oldest access may have a column command, of those that have one to their open row.
pub(super) fn column_banks(banks: &[Bank], queue: Direction, open: u64, limit: u64) -> u64 {
    filtered(banks, queue, open, |queue| queue.hit == Some(0) && queue.oldest_age < limit)
}

/// Banks whose rows may be changed for their oldest accesses, of those that have some.
pub(super) fn row_banks(banks: &[Bank], queue: Direction, occupied: u64, limit: u64) -> u64 {
    filtered(banks, queue, occupied, |queue| queue.hit != Some(0) && queue.oldest_age < limit)
}

fn filtered(banks: &[Bank], queue: Direction, mask: u64, may: impl Fn(&Queue) -> bool) -> u64 {
    let of = |bank: u8| &banks[usize::from(bank)].queues[queue as usize];
    bits(mask).filter(|bank| may(of(*bank))).fold(0, |mask, bank| mask | 1 << bank)
}
