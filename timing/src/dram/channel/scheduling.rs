//! The scheduler's view of a channel, and the banks it permits.

use super::{Channel, Direction, DramSpec};
use crate::dram::bank::{Access, Queue};
use crate::policy::dram_scheduler::{Look, Request, Turn, Waiting};

/// Accesses in one queue of a channel.
pub(super) struct WaitingIn<'c> {
    channel: &'c Channel,
    queue: usize,
    /// Columns per request.
    columns: u16,
}

impl WaitingIn<'_> {
    fn of(&self, bank: u8) -> &Queue {
        &self.channel.banks[usize::from(bank)].queues[self.queue]
    }
}

impl Waiting for WaitingIn<'_> {
    #[inline(always)]
    fn occupied(&self) -> u64 {
        self.channel.occupied[self.queue]
    }

    #[inline(always)]
    fn hits(&self) -> u64 {
        self.channel.open[self.queue]
    }

    fn oldest_hits(&self, bank: u8) -> bool {
        self.of(bank).hit == Some(0)
    }

    fn oldest_age(&self, bank: u8) -> u64 {
        self.of(bank).oldest_age
    }

    fn second_request(&self, bank: u8) -> Option<u64> {
        self.of(bank).second_request(self.columns)
    }

    fn requests(&self, bank: u8) -> impl Iterator<Item = Request> {
        let (queue, open) = (self.of(bank), self.channel.banks[usize::from(bank)].open);
        queue.accesses.iter().map(move |access| {
            let hits = open == Some(access.row) && access.direction == queue.hit_direction;
            Request { source: access.source, hits }
        })
    }
}

impl Queue {
    /// Age of the first access beyond the oldest request of `columns` columns.
    fn second_request(&self, columns: u16) -> Option<u64> {
        let request = |access: &Access, column| (access.row, column / columns, access.direction);
        let mut accesses = self
            .accesses
            .iter()
            .flat_map(|access| access.columns().map(move |(column, age)| (request(access, column), age)));
        let (first, _) = accesses.next()?;
        accesses.find(|(request, _)| *request != first).map(|(_, age)| age)
    }
}

impl Channel {
    #[inline(always)]
    pub(super) fn waiting_in(&self, spec: &DramSpec, queue: Direction) -> WaitingIn<'_> {
        WaitingIn { channel: self, queue: queue as usize, columns: spec.columns_of_request() }
    }

    /// The scheduler's view at a turn.
    #[inline(always)]
    pub(super) fn look<'l>(
        &'l self,
        spec: &'l DramSpec,
        waiting: &'l WaitingIn<'l>,
        turn: Turn,
    ) -> Look<'l, WaitingIn<'l>> {
        Look { scheduler: spec.scheduler, spec: &spec.scheduling, state: &self.scheduling, waiting, turn }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_may_end_within_a_line() {
        let of_line = |age, row, column, sectors| {
            let (slice, slot, accepted, direction) = (0, 0, 0, Direction::Read);
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
                direction,
            }
        };
        let second = |accesses: &[Access], columns| {
            let mut queue = Queue::default();
            accesses.iter().for_each(|access| queue.push(*access, None));
            queue.second_request(columns)
        };
        let line = of_line(10, 1, 4, 0b1111);
        assert_eq!([1, 2, 4].map(|columns| second(&[line], columns)), [Some(11), Some(12), None]);
        assert_eq!(second(&[of_line(10, 1, 4, 0b1110)], 2), Some(11));
        assert_eq!(second(&[line, of_line(14, 2, 4, 0b1)], 4), Some(14));
    }
}
