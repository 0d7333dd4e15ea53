//! Whether a slice that was read can be.

use super::{ANY, DramAccess, Fill, Needs, Slice, Work};
use crate::l2::L2Spec;
use crate::l2::tags::Tags;
use crate::message::{LINE_BYTES, SECTORS};
use crate::restore::{Fits, MOST_COUNTED, countable, fits, near};
use crate::specification::GpuSpec;

/// Sectors of a slice that are on their way from DRAM and have not been found there, as a mask for each slot.
#[derive(Debug)]
pub struct Expected(Vec<u8>);

impl Expected {
    /// Sectors of a slot are found.
    pub(crate) fn find(&mut self, slot: u32, sectors: u8) -> Fits {
        let expected = self.0.get_mut(slot as usize).ok_or("a sector comes for no line")?;
        fits(sectors != 0 && *expected & sectors == sectors, "a sector comes that nobody expects")?;
        *expected &= !sectors;
        Ok(())
    }

    /// All were found.
    pub(crate) fn all_found(&self) -> Fits {
        fits(self.0.iter().all(|expected| *expected == 0), "a sector that is expected does not come")
    }
}

impl Needs {
    /// Whether there is such a set, and no more is needed than what is fetched and written back for a request.
    fn can_be(&self, spec: &L2Spec) -> bool {
        let is_set = self.set == ANY || self.set < spec.sets() * spec.ways;
        is_set && self.room <= 3 * SECTORS
    }
}

impl Work {
    fn check(&self, gpu: &GpuSpec, now: u64) -> Fits {
        self.reply.check(gpu.chip.sms)?;
        self.atomic.map_or(Ok(()), |atomic| atomic.check())?;
        fits(near(self.looked_up, now) && near(self.sent, now), "a request takes too long")
    }
}

impl Slice {
    /// Makes one that was read ready to run as slice `number` at an L2 cycle; gives what it expects of its channel.
    ///
    /// # Errors
    /// It can have no such state.
    pub(crate) fn restore(&mut self, gpu: &GpuSpec, number: u32, now: u64) -> Result<Expected, &'static str> {
        let expected = self.check(gpu, number, now)?;
        self.tags.derive(&gpu.l2);
        self.missed = self.count_missed();
        self.look_ahead();
        Ok(expected)
    }

    fn check(&self, gpu: &GpuSpec, number: u32, now: u64) -> Result<Expected, &'static str> {
        let Slice { taken, tags, waiting, outstanding, free_at, stalled, reply_room, exit, .. } = self;
        tags.check(&gpu.l2)?;
        fits(exit.slice == number, "it is another one")?;
        fits(*taken == 0, "the crossbar does not know what it has taken")?;
        fits(*reply_room <= gpu.crossbar.input_buffer, "the crossbar has no such room")?;
        fits(near(*free_at, now), "it is busy for too long")?;
        exit.atomic.check(now)?;
        let waits = stalled.is_none_or(|stalled| stalled.since <= now && !self.input.is_empty());
        fits(waits, "nothing can be waiting since then")?;
        fits(stalled.is_none_or(|stalled| stalled.needs.can_be(&gpu.l2)), "a request waits for nothing")?;
        countable(&self.counters())?;
        self.check_input(gpu, number, now)?;
        let pending = |slot: u32| tags.line(slot).pending;
        waiting.check(gpu.l2.sets() * gpu.l2.ways, pending, |work| work.check(gpu, now))?;
        let expected: Vec<u8> = tags.lines().map(|line| line.pending).collect();
        let sum: u32 = expected.iter().map(|pending| pending.count_ones()).sum();
        fits(sum == *outstanding, "it expects another number of sectors")?;
        let counted = now.checked_sub(self.counted).and_then(|cycles| cycles.checked_mul(u64::from(sum)));
        fits(counted.is_some_and(|count| count < MOST_COUNTED), "sectors are expected for too long")?;
        self.check_way_to_dram(gpu, now, Expected(expected))
    }

    fn check_input(&self, gpu: &GpuSpec, number: u32, now: u64) -> Fits {
        self.input.iter().try_for_each(|arrival| {
            let message = &arrival.request.message;
            message.check(gpu.chip.sms)?;
            let place = gpu.partition.place(message.line);
            let here = place.slice == number && place.offset / LINE_BYTES == arrival.line;
            fits(here, "a request is for another slice")?;
            fits(Tags::set(&gpu.l2, arrival.line) == arrival.set, "a request is for another set")?;
            fits(near(arrival.cycle, now) && near(arrival.request.cycle, now), "a request comes too late")
        })
    }

    /// Sectors that wait for DRAM.
    fn count_missed(&self) -> u32 {
        self.misses.iter().map(|access| access.sectors.count_ones()).sum()
    }

    fn check_way_to_dram(
        &self,
        gpu: &GpuSpec,
        now: u64,
        mut expected: Expected,
    ) -> Result<Expected, &'static str> {
        fits(self.misses.len() <= gpu.l2.miss_queue as usize, "too many accesses wait for DRAM")?;
        fits(self.count_missed() <= gpu.l2.miss_queue, "too many accesses wait for DRAM")?;
        for DramAccess { line, sectors, slot, write, .. } in &self.misses {
            let of_a_line = *sectors != 0 && sectors >> SECTORS == 0;
            fits(*line < 1 << 57 && of_a_line, "an access to DRAM is beyond memory")?;
            if !write {
                expected.find(*slot, *sectors)?;
            }
        }
        for Fill { cycle, slot, sectors } in &self.fills {
            fits(near(*cycle, now), "a sector comes too late")?;
            expected.find(*slot, *sectors)?;
        }
        Ok(expected)
    }
}
