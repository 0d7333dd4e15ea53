//! Requests that wait for sectors from DRAM: the slice's miss status holding registers.

use serde::{Deserialize, Serialize};
use warp_stream::host_cache::fetch;

use super::slice::Work;
use crate::message::SECTORS;
use crate::restore::{Fits, Once, fits};

const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Waiter {
    work: Work,
    /// Sectors that have yet to come.
    missing: u32,
    /// For each sector the one that waits after this one. While the entry is free, the first is the next free one.
    next: [u32; SECTORS as usize],
}

/// Requests by the sectors that they wait for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Waiting {
    waiters: Vec<Waiter>,
    free: u32,
    /// For each sector of each slot the first that waits.
    first: Vec<u32>,
    /// Requests that wait.
    count: u32,
}

impl Waiting {
    pub(super) fn new(lines: u32) -> Waiting {
        Waiting { waiters: Vec::new(), free: NONE, first: vec![NONE; (lines * SECTORS) as usize], count: 0 }
    }

    /// Requests that wait.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// What is left to do for the requests that wait.
    pub(super) fn works(&self) -> impl Iterator<Item = &Work> {
        self.waiters.iter().filter(|waiter| waiter.missing > 0).map(|waiter| &waiter.work)
    }

    /// Tells of each request that waits, with its number, slot by slot and sector by sector for which it does.
    pub(super) fn each(&self, mut tell: impl FnMut(u32, &Work, u32, u32)) {
        for (place, first) in (0..).zip(&self.first) {
            let (slot, sector) = (place / SECTORS, place % SECTORS);
            let mut index = *first;
            while index != NONE {
                let waiter = &self.waiters[index as usize];
                tell(index, &waiter.work, slot, sector);
                index = waiter.next[sector as usize];
            }
        }
    }

    /// Whether those that were read can be a slice's, of so many lines with the sectors of `pending` on their way.
    pub(super) fn check(
        &self,
        lines: u32,
        pending: impl Fn(u32) -> u8,
        work: impl Fn(&Work) -> Fits,
    ) -> Fits {
        fits(self.first.len() == (lines * SECTORS) as usize, "it has another number of lines")?;
        let mut lists = vec![0_u32; self.waiters.len()];
        let mut steps = 0;
        for (place, first) in (0..).zip(&self.first) {
            let (slot, sector) = (place / SECTORS, place % SECTORS);
            let comes = *first == NONE || pending(slot) >> sector & 1 != 0;
            fits(comes, "a request waits for a sector that does not come")?;
            let mut index = *first;
            while index != NONE {
                let waiter = self.waiters.get(index as usize).ok_or("a list of requests leads to nothing")?;
                lists[index as usize] += 1;
                steps += 1;
                // No request is in more lists than there are sectors.
                fits(steps <= self.waiters.len() * SECTORS as usize, "a list of requests has no end")?;
                index = waiter.next[sector as usize];
            }
        }
        let mut free = self.free;
        let mut records = Once::new(self.waiters.len());
        while free != NONE {
            records.reach(free)?;
            free = self.waiters[free as usize].next[0];
        }
        let mut count = 0;
        for (number, (waiter, lists)) in (0..).zip(self.waiters.iter().zip(lists)) {
            fits(
                waiter.missing == lists && (lists == 0) == records.has(number),
                "a request waits for nothing",
            )?;
            if lists > 0 {
                count += 1;
                work(&waiter.work)?;
            }
        }
        fits(count == self.count, "another number of requests waits")
    }

    /// Sectors of a slot are going to come.
    pub(super) fn foresee(&self, slot: u32) {
        fetch(&self.first[(slot * SECTORS) as usize]);
    }

    /// Whether as many as can wait for one of some sectors of a slot.
    #[inline(never)]
    pub(super) fn is_full(&self, slot: u32, sectors: u8, most: u32) -> bool {
        (0..SECTORS).any(|sector| sectors >> sector & 1 != 0 && self.depth(slot, sector) >= most)
    }

    /// How many wait for a sector of a slot.
    fn depth(&self, slot: u32, sector: u32) -> u32 {
        let mut depth = 0;
        let mut waiter = self.first[(slot * SECTORS + sector) as usize];
        while waiter != NONE {
            depth += 1;
            waiter = self.waiters[waiter as usize].next[sector as usize];
        }
        depth
    }

    /// A request waits for the sectors of a mask in a slot.
    pub(super) fn add(&mut self, slot: u32, sectors: u8, work: Work) {
        let waiter = Waiter { work, missing: sectors.count_ones(), next: [NONE; SECTORS as usize] };
        let index = match self.free {
            NONE => {
                self.waiters.push(waiter);
                (self.waiters.len() - 1) as u32
            }
            free => {
                self.free = self.waiters[free as usize].next[0];
                self.waiters[free as usize] = waiter;
                free
            }
        };
        self.count += 1;
        for sector in (0..SECTORS).filter(|sector| sectors >> sector & 1 != 0) {
            let mut last = self.first[(slot * SECTORS + sector) as usize];
            if last == NONE {
                self.first[(slot * SECTORS + sector) as usize] = index;
                continue;
            }
            while self.waiters[last as usize].next[sector as usize] != NONE {
                last = self.waiters[last as usize].next[sector as usize];
            }
            self.waiters[last as usize].next[sector as usize] = index;
        }
    }

    /// A sector has come; `ready` gets the requests that have now all of theirs.
    pub(super) fn arrived(&mut self, slot: u32, sector: u32, mut ready: impl FnMut(&Work)) {
        let first = &mut self.first[(slot * SECTORS + sector) as usize];
        let mut index = std::mem::replace(first, NONE);
        while index != NONE {
            let waiter = &mut self.waiters[index as usize];
            let next = waiter.next[sector as usize];
            waiter.missing -= 1;
            if waiter.missing == 0 {
                ready(&waiter.work);
                waiter.next[0] = std::mem::replace(&mut self.free, index);
                self.count -= 1;
            }
            index = next;
        }
    }
}
