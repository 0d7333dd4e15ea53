//! Counts of a launch: accesses, misses by kind, distances, levels per instruction.

use serde::{Deserialize, Serialize};

/// Reason of a miss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Miss {
    /// The core never requested the sector before.
    Compulsory,
    /// A fully associative cache of the same size would miss too.
    Capacity,
    /// A fully associative cache of the same size would hit.
    Associativity,
    /// The sector is in flight. Profilers count no such misses, as the request causes no traffic.
    Latency,
    /// A store or an atomic operation has invalidated the sector.
    Invalidation,
}

impl Miss {
    /// Every kind.
    pub const ALL: [Miss; 5] =
        [Miss::Compulsory, Miss::Capacity, Miss::Associativity, Miss::Latency, Miss::Invalidation];
}

/// Buckets of a histogram: distance 0, then one per power of two.
pub const BUCKETS: usize = 33;

/// Bucket of a distance.
#[inline]
pub fn bucket(distance: u32) -> usize {
    (u32::BITS - distance.leading_zeros()) as usize
}

/// Counts of a configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Sectors that loads request, or lines where misses fetch whole lines.
    pub accesses: u64,
    /// Accesses that hit.
    pub hits: u64,
    /// Accesses that miss, in the order of [`Miss::ALL`].
    pub misses: [u64; Miss::ALL.len()],
}

impl Counts {
    /// Misses of a kind.
    pub fn of(&self, miss: Miss) -> u64 {
        self.misses[miss as usize]
    }

    /// Misses that cause traffic: all but latency misses.
    pub fn fetching(&self) -> u64 {
        self.accesses - self.hits - self.of(Miss::Latency)
    }

    /// Misses that cause traffic, as a part of all accesses.
    pub fn miss_rate(&self) -> f64 {
        ratio(self.fetching(), self.accesses)
    }

    /// Hits as a part of all accesses.
    pub fn hit_rate(&self) -> f64 {
        ratio(self.hits, self.accesses)
    }

    /// Adds the counts of another core or launch.
    pub fn add(&mut self, other: &Counts) {
        self.accesses += other.accesses;
        self.hits += other.hits;
        self.misses.iter_mut().zip(other.misses).for_each(|(sum, more)| *sum += more);
    }
}

/// A part of a whole; 0 of nothing.
pub(crate) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Levels that serve the loads of an instruction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelCounts {
    /// Warp loads by the slowest level of their sectors: L1, L2, memory.
    pub loads: [u64; 3],
    /// Sectors by level: L1 for hits and sectors in flight, L2 and memory for fetched ones.
    pub sectors: [u64; 3],
}

impl LevelCounts {
    /// Adds other counts.
    pub fn add(&mut self, other: &LevelCounts) {
        self.loads.iter_mut().zip(other.loads).for_each(|(sum, more)| *sum += more);
        self.sectors.iter_mut().zip(other.sectors).for_each(|(sum, more)| *sum += more);
    }
}

/// Counts that follow from the order of one configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderCounts {
    /// Accesses whose line the core had accessed before, by distance in the set ([`bucket`]).
    pub distances: Vec<u64>,
    /// Requests that found no MSHR and went to the back of the queue.
    pub cancelled: u64,
    /// Levels by instruction of the kernel's code.
    pub levels: Vec<LevelCounts>,
    /// Time units of the longest core.
    pub time: u64,
}

impl OrderCounts {
    /// Adds the counts of another core.
    pub fn add(&mut self, other: &OrderCounts) {
        let length = self.distances.len().max(other.distances.len());
        self.distances.resize(length, 0);
        self.distances.iter_mut().zip(&other.distances).for_each(|(sum, more)| *sum += more);
        self.cancelled += other.cancelled;
        let length = self.levels.len().max(other.levels.len());
        self.levels.resize(length, LevelCounts::default());
        self.levels.iter_mut().zip(&other.levels).for_each(|(sum, more)| sum.add(more));
        self.time = self.time.max(other.time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bucket_is_the_power_of_two_above_a_distance() {
        assert_eq!([0, 1, 2, 3, 4, 7, 8, u32::MAX].map(bucket), [0, 1, 2, 2, 3, 3, 4, 32]);
    }
}
