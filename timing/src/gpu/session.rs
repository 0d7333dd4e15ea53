//! Launches that are under way: dispatch of their CTAs, epochs, ends.

use std::collections::VecDeque;
use std::sync::Mutex;

use warp_stream::KernelSource;

use super::conservation;
use super::crew::{Crew, lock};
use super::launch::{Launch, LaunchId};
use super::observer::{Observer, Progress};
use super::slot::Slot;
use super::{Gpu, LaunchError, Stuck, Totals};
use crate::message::{MemoryReply, MemoryRequest, Performed, Timed};
use crate::report::LaunchRecord;
use crate::sm::{Occupancy, Program, SmFault};

/// Epochs between two tellings of the observer.
const TELL: u64 = 1024;

/// Epochs in which no instruction is issued, no reply comes and no CTA ends, after which nothing is taken to move.
const PATIENCE: u64 = 64 * TELL;

/// SMs with something to do for each thread, below which one thread does it.
const SMS_PER_THREAD: usize = 2;

/// Launches that overlap. CTAs of an older launch start before those of a younger one, which get what is left.
///
/// Dropped before all launches have ended, or after an error, it leaves the GPU idle with empty caches.
pub struct Session<'g, 'a> {
    slots: Vec<Mutex<Slot<'a>>>,
    state: State<'g, 'a>,
}

/// What SMs' threads do not touch.
struct State<'g, 'a> {
    gpu: &'g mut Gpu,
    /// Those under way, oldest first.
    launches: Vec<Launch<'a>>,
    /// When each SM has something to do. Core cycles; `u64::MAX` for never.
    wake: Vec<u64>,
    /// SMs that may have room for a CTA.
    open: Vec<bool>,
    /// The SM that gets the next CTA if it has room.
    turn: usize,
    /// What had been counted when the last record was made, or the first launch began.
    before: Totals,
    epochs: u64,
    watch: Watch,
    failed: bool,
    // What an epoch needs, kept for its memory.
    active: Vec<u32>,
    requests: Vec<Timed<MemoryRequest>>,
    replies: Vec<VecDeque<Timed<MemoryReply>>>,
    performed: Vec<Performed>,
    credits: Vec<u32>,
}

/// What had moved when it was last looked at.
#[derive(Default)]
struct Watch {
    moved: [u64; 3],
    /// Epoch since which it is the same.
    since: u64,
}

impl<'g, 'a> Session<'g, 'a> {
    pub(super) fn new(gpu: &'g mut Gpu) -> Session<'g, 'a> {
        let slots: Vec<_> =
            (0..).zip(gpu.sms.drain(..)).map(|(number, sm)| Mutex::new(Slot::new(number, sm))).collect();
        let count = slots.len();
        let state = State {
            gpu,
            launches: Vec::new(),
            wake: slots.iter().map(|slot| lock(slot).wake()).collect(),
            open: vec![false; count],
            turn: 0,
            before: Totals::default(),
            epochs: 0,
            watch: Watch::default(),
            failed: false,
            active: Vec::new(),
            requests: Vec::new(),
            replies: vec![VecDeque::new(); count],
            performed: Vec::new(),
            credits: vec![0; count],
        };
        Session { slots, state }
    }

    /// Begins a launch at [`Gpu::now`].
    ///
    /// # Errors
    /// It can never run.
    pub fn begin(&mut self, source: &'a dyn KernelSource) -> Result<LaunchId, LaunchError> {
        self.begin_at(source, self.state.gpu.now)
    }

    /// Begins a launch at a core cycle, or as soon after it as can be.
    ///
    /// # Errors
    /// It can never run.
    pub fn begin_at(&mut self, source: &'a dyn KernelSource, cycle: u64) -> Result<LaunchId, LaunchError> {
        let State { gpu, launches, .. } = &mut self.state;
        let program = Program::new(&gpu.spec, source.kernel());
        check_room(gpu, &program)?;
        let alone = launches.is_empty();
        let start = cycle.max(gpu.run_to);
        self.invalidate(alone);
        if alone {
            self.state.turn = 0;
            self.state.before = self.totals(start);
        }
        let State { gpu, launches, open, .. } = &mut self.state;
        let id = (0..).find(|id| launches.iter().all(|launch| launch.id != *id)).unwrap_or_default();
        for slot in &mut self.slots {
            let Slot { sources, .. } = slot.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
            sources.resize_with(sources.len().max(id as usize + 1), || None);
        }
        let launch = Launch::new(&gpu.spec.launch, id, source, program, start);
        launches.push(launch);
        if !alone {
            launches.iter_mut().for_each(|launch| launch.shared = true);
        }
        open.fill(true);
        Ok(id)
    }

