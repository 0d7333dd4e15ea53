//! L1 instruction cache of an SM, which serves the sub-cores and the constant cache round robin, as
//! the L1.5 constant cache (Jia et al.).

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::FrontEndSpec;
use crate::message::{LINE_BYTES, MemoryRequest, Requester};
use crate::restore::{Validity, ensure, near};
use crate::sm::cache::{Cache, Lookup};
use crate::sm::memory::SUB_CORES;
use crate::sm::memory::constant::{ConstantSpec, PARAMETER_BANK};

/// Number of requesters: the sub-cores, by number, and [`CONSTANTS`].
const ASKERS: usize = SUB_CORES + 1;

/// Requester index of the constant cache.
pub const CONSTANTS: usize = SUB_CORES;

/// Bit mask of requesters.
pub type Askers = u8;

/// A line requested from L2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Miss {
    line: u64,
    waiting: Askers,
    sent: bool,
}

/// A line on its way to its requesters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Answer {
    cycle: u64,
    line: u64,
    askers: Askers,
}

/// An L1 instruction cache.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct L1 {
    cache: Cache,
    /// Requested lines, by requester.
    queues: [VecDeque<u64>; ASKERS],
    /// Next requester in the round robin.
    turn: usize,
    misses: Vec<Miss>,
    /// Sorted by cycle.
    answers: VecDeque<Answer>,
}

/// A served request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Granted {
    /// The requester.
    pub asker: usize,
    /// Set if the line hit.
    pub hit: bool,
}

impl L1 {
    /// An empty cache.
    pub fn new(spec: &FrontEndSpec) -> L1 {
        L1 {
            cache: Cache::new(spec.l1_size, spec.l1_ways, LINE_BYTES, spec.l1_replacement),
            queues: Default::default(),
            turn: 0,
            misses: Vec::new(),
            answers: VecDeque::new(),
        }
    }

    /// Checks a restored cache at a cycle.
    pub fn check(&self, spec: &FrontEndSpec, now: u64) -> Validity {
        self.cache.check(spec.l1_size, spec.l1_ways, LINE_BYTES, spec.l1_replacement)?;
        ensure(self.turn < ASKERS, "the round-robin pointer of the instruction cache is invalid")?;
        let near = self.answers.iter().all(|answer| near(answer.cycle, now));
        ensure(near, "an instruction line arrives too late")
    }

    /// Queues a request for a line.
    pub fn ask(&mut self, asker: usize, line: u64) {
        self.queues[asker].push_back(line);
    }

    /// Looks a line up for a sub-core without an L0 cache. A miss is answered to all requesters of
    /// the line.
    pub fn look_up(&mut self, sub_core: usize, line: u64) -> bool {
        let there = self.cache.look_up(line) != Lookup::Miss;
        if !there {
            self.miss(line, 1 << sub_core);
        }
        there
    }

    /// Uses a line and fills it immediately if absent. Returns whether it hit.
    pub fn warm(&mut self, line: u64) -> bool {
        let there = self.cache.look_up(line) != Lookup::Miss;
        if !there {
            self.cache.fill(line, false);
        }
        there
    }

    /// Serves one request, if any.
    pub fn grant(&mut self, spec: &FrontEndSpec, constant: &ConstantSpec, cycle: u64) -> Option<Granted> {
        let mut order = (0..ASKERS).map(|i| (self.turn + i) % ASKERS);
        let asker = order.find(|&asker| !self.queues[asker].is_empty())?;
        let line = self.queues[asker].pop_front()?;
        self.turn = (asker + 1) % ASKERS;
        let hit = self.cache.look_up(line) != Lookup::Miss;
        if hit {
            let latency = if asker == CONSTANTS { constant.way_of_hit() } else { u64::from(spec.l1_latency) };
            self.answer_at(Answer { cycle: cycle + latency, line, askers: 1 << asker });
        } else {
            self.miss(line, 1 << asker);
        }
        Some(Granted { asker, hit })
    }

    fn miss(&mut self, line: u64, waiting: Askers) {
        match self.misses.iter_mut().find(|miss| miss.line == line) {
            Some(miss) => miss.waiting |= waiting,
            None => self.misses.push(Miss { line, waiting, sent: false }),
        }
    }

