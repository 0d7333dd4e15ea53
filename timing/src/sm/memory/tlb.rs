//! L1 TLB of an SM. L1 caches use virtual addresses, so only requests that leave the SM are
//! translated.
//!
//! A miss waits for the L2 TLB, and later requests for the same page queue behind it. Requests for
//! other pages pass. The L2 TLB belongs to the memory side (`page_walks.rs`).

use std::collections::VecDeque;
use std::hint::cold_path;

use serde::{Deserialize, Serialize};

use crate::gpu_file::{Document, SpecificationError};
use crate::message::{LINE_BYTES, MemoryRequest};
use crate::policy::replacement::{Lines, LinesMut, Replacement};
use crate::restore::{Validity, ensure, near};

crate::specification! {
    /// L1 TLB of an SM.
    pub struct TlbSpec in "tlb" {
        /// Page size.
        page: u32 ["B"],
        /// Entries.
        pages: u32 ["pages"],
        /// Replacement policy.
        replacement: Replacement ["choice"] = "lru",
        /// Extra cycles of a miss that hits the L2 TLB; 0 models no TLBs.
        miss: u32 ["core cycles"],
        /// Extra cycles of a first access to a page, which misses the L2 TLB too. A launch that
        /// starts cold forgets earlier accesses. 0 models an L2 TLB that holds every page.
        walk: u32 ["core cycles"],
        /// Bytes that a walk makes known: the page of an entry of the L2 TLB.
        walk_page: u32 ["B"],
    }
}

impl TlbSpec {
    pub(crate) fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        let wrong = |name, reason| Err(document.wrong("tlb", name, reason));
        if !self.page.is_power_of_two() || u64::from(self.page) < LINE_BYTES {
            return wrong("page", "must be a power of two of at least 128 B");
        }
        if !self.walk_page.is_power_of_two() || self.walk_page < self.page {
            return wrong("walk_page", "must be a power of two of at least tlb.page");
        }
        if !(1..=MOST_PAGES).contains(&self.pages) {
            return wrong("pages", "must be 1 to 4,096");
        }
        Ok(())
    }

    /// Page number of an address.
    pub(crate) fn page_of(&self, address: u64) -> u64 {
        address >> self.page.trailing_zeros()
    }

    /// Number of the L2 TLB's page at an address.
    pub(crate) fn walk_page_of(&self, address: u64) -> u64 {
        address >> self.walk_page.trailing_zeros()
    }
}

/// Most entries, since lookups are linear.
const MOST_PAGES: u32 = 4096;

crate::counters! {
    /// L1 TLB.
    pub struct TlbCounters in "tlb" {
        /// Requests translated.
        requests: "requests" = "",
        /// Requests that hit.
        hits: "requests" = "",
        /// Requests that missed.
        misses: "requests" = "",
        /// Requests that waited for an outstanding page.
        merged: "requests" = "",
    }
}

/// A request that waits for its translation.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Untranslated {
    /// Core cycle of the translation.
    ready: u64,
    request: MemoryRequest,
}

/// Pages of a TLB, as seen by the replacement policy.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Pages {
    /// Page numbers, youngest first.
    numbers: Vec<u64>,
    /// Marks of the replacement policy, in the same order.
    marks: Vec<u8>,
}

impl Pages {
    fn place(&self, page: u64) -> Option<usize> {
        self.numbers.iter().position(|other| *other == page)
    }
}

impl Lines for Pages {
    type Line = u64;

    fn younger(&self, page: Option<u64>) -> Option<u64> {
        let after = page.map_or(Some(self.numbers.len()), |page| self.place(page));
        self.numbers.get(after?.checked_sub(1)?).copied()
    }

    fn may_go(&self, _: u64) -> bool {
        true
    }

    fn mark(&self, page: u64) -> u8 {
        self.place(page).map_or(0, |place| self.marks[place])
    }
}

impl LinesMut for Pages {
    fn set_mark(&mut self, page: u64, mark: u8) {
        if let Some(place) = self.place(page) {
            self.marks[place] = mark;
        }
    }

    #[inline(always)]
    fn renew(&mut self, page: u64) {
        if self.numbers.first() == Some(&page) {
            return;
        }
        if let Some(place) = self.place(page) {
            self.numbers[..=place].rotate_right(1);
            self.marks[..=place].rotate_right(1);
        }
    }
}

/// A TLB.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Tlb {
    pages: Pages,
    waiting: VecDeque<Untranslated>,
    pub(super) counters: TlbCounters,
}

impl Tlb {
    /// Checks a restored TLB at a cycle.
    pub(super) fn check(&self, spec: &TlbSpec, now: u64) -> Validity {
        let Pages { numbers, marks } = &self.pages;
        ensure(numbers.len() <= spec.pages as usize, "the TLB has too many pages")?;
        ensure(numbers.len() == marks.len(), "the marks of the TLB differ from its pages")?;
        let near = self.waiting.iter().all(|waiting| near(waiting.ready, now));
        ensure(near, "a translation takes too long")
    }

