//! Analytical memory instructions of an SM. An access takes its latency at issue. The access waits
//! for the passes of earlier accesses, for its misses, and for the way out of the SM.
//!
//! Tags of L1 follow the order of issue. A load whose lines all hit has a known result; the others
//! wait for the replies of the memory side.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use warp_stream::{AccessKind, MemorySpace, OperationClass};

use super::access::{Access, Line, Structure};
use super::arbitration::bypasses;
use super::l1::{Load, Lookup};
use super::{FILL, MemoryIssue, MemoryUnit, SUB_CORES, State};
use crate::fidelity::rates::Drawn;
use crate::fidelity::{self, LevelRates};
use crate::message::{Level, MemoryRequest, RequestKind, Timed};

/// Core cycles from dispatch to the lookup of the first line: dispatch latch and address stage.
const STAGES: u64 = 2;

/// Next free core cycles, and requests that have not left the SM.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Analytical {
    /// Data stage of L1, and of shared memory if unified.
    l1_free: u64,
    /// Data stage of shared memory if it is apart.
    shared_free: u64,
    constant_free: u64,
    /// Address stages of the sub-cores.
    address_free: [u64; SUB_CORES],
    /// Way out of the SM.
    exit_free: u64,
    /// Not saved: a launch with given rates is not continued from a state.
    #[serde(skip)]
    pub(super) drawn: Drawn,
    /// Requests without a reply.
    pub(super) outstanding: u32,
    /// Requests that leave later, by cycle.
    pub(super) departures: VecDeque<Timed<MemoryRequest>>,
}

/// Result of an analytical access.
pub struct Issued {
    /// Core cycle at which the structure accepts the access.
    pub granted: u64,
    /// Core cycle at which the result is at the write-back latch, or the access that waits for
    /// replies.
    pub result: Result<u64, u32>,
}

impl MemoryUnit {
    /// Performs an access that is dispatched at a core cycle.
    pub fn issue_analytically(&mut self, dispatch: u64, issue: &MemoryIssue<'_>) -> Issued {
        self.coalesced.clear();
        let access = self.access(issue);
        self.state.counters.pipeline.instructions += 1;
        let passes = u64::from(access.passes);
        let arrival = dispatch + STAGES;
        let analytical = &mut self.state.analytical;
        match access.structure {
            Structure::Shared => {
                let latency = match access.class {
                    OperationClass::Shuffle => self.gpu.shared.shuffle_latency,
                    _ => self.gpu.shared.latency,
                };
                let free = match self.gpu.l1.unified {
                    true => &mut analytical.l1_free,
                    false => &mut analytical.shared_free,
                };
                let granted = occupy(free, arrival, passes);
                Issued { granted, result: Ok(granted + passes - 1 + u64::from(latency)) }
            }
            Structure::Constant => {
                let words = u64::from(access.total);
                let granted = occupy(&mut analytical.constant_free, arrival, words);
                Issued { granted, result: Ok(granted + words - 1 + u64::from(self.gpu.constant.latency)) }
            }
            Structure::L1 => {
                let cycles = u64::from(access.total.div_ceil(self.gpu.memory_pipeline.rate()));
                let address_free = &mut analytical.address_free[usize::from(access.sub_core)];
                let formed = occupy(address_free, arrival, cycles);
                let granted = occupy(&mut analytical.l1_free, formed, passes);
                self.state.counters.pipeline.address_cycles += cycles;
                let last = (granted + passes).max(formed + cycles) - 1;
                Issued { granted, result: self.access_l1(access, issue.rates, granted, last) }
            }
        }
    }

    /// Looks up the lines of an access between two core cycles.
    fn access_l1(
        &mut self,
        access: Access,
        rates: Option<(u32, LevelRates)>,
        granted: u64,
        last: u64,
    ) -> Result<u64, u32> {
        let is_load = access.is_load();
        self.state.l1.counters.loads += u64::from(is_load);
        let passing = !is_load || bypasses(&access.operation, access.deferred);
        let access = Access { start: granted - 1, taken: access.total, ..access };
        let number = self.state.accesses.insert(access);
        let mut lines = std::mem::take(&mut self.coalesced.lines);
        for (place, line) in lines.iter().enumerate() {
            let deferred = access.deferred.filter(|_| place + 1 == lines.len());
            match (passing, rates) {
                (true, _) => self.pass_analytically(number, line, deferred, granted),
                (false, Some(rates)) => self.draw_level(number, line, rates, granted, last),
                (false, None) => self.load_analytically(number, line, granted, last),
            }
        }
        lines.clear();
        self.coalesced.lines = lines;
        let waiting = &self.state.accesses[number];
        if waiting.unanswered > 0 {
            return Err(number);
        }
        let ready = waiting.ready;
        self.state.l1.counters.count_latency(waiting);
        self.state.accesses.discard(number);
        Ok(ready)
    }

