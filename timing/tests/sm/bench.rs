//! Test bench: an SM with scripted warps and a memory of fixed latency.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use timing::message::{MemoryReply, MemoryRequest, Performed, Timed};
use timing::sm::{FinishedCta, Program, Sm, SmCounters, Source};
use timing::specification::{GpuSpec, gpu};
use warp_stream::{
    AccessKind, CacheOperator, Execution, Kernel, LaunchShape, MachineCode, MachineInstruction,
    MemoryOperation, MemorySpace, Moment, Next, OperationClass, Registers, Residence, SourceError, WarpSlot,
    WarpSource,
};

/// Memory latency in core cycles.
pub const FAR: u64 = 200;

/// Cycles per epoch.
pub const EPOCH: u64 = 16;

/// Cycles after which a test counts as hung.
const LIMIT: u64 = 10_000_000;

/// `count` registers from `first` on.
pub fn registers(first: u16, count: u8) -> Registers {
    Registers { first, count }
}

/// An instruction of a class with destination and source registers.
pub fn operation(class: OperationClass, destination: u16, sources: &[u16]) -> MachineInstruction {
    let mut instruction = MachineInstruction {
        address: 0,
        class,
        destination: registers(destination, 1),
        sources: [Registers::NONE; 4],
        predicates_read: 0,
        predicates_written: 0,
        memory: None,
        line: 1,
        ptx: 1,
    };
    for (operand, &source) in instruction.sources.iter_mut().zip(sources) {
        *operand = registers(source, 1);
    }
    instruction
}

/// An instruction without registers.
pub fn control(class: OperationClass) -> MachineInstruction {
    MachineInstruction { destination: Registers::NONE, ..operation(class, 0, &[]) }
}

/// A memory instruction on words.
pub fn access(space: MemorySpace, kind: AccessKind, register: u16) -> MachineInstruction {
    let class = match kind {
        AccessKind::Load => OperationClass::Load,
        AccessKind::Store => OperationClass::Store,
        AccessKind::Atomic => OperationClass::Atomic,
        AccessKind::Reduction => OperationClass::Reduction,
    };
    let mut instruction = match kind {
        AccessKind::Load | AccessKind::Atomic => operation(class, register, &[1]),
        AccessKind::Store | AccessKind::Reduction => {
            MachineInstruction { destination: Registers::NONE, ..operation(class, 0, &[1, register]) }
        }
    };
    instruction.memory = Some(MemoryOperation { space, kind, width: 4, cache: CacheOperator::Default });
    instruction
}

/// A load of global memory.
pub fn load(register: u16) -> MachineInstruction {
    access(MemorySpace::Global, AccessKind::Load, register)
}

/// Program of the warps.
#[derive(Debug, Clone)]
pub struct Script {
    pub code: Vec<MachineInstruction>,
    /// Positions in execution order; empty for straight execution.
    pub path: Vec<u32>,
    pub block: u32,
    pub registers: u32,
    pub shared_bytes: u32,
    pub active: u32,
    /// Address of lane 0 by warp (of the grid) and step.
    pub address: fn(u64, u32) -> u64,
    /// Stride between lanes in bytes, by step.
    pub stride: fn(u32) -> u64,
    /// Set if memory accesses take effect later.
    pub deferred: bool,
    /// Duration of a yield in nanoseconds.
    pub sleep: u32,
}

impl Script {
    /// A program of these instructions and an exit.
    pub fn new(code: &[MachineInstruction]) -> Script {
        let mut code = code.to_vec();
        code.push(control(OperationClass::Exit));
        for (position, instruction) in code.iter_mut().enumerate() {
            instruction.address = 16 * position as u32;
        }
        Script {
            code,
            path: Vec::new(),
            block: 32,
            registers: 32,
            shared_bytes: 0,
            active: !0,
            address: |_, _| 0x10_0000,
            stride: |_| 4,
            deferred: false,
            sleep: 0,
        }
    }

    /// Repeats all instructions except the exit.
    pub fn repeat(mut self, times: usize) -> Script {
        let body = self.code.len() as u32 - 1;
        self.path = (0..times).flat_map(|_| 0..body).chain([body]).collect();
        self
    }

    pub fn warps(self, warps: u32) -> Script {
        Script { block: 32 * warps, ..self }
    }

    pub fn kernel(&self, ctas: u32) -> Kernel {
        Kernel {
            name: "test".to_owned(),
            launch: 1,
            stream: 0,
            shape: LaunchShape::new([ctas, 1, 1], [self.block, 1, 1]),
            code: Arc::new(MachineCode { instructions: self.code.clone(), instruction_bytes: 16 }),
            code_address: 0x7000_0000,
            registers: self.registers,
            register_source: Default::default(),
            shared_bytes: self.shared_bytes,
            local_bytes: 0,
            cooperative: false,
        }
    }
}

