//! Walks of the page tables: what happens to requests for pages that no TLB has.
//!
//! The L2 TLB, which all SMs share, reaches further than the memory of most programs, so it has
//! every page that was walked to since it was emptied. A request for another page waits until the
//! walk is over, with the others for that page; requests for other pages pass. Instructions and
//! constants are not translated here, and copy engines have TLBs of their own.

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use crate::message::{MemoryRequest, Requester, Timed};
use crate::restore::{Validity, ensure, near};
use crate::sm::memory::tlb::TlbSpec;

/// A walk under way.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Walk {
    page: u64,
    /// When it is over. Core cycles.
    end: u64,
    /// Requests that wait for it.
    waiting: VecDeque<Timed<MemoryRequest>>,
}

/// Requests of a requester pass the L2 TLB.
fn is_translated(requester: Requester) -> bool {
    matches!(requester, Requester::Global | Requester::Local | Requester::Texture)
}

/// State of the L2 TLB, and of the walks.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PageWalks {
    pages: BTreeSet<u64>,
    /// The page that was asked for last, which is there.
    #[serde(skip)]
    last: Option<u64>,
    /// The earliest first.
    walks: VecDeque<Walk>,
    /// Pages that were walked to.
    pub walked: u64,
}

impl PageWalks {
    /// Checks restored walks at a cycle.
    pub fn check(&self, now: u64) -> Validity {
        let ends = self.walks.iter().map(|walk| walk.end);
        let waited_for = self.walks.iter().all(|walk| !walk.waiting.is_empty());
        ensure(waited_for, "nobody waits for a page walk")?;
        ensure(ends.clone().is_sorted(), "page walks end in another order")?;
        ensure(ends.clone().all(|end| near(end, now)), "a page walk takes too long")
    }

    /// A request at a core cycle, none earlier than those before it; says whether it can go on at
    /// once.
    pub fn translate(&mut self, spec: &TlbSpec, request: &Timed<MemoryRequest>) -> bool {
        if spec.walk == 0 || !is_translated(request.message.requester) {
            return true;
        }
        let page = spec.page_of(request.message.line);
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

    /// The next request whose page is there before a cycle, and when it is.
    pub fn take(&mut self, until: u64) -> Option<(u64, Timed<MemoryRequest>)> {
        let walk = self.walks.front_mut().filter(|walk| walk.end < until)?;
        let (end, request) = (walk.end, walk.waiting.pop_front()?);
        if walk.waiting.is_empty() {
            self.pages.insert(walk.page);
            self.walks.pop_front();
        }
        Some((end, request))
    }

    /// When [`PageWalks::take`] has a request. Core cycles.
    pub fn next_event(&self) -> Option<u64> {
        self.walks.front().map(|walk| walk.end)
    }

    /// Requests that wait.
    pub fn requests(&self) -> impl Iterator<Item = &Timed<MemoryRequest>> {
        self.walks.iter().flat_map(|walk| &walk.waiting)
    }

    /// A page is used without time.
    pub fn warm(&mut self, spec: &TlbSpec, request: &MemoryRequest) {
        if spec.walk != 0 && is_translated(request.requester) {
            self.pages.insert(spec.page_of(request.line));
        }
    }

    /// The pages of so many bytes were used.
    pub fn warm_range(&mut self, spec: &TlbSpec, address: u64, bytes: u64) {
        if spec.walk != 0 {
            let last = address.saturating_add(bytes.max(1) - 1);
            self.pages.extend(spec.page_of(address)..=spec.page_of(last));
        }
    }

    /// Forgets all pages; walks go on.
    pub fn invalidate(&mut self) {
        self.pages.clear();
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::replacement::Replacement;

    const SPEC: TlbSpec =
        TlbSpec { page: 1 << 21, pages: 2, replacement: Replacement::Lru, miss: 9, walk: 654 };

    fn read(cycle: u64, page: u64, requester: Requester) -> Timed<MemoryRequest> {
        let message = MemoryRequest::read(0, page << 21, 1, requester);
        Timed { cycle, message }
    }

    /// A request for a page at a cycle goes on at once.
    fn goes_on(walks: &mut PageWalks, cycle: u64, page: u64) -> bool {
        walks.translate(&SPEC, &read(cycle, page, Requester::Global))
    }

    /// When requests go on that do before a cycle.
    fn taken(walks: &mut PageWalks, until: u64) -> Vec<u64> {
        std::iter::from_fn(|| walks.take(until)).map(|(ready, _)| ready).collect()
    }

    #[test]
    fn requests_for_a_page_go_on_together_when_the_walk_is_over() {
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
    fn requests_for_other_pages_pass() {
        let mut walks = PageWalks::default();
        walks.warm(&SPEC, &read(0, 6, Requester::Global).message);
        assert_eq!([5, 6].map(|page| goes_on(&mut walks, 0, page)), [false, true]);
    }

    #[test]
    fn walks_are_beside_each_other() {
        let mut walks = PageWalks::default();
        assert_eq!([5, 6].map(|page| goes_on(&mut walks, page, page)), [false, false]);
        assert_eq!(taken(&mut walks, 1000), [659, 660]);
    }

    #[test]
    fn pages_are_walked_to_again_after_they_were_forgotten() {
        let mut walks = PageWalks::default();
        walks.warm(&SPEC, &read(0, 5, Requester::Global).message);
        assert!(goes_on(&mut walks, 0, 5));
        walks.invalidate();
        assert!(!goes_on(&mut walks, 1, 5));
    }

    #[test]
    fn instructions_constants_and_copies_pass() {
        let mut walks = PageWalks::default();
        for requester in [Requester::Instruction, Requester::Constant, Requester::Copy] {
            assert!(walks.translate(&SPEC, &read(0, 5, requester)));
        }
    }
}
