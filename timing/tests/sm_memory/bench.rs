//! Test bench: a memory unit with scripted instructions and a memory of fixed latency.

use std::collections::VecDeque;
use std::sync::Arc;

use timing::message::{MemoryReply, MemoryRequest, RequestKind, Timed};
use timing::sm::memory::{MemoryCounters, MemoryIssue, MemoryUnit};
use timing::specification::{GpuSpec, gpu};
use warp_stream::{AccessKind, CacheOperator, MemoryOperation, MemorySpace, OperationClass};

/// Memory latency in core cycles.
pub const FAR: u64 = 200;

/// Cycles after which a test counts as hung.
const LIMIT: u64 = 1_000_000;

/// An instruction to issue.
#[derive(Debug, Clone)]
pub struct Instruction {
    pub sub_core: u8,
    pub class: OperationClass,
    pub operation: MemoryOperation,
    pub active: u32,
    pub addresses: [u64; 32],
    pub texels: Vec<u64>,
    pub deferred: Option<u32>,
}

impl Instruction {
    pub fn new(space: MemorySpace, kind: AccessKind, width: u8, address: impl Fn(u64) -> u64) -> Instruction {
        let class = match kind {
            AccessKind::Load => OperationClass::Load,
            AccessKind::Store => OperationClass::Store,
            AccessKind::Atomic => OperationClass::Atomic,
            AccessKind::Reduction => OperationClass::Reduction,
        };
        Instruction {
            sub_core: 0,
            class,
            operation: MemoryOperation { space, kind, width, cache: CacheOperator::Default },
            active: !0,
            addresses: std::array::from_fn(|lane| address(lane as u64)),
            texels: Vec::new(),
            deferred: None,
        }
    }

    /// A load of consecutive words from `start` on.
    pub fn load(start: u64) -> Instruction {
        Instruction::new(MemorySpace::Global, AccessKind::Load, 4, |lane| start + 4 * lane)
    }

    /// A store of consecutive words from `start` on.
    pub fn store(start: u64) -> Instruction {
        Instruction::new(MemorySpace::Global, AccessKind::Store, 4, |lane| start + 4 * lane)
    }

    /// A load of shared memory.
    pub fn shared(width: u8, address: impl Fn(u64) -> u64) -> Instruction {
        Instruction::new(MemorySpace::Shared, AccessKind::Load, width, address)
    }

    pub fn sub_core(self, sub_core: u8) -> Instruction {
        Instruction { sub_core, ..self }
    }

    pub fn active(self, active: u32) -> Instruction {
        Instruction { active, ..self }
    }

    pub fn cache(mut self, cache: CacheOperator) -> Instruction {
        self.operation.cache = cache;
        self
    }

    pub fn deferred(self, number: u32) -> Instruction {
        Instruction { deferred: Some(number), ..self }
    }
}

/// Cycles of acceptance and completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Times {
    pub accepted: u64,
    pub completed: u64,
}

impl Times {
    pub fn latency(self) -> u64 {
        self.completed - self.accepted
    }
}

pub struct Bench {
    pub spec: Arc<GpuSpec>,
    pub unit: MemoryUnit,
    pub cycle: u64,
    pub sent: Vec<Timed<MemoryRequest>>,
    pub performed: Vec<u32>,
    inbox: VecDeque<Timed<MemoryReply>>,
    replied: usize,
}

impl Bench {
    pub fn new() -> Bench {
        Bench::with(&[])
    }

    /// A TITAN V with changes, without TLBs unless changed.
    pub fn with(changes: &[(&'static str, &'static str, toml::Value)]) -> Bench {
        let mut document = gpu::built_in("titan-v").unwrap();
        let without_tlbs = ("tlb", "miss", toml::Value::Integer(0));
        for &(section, name, ref value) in [without_tlbs].iter().chain(changes) {
            let unit =
                GpuSpec::keys().iter().find(|key| (key.section, key.name) == (section, name)).unwrap().unit;
            document.set(section, name, value.clone(), unit, "test");
        }
        let spec = Arc::new(GpuSpec::read(&document).unwrap());
        Bench {
            unit: MemoryUnit::new(&spec, 7),
            spec,
            cycle: 0,
            sent: Vec::new(),
            performed: Vec::new(),
            inbox: VecDeque::new(),
            replied: 0,
        }
    }

    /// Issues instructions to their sub-cores in order, as soon as each has space, and runs to
    /// completion. Sub-cores do not wait for one another.
    pub fn run(&mut self, instructions: &[Instruction]) -> Vec<Times> {
        let mut times = vec![Times::default(); instructions.len()];
        let mut queues: [VecDeque<usize>; 4] = Default::default();
        for (i, instruction) in instructions.iter().enumerate() {
            queues[usize::from(instruction.sub_core)].push_back(i);
        }
        let mut left = instructions.len();
        let limit = self.cycle + LIMIT;
        while left > 0 {
            self.step();
            for sub_core in 0..4 {
                if let Some(done) = self.unit.next_completion(sub_core, self.cycle) {
                    times[done as usize].completed = self.cycle;
                    left -= 1;
                }
                let queue = &mut queues[usize::from(sub_core)];
                if let Some(&i) = queue.front()
                    && self.unit.can_accept(sub_core, self.cycle)
                {
                    queue.pop_front();
                    times[i].accepted = self.cycle;
                    self.accept(i as u32, &instructions[i]);
                }
            }
            if left == 0 {
                self.cycle += 1;
            } else if queues.iter().all(VecDeque::is_empty) {
                self.skip();
            } else {
                self.cycle += 1;
            }
            assert!(self.cycle < limit, "it hangs: {:?}", self.unit.waiting());
        }
        times
    }

    /// Executes one instruction and returns its latency.
    pub fn one(&mut self, instruction: Instruction) -> u64 {
        self.run(&[instruction])[0].latency()
    }

    pub fn accept(&mut self, number: u32, instruction: &Instruction) {
        let access = self.unit.coalesce(&MemoryIssue {
            instruction: number,
            sub_core: instruction.sub_core,
            warp: instruction.sub_core,
            class: instruction.class,
            operation: instruction.operation,
            active: instruction.active,
            addresses: &instruction.addresses,
            stride: None,
            texels: &instruction.texels,
            deferred: instruction.deferred,
            rates: None,
        });
        self.unit.accept(self.cycle, access);
    }

    pub fn step(&mut self) {
        self.unit.step(self.cycle, &mut self.inbox, &mut self.sent, &mut self.performed);
        for &Timed { cycle, message } in &self.sent[self.replied..] {
            let MemoryRequest { line, sectors, kind, requester, sm, tag, .. } = message;
            let reply = MemoryReply { line, sectors, kind, requester, sm, tag };
            self.inbox.push_back(Timed { cycle: cycle + FAR, message: reply });
        }
        self.unit.give_credits(self.cycle + 1, (self.sent.len() - self.replied) as u32);
        self.replied = self.sent.len();
    }

    /// Skips to the next cycle with work.
    fn skip(&mut self) {
        let reply = self.inbox.front().map(|reply| reply.cycle);
        let next = reply.into_iter().chain(self.unit.next_event()).min();
        self.cycle = next.unwrap_or(u64::MAX).max(self.cycle + 1);
    }

    pub fn counters(&self) -> MemoryCounters {
        self.unit.counters()
    }

    /// Lines and sectors of the requests of a kind.
    pub fn requests(&self, kind: RequestKind) -> Vec<(u64, u8)> {
        let sent = self.sent.iter().map(|request| request.message).filter(|request| request.kind == kind);
        sent.map(|request| (request.line, request.sectors)).collect()
    }
}
