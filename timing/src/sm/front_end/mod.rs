//! Front end: instruction caches, fetch, decode, instruction buffers (Huerta et al., section 2.1).
//!
//! Each cycle a sub-core's fetch selects, round robin, a warp with room in its buffer. The L0
//! instruction cache supplies that warp's next instructions, up to the end of the line; they enter
//! the buffer when decoded. L0 misses go to the SM's L1 instruction cache, whose arbiter serves one
//! line a cycle, and from there through the memory unit to L2.

mod l1;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

pub(super) use self::l1::CONSTANTS;
use self::l1::Granted;
pub use self::l1::L1;
pub(super) use self::l1::request;
use super::cache::{Cache, Lookup};
use super::program::Program;
use crate::gpu_file::{Document, SpecificationError};
use crate::message::LINE_BYTES;
use crate::policy::replacement::Replacement;
use crate::restore::{Validity, ensure, near};
use crate::timed_queue::TimedQueue;

crate::choice! {
    /// Front ends of an SM.
    pub enum Organisation {
        /// One per sub-core, each with an L0 instruction cache.
        PerSubCore = "per-sub-core",
        /// One per SM, as in Accel-Sim: no L0; the L1 instruction cache serves every sub-core each
        /// cycle.
        Shared = "shared",
    }
}

crate::specification! {
    /// Front end.
    pub struct FrontEndSpec in "front_end" {
        /// Front ends of an SM.
        organisation: Organisation [""],
        /// Instructions fetched at once.
        width: u32 ["instructions"],
        /// Capacity of a warp's instruction buffer.
        buffer: u32 ["instructions"],
        /// Fetch from the first cache to issue.
        latency: u32 ["core cycles"],
        /// Size of a sub-core's L0 instruction cache.
        l0_size: u32 ["B"],
        /// Associativity of L0.
        l0_ways: u32 ["lines"],
        /// Replacement policy of L0.
        l0_replacement: Replacement ["choice"] = "lru",
        /// Outstanding line misses of L0.
        l0_requests: u32 ["lines"],
        /// Lines that L0 prefetches after a miss or after the first use of a prefetched line.
        prefetch: u32 ["lines"],
        /// Size of the SM's L1 instruction cache.
        l1_size: u32 ["B"],
        /// Associativity of L1.
        l1_ways: u32 ["lines"],
        /// Replacement policy of L1.
        l1_replacement: Replacement ["choice"] = "lru",
        /// Lookup in L1 to arrival of the line in L0.
        l1_latency: u32 ["core cycles"],
    }
}

impl FrontEndSpec {
    pub(crate) fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        let wrong = |name, reason| Err(document.wrong("front_end", name, reason));
        let positive = [
            ("width", self.width),
            ("latency", self.latency),
            ("l0_size", self.l0_size),
            ("l0_ways", self.l0_ways),
            ("l0_requests", self.l0_requests),
            ("l1_size", self.l1_size),
            ("l1_ways", self.l1_ways),
        ];
        if let Some((name, _)) = positive.iter().find(|(_, value)| *value == 0) {
            return wrong(name, "must be at least 1");
        }
        if self.buffer < self.width {
            let keys = [("front_end", "buffer"), ("front_end", "width")];
            return Err(document.disagree(&keys, "the buffer must hold at least one fetch"));
        }
        Ok(())
    }
}

crate::counters! {
    /// Instruction caches. The L1 instruction cache is also the next level of the constant cache
    /// (L1.5).
    pub struct FrontEndCounters in "front_end" {
        /// Instruction fetches of warps.
        fetches: "fetches" = "",
        /// Fetches that missed L0 (or a shared L1).
        misses: "fetches" = "",
        /// Lines that L0 prefetched.
        prefetches: "lines" = "",
        /// L0 misses and prefetches looked up in L1.
        l1_lines: "lines" = "sm__icc_requests.sum",
        /// L0 misses and prefetches that hit L1.
        l1_hits: "lines" = "sm__icc_requests_lookup_hit.sum",
        /// Constant-cache misses looked up in L1.
        constant_lines: "lines" = "",
        /// Constant-cache misses that hit L1.
        constant_hits: "lines" = "",
        /// Lines requested from L2.
        l2_lines: "lines" = "",
        /// Lines requested from L2 for the constant cache.
        constant_l2_lines: "lines" = "",
        /// Fetches that did not follow the warp's previous instruction.
        redirections: "times" = "",
    }
}