    /// Requests that wait for their translations.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &MemoryRequest> {
        self.waiting.iter().map(|waiting| &waiting.request)
    }

    /// Number of waiting requests.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Translates a request at a cycle. Returns it if it can leave immediately.
    pub(super) fn translate(
        &mut self,
        spec: &TlbSpec,
        cycle: u64,
        request: MemoryRequest,
    ) -> Option<MemoryRequest> {
        if spec.miss == 0 {
            return Some(request);
        }
        self.counters.requests += 1;
        let page = spec.page_of(request.line);
        let hit = self.use_page(spec, page);
        let on_its_way = |waiting: &&Untranslated| spec.page_of(waiting.request.line) == page;
        let ready = if !hit {
            self.counters.misses += 1;
            cycle + u64::from(spec.miss)
        } else if let Some(first) = self.waiting.iter().rev().find(on_its_way) {
            self.counters.merged += 1;
            first.ready
        } else {
            self.counters.hits += 1;
            return Some(request);
        };
        // A request must not pass earlier ones.
        let ready = self.waiting.back().map_or(ready, |last| last.ready.max(ready));
        self.waiting.push_back(Untranslated { ready, request });
        None
    }

    /// Translates a request untimed. Counts nothing.
    pub(super) fn warm(&mut self, spec: &TlbSpec, address: u64) {
        if spec.miss > 0 {
            self.use_page(spec, spec.page_of(address));
        }
    }

    /// Uses the pages of an address range.
    pub(super) fn warm_range(&mut self, spec: &TlbSpec, address: u64, bytes: u64) {
        if spec.miss > 0 {
            let (first, last) =
                (spec.page_of(address), spec.page_of(address.saturating_add(bytes.max(1) - 1)));
            // Only the last pages of a large range remain.
            for page in first.max(last.saturating_sub(spec.pages.into()))..=last {
                self.use_page(spec, page);
            }
        }
    }

    /// Uses a page and inserts it. Returns whether it hit.
    fn use_page(&mut self, spec: &TlbSpec, page: u64) -> bool {
        let (pages, replacement) = (&mut self.pages, spec.replacement);
        if pages.numbers.first() == Some(&page) || pages.place(page).is_some() {
            replacement.hit(pages, page);
            return true;
        }
        if pages.numbers.len() >= spec.pages as usize
            && let Some(victim) = replacement.victim(pages)
        {
            replacement.evicted(pages, victim);
            if let Some(place) = pages.place(victim) {
                pages.numbers.remove(place);
                pages.marks.remove(place);
            }
        }
        pages.numbers.insert(0, page);
        pages.marks.insert(0, 0);
        replacement.filled(pages, page);
        false
    }

    /// The next request whose translation is complete by a cycle.
    pub(super) fn take(&mut self, cycle: u64) -> Option<MemoryRequest> {
        if self.next_event() > cycle {
            return None;
        }
        cold_path();
        self.waiting.pop_front_if(|waiting| waiting.ready <= cycle).map(|waiting| waiting.request)
    }

    /// Core cycle of the next translation; `u64::MAX` for never.
    pub(super) fn next_event(&self) -> u64 {
        self.waiting.front().map_or(u64::MAX, |waiting| waiting.ready)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Requester;

    const SPEC: TlbSpec = TlbSpec {
        page: 1 << 21,
        pages: 2,
        replacement: Replacement::Lru,
        miss: 9,
        walk: 0,
        walk_page: 1 << 25,
    };

    fn read(line: u64) -> MemoryRequest {
        MemoryRequest::read(0, line, 1, Requester::Global)
    }

    /// Tells whether a request for a page at a cycle leaves immediately.
    fn leaves(tlb: &mut Tlb, cycle: u64, page: u64) -> bool {
        tlb.translate(&SPEC, cycle, read(page << 21)).is_some()
    }

    #[test]
    fn tlb_miss_waits_and_next_access_hits() {
        let mut tlb = Tlb::default();
        assert!(!leaves(&mut tlb, 100, 5));
        assert_eq!((tlb.next_event(), tlb.take(108), tlb.take(109)), (109, None, Some(read(5 << 21))));
        assert!(leaves(&mut tlb, 110, 5));
    }

    #[test]
    fn requests_keep_order_within_a_page_only() {
        let mut tlb = Tlb::default();
        assert_eq!([5, 6].map(|page| leaves(&mut tlb, 0, page)), [false, false]);
        while tlb.take(9).is_some() {}
        assert!(!leaves(&mut tlb, 100, 7));
        assert_eq!([7, 6].map(|page| leaves(&mut tlb, 101, page)), [false, true]);
        assert_eq!(
            [tlb.take(109), tlb.take(109), tlb.take(109)],
            [Some(read(7 << 21)), Some(read(7 << 21)), None]
        );
    }

    #[test]
    fn lru_evicts_the_least_recently_used_page() {
        let mut tlb = Tlb::default();
        let pages = [1, 2, 1, 3, 1, 2].map(|page| tlb.use_page(&SPEC, page));
        assert_eq!(pages, [false, false, true, false, true, false]);
    }

    #[test]
    fn fifo_tlb_ignores_uses() {
        let spec = TlbSpec { replacement: Replacement::Fifo, ..SPEC };
        let mut tlb = Tlb::default();
        let pages = [1, 2, 1, 3, 2, 1].map(|page| tlb.use_page(&spec, page));
        assert_eq!(pages, [false, false, true, false, true, false]);
    }

    #[test]
    fn disabled_tlb_delays_nothing() {
        let spec = TlbSpec { miss: 0, ..SPEC };
        assert!(Tlb::default().translate(&spec, 0, read(0)).is_some());
    }
}