/// An issued instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Issued {
    pub cycle: u64,
    pub cta: u32,
    pub warp: u32,
    pub position: u32,
}

/// Calls of a source.
#[derive(Debug, Default)]
pub struct Log {
    pub issued: Vec<Issued>,
    pub performed: Vec<(u64, u32)>,
    pub asked: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Place {
    step: u32,
    at_barrier: bool,
}

/// Source that executes a script.
pub struct Scripted {
    script: Arc<Script>,
    log: Option<Arc<Mutex<Log>>>,
    /// By CTA slot: number of the CTA, and positions of its warps.
    ctas: Vec<(u64, Vec<Place>)>,
    deferred: u32,
}

impl Scripted {
    pub fn new(script: &Arc<Script>, log: Option<&Arc<Mutex<Log>>>) -> Scripted {
        Scripted { script: Arc::clone(script), log: log.cloned(), ctas: Vec::new(), deferred: 0 }
    }

    fn position(&self, step: u32) -> u32 {
        self.script.path.get(step as usize).copied().unwrap_or(step)
    }

    fn ended(&self, place: &Place) -> bool {
        let steps = if self.script.path.is_empty() { self.script.code.len() } else { self.script.path.len() };
        place.step as usize >= steps
    }
}

impl WarpSource for Scripted {
    fn start_cta(&mut self, slot: u32, cta: u64, _: Residence) -> Result<(), SourceError> {
        let slot = slot as usize;
        if self.ctas.len() <= slot {
            self.ctas.resize(slot + 1, (0, Vec::new()));
        }
        self.ctas[slot] = (cta, vec![Place::default(); self.script.block.div_ceil(32) as usize]);
        Ok(())
    }

    fn end_cta(&mut self, slot: u32) {
        self.ctas[slot as usize].1.clear();
    }

    fn next(&mut self, warp: WarpSlot) -> Result<Next, SourceError> {
        if let Some(log) = &self.log {
            log.lock().unwrap().asked += 1;
        }
        let cta = &self.ctas[warp.cta as usize].1;
        let place = cta[warp.warp as usize];
        if self.ended(&place) {
            return Ok(Next::Finished);
        }
        if place.at_barrier {
            if cta.iter().any(|other| !other.at_barrier && !self.ended(other) && other.step <= place.step) {
                return Ok(Next::Waiting);
            }
            self.ctas[warp.cta as usize].1[warp.warp as usize].at_barrier = false;
        }
        Ok(Next::Instruction(self.position(place.step)))
    }

    fn issue(&mut self, warp: WarpSlot, now: Moment, execution: &mut Execution) -> Result<(), SourceError> {
        let (cta, places) = &self.ctas[warp.cta as usize];
        let step = places[warp.warp as usize].step;
        let position = self.position(step);
        let instruction = &self.script.code[position as usize];
        if let Some(log) = &self.log {
            let issued = Issued { cycle: now.cycle, cta: warp.cta, warp: warp.warp, position };
            log.lock().unwrap().issued.push(issued);
        }
        execution.active = self.script.active;
        execution.deferred = None;
        execution.sleep = 0;
        if let Some(operation) = instruction.memory {
            let number = cta * places.len() as u64 + u64::from(warp.warp);
            let start = (self.script.address)(number, step);
            execution.space = operation.space;
            let stride = (self.script.stride)(step);
            for (address, lane) in execution.addresses.iter_mut().zip(0..) {
                *address = start + stride * lane;
            }
            if self.script.deferred {
                execution.deferred = Some(self.deferred);
                self.deferred += 1;
            }
        }
        let barrier = instruction.class == OperationClass::Barrier;
        if instruction.class == OperationClass::WarpBarrier {
            execution.sleep = self.script.sleep;
        }
        let place = &mut self.ctas[warp.cta as usize].1[warp.warp as usize];
        place.step += 1;
        place.at_barrier = barrier;
        Ok(())
    }

