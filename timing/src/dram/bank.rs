//! A DRAM bank and its queued accesses.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::DramSpec;

/// Banks in a mask.
pub(super) fn bits(mut mask: u64) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        let bank = (mask != 0).then(|| mask.trailing_zeros() as u8)?;
        mask &= mask - 1;
        Some(bank)
    })
}

/// Reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) enum Direction {
    #[default]
    Read = 0,
    Write = 1,
}

impl Direction {
    /// Direction of an access.
    pub(super) fn of(write: bool) -> Direction {
        if write { Direction::Write } else { Direction::Read }
    }
}

/// A queued access: one or more sectors of a line that arrived together, with one column each, in
/// ascending order.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Access {
    /// Age of the first sector, in accesses of the channel; lower is older.
    pub(super) age: u64,
    pub(super) row: u64,
    /// Column of the line's first sector.
    pub(super) column: u16,
    /// Requesting SM, or [`NO_SOURCE`](crate::policy::dram_scheduler::NO_SOURCE).
    pub(super) source: u16,
    /// Slice of the channel; with `slot`, identifies a read.
    pub(super) slice: u8,
    /// Mask of sectors.
    pub(super) sectors: u8,
    pub(super) slot: u32,
    /// Low half of the arrival cycle.
    pub(super) accepted: u32,
    /// Set if the row was activated for the first sector.
    pub(super) activated: bool,
    pub(super) direction: Direction,
}

impl Access {
    /// Number of sectors.
    pub(super) fn count(&self) -> u32 {
        self.sectors.count_ones()
    }

    /// Splits off the first sector.
    fn take_first(&mut self) -> Access {
        let first = Access { sectors: self.sectors & self.sectors.wrapping_neg(), ..*self };
        self.sectors &= !first.sectors;
        self.age += 1;
        self.activated = false;
        first
    }

    /// Column and age of each sector.
    pub(super) fn columns(&self) -> impl Iterator<Item = (u16, u64)> {
        bits(self.sectors.into()).map(|sector| self.column + u16::from(sector)).zip(self.age..)
    }
}

/// Accesses to a bank in order of arrival. Each has at least one sector.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Queue {
    pub(super) accesses: VecDeque<Access>,
    /// Index of the oldest access to the open row.
    #[serde(skip)]
    pub(super) hit: Option<usize>,
    /// Age of that access, age of the oldest access, and direction of the first one. Undefined
    /// without accesses.
    #[serde(skip)]
    pub(super) hit_age: u64,
    #[serde(skip)]
    pub(super) hit_direction: Direction,
    #[serde(skip)]
    pub(super) oldest_age: u64,
}

impl Queue {
    pub(super) fn push(&mut self, access: Access, open: Option<u64>) {
        if self.accesses.is_empty() {
            self.oldest_age = access.age;
        }
        if self.hit.is_none() && open == Some(access.row) {
            self.hit = Some(self.accesses.len());
            (self.hit_age, self.hit_direction) = (access.age, access.direction);
        }
        self.accesses.push_back(access);
    }

    /// Removes the first sector of an access to the open row: the oldest access, or the one at
    /// `place`.
    pub(super) fn remove_hit(&mut self, open: Option<u64>, place: Option<usize>) -> Option<Access> {
        let hit = self.hit?;
        let place = place.unwrap_or(hit);
        let access = self.accesses.get_mut(place)?;
        let first = access.take_first();
        if access.sectors == 0 {
            match place {
                0 => self.accesses.pop_front(),
                _ => self.accesses.remove(place),
            };
            if place == hit {
                self.find_hit(open, hit);
            }
        } else if place == hit {
            self.hit_age = access.age;
        }
        self.oldest_age = self.accesses.front().map_or(0, |oldest| oldest.age);
        Some(first)
    }

    /// Queued sectors of a line, given its row and the column of its first sector.
    pub(super) fn sectors_of(&self, row: u64, column: u16) -> u8 {
        let accesses = self.accesses.iter().filter(|access| access.row == row && access.column == column);
        accesses.fold(0, |sectors, access| sectors | access.sectors)
    }

    /// Number of queued sectors.
    pub(super) fn count(&self) -> u32 {
        self.accesses.iter().map(Access::count).sum()
    }

    /// Recomputes the derived fields from the accesses and the open row.
    pub(super) fn derive(&mut self, open: Option<u64>) {
        self.oldest_age = self.accesses.front().map_or(0, |oldest| oldest.age);
        self.opened(open);
    }

    /// Records a change of the open row.
    pub(super) fn opened(&mut self, open: Option<u64>) {
        self.find_hit(open, 0);
    }

    fn find_hit(&mut self, open: Option<u64>, from: usize) {
        // No access to the row precedes `from`.
        let to = |row| self.accesses.range(from..).position(|access| access.row == row);
        self.hit = open.and_then(to).map(|behind| from + behind);
        if let Some(Access { age, direction, .. }) = self.hit.map(|hit| &self.accesses[hit]) {
            (self.hit_age, self.hit_direction) = (*age, *direction);
        }
    }
}

/// State of a bank. Cycles are the earliest for a command under the bank's own constraints.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Bank {
    /// Open row, if any.
    pub(super) open: Option<u64>,
    /// Earliest activation or refresh.
    pub(super) activate_at: u64,
    /// Earliest precharge.
    pub(super) precharge_at: u64,
    /// Earliest read or write.
    pub(super) column_at: u64,
    /// Bank group.
    #[serde(skip)]
    pub(super) group: u8,
    /// Queued reads and writes, or all accesses in the first queue ([`super::Queues`]).
    pub(super) queues: [Queue; 2],
}

impl Bank {
    /// A bank with closed row.
    pub(super) fn new(spec: &DramSpec, number: u8) -> Bank {
        Bank { group: spec.group(number) as u8, ..Bank::default() }
    }

    pub(super) fn set_open(&mut self, open: Option<u64>) {
        self.open = open;
        for queue in &mut self.queues {
            queue.opened(open);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(age: u64, row: u64, sectors: u8) -> Access {
        let (column, slice, slot, accepted) = (0, 0, 0, 0);
        Access {
            age,
            row,
            column,
            slice,
            source: 0,
            sectors,
            slot,
            accepted,
            activated: false,
            direction: Direction::Read,
        }
    }

    #[test]
    fn sectors_of_an_access_leave_in_order() {
        let mut queue = Queue::default();
        for (age, row, sectors) in [(0, 5, 0b1011), (3, 6, 0b1), (4, 5, 0b100)] {
            queue.push(access(age, row, sectors), None);
        }
        assert_eq!(queue.count(), 5);
        queue.opened(Some(5));
        let mut left = Vec::new();
        while let Some(Access { age, sectors, .. }) = queue.remove_hit(Some(5), None) {
            left.push((age, sectors, queue.hit.map(|_| queue.hit_age), queue.oldest_age));
        }
        let expected =
            [(0, 0b1, Some(1), 1), (1, 0b10, Some(2), 2), (2, 0b1000, Some(4), 3), (4, 0b100, None, 3)];
        assert_eq!((left.as_slice(), queue.count()), (expected.as_slice(), 1));
    }

    #[test]
    fn row_activation_counts_for_the_first_sector() {
        let mut queue = Queue::default();
        queue.push(Access { activated: true, ..access(0, 5, 0b11) }, Some(5));
        let activated =
            [(); 2].map(|()| queue.remove_hit(Some(5), None).is_some_and(|access| access.activated));
        assert_eq!(activated, [true, false]);
    }
}