impl FrontEndCounters {
    /// Counts a request served by L1.
    pub(super) fn count(&mut self, Granted { asker, hit }: Granted) {
        let (lines, hits) = match asker {
            CONSTANTS => (&mut self.constant_lines, &mut self.constant_hits),
            _ => (&mut self.l1_lines, &mut self.l1_hits),
        };
        *lines += 1;
        *hits += u64::from(hit);
    }
}

/// Instruction buffer of a warp, in code positions. Fetched instructions are consecutive.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Buffer {
    /// Position of the warp's next instruction.
    pub from: u32,
    /// End of the fetched instructions.
    to: u32,
    /// End of the requested instructions.
    asked: u32,
    /// Redirection count, which identifies arrivals from before the last redirection.
    turn: u32,
}

impl Buffer {
    /// Tells whether the next instruction is in the buffer.
    pub fn has_next(&self) -> bool {
        self.from < self.to
    }

    /// Sets another next instruction.
    pub fn redirect(&mut self, position: u32) {
        *self = Buffer { from: position, to: position, asked: position, turn: self.turn.wrapping_add(1) };
    }

    /// Sets another next instruction, with all of a program of `length` instructions in the buffer.
    pub fn redirect_ideally(&mut self, position: u32, length: u32) {
        *self = Buffer { from: position, to: length, asked: length, turn: self.turn.wrapping_add(1) };
    }

    /// Handles arriving instructions. Returns whether they are still wanted.
    pub fn arrive(&mut self, arrival: &Arrival) -> bool {
        let wanted = arrival.turn == self.turn;
        if wanted {
            self.to = arrival.to;
        }
        wanted
    }

    /// Checks a restored buffer against the warp's program.
    pub fn check(&self, program: &Program) -> Validity {
        let Buffer { from, to, asked, .. } = *self;
        let order = from <= to && to <= asked && asked as usize <= program.instructions().len();
        ensure(order, "a warp's instruction buffer is out of order")
    }

    /// Tells whether arriving instructions match the requested ones.
    fn expects(&self, arrival: &Arrival) -> bool {
        arrival.turn != self.turn || (self.to..=self.asked).contains(&arrival.to)
    }

    /// Tells whether the buffer has room for a fetch and the program has more instructions.
    fn has_room(&self, spec: &FrontEndSpec, program: &Program) -> bool {
        self.asked - self.from + spec.width <= spec.buffer
            && (self.asked as usize) < program.instructions().len()
    }
}

/// Instructions on their way to a buffer.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Arrival {
    /// Destination warp.
    pub warp: u32,
    to: u32,
    turn: u32,
}

/// A line that L0 requests from L1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Request {
    line: u64,
    ahead: bool,
}

/// Context of a sub-core's fetch within the SM.
pub struct Beside<'a> {
    /// The front end's specification.
    pub spec: &'a FrontEndSpec,
    /// Program of the warp.
    pub program: &'a Program,
    /// The SM's L1 instruction cache.
    pub l1: &'a mut L1,
    /// Counters to update.
    pub counters: &'a mut FrontEndCounters,
    /// Number of the sub-core.
    pub sub_core: usize,
}

/// Fetch unit of a sub-core. Warps are numbers below 32, sets of warps are masks.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Fetch {
    l0: Cache,
    /// Warps with room in their buffers.
    wanted: u32,
    /// Warps that wait for a line.
    blocked: u32,
    /// Next warp in the round robin.
    turn: u32,
    arrivals: TimedQueue<Arrival>,
    /// Lines requested from L1.
    requests: Vec<Request>,
    /// Lines to request from L1.
    queue: VecDeque<Request>,
}

