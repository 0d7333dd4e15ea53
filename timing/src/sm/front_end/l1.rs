//! L1 instruction cache of an SM, which its sub-cores ask in turn. It is also the L1.5 of constants
//! (Jia et al.): the constant cache has its turn beside the sub-cores.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::FrontEndSpec;
use crate::message::{LINE_BYTES, MemoryRequest, Requester};
use crate::restore::{Validity, ensure, near};
use crate::sm::cache::{Cache, Lookup};
use crate::sm::memory::SUB_CORES;
use crate::sm::memory::constant::{ConstantSpec, PARAMETER_BANK};

/// Who asks for lines: sub-cores by their numbers, and [`CONSTANTS`].
const ASKERS: usize = SUB_CORES + 1;

/// The constant cache among those who ask.
pub const CONSTANTS: usize = SUB_CORES;

/// Who asks, one bit each.
pub type Askers = u8;

/// A line that is on its way from L2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Miss {
    line: u64,
    waiting: Askers,
    sent: bool,
}

/// A line on its way to those who have asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Answer {
    cycle: u64,
    line: u64,
    askers: Askers,
}

/// State of an L1 instruction cache.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct L1 {
    cache: Cache,
    /// Lines that are asked for.
    queues: [VecDeque<u64>; ASKERS],
    /// Whose turn is next.
    turn: usize,
    misses: Vec<Miss>,
    /// The earliest first.
    answers: VecDeque<Answer>,
}

/// Outcome of a lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Granted {
    /// Whose it was.
    pub asker: usize,
    /// The lookup hit.
    pub hit: bool,
}

impl L1 {
    /// An empty one.
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
        ensure(self.turn < ASKERS, "it is nobody's turn to ask for instructions")?;
        let near = self.answers.iter().all(|answer| near(answer.cycle, now));
        ensure(near, "a line of instructions comes too late")
    }

    /// Somebody asks for a line.
    pub fn ask(&mut self, asker: usize, line: u64) {
        self.queues[asker].push_back(line);
    }

    /// A sub-core looks a line up without an L0 cache of its own; what is not there comes as an
    /// answer to all that ask.
    pub fn look_up(&mut self, sub_core: usize, line: u64) -> bool {
        let there = self.cache.look_up(line) != Lookup::Miss;
        if !there {
            self.miss(line, 1 << sub_core);
        }
        there
    }

    /// A line is used, and comes at once if it is not there; says whether it was.
    pub fn warm(&mut self, line: u64) -> bool {
        let there = self.cache.look_up(line) != Lookup::Miss;
        if !there {
            self.cache.fill(line, false);
        }
        there
    }

    /// Takes one question, if there is any.
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

    /// Behind the other answers of the same cycle.
    fn answer_at(&mut self, answer: Answer) {
        let place = self.answers.partition_point(|other| other.cycle <= answer.cycle);
        self.answers.insert(place, answer);
    }

    /// A miss waits to be sent to L2.
    pub fn wants_to_send(&self) -> bool {
        self.misses.iter().any(|miss| !miss.sent)
    }

    /// The request of the first miss that has not been sent.
    pub fn send(&mut self, sm: u16) -> Option<MemoryRequest> {
        let miss = self.misses.iter_mut().find(|miss| !miss.sent)?;
        miss.sent = true;
        let requester =
            if miss.waiting == 1 << CONSTANTS { Requester::Constant } else { Requester::Instruction };
        Some(request(sm, miss.line, requester))
    }

    /// A line comes from L2. Sub-cores have it at once; to the constant cache it takes its way.
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
            // The answer is earlier than those of recent lookups and passes them.
            self.answers.push_front(Answer { cycle, line, askers: sub_cores });
        }
    }

    /// A line that is at those who have asked at a cycle.
    pub fn answer(&mut self, cycle: u64) -> Option<(u64, Askers)> {
        self.answers.pop_front_if(|answer| answer.cycle <= cycle).map(|answer| (answer.line, answer.askers))
    }

    /// When it has something to do, apart from sending. Core cycles.
    pub fn next_event(&self, cycle: u64) -> u64 {
        if self.queues.iter().any(|queue| !queue.is_empty()) {
            return cycle;
        }
        self.answers.front().map_or(u64::MAX, |answer| answer.cycle)
    }

    /// Lines are outstanding at L2.
    pub fn waits(&self) -> bool {
        !self.misses.is_empty()
    }

    /// Forgets the parameters of a launch.
    pub fn forget_parameters(&mut self) {
        self.cache.forget_below(PARAMETER_BANK);
    }

    /// Forgets everything that is there.
    pub fn clear(&mut self) {
        self.cache.clear();
    }
}

/// Request of an SM to L2 for a missed line.
pub fn request(sm: u16, line: u64, requester: Requester) -> MemoryRequest {
    MemoryRequest::read(sm, line, 0xf, requester)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specification::{GpuSpec, gpu};

    /// Who is granted in consecutive cycles, where those in a list have asked for so many lines
    /// each.
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
    fn l1_takes_a_line_a_cycle_of_sub_cores_and_the_constant_cache_in_turn() {
        let all = [(CONSTANTS, 2), (3, 2), (2, 2), (1, 2), (0, 2)];
        assert_eq!(granted(&all), [0, 1, 2, 3, CONSTANTS, 0, 1, 2, 3, CONSTANTS]);
    }

    #[test]
    fn who_asks_l1_for_nothing_is_passed_over() {
        assert_eq!(granted(&[(1, 3), (3, 1), (CONSTANTS, 2)]), [1, 3, CONSTANTS, 1, CONSTANTS, 1]);
    }
}
