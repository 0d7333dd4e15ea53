//! What is under way in a GPU, as it is written and read.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use warp_stream::KernelSource;

use super::Totals;
use super::copy::RunningCopy;
use super::launch::{Launch, LaunchId, LaunchState};
use super::transfer::RunningTransfer;
use crate::message::MemoryReply;
use crate::restore::{Fits, RestoreError, fits, near, of_unit};
use crate::sm::Sm;
use crate::specification::GpuSpec;

/// Launches, copies and fills that are under way at once, at most, in a state that was read.
const MOST: LaunchId = 1 << 16;

/// Whose turn is next, and what is looked at now and then.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Turns {
    /// For each SM, from when on it may have room for a CTA; one for each CTA that it may have room for, or for all. Core
    /// cycles, the earliest first.
    pub(super) openings: Vec<VecDeque<u64>>,
    /// CTAs have been started up to this core cycle.
    pub(super) dispatched: u64,
    /// The SM that gets the next CTA if it has room.
    pub(super) turn: usize,
    pub(super) epochs: u64,
    pub(super) watch: Watch,
}

/// What had moved when it was last looked at.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Watch {
    pub(super) moved: [u64; 3],
    /// Epoch since which it is the same.
    pub(super) since: u64,
}

impl Turns {
    pub(super) fn new(sms: usize) -> Turns {
        Turns { openings: vec![VecDeque::new(); sms], ..Turns::default() }
    }

    /// Each SM may have room.
    pub(super) fn open_all(&mut self) {
        for openings in self.openings.iter_mut().filter(|openings| openings.is_empty()) {
            openings.push_back(0);
        }
    }

    /// An SM has room for one CTA more from each of these cycles on.
    pub(super) fn open(&mut self, sm: usize, freed: impl Iterator<Item = u64>) {
        let openings = &mut self.openings[sm];
        for cycle in freed {
            let later = openings.iter().rev().take_while(|opening| **opening > cycle).count();
            openings.insert(openings.len() - later, cycle);
        }
    }

    /// Since when an SM may have room. Core cycles.
    pub(super) fn first_opening(&self) -> Option<u64> {
        self.openings.iter().filter_map(VecDeque::front).min().copied()
    }

    fn check(&self, sms: usize, now: u64) -> Fits {
        let Turns { openings, dispatched, turn, epochs, watch } = self;
        fits(openings.len() == sms && *turn < sms, "there is another number of SMs")?;
        fits(*dispatched <= now, "CTAs are started too late")?;
        fits(openings.iter().flatten().all(|cycle| near(*cycle, now)), "an SM has room too late")?;
        fits(watch.since <= *epochs && *epochs < 1 << 60, "nothing can have moved since then")
    }
}

/// What is under way.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Running {
    /// Oldest first.
    pub(super) launches: Vec<LaunchState>,
    /// Oldest first.
    pub(super) copies: Vec<RunningCopy>,
    /// Oldest first.
    pub(super) transfers: Vec<RunningTransfer>,
    pub(super) turns: Turns,
    /// What had been counted when the last record was made, or the first launch began.
    pub(super) before: Totals,
}

impl Running {
    /// The launches, with what executes them from here on.
    pub(super) fn launches<'a>(
        &self,
        gpu: &GpuSpec,
        now: u64,
        sources: &[&'a dyn KernelSource],
    ) -> Result<Vec<Launch<'a>>, RestoreError> {
        self.check(gpu, now).map_err(of_unit("what is under way"))?;
        let mut sources = sources.iter();
        self.launches.iter().map(|saved| saved.restore(gpu, now, sources.next().copied())).collect()
    }

    fn check(&self, gpu: &GpuSpec, now: u64) -> Fits {
        self.turns.check(gpu.chip.sms as usize, now)?;
        let mut ids: Vec<LaunchId> = self.launches.iter().map(LaunchState::id).collect();
        ids.extend(self.copies.iter().map(|copy| copy.id));
        ids.extend(self.transfers.iter().map(|transfer| transfer.id));
        ids.sort_unstable();
        fits(ids.is_sorted_by(|a, b| a < b), "two launches or copies have one number")?;
        fits(ids.last().is_none_or(|id| *id < MOST), "too much is under way")?;
        self.copies.iter().try_for_each(|copy| copy.check(gpu, now))?;
        self.transfers.iter().try_for_each(|transfer| transfer.check(gpu, now))
    }

    /// For copies and then transfers: replies that were found.
    pub(super) fn no_replies(&self) -> Vec<u64> {
        vec![0; self.copies.len() + self.transfers.len()]
    }

    /// A reply to a copy or a transfer is on its way.
    pub(super) fn copy_reply(&self, found: &mut [u64], reply: &MemoryReply) -> Fits {
        let copies = self.copies.iter().map(|copy| copy.id);
        let mut all = copies.chain(self.transfers.iter().map(|transfer| transfer.id));
        let place = all.position(|id| id == reply.tag);
        *place.and_then(|place| found.get_mut(place)).ok_or("a reply is for no copy")? += 1;
        Ok(())
    }

    /// They wait for as many replies as are on their way.
    pub(super) fn check_replies(&self, found: &[u64]) -> Fits {
        let (of_copies, of_transfers) = found.split_at(self.copies.len());
        let mut copies = self.copies.iter().zip(of_copies);
        let mut transfers = self.transfers.iter().zip(of_transfers);
        let fit = copies.all(|(copy, found)| copy.waits_for(*found))
            && transfers.all(|(transfer, found)| transfer.waits_for(*found));
        fits(fit, "a copy waits for other replies")
    }
}

/// The CTAs on SMs are those of the launches that have started and not ended.
pub(super) fn check_ctas(launches: &[Launch<'_>], sms: &[Box<Sm>]) -> Fits {
    let mut there = vec![0_u64; launches.len()];
    for id in sms.iter().flat_map(|sm| sm.launches()) {
        let place = launches.iter().position(|launch| launch.id == id);
        there[place.ok_or("a CTA is of no launch that is under way")?] += 1;
    }
    let mut all = launches.iter().zip(there);
    fits(all.all(|(launch, ctas)| launch.ctas_there() == ctas), "another number of CTAs is on the SMs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slot_that_is_free_first_is_filled_first_in_whatever_order_ctas_end() {
        let mut turns = Turns::new(1);
        turns.open(0, [40, 10].into_iter());
        turns.open(0, [20, 50, 20].into_iter());
        assert_eq!(turns.openings[0], [10, 20, 20, 40, 50]);
    }
}
