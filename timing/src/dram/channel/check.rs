//! Restoring and checking a channel.

use super::{Access, Bank, Channel, Checker, Direction, DramSpec};
use crate::dram::counts;
use crate::message::SECTORS;
use crate::restore::{LATEST, Validity, countable, ensure};

/// Largest lead of a command in cycles: several times the longest gap of any specification.
const AHEAD: u64 = 1 << 20;

impl Channel {
    /// Restores a channel as pseudo-channel `slot` at a cycle of the command clock.
    ///
    /// # Errors
    /// The state is invalid.
    pub(crate) fn restore(&mut self, spec: &DramSpec, slot: u32, now: u64) -> Validity {
        self.check(spec, slot, now)?;
        self.banks.iter().try_for_each(|bank| self.check_bank(bank, now))?;
        self.queued = [0; 2];
        for number in 0..self.banks.len() {
            let bank = &mut self.banks[number];
            bank.group = Bank::new(spec, number as u8).group;
            for (queued, queue) in self.queued.iter_mut().zip(&mut bank.queues) {
                *queued = queued.saturating_add(queue.count());
                queue.derive(bank.open);
            }
            for (queue, direction) in bank.queues.iter().zip([Direction::Read, Direction::Write]) {
                let its_own = |access: &Access| spec.queues.of(access.direction) == direction;
                ensure(queue.accesses.iter().all(its_own), "an access is in a wrong queue")?;
            }
            self.bank_changed(number as u8);
        }
        let [reads, writes] = self.queued;
        ensure(reads <= spec.read_queue && writes <= spec.write_queue, "the queues exceed their capacity")?;
        ensure(self.is_idle() == (self.next == u64::MAX), "the next queue check is missing")?;
        if cfg!(debug_assertions) {
            let mut checker = Box::new(Checker::new(spec));
            checker.resumed(now, self.banks.iter().map(|bank| bank.open));
            self.checker = Some(checker);
        }
        Ok(())
    }

    fn check(&self, spec: &DramSpec, slot: u32, now: u64) -> Validity {
        let Channel { banks, groups, columns, activate_at, activations, refresh, .. } = self;
        ensure(banks.len() == spec.banks as usize, "the number of banks differs")?;
        ensure(groups.len() == spec.bank_groups as usize, "the number of bank groups differs")?;
        ensure(self.slot == slot, "the position within the channel differs")?;
        ensure(u32::from(refresh.bank) < spec.banks, "the refreshed bank does not exist")?;
        let times = groups.iter().chain([columns]).flatten().chain(activations).chain([activate_at]);
        let busy = self.activity.iter().map(|bank| &bank.busy_since).chain([&self.busy_to]);
        let mut times = times.chain([&self.counted, &self.commanded]).chain(busy);
        let due = refresh.due <= now + AHEAD + u64::from(spec.refi);
        ensure(due && times.all(|cycle| *cycle <= now + AHEAD), "a command is due too late")?;
        ensure(self.next == u64::MAX || self.next <= now + AHEAD, "the next event is too late")?;
        ensure(self.age < LATEST, "the access count is too large")?;
        self.scheduling.check(&spec.scheduling, spec.banks)?;
        counts::check(&[self.counts()], &DramSpec { pseudo_channels: 1, ..spec.clone() }, 1)?;
        countable(&self.counters)
    }

    fn check_bank(&self, bank: &Bank, now: u64) -> Validity {
        let times = [bank.activate_at, bank.precharge_at, bank.column_at];
        ensure(times.iter().all(|cycle| *cycle <= now + AHEAD), "a command is due too late")?;
        bank.queues.iter().try_for_each(|queue| {
            let ends = queue.accesses.iter().map(|access| access.age.saturating_add(access.count().into()));
            let starts = queue.accesses.iter().skip(1).map(|access| access.age).chain([self.age]);
            let sorted = ends.zip(starts).all(|(end, next)| end <= next);
            ensure(sorted, "accesses are out of order")?;
            let of_a_line = |access: &Access| {
                let sectors = access.sectors != 0 && access.sectors >> SECTORS == 0;
                sectors && access.column <= u16::MAX - SECTORS as u16
            };
            ensure(queue.accesses.iter().all(of_a_line), "an access lies outside the sectors of a line")
        })
    }

    /// Queued reads: slice, slot and sectors.
    pub(crate) fn reads(&self) -> impl Iterator<Item = (u8, u32, u8)> {
        let accesses = self.banks.iter().flat_map(|bank| &bank.queues[0].accesses);
        let reads = accesses.filter(|access| access.direction == Direction::Read);
        reads.map(|Access { slice, slot, sectors, .. }| (*slice, *slot, *sectors))
    }
}
