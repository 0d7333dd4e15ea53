//! Scripted kernels: lists of instructions, with addresses computed by functions.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use timing::gpu::{Gpu, LaunchError};
use timing::record::LaunchRecord;
use timing::specification::{GpuSpec, gpu};
use warp_stream::{
    AccessKind, CacheOperator, Execution, Kernel, KernelSource, LaunchShape, MachineCode, MachineInstruction,
    MemoryOperation, MemorySpace, Moment, Next, OperationClass, Registers, Residence, SourceError, WarpSlot,
    WarpSource,
};

/// A thread that executes an instruction.
#[derive(Debug, Clone, Copy)]
pub struct Thread {
    /// CTA of the thread.
    pub cta: u64,
    /// Number within the grid.
    pub number: u64,
    /// Iteration of the enclosing loop.
    pub iteration: u64,
}

type Address = Box<dyn Fn(Thread) -> u64 + Send + Sync>;

#[derive(Default)]
struct Step {
    address: Option<Address>,
    /// Jump target and number of repetitions.
    back: Option<(u32, u64)>,
    /// Nanoseconds that the warp sleeps.
    sleep: u32,
}

/// A scripted kernel.
pub struct Script {
    pub kernel: Kernel,
    steps: Vec<Step>,
    fault_at: Option<u64>,
    log: Mutex<Log>,
    /// State of stopped sources, by SM.
    parked: Mutex<BTreeMap<u32, Parked>>,
}

/// CTAs by slot, and the number of deferred instructions.
#[derive(Default)]
struct Parked {
    ctas: BTreeMap<u32, Cta>,
    deferred: u32,
}

/// Record of events.
#[derive(Default)]
struct Log {
    /// CTAs with their SMs, in order of start.
    started: Vec<(u64, u32)>,
    there: usize,
    most_there: usize,
    /// Cycle of each CTA's first instruction.
    first_issues: Vec<u64>,
}

impl Script {
    /// A kernel with `ctas` CTAs of `threads` threads.
    pub fn new(ctas: u32, threads: u32) -> Script {
        let kernel = Kernel {
            name: "script".to_owned(),
            launch: 1,
            stream: 0,
            shape: LaunchShape::new([ctas, 1, 1], [threads, 1, 1]),
            code: Arc::new(MachineCode { instructions: Vec::new(), instruction_bytes: 16 }),
            code_address: 1 << 40,
            registers: 16,
            register_source: Default::default(),
            shared_bytes: 0,
            local_bytes: 0,
            cooperative: false,
        };
        Script { kernel, steps: Vec::new(), fault_at: None, log: Mutex::default(), parked: Mutex::default() }
    }

    fn push(
        mut self,
        class: OperationClass,
        destination: Option<u16>,
        sources: &[u16],
        memory: Option<MemoryOperation>,
        step: Step,
    ) -> Script {
        let one = |first| Registers { first, count: 1 };
        let code = Arc::make_mut(&mut self.kernel.code);
        let position = code.instructions.len() as u32;
        let mut operands = [Registers::NONE; 4];
        sources.iter().zip(&mut operands).for_each(|(source, operand)| *operand = one(*source));
        code.instructions.push(MachineInstruction {
            address: position * 16,
            class,
            destination: destination.map_or(Registers::NONE, one),
            sources: operands,
            predicates_read: 0,
            predicates_written: 0,
            memory,
            line: position + 100,
            ptx: 1,
        });
        self.steps.push(step);
        self
    }

    /// Adds an arithmetic instruction.
    pub fn operation(self, class: OperationClass, destination: u16, sources: &[u16]) -> Script {
        self.push(class, Some(destination), sources, None, Step::default())
    }

    fn memory(
        self,
        kind: AccessKind,
        destination: Option<u16>,
        sources: &[u16],
        address: impl Fn(Thread) -> u64 + Send + Sync + 'static,
    ) -> Script {
        self.access_with(MemorySpace::Global, kind, destination, sources, address)
    }

    /// Adds an access to a word.
    pub fn access(
        self,
        space: MemorySpace,
        kind: AccessKind,
        destination: Option<u16>,
        address: impl Fn(Thread) -> u64 + Send + Sync + 'static,
    ) -> Script {
        self.access_with(space, kind, destination, &[], address)
    }