    /// Kernels begin with empty L1 data caches; cold ones with empty caches everywhere.
    fn invalidate(&mut self, alone: bool) {
        let cold = self.state.gpu.spec.launch.cold && alone;
        for slot in &self.slots {
            let mut slot = lock(slot);
            slot.sm.invalidate();
            if cold {
                slot.sm.invalidate_instructions();
            }
        }
        if cold {
            self.state.gpu.memory.invalidate();
        }
    }

    fn totals(&self, cycle: u64) -> Totals {
        let slots: Vec<_> = self.slots.iter().map(lock).collect();
        self.state.gpu.totals(cycle, slots.iter().map(|slot| &slot.sm))
    }

    /// Runs until one of the launches has ended.
    ///
    /// # Errors
    /// Why they did not end; all of them are given up then.
    pub fn run_until_one_ends(
        &mut self,
        observer: &mut dyn Observer,
    ) -> Result<(LaunchId, LaunchRecord), LaunchError> {
        if self.state.launches.is_empty() || self.state.failed {
            return Err(LaunchError::Nothing);
        }
        let ended = self.run(observer).and_then(|id| self.finish(id));
        self.state.failed = ended.is_err();
        ended
    }

    /// Runs with as many threads as are worth it until a launch has ended.
    fn run(&mut self, observer: &mut dyn Observer) -> Result<LaunchId, LaunchError> {
        let Session { slots, state } = self;
        let slots = &slots[..];
        let work = |number: u32, end: u64| lock(&slots[number as usize]).run(end);
        let threads = state.threads(slots.len());
        if threads == 1 {
            let step = |active: &[u32], end| active.iter().for_each(|number| work(*number, end));
            return state.run(slots, &step, observer);
        }
        let crew = Crew::new(slots.len());
        std::thread::scope(|scope| {
            let _end = crew.end_on_drop();
            for _ in 1..threads {
                scope.spawn(|| crew.work(&work));
            }
            let step = |active: &[u32], end| match active.len() / SMS_PER_THREAD {
                0 | 1 => active.iter().for_each(|number| work(*number, end)),
                _ => crew.round(active, end, &work),
            };
            state.run(slots, &step, observer)
        })
    }

    /// Ends a launch: takes it out and makes its record.
    fn finish(&mut self, id: LaunchId) -> Result<(LaunchId, LaunchRecord), LaunchError> {
        let position = self.state.launches.iter().position(|launch| launch.id == id);
        let launch = self.state.launches.remove(position.ok_or(LaunchError::Nothing)?);
        let end = launch.end(&self.state.gpu.spec.launch).ok_or(LaunchError::Nothing)?;
        if self.state.launches.is_empty() {
            self.settle()?;
        }
        self.state.gpu.now = self.state.gpu.now.max(end);
        let totals = self.totals(end);
        if self.state.launches.is_empty() {
            let kernel = &launch.program.kernel.name;
            conservation::check(&totals)
                .map_err(|imbalance| LaunchError::Unbalanced { kernel: kernel.clone(), imbalance })?;
        }
        let counters = totals.since(&self.state.before);
        self.state.before = totals;
        for slot in &self.slots {
            lock(slot).sources[id as usize] = None;
        }
        let kernel = &launch.program.kernel;
        let record = LaunchRecord {
            launch: kernel.launch,
            kernel: kernel.name.clone(),
            stream: kernel.stream,
            grid: kernel.grid,
            block: kernel.block,
            registers: kernel.registers,
            shared_bytes: kernel.shared_bytes,
            start: launch.start,
            cycles: end - launch.start,
            shared: launch.shared,
            counters,
        };
        Ok((id, record))
    }

    /// Runs what goes on after the last CTA: writes on their way to DRAM.
    fn settle(&mut self) -> Result<(), LaunchError> {
        let Session { slots, state } = self;
        let slots = &slots[..];
        let step =
            |active: &[u32], end| active.iter().for_each(|number| lock(&slots[*number as usize]).run(end));
        while let Some(next) = state.next_event() {
            state.epoch(slots, &step, next)?;
        }
        let quiet = state.gpu.memory.is_idle() && slots.iter().all(|slot| lock(slot).sm.is_idle());
        if !quiet {
            return Err(LaunchError::Stuck(state.stuck(slots)));
        }
        match state.gpu.memory.violation() {
            Some(violation) => Err(LaunchError::Dram(violation.clone())),
            None => Ok(()),
        }
    }
}