    /// Inserts after other answers of the same cycle.
    fn answer_at(&mut self, answer: Answer) {
        let place = self.answers.partition_point(|other| other.cycle <= answer.cycle);
        self.answers.insert(place, answer);
    }

    /// Tells whether a request to L2 is waiting.
    pub fn wants_to_send(&self) -> bool {
        self.misses.iter().any(|miss| !miss.sent)
    }

    /// The request of the first unsent miss.
    pub fn send(&mut self, sm: u16) -> Option<MemoryRequest> {
        let miss = self.misses.iter_mut().find(|miss| !miss.sent)?;
        miss.sent = true;
        let requester =
            if miss.waiting == 1 << CONSTANTS { Requester::Constant } else { Requester::Instruction };
        Some(request(sm, miss.line, requester))
    }

    /// Fills a line from L2. Sub-cores receive it immediately, the constant cache after its
    /// latency.
    pub fn fill(&mut self, constant: &ConstantSpec, cycle: u64, line: u64) {
        self.cache.fill(line, false);
        let Some(i) = self.misses.iter().position(|miss| miss.line == line) else { return };
        let Miss { waiting, .. } = self.misses.remove(i);
        if waiting >> CONSTANTS & 1 != 0 {
            let cycle = cycle + constant.way_of_fill();
            self.answer_at(Answer { cycle, line, askers: 1 << CONSTANTS });
        }
        let sub_cores = waiting & !(1 << CONSTANTS);
        if sub_cores != 0 {
            // Precedes answers to recent lookups, which are due later.
            self.answers.push_front(Answer { cycle, line, askers: sub_cores });
        }
    }

    /// The next line that has reached its requesters at a cycle.
    pub fn answer(&mut self, cycle: u64) -> Option<(u64, Askers)> {
        self.answers.pop_front_if(|answer| answer.cycle <= cycle).map(|answer| (answer.line, answer.askers))
    }

    /// Next cycle with work other than sending, in core cycles.
    pub fn next_event(&self, cycle: u64) -> u64 {
        if self.queues.iter().any(|queue| !queue.is_empty()) {
            return cycle;
        }
        self.answers.front().map_or(u64::MAX, |answer| answer.cycle)
    }

    /// Tells whether lines are expected from L2.
    pub fn waits(&self) -> bool {
        !self.misses.is_empty()
    }

    /// Invalidates the parameters of a launch.
    pub fn forget_parameters(&mut self) {
        self.cache.forget_below(PARAMETER_BANK);
    }

    /// Invalidates all lines.
    pub fn clear(&mut self) {
        self.cache.clear();
    }
}

/// The L2 request for a missing line.
pub fn request(sm: u16, line: u64, requester: Requester) -> MemoryRequest {
    MemoryRequest::read(sm, line, 0xf, requester)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specification::{GpuSpec, gpu};

    /// The requesters served in consecutive cycles, given the number of lines each requested.
    fn granted(asked: &[(usize, u64)]) -> Vec<usize> {
        let gpu = GpuSpec::read(&gpu::built_in("titan-v").unwrap()).unwrap();
        let mut l1 = L1::new(&gpu.front_end);
        for &(asker, lines) in asked {
            (0..lines).for_each(|line| l1.ask(asker, (asker as u64 * 100 + line) * LINE_BYTES));
        }
        let grants = (0..).map_while(|cycle| l1.grant(&gpu.front_end, &gpu.constant, cycle));
        grants.map(|granted| granted.asker).collect()
    }

    #[test]
    fn l1i_serves_a_line_a_cycle_round_robin() {
        let all = [(CONSTANTS, 2), (3, 2), (2, 2), (1, 2), (0, 2)];
        assert_eq!(granted(&all), [0, 1, 2, 3, CONSTANTS, 0, 1, 2, 3, CONSTANTS]);
    }

    #[test]
    fn l1i_skips_idle_requesters() {
        assert_eq!(granted(&[(1, 3), (3, 1), (CONSTANTS, 2)]), [1, 3, CONSTANTS, 1, CONSTANTS, 1]);
    }
}