    fn access_with(
        self,
        space: MemorySpace,
        kind: AccessKind,
        destination: Option<u16>,
        sources: &[u16],
        address: impl Fn(Thread) -> u64 + Send + Sync + 'static,
    ) -> Script {
        let operation = MemoryOperation { space, kind, width: 4, cache: CacheOperator::Default };
        let class = match kind {
            AccessKind::Load => OperationClass::Load,
            AccessKind::Store => OperationClass::Store,
            AccessKind::Atomic => OperationClass::Atomic,
            AccessKind::Reduction => OperationClass::Reduction,
        };
        let step = Step { address: Some(Box::new(address)), ..Step::default() };
        self.push(class, destination, sources, Some(operation), step)
    }

    /// Adds a load of a word from global memory.
    pub fn load(
        self,
        destination: u16,
        sources: &[u16],
        address: impl Fn(Thread) -> u64 + Send + Sync + 'static,
    ) -> Script {
        self.memory(AccessKind::Load, Some(destination), sources, address)
    }

    /// Adds a store of a word to global memory.
    pub fn store(self, sources: &[u16], address: impl Fn(Thread) -> u64 + Send + Sync + 'static) -> Script {
        self.memory(AccessKind::Store, None, sources, address)
    }

    /// Adds an atomic operation on a word of global memory.
    pub fn atomic(
        self,
        destination: u16,
        sources: &[u16],
        address: impl Fn(Thread) -> u64 + Send + Sync + 'static,
    ) -> Script {
        self.memory(AccessKind::Atomic, Some(destination), sources, address)
    }

    /// Adds a CTA barrier.
    pub fn barrier(self) -> Script {
        self.push(OperationClass::Barrier, None, &[], None, Step::default())
    }

    /// Adds a barrier that waits for an absent warp.
    pub fn hang(mut self) -> Script {
        self.kernel.name = "hangs".to_owned();
        self.push(
            OperationClass::Barrier,
            None,
            &[],
            None,
            Step { back: Some((u32::MAX, 0)), ..Step::default() },
        )
    }

    /// Adds an instruction that puts its warp to sleep.
    pub fn sleep(self, nanoseconds: u32) -> Script {
        self.push(OperationClass::Integer, None, &[], None, Step { sleep: nanoseconds, ..Step::default() })
    }

    /// Adds a backward jump, taken `times` times.
    pub fn repeat(self, position: u32, times: u64) -> Script {
        self.push(
            OperationClass::Branch,
            None,
            &[],
            None,
            Step { back: Some((position, times)), ..Step::default() },
        )
    }

    /// Adds the end of the kernel.
    pub fn exit(self) -> Script {
        self.push(OperationClass::Exit, None, &[], None, Step::default())
    }

    /// Makes the source report a fault in a CTA.
    pub fn faulting(mut self, cta: u64) -> Script {
        self.fault_at = Some(cta);
        self
    }

    /// CTAs with their SMs, in order of start.
    pub fn started(&self) -> Vec<(u64, u32)> {
        self.log.lock().unwrap().started.clone()
    }

    /// Largest number of concurrent CTAs.
    pub fn most_at_once(&self) -> usize {
        self.log.lock().unwrap().most_there
    }

    /// Cycle of each CTA's first instruction, sorted.
    pub fn first_issues(&self) -> Vec<u64> {
        let mut cycles = self.log.lock().unwrap().first_issues.clone();
        cycles.sort_unstable();
        cycles
    }

    /// Changes the kernel description.
    pub fn with(mut self, change: impl FnOnce(&mut Kernel)) -> Script {
        change(&mut self.kernel);
        self
    }
}

impl KernelSource for Script {
    fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    fn warps(&self, sm: u32) -> Box<dyn WarpSource + '_> {
        let Parked { ctas, deferred } = self.parked.lock().unwrap().remove(&sm).unwrap_or_default();
        Box::new(Warps { script: self, sm, ctas, deferred })
    }
}

struct Warps<'a> {
    script: &'a Script,
    sm: u32,
    ctas: BTreeMap<u32, Cta>,
    deferred: u32,
}

struct Cta {
    number: u64,
    issued: bool,
    warps: Vec<Warp>,
}

#[derive(Clone, Default)]
struct Warp {
    position: u32,
    iteration: u64,
    at_barrier: bool,
    hangs: bool,
    finished: bool,
}

/// Running warps keep their state for the SM's next source.
impl Drop for Warps<'_> {
    fn drop(&mut self) {
        let parked = Parked { ctas: std::mem::take(&mut self.ctas), deferred: self.deferred };
        if !parked.ctas.is_empty() || parked.deferred > 0 {
            self.script.parked.lock().unwrap().insert(self.sm, parked);
        }
    }
}

