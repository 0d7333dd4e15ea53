//! Constant cache of an SM. Misses go to the L1.5, which is the L1 instruction cache
//! (`sm::front_end`), and then to L2.
//!
//! Each distinct word of a warp's access is a request, and the cache accepts one request a cycle. A
//! miss waits for its line while later requests proceed.

use serde::{Deserialize, Serialize};
use warp_stream::{LaneMask, WARP_SIZE};

use super::access::Line;
use crate::gpu_file::{Document, SpecificationError};
use crate::message::LINE_BYTES;
use crate::policy::replacement::Replacement;
use crate::restore::{Validity, ensure};
use crate::sm::cache::{Cache, Lookup};

crate::specification! {
    /// Constant cache of an SM.
    pub struct ConstantSpec in "constant" {
        /// Size of the cache.
        size: u32 ["B"],
        /// Line size.
        line: u32 ["B"],
        /// Associativity.
        ways: u32 ["lines"],
        /// Replacement policy.
        replacement: Replacement ["choice"] = "lru",
        /// Lookup of a hit to data at the write-back latch.
        latency: u32 ["core cycles"],
        /// Lookup of a miss that hits the L1 instruction cache (L1.5) to data at the write-back
        /// latch.
        l1_5_latency: u32 ["core cycles"],
        /// First instruction of a launch on an SM to the launch's parameters, which no cache of the
        /// SM holds.
        parameters: u32 ["core cycles"],
    }
}

/// Size in bytes of the constant bank with a launch's parameters, at address 0 (CUDA C++
/// Programming Guide, compute capabilities: 64 KiB).
pub(crate) const PARAMETER_BANK: u64 = 64 << 10;

/// Upper bound for the end of the parameters in the bank. They start at 0x160 (`cuobjdump -sass`)
/// and take at most 4 KiB (PTX manual, kernel function parameters, before 8.1).
pub(crate) const PARAMETERS_END: u64 = 0x160 + (4 << 10);

/// Cycles from the lookup of a miss to the lookup in the L1 instruction cache, and from a line's
/// arrival to the write-back latch.
const STAGES: u32 = 2;

impl ConstantSpec {
    pub(crate) fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        let wrong = |name, reason| Err(document.wrong("constant", name, reason));
        let line = u64::from(self.line);
        if self.line < 4 || !line.is_power_of_two() || line > LINE_BYTES {
            return wrong(
                "line",
                "must be a power of two from 4 to 128 B, the line of the L1 instruction cache",
            );
        }
        if let Some((name, _)) = [("ways", self.ways), ("size", self.size)].iter().find(|(_, of)| *of == 0) {
            return wrong(name, "must be at least 1");
        }
        if !u64::from(self.size).is_multiple_of(u64::from(self.ways) * line) {
            let keys = [("constant", "ways"), ("constant", "size"), ("constant", "line")];
            return Err(document.disagree(&keys, "the cache must hold a whole number of sets"));
        }
        if self.l1_5_latency < self.latency.saturating_add(STAGES) {
            let keys = [("constant", "l1_5_latency"), ("constant", "latency")];
            return Err(document.disagree(&keys, "a miss must take longer than a hit"));
        }
        Ok(())
    }

    /// Core cycles from the lookup in the L1 instruction cache to the line's arrival.
    pub(crate) fn way_of_hit(&self) -> u64 {
        u64::from(self.l1_5_latency - STAGES)
    }

    /// Core cycles from a line's arrival in the L1 instruction cache to its arrival here: the
    /// additional latency of a miss.
    pub(crate) fn way_of_fill(&self) -> u64 {
        u64::from(self.l1_5_latency - self.latency)
    }

    /// The requests of an access, each with its line.
    pub(super) fn requests(
        &self,
        active: LaneMask,
        addresses: &[u64; WARP_SIZE],
        width: u8,
        lines: &mut Vec<Line>,
    ) {
        let mut words = [0; WARP_SIZE];
        let mut count = 0;
        for lane in (0..WARP_SIZE).filter(|lane| active >> lane & 1 != 0) {
            let word = addresses[lane] / u64::from(width.max(1));
            // Most often all lanes read the same word.
            if !words[..count].contains(&word) {
                words[count] = word;
                count += 1;
                let address = addresses[lane] & !u64::from(self.line - 1);
                lines.push(Line { address, ..Line::default() });
            }
        }
    }
}

crate::counters! {
    /// Constant cache.
    pub struct ConstantCounters in "constant" {
        /// Distinct words of accesses.
        requests: "requests" = "idc__requests.sum",
        /// Distinct words whose line hit.
        hits: "requests" = "idc__requests_lookup_hit.sum",
        /// Distinct words whose line missed.
        misses: "requests" = "idc__requests_lookup_miss.sum",
        /// Lines requested from L1.5.
        lines: "lines" = "",
    }
}

/// A request that waits for its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Waiter {
    line: u64,
    access: u32,
}

/// A constant cache.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ConstantCache {
    cache: Cache,
    waiting: Vec<Waiter>,
    /// Lines to request.
    wanted: Vec<u64>,
    pub(super) counters: ConstantCounters,
}

