//! MSHRs of a slice: requests that wait for DRAM sectors.

use serde::{Deserialize, Serialize};
use warp_stream::host_cache::fetch;

use super::slice::Work;
use crate::message::SECTORS;
use crate::restore::{Once, Validity, ensure};

const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Waiter {
    work: Work,
    /// Outstanding sectors of the request.
    missing: u32,
    /// Next waiter of each sector. In a free entry the first is the next free entry.
    next: [u32; SECTORS as usize],
}

/// Waiting requests by sector.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Waiting {
    waiters: Vec<Waiter>,
    free: u32,
    /// First waiter of each sector of each slot.
    first: Vec<u32>,
    /// Number of waiting requests.
    count: u32,
}

impl Waiting {
    pub(super) fn new(lines: u32) -> Waiting {
        Waiting { waiters: Vec::new(), free: NONE, first: vec![NONE; (lines * SECTORS) as usize], count: 0 }
    }

    /// Number of waiting requests.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Remaining work of the waiting requests.
    pub(super) fn works(&self) -> impl Iterator<Item = &Work> {
        self.waiters.iter().filter(|waiter| waiter.missing > 0).map(|waiter| &waiter.work)
    }

    /// Calls `tell` for each waiter with its number, slot and sector, in that order.
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

    /// Checks restored waiters of a slice with `lines` lines and outstanding sectors `pending`.
    pub(super) fn check(
        &self,
        lines: u32,
        pending: impl Fn(u32) -> u8,
        work: impl Fn(&Work) -> Validity,
    ) -> Validity {
        ensure(self.first.len() == (lines * SECTORS) as usize, "the number of lines differs")?;
        let mut lists = vec![0_u32; self.waiters.len()];
        let mut steps = 0;
        for (place, first) in (0..).zip(&self.first) {
            let (slot, sector) = (place / SECTORS, place % SECTORS);
            let comes = *first == NONE || pending(slot) >> sector & 1 != 0;
            ensure(comes, "a request waits for a sector that is not outstanding")?;
            let mut index = *first;
            while index != NONE {
                let waiter =
                    self.waiters.get(index as usize).ok_or("a list of requests has a dangling link")?;
                lists[index as usize] += 1;
                steps += 1;
                // A request is in at most as many lists as a line has sectors.
                ensure(steps <= self.waiters.len() * SECTORS as usize, "a list of requests is endless")?;
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
            ensure(
                waiter.missing == lists && (lists == 0) == records.has(number),
                "a request waits without a cause",
            )?;
            if lists > 0 {
                count += 1;
                work(&waiter.work)?;
            }
        }
        ensure(count == self.count, "the number of waiting requests differs")
    }

    /// Prefetches a slot's waiters into host caches.
    pub(super) fn prefetch_host(&self, slot: u32) {
        fetch(&self.first[(slot * SECTORS) as usize]);
    }

    /// True if one of the sectors has its maximum of waiters.
    #[inline(never)]
    pub(super) fn is_full(&self, slot: u32, sectors: u8, most: u32) -> bool {
        (0..SECTORS).any(|sector| sectors >> sector & 1 != 0 && self.depth(slot, sector) >= most)
    }

    /// Waiters of a sector.
    fn depth(&self, slot: u32, sector: u32) -> u32 {
        let mut depth = 0;
        let mut waiter = self.first[(slot * SECTORS + sector) as usize];
        while waiter != NONE {
            depth += 1;
            waiter = self.waiters[waiter as usize].next[sector as usize];
        }
        depth
    }

    /// Makes a request wait for sectors of a slot.
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

    /// Accepts a sector; `ready` receives requests with no sector left to wait for.
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