impl Fetch {
    /// A fetch unit with an empty cache.
    pub fn new(spec: &FrontEndSpec) -> Fetch {
        Fetch {
            l0: Cache::new(spec.l0_size, spec.l0_ways, LINE_BYTES, spec.l0_replacement),
            wanted: 0,
            blocked: 0,
            turn: 0,
            arrivals: TimedQueue::default(),
            requests: Vec::new(),
            queue: VecDeque::new(),
        }
    }

    /// Checks a restored unit at a cycle against the buffers of the resident warps.
    pub fn check<'b>(
        &self,
        spec: &FrontEndSpec,
        now: u64,
        present: u32,
        buffer: impl Fn(u32) -> Option<&'b Buffer>,
    ) -> Validity {
        self.l0.check(spec.l0_size, spec.l0_ways, LINE_BYTES, spec.l0_replacement)?;
        ensure((self.wanted | self.blocked) & !present == 0, "instructions are fetched for a missing warp")?;
        ensure(self.turn < 32, "the round-robin pointer of the fetch is invalid")?;
        ensure(
            self.requests.len() <= spec.l0_requests as usize,
            "too many instruction lines are outstanding",
        )?;
        self.arrivals.iter().try_for_each(|(cycle, arrival)| {
            let buffer = buffer(arrival.warp).ok_or("instructions are fetched for a missing warp")?;
            let expected = present >> arrival.warp & 1 == 0 || buffer.expects(arrival);
            ensure(expected && near(*cycle, now), "unrequested instructions arrive")
        })
    }

    /// Updates whether a warp's buffer has room.
    pub fn update(&mut self, spec: &FrontEndSpec, program: &Program, warp: u32, buffer: &Buffer) {
        let bit = 1 << warp;
        if buffer.has_room(spec, program) && self.blocked & bit == 0 {
            self.wanted |= bit;
        } else {
            self.wanted &= !bit;
        }
    }

    /// Stops fetching for a warp until the next [`Fetch::update`].
    pub fn hold(&mut self, warp: u32) {
        self.wanted &= !(1 << warp);
        self.blocked &= !(1 << warp);
    }

    /// The next arrival due by a cycle.
    pub fn arrival(&mut self, cycle: u64) -> Option<Arrival> {
        self.arrivals.take(cycle)
    }

    /// The next warp in the round robin.
    pub fn next_warp(&mut self) -> Option<u32> {
        if self.wanted == 0 {
            return None;
        }
        let warp = (self.turn + self.wanted.rotate_right(self.turn).trailing_zeros()) % 32;
        self.turn = (warp + 1) % 32;
        Some(warp)
    }

    /// Fetches instructions of a warp.
    #[inline(always)]
    pub fn fetch(&mut self, beside: Beside<'_>, warp: u32, buffer: &mut Buffer, cycle: u64) {
        let Beside { spec, program, l1, counters, sub_core } = beside;
        let address = program.address(buffer.asked);
        let line = address - address % LINE_BYTES;
        counters.fetches += 1;
        let there = match spec.organisation {
            Organisation::Shared => l1.look_up(sub_core, line),
            Organisation::PerSubCore => self.look_up_l0(spec, program, line, counters),
        };
        if !there {
            counters.misses += 1;
            self.wanted &= !(1 << warp);
            self.blocked |= 1 << warp;
            return;
        }
        let end = (program.instructions().len() as u32).min(buffer.asked + spec.width);
        let mut to = buffer.asked + 1;
        while to < end && program.address(to) < line + LINE_BYTES {
            to += 1;
        }
        buffer.asked = to;
        self.arrivals.push(cycle + u64::from(spec.latency), Arrival { warp, to, turn: buffer.turn });
        self.update(spec, program, warp, buffer);
    }

    #[inline(always)]
    fn look_up_l0(
        &mut self,
        spec: &FrontEndSpec,
        program: &Program,
        line: u64,
        counters: &mut FrontEndCounters,
    ) -> bool {
        match self.l0.look_up(line) {
            Lookup::Hit => true,
            found => self.fetch_ahead(spec, program, line, found, counters),
        }
    }

    /// On a miss, or the first use of a prefetched line, requests the line and its successors.
    /// Returns whether the line hit.
    #[cold]
    fn fetch_ahead(
        &mut self,
        spec: &FrontEndSpec,
        program: &Program,
        line: u64,
        found: Lookup,
        counters: &mut FrontEndCounters,
    ) -> bool {
        if found == Lookup::Miss {
            match self.requests.iter_mut().chain(&mut self.queue).find(|request| request.line == line) {
                Some(request) => request.ahead = false,
                None => self.queue.push_back(Request { line, ahead: false }),
            }
        }
        let end = program.end_address();
        for ahead in 1..=u64::from(spec.prefetch) {
            let line = line + ahead * LINE_BYTES;
            if line < end && !self.asks(line) && !self.l0.has(line) {
                counters.prefetches += 1;
                self.queue.push_back(Request { line, ahead: true });
            }
        }
        found == Lookup::FirstUse
    }

    fn asks(&self, line: u64) -> bool {
        self.requests.iter().chain(&self.queue).any(|request| request.line == line)
    }

    /// The next line to request from L1, if another request may be outstanding.
    pub fn next_request(&mut self, spec: &FrontEndSpec) -> Option<u64> {
        if self.requests.len() >= spec.l0_requests as usize {
            return None;
        }
        let request = self.queue.pop_front()?;
        self.requests.push(request);
        Some(request.line)
    }

    /// Fills a line from L1.
    pub fn fill(&mut self, line: u64) {
        if let Some(i) = self.requests.iter().position(|request| request.line == line) {
            let Request { ahead, .. } = self.requests.remove(i);
            self.l0.fill(line, ahead);
        }
        self.wanted |= std::mem::take(&mut self.blocked);
    }

    /// Executes a line untimed: fills missing lines immediately and adds those missing in L1 to
    /// `missed`. Counts nothing.
    pub fn warm(
        &mut self,
        spec: &FrontEndSpec,
        program: &Program,
        l1: &mut L1,
        line: u64,
        missed: &mut Vec<u64>,
    ) {
        if spec.organisation == Organisation::Shared {
            missed.extend((!l1.warm(line)).then_some(line));
            return;
        }
        self.look_up_l0(spec, program, line, &mut FrontEndCounters::default());
        while let Some(line) = self.next_request(spec) {
            missed.extend((!l1.warm(line)).then_some(line));
            self.fill(line);
        }
    }

    /// Fills a line of another kernel's code.
    pub fn warm_other(&mut self, spec: &FrontEndSpec, line: u64) {
        if spec.organisation == Organisation::PerSubCore && self.l0.look_up(line) == Lookup::Miss {
            self.l0.fill(line, false);
        }
    }

    /// Next cycle with work after a given cycle.
    pub fn next_event(&self, cycle: u64) -> u64 {
        if self.wanted != 0 { cycle + 1 } else { self.arrivals.next() }
    }

    /// Tells whether lines wait to be requested.
    pub fn has_requests(&self, spec: &FrontEndSpec) -> bool {
        !self.queue.is_empty() && self.requests.len() < spec.l0_requests as usize
    }

    /// Invalidates all lines.
    pub fn clear(&mut self) {
        self.l0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specification::{GpuSpec, gpu};

    /// The fetch unit of a TITAN V with empty caches.
    fn fetch() -> Fetch {
        let gpu = GpuSpec::read(&gpu::built_in("titan-v").unwrap()).unwrap();
        Fetch::new(&gpu.front_end)
    }

    #[test]
    fn fetch_selects_warps_round_robin() {
        let mut fetch = fetch();
        fetch.wanted = 1 << 31 | 0b1101;
        let warps: Vec<_> = std::iter::repeat_with(|| fetch.next_warp().unwrap()).take(8).collect();
        assert_eq!(warps, [0, 2, 3, 31, 0, 2, 3, 31]);
    }

    #[test]
    fn fetch_resumes_after_the_last_warp() {
        let mut fetch = fetch();
        fetch.wanted = 0b1100;
        assert_eq!(fetch.next_warp(), Some(2));
        fetch.wanted |= 0b0011;
        assert_eq!([0; 4].map(|_| fetch.next_warp()), [3, 0, 1, 2].map(Some));
    }
}