    fn perform(&mut self, deferred: u32, now: Moment) -> Result<(), SourceError> {
        if let Some(log) = &self.log {
            log.lock().unwrap().performed.push((now.cycle, deferred));
        }
        Ok(())
    }
}

/// Result of a run.
pub struct Run {
    pub issued: Vec<Issued>,
    pub performed: Vec<(u64, u32)>,
    pub asked: u64,
    pub finished: Vec<FinishedCta>,
    pub counters: SmCounters,
    pub sent: Vec<Timed<MemoryRequest>>,
}

impl Run {
    /// Issue cycles of a position in any warp.
    pub fn cycles_of(&self, position: u32) -> Vec<u64> {
        self.issued.iter().filter(|issued| issued.position == position).map(|issued| issued.cycle).collect()
    }

    /// First issue cycle of a position in a warp.
    pub fn cycle(&self, warp: u32, position: u32) -> u64 {
        let issued = self.issued.iter().find(|issued| (issued.warp, issued.position) == (warp, position));
        issued.unwrap().cycle
    }

    /// Cycles between the issues of two positions in the first warp.
    pub fn between(&self, first: u32, second: u32) -> u64 {
        self.cycle(0, second) - self.cycle(0, first)
    }
}

/// A TITAN V with changes, without TLBs unless changed.
pub fn gpu_with(changes: &[&str]) -> Arc<GpuSpec> {
    let mut document = gpu::built_in("titan-v").unwrap();
    for change in ["tlb.miss=0"].iter().chain(changes) {
        gpu::change(&mut document, change).unwrap();
    }
    Arc::new(GpuSpec::read(&document).unwrap())
}

/// An SM with its memory.
pub struct Bench {
    pub sm: Sm,
    pub gpu: Arc<GpuSpec>,
    pub cycle: u64,
    replies: VecDeque<Timed<MemoryReply>>,
    outbox: Vec<Timed<MemoryRequest>>,
    pub sent: Vec<Timed<MemoryRequest>>,
    pub finished: Vec<FinishedCta>,
    pub give_credits: bool,
    /// Largest number of concurrent CTAs.
    pub most_ctas: u32,
}

impl Bench {
    pub fn new(changes: &[&str]) -> Bench {
        let gpu = gpu_with(changes);
        Bench {
            sm: Sm::new(&gpu, 0),
            gpu,
            cycle: 0,
            replies: VecDeque::new(),
            outbox: Vec::new(),
            sent: Vec::new(),
            finished: Vec::new(),
            give_credits: true,
            most_ctas: 0,
        }
    }

    /// Runs `ctas` CTAs to their end, as many at a time as fit.
    pub fn run(&mut self, script: Script, ctas: u64) -> Run {
        let log = Arc::new(Mutex::new(Log::default()));
        let script = Arc::new(script);
        let source = Scripted::new(&script, Some(&log));
        self.run_source(Box::new(source), &script, ctas);
        let log = std::mem::take(&mut *log.lock().unwrap());
        Run {
            issued: log.issued,
            performed: log.performed,
            asked: log.asked,
            finished: std::mem::take(&mut self.finished),
            counters: self.sm.counters(),
            sent: std::mem::take(&mut self.sent),
        }
    }

    pub fn run_source(&mut self, source: Source<'_>, script: &Script, ctas: u64) {
        let program = Program::new(&self.gpu, &script.kernel(ctas as u32));
        let mut sources = [Some(source)];
        let mut started = 0;
        let end = self.cycle + LIMIT;
        while (self.finished.len() as u64) < ctas {
            while started < ctas && self.sm.has_room(&program) {
                let Bench { sm, finished, .. } = self;
                sm.start_cta(self.cycle, 0, &program, started, &mut sources, finished).unwrap();
                started += 1;
            }
            self.most_ctas = self.most_ctas.max(self.sm.cta_count());
            self.epoch(&mut sources);
            assert!(self.cycle < end, "it hangs: {:#?}", self.sm.waiting());
        }
    }

    pub fn epoch(&mut self, sources: &mut [Option<Source<'_>>]) {
        let end = self.cycle + EPOCH;
        let Bench { sm, replies, outbox, finished, .. } = self;
        sm.run(end, sources, replies, outbox, finished).unwrap();
        self.cycle = end;
        let count = self.outbox.len() as u32;
        for Timed { cycle, message } in std::mem::take(&mut self.outbox) {
            let MemoryRequest { line, sectors, kind, requester, sm, tag, deferred, .. } = message;
            let reply = MemoryReply { line, sectors, kind, requester, sm, tag };
            self.replies.push_back(Timed { cycle: (cycle + FAR).max(end), message: reply });
            self.sent.push(Timed { cycle, message });
            if let Some(deferred) = deferred {
                let performed = Performed { cycle, sm, deferred };
                self.sm.perform(end, &performed, sources).unwrap();
            }
        }
        if self.give_credits {
            self.sm.give_credits(end, count);
        }
    }
}
