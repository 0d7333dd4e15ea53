//! Untimed accesses: their effect on tags and sectors.

use super::{L1, L1Spec, Load, Lookup};
use crate::message::Requester;

impl L1 {
    /// Loads sectors of a line and fills them immediately. Returns the sectors requested from L2.
    /// Counts nothing.
    pub fn warm_load(&mut self, spec: &L1Spec, line: u64, sectors: u8, answered: &mut Vec<u32>) -> u8 {
        let (counters, now) = (self.counters, self.counted);
        let watched = std::mem::take(&mut self.events.watched);
        let load = Load { line, sectors, access: 0, requester: Requester::Global, warp: 0 };
        let fetched = match self.load(spec, now, load, true) {
            Ok(Lookup::Wait { fetch, entry }) => {
                self.fill(spec, now, entry, fetch, answered);
                answered.clear();
                fetch
            }
            Ok(Lookup::Hit) | Err(_) => 0,
        };
        self.events.watched = watched;
        self.counters = counters;
        fetched
    }

    /// Core cycle up to which outstanding lines were counted.
    pub fn counted(&self) -> u64 {
        self.counted
    }

    /// Stores to sectors of a line. Counts nothing.
    pub fn warm_store(&mut self, spec: &L1Spec, line: u64, sectors: u8) {
        let counters = self.counters;
        self.store(spec, line, sectors, Requester::Global);
        self.counters = counters;
    }
}
