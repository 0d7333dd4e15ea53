//! A bank and the accesses that wait for it.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::DramSpec;

/// The banks of a mask.
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
    /// That of an access.
    pub(super) fn of(write: bool) -> Direction {
        if write { Direction::Write } else { Direction::Read }
    }
}

/// An access that waits.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Access {
    /// Counts accesses of the channel: lower is older.
    pub(super) age: u64,
    pub(super) row: u64,
    pub(super) column: u16,
    /// Slice of the channel, and what it knows a read by.
    pub(super) slice: u8,
    pub(super) sector: u8,
    pub(super) slot: u32,
    /// The cycle in which it came, without its upper half.
    pub(super) accepted: u32,
    /// Its row was opened for it.
    pub(super) activated: bool,
    pub(super) direction: Direction,
}

/// Accesses to a bank in the order in which they came.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Queue {
    pub(super) accesses: VecDeque<Access>,
    /// The oldest to the open row.
    #[serde(skip)]
    pub(super) hit: Option<usize>,
    /// Ages of that one and of the oldest of all, and the first one's direction; without meaning if there is none.
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

    /// Removes the oldest to the open row.
    pub(super) fn remove_hit(&mut self, open: Option<u64>) -> Option<Access> {
        let hit = self.hit?;
        let access = match hit {
            0 => self.accesses.pop_front(),
            _ => self.accesses.remove(hit),
        };
        self.oldest_age = self.accesses.front().map_or(0, |oldest| oldest.age);
        self.find_hit(open, hit);
        access
    }

    /// What follows from the accesses and the row that is open.
    pub(super) fn derive(&mut self, open: Option<u64>) {
        self.oldest_age = self.accesses.front().map_or(0, |oldest| oldest.age);
        self.opened(open);
    }

    /// The bank has another open row, or none.
    pub(super) fn opened(&mut self, open: Option<u64>) {
        self.find_hit(open, 0);
    }

    fn find_hit(&mut self, open: Option<u64>, from: usize) {
        // None is before `from`.
        let to = |row| self.accesses.range(from..).position(|access| access.row == row);
        self.hit = open.and_then(to).map(|behind| from + behind);
        if let Some(Access { age, direction, .. }) = self.hit.map(|hit| &self.accesses[hit]) {
            (self.hit_age, self.hit_direction) = (*age, *direction);
        }
    }
}

/// A bank. Its cycles are the earliest for a command, as far as the bank itself goes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Bank {
    /// The row that is open.
    pub(super) open: Option<u64>,
    /// Earliest activation or refresh.
    pub(super) activate_at: u64,
    /// Earliest precharge.
    pub(super) precharge_at: u64,
    /// Earliest read or write.
    pub(super) column_at: u64,
    /// Its bank group.
    #[serde(skip)]
    pub(super) group: u8,
    /// Reads and writes that wait; all in the first one if there is one ([`super::Queues`]).
    pub(super) queues: [Queue; 2],
}

impl Bank {
    /// A closed one.
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