    fn load_analytically(&mut self, number: u32, line: &Line, granted: u64, last: u64) {
        let spec = &self.gpu.l1;
        let access = &mut self.state.accesses[number];
        let latency = match access.operation.space {
            MemorySpace::Texture => self.gpu.texture.latency,
            _ => spec.latency,
        };
        let hit = last + u64::from(latency);
        if self.gpu.fidelity.l1 == fidelity::L1::Ideal {
            access.ready = access.ready.max(hit);
            return;
        }
        let load = Load {
            line: line.address,
            sectors: line.sectors,
            access: number,
            requester: access.requester(),
            warp: access.warp,
        };
        // The occupancy of misses is not modelled, so its clock stays.
        let counted = self.state.l1.counted();
        match self.state.l1.load(spec, counted, load, true) {
            Ok(Lookup::Hit) => access.ready = access.ready.max(hit),
            Ok(Lookup::Wait { fetch, entry }) => {
                (access.unanswered, access.missed) = (access.unanswered + 1, true);
                if fetch != 0 {
                    let line = Line { sectors: fetch, ..*line };
                    self.depart(number, &line, RequestKind::Read, entry | FILL, None, granted);
                }
            }
            // No load waits for a resource: the load bypasses the cache.
            Err(_) => self.pass_analytically(number, line, None, granted),
        }
    }

    /// Loads a line from the level that the load's rates give.
    fn draw_level(
        &mut self,
        number: u32,
        line: &Line,
        (position, rates): (u32, LevelRates),
        granted: u64,
        last: u64,
    ) {
        let level = self.state.analytical.drawn.next(position, rates);
        let access = &mut self.state.accesses[number];
        let counters = &mut self.state.l1.counters;
        let sectors = u64::from(line.sectors.count_ones());
        counters.load_lines += 1;
        counters.load_line_hits += u64::from(level == Level::L1);
        counters.load_sectors += sectors;
        let (hits, misses) = if level == Level::L1 { (line.sectors, 0) } else { (0, line.sectors) };
        counters.sources.count_load(access.requester(), [hits, 0, misses]);
        if level == Level::L1 {
            access.ready = access.ready.max(last + u64::from(self.gpu.l1.latency));
            return;
        }
        counters.sectors_fetched += sectors;
        (access.unanswered, access.missed) = (access.unanswered + 1, true);
        let lanes = MemoryRequest::lanes_of(level);
        let line = Line { lanes, ..*line };
        self.depart(number, &line, RequestKind::Read, number, None, granted);
    }

    /// Sends a line of an access past L1.
    fn pass_analytically(&mut self, number: u32, line: &Line, deferred: Option<u32>, granted: u64) {
        let access = &mut self.state.accesses[number];
        (access.unanswered, access.missed) = (access.unanswered + 1, true);
        let (kind, requester) = (access.operation.kind, access.requester());
        let l1 = &mut self.state.l1;
        let kind = match kind {
            AccessKind::Load => {
                l1.counters.load_sectors_bypassed += u64::from(line.sectors.count_ones());
                RequestKind::Read
            }
            AccessKind::Store => {
                l1.store(&self.gpu.l1, line.address, line.sectors, requester);
                RequestKind::Write
            }
            AccessKind::Atomic => RequestKind::Atomic,
            AccessKind::Reduction => RequestKind::Reduction,
        };
        if matches!(kind, RequestKind::Atomic | RequestKind::Reduction) {
            l1.drop_line(line.address, line.sectors);
        }
        self.depart(number, line, kind, number, deferred, granted);
    }

    /// Queues a request at the way out of the SM.
    fn depart(
        &mut self,
        number: u32,
        line: &Line,
        kind: RequestKind,
        tag: u32,
        deferred: Option<u32>,
        granted: u64,
    ) {
        let has_lanes = kind != RequestKind::Write;
        let message = MemoryRequest {
            line: line.address,
            sectors: line.sectors,
            bytes: line.bytes,
            kind,
            lanes: if has_lanes { line.lanes } else { 0 },
            requester: self.state.accesses[number].requester(),
            sm: self.sm,
            tag,
            deferred,
        };
        let analytical = &mut self.state.analytical;
        let cycle = occupy(&mut analytical.exit_free, granted, 1);
        analytical.outstanding += 1;
        analytical.departures.push_back(Timed { cycle, message });
    }

    /// Sends the requests that leave before a core cycle.
    pub fn send_departures(&mut self, end: u64, outbox: &mut Vec<Timed<MemoryRequest>>) {
        let State { analytical, counters, .. } = &mut self.state;
        while let Some(request) = analytical.departures.pop_front_if(|request| request.cycle < end) {
            counters.pipeline.requests_sent += 1;
            outbox.push(request);
        }
    }

    /// Core cycle of the next request that leaves; `u64::MAX` for none.
    pub fn next_departure(&self) -> u64 {
        self.state.analytical.departures.front().map_or(u64::MAX, |request| request.cycle)
    }

    /// Tells whether as many requests as possible wait for replies.
    pub fn is_full(&self) -> bool {
        self.state.analytical.outstanding >= self.gpu.memory_pipeline.credits
    }

    /// Names the instruction of an access that waits for replies.
    pub fn name(&mut self, access: u32, instruction: u32) {
        self.state.accesses[access].instruction = instruction;
    }
}

/// Occupies a resource for some cycles from the first possible one on, and returns that.
fn occupy(free: &mut u64, from: u64, cycles: u64) -> u64 {
    let start = from.max(*free);
    *free = start + cycles;
    start
}