impl Drop for Session<'_, '_> {
    fn drop(&mut self) {
        let slots = self.slots.drain(..).map(|slot| slot.into_inner());
        self.state.gpu.sms =
            slots.map(|slot| slot.unwrap_or_else(std::sync::PoisonError::into_inner).sm).collect();
        if self.state.failed || !self.state.launches.is_empty() {
            self.state.gpu.reset();
        }
    }
}

/// Whether a kernel can run at all.
fn check_room(gpu: &Gpu, program: &Program) -> Result<(), LaunchError> {
    let Occupancy { ctas, limit } = Occupancy::new(&gpu.spec, program);
    let kernel = &program.kernel;
    let room = u64::from(ctas) * u64::from(gpu.spec.chip.sms);
    match ctas {
        0 => Err(LaunchError::NoRoom { kernel: kernel.name.clone(), limit }),
        _ if kernel.cooperative && kernel.cta_count() > room => {
            Err(LaunchError::NotResident { kernel: kernel.name.clone(), ctas: kernel.cta_count(), room })
        }
        _ => Ok(()),
    }
}

/// The launch of a fault.
fn launch_of(fault: &SmFault) -> LaunchId {
    match fault {
        SmFault::Source { launch, .. }
        | SmFault::NoSource { launch }
        | SmFault::NoInstruction { launch, .. }
        | SmFault::NoRoom { launch } => *launch,
    }
}

type Step<'s> = &'s dyn Fn(&[u32], u64);

