//! Restoring and checking a slice.

use super::{ANY, DramAccess, Fill, Needs, Slice, Work};
use crate::l2::L2Spec;
use crate::l2::tags::Tags;
use crate::message::{LINE_BYTES, SECTORS};
use crate::partition::PartitionSpec;
use crate::restore::{MOST_COUNTED, Validity, countable, ensure, near};

/// Properties of the GPU around a slice that its state depends on.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'g> {
    /// SMs.
    pub sms: u32,
    /// Reply capacity of the crossbar.
    pub reply_room: u32,
    /// Address map of the slices.
    pub partition: &'g PartitionSpec,
}

/// Sectors expected from DRAM and not yet found there, as a mask per slot.
#[derive(Debug)]
pub struct Expected(Vec<u8>);

impl Expected {
    /// Accounts for a slot's sectors on their way.
    pub(crate) fn find(&mut self, slot: u32, sectors: u8) -> Validity {
        let expected = self.0.get_mut(slot as usize).ok_or("a sector arrives for a missing line")?;
        ensure(sectors != 0 && *expected & sectors == sectors, "an unexpected sector arrives")?;
        *expected &= !sectors;
        Ok(())
    }

    /// Checks that nothing is missing.
    pub(crate) fn all_found(&self) -> Validity {
        ensure(self.0.iter().all(|expected| *expected == 0), "an expected sector never arrives")
    }
}

impl Needs {
    /// Tells whether the set exists and the demand does not exceed that of a request.
    fn can_be(&self, spec: &L2Spec) -> bool {
        let is_set = self.set == ANY || self.set < spec.sets() * spec.ways;
        is_set && self.room <= 3 * SECTORS
    }
}

impl Work {
    fn check(&self, sms: u32, now: u64) -> Validity {
        self.reply.check(sms)?;
        self.atomic.map_or(Ok(()), |atomic| atomic.check())?;
        ensure(near(self.looked_up, now) && near(self.sent, now), "a request takes too long")
    }
}

impl Slice {
    /// Restores a slice with this number at an L2 cycle. Returns the sectors it expects from its
    /// channel.
    ///
    /// # Errors
    /// The state is invalid.
    pub(crate) fn restore(
        &mut self,
        spec: &L2Spec,
        around: Surroundings<'_>,
        number: u32,
        now: u64,
    ) -> Result<Expected, &'static str> {
        let expected = self.check(spec, around, number, now)?;
        self.tags.derive(spec);
        self.missed = self.count_missed();
        self.look_ahead();
        Ok(expected)
    }

    fn check(
        &self,
        spec: &L2Spec,
        around: Surroundings<'_>,
        number: u32,
        now: u64,
    ) -> Result<Expected, &'static str> {
        let Slice { taken, tags, waiting, outstanding, free_at, stalled, reply_room, exit, .. } = self;
        tags.check(spec)?;
        ensure(exit.slice == number, "the identity differs")?;
        ensure(*taken == 0, "the crossbar's count of accepted requests is invalid")?;
        ensure(*reply_room <= around.reply_room, "the crossbar's free space is invalid")?;
        ensure(near(*free_at, now), "the busy time is too long")?;
        exit.atomic.check(now)?;
        let waits = stalled.is_none_or(|stalled| stalled.since <= now && !self.input.is_empty());
        ensure(waits, "the start of the wait is invalid")?;
        ensure(stalled.is_none_or(|stalled| stalled.needs.can_be(spec)), "a request waits without a cause")?;
        countable(&self.counters())?;
        self.check_input(spec, around, number, now)?;
        let pending = |slot: u32| tags.line(slot).pending;
        waiting.check(spec.sets() * spec.ways, pending, |work| work.check(around.sms, now))?;
        let expected: Vec<u8> = tags.lines().map(|line| line.pending).collect();
        let sum: u32 = expected.iter().map(|pending| pending.count_ones()).sum();
        ensure(sum == *outstanding, "the number of expected sectors differs")?;
        let counted = now.checked_sub(self.counted).and_then(|cycles| cycles.checked_mul(u64::from(sum)));
        ensure(counted.is_some_and(|count| count < MOST_COUNTED), "an expected sector is too late")?;
        self.check_way_to_dram(spec, now, Expected(expected))
    }

    fn check_input(&self, spec: &L2Spec, around: Surroundings<'_>, number: u32, now: u64) -> Validity {
        self.input.iter().try_for_each(|arrival| {
            let message = &arrival.request.message;
            message.check(around.sms)?;
            let place = around.partition.place(message.line);
            let here = place.slice == number && place.offset / LINE_BYTES == arrival.line;
            ensure(here, "a request belongs to another slice")?;
            ensure(Tags::set(spec, arrival.line) == arrival.set, "a request belongs to another set")?;
            ensure(near(arrival.cycle, now) && near(arrival.request.cycle, now), "a request arrives too late")
        })
    }

    /// Number of sectors waiting for DRAM.
    fn count_missed(&self) -> u32 {
        self.misses.iter().map(|access| access.sectors.count_ones()).sum()
    }

    fn check_way_to_dram(
        &self,
        spec: &L2Spec,
        now: u64,
        mut expected: Expected,
    ) -> Result<Expected, &'static str> {
        ensure(self.misses.len() <= spec.miss_queue as usize, "too many accesses wait for DRAM")?;
        ensure(self.count_missed() <= spec.miss_queue, "too many accesses wait for DRAM")?;
        for DramAccess { line, sectors, slot, write, .. } in &self.misses {
            let of_a_line = *sectors != 0 && sectors >> SECTORS == 0;
            ensure(*line < 1 << 57 && of_a_line, "an access to DRAM is beyond memory")?;
            if !write {
                expected.find(*slot, *sectors)?;
            }
        }
        for Fill { cycle, slot, sectors } in &self.fills {
            ensure(near(*cycle, now), "a sector arrives too late")?;
            expected.find(*slot, *sectors)?;
        }
        Ok(expected)
    }
}