impl ConstantCache {
    /// An empty cache.
    pub(super) fn new(spec: &ConstantSpec) -> ConstantCache {
        ConstantCache {
            cache: Cache::new(spec.size, spec.ways, u64::from(spec.line), spec.replacement),
            waiting: Vec::new(),
            wanted: Vec::new(),
            counters: ConstantCounters::default(),
        }
    }

    /// Checks a restored cache. Calls `waits` for each access that waits for a line.
    pub(super) fn check(&self, spec: &ConstantSpec, mut waits: impl FnMut(u32) -> Validity) -> Validity {
        self.cache.check(spec.size, spec.ways, u64::from(spec.line), spec.replacement)?;
        let awaited = |line: &u64| self.waiting.iter().any(|waiter| waiter.line == *line);
        ensure(self.wanted.iter().all(awaited), "a constant line is requested without a waiting access")?;
        self.waiting.iter().try_for_each(|waiter| waits(waiter.access))
    }

    /// Looks up a line for a request. On a miss, the request waits.
    pub(super) fn look_up(&mut self, line: u64, access: u32) -> bool {
        self.counters.requests += 1;
        if self.cache.look_up(line) != Lookup::Miss {
            self.counters.hits += 1;
            return true;
        }
        self.counters.misses += 1;
        if !self.waiting.iter().any(|waiter| waiter.line == line) {
            self.counters.lines += 1;
            self.wanted.push(line);
        }
        self.waiting.push(Waiter { line, access });
        false
    }

    /// Lines that an access waits for, as lines of the L1 instruction cache.
    pub(super) fn awaited(&self, access: u32) -> impl Iterator<Item = u64> {
        let waiting = self.waiting.iter().filter(move |waiter| waiter.access == access);
        waiting.map(|waiter| waiter.line - waiter.line % LINE_BYTES)
    }

    /// Tells whether there are lines to request.
    pub(super) fn wants_lines(&self) -> bool {
        !self.wanted.is_empty()
    }

    /// Takes the lines to request, as lines of the L1 instruction cache.
    pub(super) fn take_wanted(&mut self) -> impl Iterator<Item = u64> {
        self.wanted.drain(..).map(|line| line - line % LINE_BYTES)
    }

    /// Fills a line of the L1 instruction cache. `answered` receives the accesses whose requests
    /// waited for it.
    pub(super) fn fill(&mut self, line: u64, answered: &mut Vec<u32>) {
        let ConstantCache { cache, waiting, .. } = self;
        waiting.retain(|waiter| {
            let comes = waiter.line - waiter.line % LINE_BYTES == line;
            if comes {
                if !cache.has(waiter.line) {
                    cache.fill(waiter.line, false);
                }
                answered.push(waiter.access);
            }
            !comes
        });
    }

    /// Uses a line and fills it immediately if absent. Returns whether it hit. Counts nothing.
    pub(super) fn warm(&mut self, line: u64) -> bool {
        let there = self.cache.look_up(line) != Lookup::Miss;
        if !there {
            self.cache.fill(line, false);
        }
        there
    }

    /// Invalidates all lines.
    pub(super) fn invalidate(&mut self) {
        self.cache.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specification::GpuSpec;

    fn requests(active: LaneMask, width: u8, address: impl Fn(u64) -> u64) -> Vec<u64> {
        let spec = GpuSpec::built_in("titan-v").unwrap().constant;
        let mut lines = Vec::new();
        spec.requests(active, &std::array::from_fn(|lane| address(lane as u64)), width, &mut lines);
        lines.iter().map(|line| line.address).collect()
    }

    #[test]
    fn lanes_reading_one_word_are_one_request() {
        assert_eq!(requests(!0, 4, |_| 100), [64]);
        assert_eq!(requests(!0, 4, |lane| 100 + 4 * (lane % 2)), [64, 64]);
        assert_eq!(requests(0b11, 8, |lane| 1024 * lane), [0, 1024]);
        assert!(requests(0, 8, |lane| 1024 * lane).is_empty());
    }

    #[test]
    fn line_is_requested_once_and_answers_all_waiters() {
        let spec = GpuSpec::built_in("titan-v").unwrap().constant;
        let mut cache = ConstantCache::new(&spec);
        assert_eq!(
            [(64, 1), (64, 2), (0, 3), (256, 4)].map(|(line, access)| cache.look_up(line, access)),
            [false; 4]
        );
        assert_eq!(cache.take_wanted().collect::<Vec<_>>(), [0, 0, 256]);
        let mut answered = Vec::new();
        cache.fill(0, &mut answered);
        assert_eq!(answered, [1, 2, 3]);
        assert_eq!([0, 64, 256].map(|line| cache.look_up(line, 5)), [true, true, false]);
    }

    #[test]
    fn cyclic_reads_beyond_capacity_always_miss() {
        let spec = GpuSpec::built_in("titan-v").unwrap().constant;
        let mut cache = ConstantCache::new(&spec);
        let mut round = |bytes: u64| (0..bytes).step_by(64).filter(|line| cache.warm(*line)).count();
        assert_eq!([round(2048), round(2048), round(4096), round(4096)], [0, 32, 32, 0]);
    }
}