impl<'a> State<'_, 'a> {
    /// Threads that are worth it for what is under way.
    fn threads(&self, sms: usize) -> usize {
        let ctas: u64 = self.launches.iter().map(Launch::ctas_left).sum();
        let busy = sms.min(usize::try_from(ctas).unwrap_or(usize::MAX));
        self.gpu.threads.min(busy / SMS_PER_THREAD).max(1)
    }

    /// Runs epochs until a launch has ended.
    fn run(
        &mut self,
        slots: &[Mutex<Slot<'a>>],
        step: Step<'_>,
        observer: &mut dyn Observer,
    ) -> Result<LaunchId, LaunchError> {
        loop {
            let spec = &self.gpu.spec.launch;
            if let Some(launch) = self.launches.iter().find(|launch| launch.end(spec).is_some()) {
                return Ok(launch.id);
            }
            if self.epochs.is_multiple_of(TELL) {
                self.tell(slots, observer)?;
            }
            let next = self.next_event().ok_or_else(|| LaunchError::Stuck(self.stuck(slots)))?;
            self.epoch(slots, step, next)?;
        }
    }

    /// The first core cycle at which something happens.
    fn next_event(&self) -> Option<u64> {
        let dispatch = self.launches.iter().find(|launch| launch.ctas_to_start() > 0);
        let dispatch = dispatch.filter(|_| self.open.contains(&true)).map(|launch| launch.ready);
        let sms = self.wake.iter().copied().min().filter(|wake| *wake != u64::MAX);
        sms.into_iter().chain(dispatch).chain(self.gpu.memory.next_event()).min()
    }

    /// Runs the epoch with the core cycle `next`, before which nothing happens.
    fn epoch(&mut self, slots: &[Mutex<Slot<'a>>], step: Step<'_>, next: u64) -> Result<(), LaunchError> {
        let length = u64::from(self.gpu.spec.chip.epoch);
        let start = self.gpu.run_to.max(next);
        let end = (start / length + 1) * length;
        self.dispatch(slots, start, end)?;
        self.active.clear();
        self.active.extend((0..).zip(&self.wake).filter(|(_, wake)| **wake < end).map(|(number, _)| number));
        step(&self.active, end);
        self.collect(slots)?;
        self.run_memory(slots, end)?;
        self.gpu.run_to = end;
        self.epochs += 1;
        Ok(())
    }

    /// Starts CTAs from `start` to `end`: in each cycle one on each SM that has room, in turn.
    fn dispatch(&mut self, slots: &[Mutex<Slot<'a>>], start: u64, end: u64) -> Result<(), LaunchError> {
        for cycle in start..end {
            if !self.open.contains(&true) {
                return Ok(());
            }
            for _ in 0..slots.len() {
                let number = self.turn;
                // The oldest launch with CTAs to start; younger ones get what it leaves.
                let Some(launch) = self.launches.iter_mut().find(|launch| launch.ctas_to_start() > 0) else {
                    return Ok(());
                };
                if launch.ready > cycle {
                    break;
                }
                self.turn = (self.turn + 1) % slots.len();
                if !self.open[number] {
                    continue;
                }
                let slot = &mut *lock(&slots[number]);
                if slot.sm.room(&launch.program) == 0 {
                    self.open[number] = false;
                    continue;
                }
                if let Err(fault) = slot.start_cta(cycle, launch) {
                    return Err(self.fault(number as u32, fault));
                }
                self.gpu.counters.ctas_started += 1;
                self.wake[number] = self.wake[number].min(cycle);
            }
        }
        Ok(())
    }

    /// Takes what the active SMs have left.
    fn collect(&mut self, slots: &[Mutex<Slot<'a>>]) -> Result<(), LaunchError> {
        self.requests.clear();
        for number in &self.active {
            let slot = &mut *lock(&slots[*number as usize]);
            if let Some(fault) = slot.fault.take() {
                return Err(self.fault(*number, fault));
            }
            self.wake[*number as usize] = slot.wake();
            self.requests.append(&mut slot.outbox);
            self.open[*number as usize] |= !slot.finished.is_empty();
            for cta in slot.finished.drain(..) {
                self.gpu.counters.ctas_ended += 1;
                if let Some(launch) = self.launches.iter_mut().find(|launch| launch.id == cta.launch) {
                    launch.cta_ended(cta.cycle);
                }
            }
        }
        // Stable: those of a cycle stay in the order of SMs and of their sequence.
        self.requests.sort_by_key(|request| request.cycle);
        Ok(())
    }

    /// Runs the memory side to `end` and gives SMs what it has for them.
    fn run_memory(&mut self, slots: &[Mutex<Slot<'a>>], end: u64) -> Result<(), LaunchError> {
        let State { gpu, requests, replies, performed, credits, .. } = self;
        if requests.is_empty() && gpu.memory.next_event().is_none_or(|next| next >= end) {
            return Ok(());
        }
        performed.clear();
        gpu.memory.run(end, requests, replies, performed, credits);
        for (number, slot) in slots.iter().enumerate() {
            if self.credits[number] == 0 && self.replies[number].is_empty() {
                continue;
            }
            let slot = &mut *lock(slot);
            slot.sm.give_credits(end, std::mem::take(&mut self.credits[number]));
            slot.inbox.append(&mut self.replies[number]);
            self.wake[number] = slot.wake();
        }
        for performed in &self.performed {
            let slot = &mut *lock(&slots[usize::from(performed.sm)]);
            if let Err(fault) = slot.sm.perform(end, performed, &mut slot.sources) {
                return Err(self.fault(u32::from(performed.sm), fault));
            }
            self.wake[usize::from(performed.sm)] = slot.wake();
        }
        Ok(())
    }

    /// Tells the observer of the launches, and looks whether anything moves.
    fn tell(&mut self, slots: &[Mutex<Slot<'a>>], observer: &mut dyn Observer) -> Result<(), LaunchError> {
        let instructions =
            slots.iter().map(|slot| lock(slot).sm.counters().memory.pipeline.instructions).sum();
        for launch in &self.launches {
            let progress = Progress {
                kernel: &launch.program.kernel,
                ctas_done: launch.ended,
                cycles: self.gpu.run_to.saturating_sub(launch.start),
                instructions,
            };
            if observer.progress(&progress).is_break() {
                return Err(LaunchError::Cancelled);
            }
        }
        let moved = [instructions, self.gpu.memory.counters().replies, self.gpu.counters.ctas_ended];
        if moved != self.watch.moved {
            self.watch = Watch { moved, since: self.epochs };
        }
        if self.epochs - self.watch.since >= PATIENCE {
            return Err(LaunchError::Stuck(self.stuck(slots)));
        }
        Ok(())
    }

    fn fault(&self, sm: u32, fault: SmFault) -> LaunchError {
        let launch = self.launches.iter().find(|launch| launch.id == launch_of(&fault));
        let kernel = launch.map_or_else(String::new, |launch| launch.program.kernel.name.clone());
        LaunchError::Fault { kernel, sm, fault }
    }

    fn stuck(&self, slots: &[Mutex<Slot<'a>>]) -> Stuck {
        let kernels = self.launches.iter().map(|launch| launch.to_string()).collect();
        let warps = (0..).zip(slots).flat_map(|(number, slot): (u32, _)| {
            let waiting = lock(slot).sm.waiting();
            waiting.into_iter().map(move |warp| format!("SM {number}, {warp}"))
        });
        let waiting = warps.chain(self.gpu.memory.waiting()).collect();
        Stuck { cycle: self.gpu.run_to, kernels, waiting }
    }
}
