//! Page walks: requests that miss every TLB.
//!
//! All SMs share the L2 TLB, which covers more memory than most programs use. The TLB therefore
//! keeps every page walked since it was last emptied. Pages of the L2 TLB (`tlb.walk_page`) are
//! larger than those of the SMs' TLBs. A request for another page waits for the walk, and later
//! requests for that page join it. Requests for other pages pass. Instructions and constants are
//! not translated, and copy engines have their own TLBs.

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use crate::message::{MemoryRequest, Requester, Timed};
use crate::restore::{Validity, ensure, near};
use crate::sm::memory::tlb::TlbSpec;

/// A page walk.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Walk {
    page: u64,
    /// End of the walk in core cycles.
    end: u64,
    /// Requests that wait for the walk.
    waiting: VecDeque<Timed<MemoryRequest>>,
}

/// Tells whether a requester's requests pass the L2 TLB.
fn is_translated(requester: Requester) -> bool {
    matches!(requester, Requester::Global | Requester::Local | Requester::Texture)
}

/// The L2 TLB and the walks in progress.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PageWalks {
    pages: BTreeSet<u64>,
    /// The last requested page, if it is present.
    #[serde(skip)]
    last: Option<u64>,
    /// Walks, earliest first.
    walks: VecDeque<Walk>,
    /// Number of pages walked.
    pub walked: u64,
}

impl PageWalks {
    /// Checks restored walks at a cycle.
    pub fn check(&self, now: u64) -> Validity {
        let ends = self.walks.iter().map(|walk| walk.end);
        let waited_for = self.walks.iter().all(|walk| !walk.waiting.is_empty());
        ensure(waited_for, "a page walk has no waiting request")?;
        ensure(ends.clone().is_sorted(), "page walks are out of order")?;
        ensure(ends.clone().all(|end| near(end, now)), "a page walk takes too long")
    }

    /// Translates a request at a core cycle; requests arrive in cycle order. Returns whether it can
    /// proceed immediately.
    pub fn translate(&mut self, spec: &TlbSpec, request: &Timed<MemoryRequest>) -> bool {
        if spec.walk == 0 || !is_translated(request.message.requester) {
            return true;
        }
        let page = spec.walk_page_of(request.message.line);
        if self.last == Some(page) || self.pages.contains(&page) {
            self.last = Some(page);
            return true;
        }
        if let Some(walk) = self.walks.iter_mut().find(|walk| walk.page == page) {
            walk.waiting.push_back(*request);
        } else {
            self.walked += 1;
            let end = request.cycle + u64::from(spec.walk);
            self.walks.push_back(Walk { page, end, waiting: VecDeque::from([*request]) });
        }
        false
    }

    /// The next request whose walk ends before a cycle, with that end.
    pub fn take(&mut self, until: u64) -> Option<(u64, Timed<MemoryRequest>)> {
        let walk = self.walks.front_mut().filter(|walk| walk.end < until)?;
        let (end, request) = (walk.end, walk.waiting.pop_front()?);
        if walk.waiting.is_empty() {
            self.pages.insert(walk.page);
            self.walks.pop_front();
        }
        Some((end, request))
    }

    /// Core cycle of the next request for [`PageWalks::take`].
    pub fn next_event(&self) -> Option<u64> {
        self.walks.front().map(|walk| walk.end)
    }

    /// Waiting requests.
    pub fn requests(&self) -> impl Iterator<Item = &Timed<MemoryRequest>> {
        self.walks.iter().flat_map(|walk| &walk.waiting)
    }

    /// Translates a request untimed.
    pub fn warm(&mut self, spec: &TlbSpec, request: &MemoryRequest) {
        if spec.walk != 0 && is_translated(request.requester) {
            self.pages.insert(spec.walk_page_of(request.line));
        }
    }

    /// Uses the pages of an address range.
    pub fn warm_range(&mut self, spec: &TlbSpec, address: u64, bytes: u64) {
        if spec.walk != 0 {
            let last = address.saturating_add(bytes.max(1) - 1);
            self.pages.extend(spec.walk_page_of(address)..=spec.walk_page_of(last));
        }
    }

    /// Forgets all pages; walks continue.
    pub fn invalidate(&mut self) {
        self.pages.clear();
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::replacement::Replacement;

    const SPEC: TlbSpec = TlbSpec {
        page: 1 << 21,
        pages: 2,
        replacement: Replacement::Lru,
        miss: 9,
        walk: 654,
        walk_page: 1 << 25,
    };

    fn read(cycle: u64, page: u64, requester: Requester) -> Timed<MemoryRequest> {
        let message = MemoryRequest::read(0, page << 25, 1, requester);
        Timed { cycle, message }
    }

    /// Tells whether a request for a page at a cycle proceeds immediately.
    fn goes_on(walks: &mut PageWalks, cycle: u64, page: u64) -> bool {
        walks.translate(&SPEC, &read(cycle, page, Requester::Global))
    }

    /// Cycles at which requests proceed before a cycle.
    fn taken(walks: &mut PageWalks, until: u64) -> Vec<u64> {
        std::iter::from_fn(|| walks.take(until)).map(|(ready, _)| ready).collect()
    }

    #[test]
    fn requests_for_a_page_resume_when_its_walk_ends() {
        let mut walks = PageWalks::default();
        assert_eq!([100, 300].map(|cycle| goes_on(&mut walks, cycle, 5)), [false, false]);
        assert_eq!(
            (walks.next_event(), taken(&mut walks, 754), taken(&mut walks, 755)),
            (Some(754), vec![], vec![754, 754])
        );
        assert!(goes_on(&mut walks, 754, 5));
        assert_eq!(walks.walked, 1);
    }

    #[test]
    fn walk_covers_a_page_of_the_l2_tlb() {
        let mut walks = PageWalks::default();
        walks.warm_range(&SPEC, 5 << 25, 1);
        let there =
            |address| Timed { cycle: 0, message: MemoryRequest::read(0, address, 1, Requester::Global) };
        let last = (6 << 25) - 128;
        assert_eq!([last, 6 << 25].map(|line| walks.translate(&SPEC, &there(line))), [true, false]);
    }

    #[test]
    fn requests_for_other_pages_pass() {
        let mut walks = PageWalks::default();
        walks.warm(&SPEC, &read(0, 6, Requester::Global).message);
        assert_eq!([5, 6].map(|page| goes_on(&mut walks, 0, page)), [false, true]);
    }

    #[test]
    fn page_walks_overlap() {
        let mut walks = PageWalks::default();
        assert_eq!([5, 6].map(|page| goes_on(&mut walks, page, page)), [false, false]);
        assert_eq!(taken(&mut walks, 1000), [659, 660]);
    }

    #[test]
    fn invalidated_pages_are_walked_again() {
        let mut walks = PageWalks::default();
        walks.warm(&SPEC, &read(0, 5, Requester::Global).message);
        assert!(goes_on(&mut walks, 0, 5));
        walks.invalidate();
        assert!(!goes_on(&mut walks, 1, 5));
    }

    #[test]
    fn instructions_constants_and_copies_bypass_the_tlb() {
        let mut walks = PageWalks::default();
        for requester in [Requester::Instruction, Requester::Constant, Requester::Copy] {
            assert!(walks.translate(&SPEC, &read(0, 5, requester)));
        }
    }
}