impl WarpSource for Warps<'_> {
    fn start_cta(&mut self, slot: u32, cta: u64, residence: Residence) -> Result<(), SourceError> {
        if self.script.fault_at == Some(cta) {
            let error: Box<dyn std::error::Error + Send + Sync> = "a bad address".into();
            return Err(error.into());
        }
        let warps = vec![Warp::default(); self.script.kernel.shape.warps_per_cta() as usize];
        assert_eq!(residence.sm, self.sm);
        assert!(self.ctas.insert(slot, Cta { number: cta, issued: false, warps }).is_none());
        let mut log = self.script.log.lock().unwrap();
        log.started.push((cta, self.sm));
        log.there += 1;
        log.most_there = log.most_there.max(log.there);
        Ok(())
    }

    fn end_cta(&mut self, slot: u32) {
        self.script.log.lock().unwrap().there -= 1;
        assert!(self.ctas.remove(&slot).unwrap().warps.iter().all(|warp| warp.finished));
    }

    fn next(&mut self, slot: WarpSlot) -> Result<Next, SourceError> {
        let cta = self.ctas.get_mut(&slot.cta).unwrap();
        let all_there = cta.warps.iter().all(|warp| warp.finished || warp.at_barrier);
        let warp = &mut cta.warps[slot.warp as usize];
        Ok(match warp {
            Warp { finished: true, .. } => Next::Finished,
            Warp { hangs: true, .. } => Next::Waiting,
            Warp { at_barrier: true, .. } if !all_there => Next::Waiting,
            _ => {
                if warp.at_barrier {
                    cta.warps.iter_mut().for_each(|warp| warp.at_barrier = false);
                }
                Next::Instruction(cta.warps[slot.warp as usize].position)
            }
        })
    }

    fn issue(&mut self, slot: WarpSlot, now: Moment, execution: &mut Execution) -> Result<(), SourceError> {
        let kernel = &self.script.kernel;
        let cta = self.ctas.get_mut(&slot.cta).unwrap();
        if !std::mem::replace(&mut cta.issued, true) {
            self.script.log.lock().unwrap().first_issues.push(now.cycle);
        }
        let warp = &mut cta.warps[slot.warp as usize];
        let first = slot.warp * 32;
        let lanes = (kernel.shape.threads_per_cta() - first).min(32);
        *execution = Execution { active: u32::MAX >> (32 - lanes), ..Execution::default() };
        let (instruction, step) =
            (&kernel.code.instructions[warp.position as usize], &self.script.steps[warp.position as usize]);
        if let Some(address) = &step.address {
            let number = cta.number * u64::from(kernel.shape.threads_per_cta()) + u64::from(first);
            for (lane, to) in (0..).zip(&mut execution.addresses) {
                *to = address(Thread { cta: cta.number, number: number + lane, iteration: warp.iteration });
            }
        }
        if instruction.class == OperationClass::Atomic {
            execution.deferred = Some(self.deferred);
            self.deferred += 1;
        }
        execution.sleep = step.sleep;
        warp.finished = instruction.class == OperationClass::Exit;
        warp.at_barrier = instruction.class == OperationClass::Barrier;
        warp.position += 1;
        match step.back {
            Some((u32::MAX, _)) => warp.hangs = true,
            Some((to, times)) if warp.iteration < times => {
                warp.iteration += 1;
                warp.position = to;
            }
            Some(_) => warp.iteration = 0,
            None => {}
        }
        Ok(())
    }

    fn perform(&mut self, deferred: u32, _: Moment) -> Result<(), SourceError> {
        assert!(deferred < self.deferred);
        Ok(())
    }
}

/// A TITAN V with changes of the form `section.key=value`.
pub fn titan_v(changes: &[&str]) -> Gpu {
    built_in("titan-v", changes)
}

/// A Quadro GV100 with such changes.
pub fn gv100(changes: &[&str]) -> Gpu {
    built_in("gv100", changes)
}

fn built_in(name: &str, changes: &[&str]) -> Gpu {
    let mut document = gpu::built_in(name).unwrap();
    changes.iter().for_each(|change| gpu::change(&mut document, change).unwrap());
    Gpu::new(&Arc::new(GpuSpec::read(&document).unwrap()))
}

/// Runs a launch to its end.
pub fn launch(gpu: &mut Gpu, script: &Script) -> LaunchRecord {
    try_launch(gpu, script).unwrap_or_else(|error| panic!("{error}"))
}

pub fn try_launch(gpu: &mut Gpu, script: &Script) -> Result<LaunchRecord, LaunchError> {
    gpu.launch(script, &mut ())
}

/// A counter or derived value.
pub fn count(record: &LaunchRecord, name: &str) -> u64 {
    timing::statistics::value(&record.counters, name).unwrap_or_else(|| panic!("no counter {name}"))
}
