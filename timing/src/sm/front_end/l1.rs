//! L1 instruction cache of an SM, which its sub-cores ask in turn.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::FrontEndSpec;
use super::cache::{Cache, Lookup};
use crate::message::{MemoryRequest, Origin, RequestKind};
use crate::restore::{Fits, fits, near};
use crate::sm::memory::SUB_CORES;

/// Sub-cores, one bit each.
pub type SubCores = u8;

/// A line that is on its way from L2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Miss {
    line: u64,
    waiting: SubCores,
    sent: bool,
}

/// A line on its way to sub-cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Answer {
    cycle: u64,
    line: u64,
    sub_cores: SubCores,
}

/// State of an L1 instruction cache.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct L1 {
    cache: Cache,
    /// Lines that sub-cores ask for.
    queues: [VecDeque<u64>; SUB_CORES],
    /// Whose turn is next.
    turn: usize,
    misses: Vec<Miss>,
    answers: VecDeque<Answer>,
}

/// What the SM does with what the cache has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Granted {
    /// Nobody asks.
    Nothing,
    /// A line was there.
    Hit,
    /// A line was not there.
    Miss,
}

impl L1 {
    /// An empty one.
    pub fn new(spec: &FrontEndSpec) -> L1 {
        L1 {
            cache: Cache::new(spec.l1_size, spec.l1_ways),
            queues: Default::default(),
            turn: 0,
            misses: Vec::new(),
            answers: VecDeque::new(),
        }
    }

    /// Whether one that was read can be, at a cycle.
    pub fn check(&self, spec: &FrontEndSpec, now: u64) -> Fits {
        self.cache.check(spec.l1_size, spec.l1_ways)?;
        fits(self.turn < SUB_CORES, "it is the turn of no sub-core")?;
        let near = self.answers.iter().all(|answer| near(answer.cycle, now));
        fits(near, "a line of instructions comes too late")
    }

    /// A sub-core asks for a line.
    pub fn ask(&mut self, sub_core: usize, line: u64) {
        self.queues[sub_core].push_back(line);
    }

    /// A sub-core looks a line up without an L0 cache of its own; what is not there comes as an answer to all that ask.
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

    /// Takes the question of one sub-core.
    pub fn grant(&mut self, spec: &FrontEndSpec, cycle: u64) -> Granted {
        let order = (0..SUB_CORES).map(|i| (self.turn + i) % SUB_CORES);
        let Some(sub_core) = order.into_iter().find(|&sub_core| !self.queues[sub_core].is_empty()) else {
            return Granted::Nothing;
        };
        let Some(line) = self.queues[sub_core].pop_front() else { return Granted::Nothing };
        self.turn = (sub_core + 1) % SUB_CORES;
        if self.cache.look_up(line) == Lookup::Miss {
            self.miss(line, 1 << sub_core);
            return Granted::Miss;
        }
        let answer = Answer { cycle: cycle + u64::from(spec.l1_latency), line, sub_cores: 1 << sub_core };
        self.answers.push_back(answer);
        Granted::Hit
    }

    fn miss(&mut self, line: u64, waiting: SubCores) {
        match self.misses.iter_mut().find(|miss| miss.line == line) {
            Some(miss) => miss.waiting |= waiting,
            None => self.misses.push(Miss { line, waiting, sent: false }),
        }
    }

    /// Whether a request waits to leave.
    pub fn wants_to_send(&self) -> bool {
        self.misses.iter().any(|miss| !miss.sent)
    }

    /// The request of the first miss that has not been sent.
    pub fn send(&mut self, sm: u16) -> Option<MemoryRequest> {
        let miss = self.misses.iter_mut().find(|miss| !miss.sent)?;
        miss.sent = true;
        Some(MemoryRequest {
            line: miss.line,
            sectors: 0xf,
            bytes: 0,
            kind: RequestKind::Read,
            lanes: 0,
            origin: Origin::Instruction,
            sm,
            tag: 0,
            deferred: None,
        })
    }

    /// A line comes from L2; it is answered at once.
    pub fn fill(&mut self, cycle: u64, line: u64) {
        self.cache.fill(line, false);
        if let Some(i) = self.misses.iter().position(|miss| miss.line == line) {
            let Miss { waiting, .. } = self.misses.remove(i);
            // It is earlier than what has been looked up lately, and passes it.
            self.answers.push_front(Answer { cycle, line, sub_cores: waiting });
        }
    }

    /// A line that is at sub-cores at a cycle.
    pub fn answer(&mut self, cycle: u64) -> Option<(u64, SubCores)> {
        self.answers
            .pop_front_if(|answer| answer.cycle <= cycle)
            .map(|answer| (answer.line, answer.sub_cores))
    }

    /// When it has something to do, apart from sending. Core cycles.
    pub fn next_event(&self, cycle: u64) -> u64 {
        if self.queues.iter().any(|queue| !queue.is_empty()) {
            return cycle;
        }
        self.answers.front().map_or(u64::MAX, |answer| answer.cycle)
    }

    /// Whether lines are on their way from L2.
    pub fn waits(&self) -> bool {
        !self.misses.is_empty()
    }

    /// Forgets everything that is there.
    pub fn clear(&mut self) {
        self.cache.clear();
    }
}
