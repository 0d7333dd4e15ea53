//! First come, first served: each bank works on the oldest request, and on none that is younger than one whose bank is
//! taken by an older one. Sets of banks are masks.

use super::bank::{Access, Bank, Direction, Queue, bits};

/// The age from which on accesses have to wait: that of the oldest whose bank has one of an older request. A request is of so
/// many columns.
pub(super) fn limit(banks: &[Bank], queue: Direction, columns: u16) -> u64 {
    let younger = |bank: &Bank| {
        let accesses = bank.queues[queue as usize].accesses.iter();
        let request = |access: &Access, column| (access.row, column / columns, access.direction);
        let mut accesses = accesses
            .flat_map(|access| access.columns().map(move |(column, age)| (request(access, column), age)));
        let (first, _) = accesses.next()?;
        accesses.find(|(request, _)| *request != first).map(|(_, age)| age)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_may_be_some_of_the_sectors_that_came_together() {
        let of_line = |age, row, column, sectors| {
            let (slice, slot, accepted, direction) = (0, 0, 0, Direction::Read);
            Access { age, row, column, slice, sectors, slot, accepted, activated: false, direction }
        };
        let limit_of = |accesses: &[Access], columns| {
            let mut bank = Bank::default();
            accesses.iter().for_each(|access| bank.queues[0].push(*access, None));
            limit(&[bank], Direction::Read, columns)
        };
        let line = of_line(10, 1, 4, 0b1111);
        assert_eq!([1, 2, 4].map(|columns| limit_of(&[line], columns)), [11, 12, u64::MAX]);
        assert_eq!(limit_of(&[of_line(10, 1, 4, 0b1110)], 2), 11);
        assert_eq!(limit_of(&[line, of_line(14, 2, 4, 0b1)], 4), 14);
    }
}
