//! Saved form of work in flight.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use warp_stream::KernelSource;

use super::Totals;
use super::copy::RunningCopy;
use super::launch::{Launch, LaunchId, LaunchState};
use super::transfer::RunningTransfer;
use crate::message::MemoryReply;
use crate::restore::{RestoreError, Validity, ensure, near, of_unit};
use crate::sm::Sm;
use crate::specification::GpuSpec;

/// Most launches, copies and fills in flight in a restored state.
const MOST: LaunchId = 1 << 16;

/// State of CTA dispatch, epochs and the progress watchdog.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Turns {
    /// Core cycles from which an SM may have room for a CTA, earliest first; one per CTA, or one
    /// for all.
    pub(super) openings: Vec<VecDeque<u64>>,
    /// Core cycle up to which CTAs have been dispatched.
    pub(super) dispatched: u64,
    /// SM that gets the next CTA if it has room.
    pub(super) turn: usize,
    pub(super) epochs: u64,
    pub(super) watch: Watch,
}

/// Progress at the last check.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Watch {
    pub(super) moved: [u64; 3],
    /// Epoch of the last progress.
    pub(super) since: u64,
}

impl Turns {
    pub(super) fn new(sms: usize) -> Turns {
        Turns { openings: vec![VecDeque::new(); sms], ..Turns::default() }
    }

    /// Marks every SM as possibly having room.
    pub(super) fn open_all(&mut self) {
        for openings in self.openings.iter_mut().filter(|openings| openings.is_empty()) {
            openings.push_back(0);
        }
    }

    /// Records room for one more CTA on an SM from each of these cycles on.
    pub(super) fn open(&mut self, sm: usize, freed: impl Iterator<Item = u64>) {
        let openings = &mut self.openings[sm];
        for cycle in freed {
            let later = openings.iter().rev().take_while(|opening| **opening > cycle).count();
            openings.insert(openings.len() - later, cycle);
        }
    }

    /// Earliest core cycle from which an SM may have room.
    pub(super) fn first_opening(&self) -> Option<u64> {
        self.openings.iter().filter_map(VecDeque::front).min().copied()
    }

    fn check(&self, sms: usize, now: u64) -> Validity {
        let Turns { openings, dispatched, turn, epochs, watch } = self;
        ensure(openings.len() == sms && *turn < sms, "the number of SMs differs")?;
        ensure(*dispatched <= now, "CTA dispatch is ahead of the clock")?;
        ensure(
            openings.iter().flatten().all(|cycle| near(*cycle, now)),
            "an SM's room lies too far in the future",
        )?;
        ensure(watch.since <= *epochs && *epochs < 1 << 60, "the progress watchdog is ahead of the clock")
    }
}

/// Work in flight.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Running {
    /// Oldest first.
    pub(super) launches: Vec<LaunchState>,
    /// Oldest first.
    pub(super) copies: Vec<RunningCopy>,
    /// Oldest first.
    pub(super) transfers: Vec<RunningTransfer>,
    pub(super) turns: Turns,
    /// Counts at the last record or at the first launch's start.
    pub(super) before: Totals,
}

impl Running {
    /// Restores the launches with the sources that continue them.
    pub(super) fn launches<'a>(
        &self,
        gpu: &GpuSpec,
        now: u64,
        sources: &[&'a dyn KernelSource],
    ) -> Result<Vec<Launch<'a>>, RestoreError> {
        self.check(gpu, now).map_err(of_unit("work in flight"))?;
        let mut sources = sources.iter();
        self.launches.iter().map(|saved| saved.restore(gpu, now, sources.next().copied())).collect()
    }

    fn check(&self, gpu: &GpuSpec, now: u64) -> Validity {
        self.turns.check(gpu.chip.sms as usize, now)?;
        let mut ids: Vec<LaunchId> = self.launches.iter().map(LaunchState::id).collect();
        ids.extend(self.copies.iter().map(|copy| copy.id));
        ids.extend(self.transfers.iter().map(|transfer| transfer.id));
        ids.sort_unstable();
        ensure(ids.is_sorted_by(|a, b| a < b), "two launches or copies share a number")?;
        ensure(ids.last().is_none_or(|id| *id < MOST), "too many launches or copies are in flight")?;
        self.copies.iter().try_for_each(|copy| copy.check(gpu, now))?;
        self.transfers.iter().try_for_each(|transfer| transfer.check(gpu, now))
    }

    /// Zero replies for each copy, then for each transfer.
    pub(super) fn no_replies(&self) -> Vec<u64> {
        vec![0; self.copies.len() + self.transfers.len()]
    }

    /// Counts a reply in flight to a copy or transfer.
    pub(super) fn copy_reply(&self, found: &mut [u64], reply: &MemoryReply) -> Validity {
        let copies = self.copies.iter().map(|copy| copy.id);
        let mut all = copies.chain(self.transfers.iter().map(|transfer| transfer.id));
        let place = all.position(|id| id == reply.tag);
        *place.and_then(|place| found.get_mut(place)).ok_or("a reply belongs to no copy")? += 1;
        Ok(())
    }

    /// Checks that outstanding requests equal the replies in flight.
    pub(super) fn check_replies(&self, found: &[u64]) -> Validity {
        let (of_copies, of_transfers) = found.split_at(self.copies.len());
        let mut copies = self.copies.iter().zip(of_copies);
        let mut transfers = self.transfers.iter().zip(of_transfers);
        let fit = copies.all(|(copy, found)| copy.waits_for(*found))
            && transfers.all(|(transfer, found)| transfer.waits_for(*found));
        ensure(fit, "a copy's outstanding replies differ from those in flight")
    }
}

/// Checks that the resident CTAs are the started and uncompleted ones of the launches.
pub(super) fn check_ctas(launches: &[Launch<'_>], sms: &[Box<Sm>]) -> Validity {
    let mut there = vec![0_u64; launches.len()];
    for id in sms.iter().flat_map(|sm| sm.launches()) {
        let place = launches.iter().position(|launch| launch.id == id);
        there[place.ok_or("a CTA belongs to no launch in flight")?] += 1;
    }
    let mut all = launches.iter().zip(there);
    ensure(
        all.all(|(launch, ctas)| launch.ctas_there() == ctas),
        "the resident CTAs differ from those of the launches",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slot_freed_first_is_filled_first() {
        let mut turns = Turns::new(1);
        turns.open(0, [40, 10].into_iter());
        turns.open(0, [20, 50, 20].into_iter());
        assert_eq!(turns.openings[0], [10, 20, 20, 40, 50]);
    }
}
