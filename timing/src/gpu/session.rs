//! Sessions of overlapping launches, copies and fills.

mod power;
mod stable;
mod transfers;

use std::sync::{Arc, Mutex, PoisonError};

use warp_stream::{Kernel, KernelSource};

use super::copy::{Copy, RunningCopy};
use super::epoch_workers::{EpochWorkers, lock};
use super::epochs::{Epochs, Steps};
use super::launch::{Launch, LaunchId};
use super::observer::Observer;
use super::running::Running;
use super::slot::{self, Slot};
use super::{Gpu, GpuState, Imbalance, LaunchError, Totals, conservation};
use crate::dram::ChannelCounts;
use crate::fidelity::Rates;
use crate::record::{LaunchRecord, SourceCounts, TransferRecord};
use crate::series::{Sample, Series};
use crate::sm::{Occupancy, PcCounts, Program, Sm};
use crate::statistics::{Counters, Counts};
pub use stable::Stability;

/// Active SMs or partitions per thread below which one thread runs them all.
const UNITS_PER_THREAD: usize = 2;

/// A session of overlapping launches, copies and fills. CTAs of an older launch start before those
/// of a younger one.
///
/// A session that is dropped early, or that failed, leaves the GPU idle with empty caches.
pub struct Session<'g, 'a> {
    slots: Vec<Mutex<Slot<'a>>>,
    epochs: Epochs<'g, 'a>,
    /// Counts at the last record, or at the start of the first launch or transfer.
    before: Totals,
    /// Launches whose beginning has no counts by program counter.
    resumed: Vec<LaunchId>,
    failed: bool,
}

/// Outcome of [`Session::run_until_one_ends`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// A launch.
    Launch {
        /// Number returned by [`Session::begin`].
        id: LaunchId,
        /// Record.
        record: Box<LaunchRecord>,
    },
    /// A copy.
    Copy {
        /// Number returned by [`Session::begin_copy`].
        id: LaunchId,
        /// End in core cycles.
        end: u64,
    },
    /// A device copy or fill.
    Transfer {
        /// Number returned by [`Session::begin_transfer`].
        id: LaunchId,
        /// Record.
        record: Box<TransferRecord>,
    },
    /// The observer stopped the run; the next call continues it.
    Stopped,
}

impl<'g, 'a> Session<'g, 'a> {
    pub(super) fn new(gpu: &'g mut Gpu) -> Session<'g, 'a> {
        let sms = gpu.sms.drain(..).zip(gpu.inboxes.drain(..));
        let counts = gpu.pc_counts;
        let slot = |(number, (mut sm, inbox)): (u32, (Box<Sm>, _))| {
            sm.count_pcs(counts);
            Mutex::new(Slot::new(number, sm, inbox))
        };
        let slots: Vec<_> = (0..).zip(sms).map(slot).collect();
        let epochs = Epochs::new(gpu, &slots);
        Session { slots, epochs, before: Totals::default(), resumed: Vec::new(), failed: false }
    }

    /// Continues restored work.
    pub(super) fn resume(gpu: &'g mut Gpu, launches: Vec<Launch<'a>>, running: Running) -> Session<'g, 'a> {
        let Running { launches: _, copies, transfers, turns, before } = running;
        let mut session = Session::new(gpu);
        for (number, slot) in (0..).zip(&mut session.slots) {
            let slot = slot.get_mut().unwrap_or_else(PoisonError::into_inner);
            for launch in &launches {
                let sources = &mut slot.sources;
                sources.resize_with(sources.len().max(launch.id as usize + 1), || None);
                let there = slot.sm.launches().any(|id| id == launch.id);
                sources[launch.id as usize] = there.then(|| slot::warps(launch.source, number));
            }
        }
        session.resumed = launches.iter().map(|launch| launch.id).collect();
        session.epochs.launches = launches;
        session.epochs.copies = copies;
        session.epochs.transfers = transfers;
        session.epochs.turns = turns;
        session.before = before;
        session
    }

    /// State of the GPU with its work in flight, after [`Ended::Stopped`].
    pub fn state(&self) -> GpuState {
        let Epochs { gpu, launches, copies, transfers, turns, .. } = &self.epochs;
        let running = (!self.epochs.is_empty()).then(|| Running {
            launches: launches.iter().map(Launch::state).collect(),
            copies: copies.clone(),
            transfers: transfers.clone(),
            turns: turns.clone(),
            before: self.before.clone(),
        });
        let sms = self.slots.iter().map(|slot| lock(slot).sm.state()).collect();
        let inboxes = self.slots.iter().map(|slot| lock(slot).inbox.clone()).collect();
        GpuState::new(gpu, sms, inboxes, running)
    }

    /// Begins a launch at a core cycle, or as soon after it as possible.
    ///
    /// # Errors
    /// The launch can never run.
    pub fn begin(&mut self, source: &'a dyn KernelSource, cycle: u64) -> Result<LaunchId, LaunchError> {
        self.begin_before(source, cycle, None)
    }

    /// Begins a more urgent launch, whose CTAs start before those of another.
    ///
    /// # Errors
    /// The launch can never run.
    pub fn begin_before(
        &mut self,
        source: &'a dyn KernelSource,
        cycle: u64,
        before: Option<LaunchId>,
    ) -> Result<LaunchId, LaunchError> {
        let program = self.program(source)?;
        self.invalidate(&program);
        Ok(self.add(source, program, cycle, before))
    }

    /// Code of a launch that fits the GPU.
    pub(super) fn program(&self, source: &dyn KernelSource) -> Result<Arc<Program>, LaunchError> {
        let gpu = &*self.epochs.gpu;
        let program = Program::new(&gpu.spec, source.kernel());
        check_room(gpu, &program)?;
        match (gpu.spec.fidelity.rates, &gpu.rates) {
            (Rates::FunctionalCache, _) => Ok(program),
            (Rates::ReuseDistance, Some(rates)) if rates.has(source.kernel()) => {
                Ok(program.with_rates(&**rates))
            }
            (Rates::ReuseDistance, _) => {
                let Kernel { name, launch, .. } = source.kernel();
                Err(LaunchError::NoRates { launch: *launch, kernel: name.clone() })
            }
        }
    }

    /// Continues a launch whose first CTAs ran untimed, with the caches that they left.
    pub(super) fn begin_warm(
        &mut self,
        source: &'a dyn KernelSource,
        cycle: u64,
    ) -> Result<LaunchId, LaunchError> {
        let program = self.program(source)?;
        Ok(self.add(source, program, cycle, None))
    }

    fn add(
        &mut self,
        source: &'a dyn KernelSource,
        program: Arc<Program>,
        cycle: u64,
        before: Option<LaunchId>,
    ) -> LaunchId {
        let Gpu { spec, run_to, .. } = &*self.epochs.gpu;
        let start = cycle.max(run_to.saturating_sub(u64::from(spec.launch.launch)));
        self.count_from(start);
        let id = self.free_id();
        for slot in &self.slots {
            let sources = &mut lock(slot).sources;
            sources.resize_with(sources.len().max(id as usize + 1), || None);
        }
        let launch = Launch::new(&self.epochs.gpu.spec.launch, id, source, program, start);
        self.epochs.add(launch, before);
        id
    }

    /// Begins a copy at a core cycle, or as soon after it as possible. Copies of one direction
    /// share a bus and run in order.
    pub fn begin_copy(&mut self, copy: Copy, cycle: u64) -> LaunchId {
        let id = self.free_id();
        let Epochs { gpu, copies, .. } = &mut self.epochs;
        let start = cycle.max(gpu.run_to.saturating_sub(u64::from(gpu.spec.copy.latency)));
        let copy = RunningCopy::new(&gpu.spec, id, copy, start, copies);
        copies.push(copy);
        id
    }

    fn free_id(&self) -> LaunchId {
        let Epochs { launches, copies, transfers, .. } = &self.epochs;
        let taken = launches.iter().map(|launch| launch.id).chain(copies.iter().map(|copy| copy.id));
        let taken: Vec<LaunchId> = taken.chain(transfers.iter().map(|transfer| transfer.id)).collect();
        (0..).find(|id| !taken.contains(id)).unwrap_or_default()
    }

    /// Invalidates caches as at a kernel's start: L1 data caches always. A cold launch also empties
    /// L2 and fills instruction caches, as a profiler's repetitions do.
    pub(super) fn invalidate(&mut self, program: &Program) {
        let gpu = &mut *self.epochs.gpu;
        let cold = gpu.spec.launch.cold && self.epochs.launches.is_empty();
        for slot in &self.slots {
            let sm = &mut lock(slot).sm;
            sm.invalidate();
            if cold {
                sm.warm_code(program, &mut Vec::new());
            }
        }
        if cold {
            gpu.memory.invalidate();
        }
    }

    /// Restarts counters at the first launch or transfer, which begins at core cycle `start`.
    fn count_from(&mut self, start: u64) {
        if self.epochs.launches.is_empty() && self.epochs.transfers.is_empty() {
            self.restart_counts();
            self.before = self.totals(start);
            self.begin_series(start);
        }
    }

    /// Begins a series with the counts of `before`, at a core cycle.
    fn begin_series(&mut self, cycle: u64) {
        let Session { slots, epochs, before, .. } = self;
        if let Some(sampler) = &mut epochs.sampler {
            sampler.begin(&sample(slots, before, cycle));
        }
    }

    /// Ends the series under way, with the counts at a core cycle.
    fn end_series(&mut self, totals: &Totals, cycle: u64) -> Option<Series> {
        let Session { slots, epochs, .. } = self;
        epochs.sampler.as_mut()?.end(&sample(slots, totals, cycle))
    }

    /// Restarts counters that hold a maximum.
    fn restart_counts(&mut self) {
        self.epochs.gpu.earlier.restart();
        self.epochs.gpu.memory.restart_counts();
        self.slots.iter().for_each(|slot| lock(slot).sm.restart_counts());
    }

    fn totals(&self, cycle: u64) -> Totals {
        let slots: Vec<_> = self.slots.iter().map(lock).collect();
        self.epochs.gpu.totals(cycle, slots.iter().map(|slot| &*slot.sm))
    }

    /// Runs until a launch, copy or fill ends, or the observer stops the run.
    ///
    /// # Errors
    /// The reason why none ended; all work in flight is discarded.
    pub fn run_until_one_ends(&mut self, observer: &mut dyn Observer) -> Result<Ended, LaunchError> {
        if self.failed || self.epochs.is_empty() {
            return Err(LaunchError::Nothing);
        }
        let ended = self.run(observer).and_then(|id| id.map_or(Ok(Ended::Stopped), |id| self.finish(id)));
        self.failed = ended.is_err();
        ended
    }

    /// Runs until something ends or the observer stops the run, with as many threads as pay off.
    fn run(&mut self, observer: &mut dyn Observer) -> Result<Option<u32>, LaunchError> {
        let threads = self.threads();
        let slots = &self.slots[..];
        let partitions = self.epochs.gpu.memory.partitions();
        let sms = slots.len() as u32;
        let length = self.epochs.gpu.spec.epoch();
        // The next epoch starts with the units that ran last, which the host's caches still hold.
        let is_backward = |end: u64| end / length % 2 == 1;
        // Numbers of partitions follow those of SMs.
        let work = |number: u32, end: u64| match number.checked_sub(sms) {
            None => lock(&slots[number as usize]).run(end),
            Some(channel) => partitions.run(channel as usize, end),
        };
        let alone = |first: u32, active: &[u32], end| {
            let run = |number: &u32| work(first + number, end);
            match is_backward(end) {
                true => active.iter().rev().for_each(run),
                false => active.iter().for_each(run),
            }
        };
        if threads == 1 {
            let steps = Steps {
                sms: &|active, end| alone(0, active, end),
                partitions: &|active, end| alone(sms, active, end),
            };
            return self.epochs.run(slots, steps, observer);
        }
        let workers = EpochWorkers::new(slots.len() + partitions.count(), threads);
        std::thread::scope(|scope| {
            let _end = workers.end_on_drop();
            for thread in 1..threads {
                let (workers, work) = (&workers, &work);
                scope.spawn(move || workers.work(thread, work));
            }
            let together = |first: u32, active: &[u32], end| match active.len() / UNITS_PER_THREAD {
                0 | 1 => alone(first, active, end),
                _ => {
                    workers.round(active.iter().map(|number| first + number), is_backward(end), end, &work);
                }
            };
            let sms_in_order = self.epochs.launches.iter().any(|launch| launch.source.needs_sm_order());
            let steps = Steps {
                sms: &|active, end| match sms_in_order {
                    true => alone(0, active, end),
                    false => together(0, active, end),
                },
                partitions: &|active, end| together(sms, active, end),
            };
            self.epochs.run(slots, steps, observer)
        })
    }

    /// Threads that pay off for the work in flight.
    fn threads(&self) -> usize {
        let ctas: u64 = self.epochs.launches.iter().map(Launch::ctas_left).sum();
        // Transfers keep all partitions busy.
        let ctas = if self.epochs.transfers.is_empty() { ctas } else { u64::MAX };
        let busy = self.slots.len().min(usize::try_from(ctas).unwrap_or(usize::MAX));
        self.epochs.gpu.threads.min(busy / UNITS_PER_THREAD).max(1)
    }

    fn finish(&mut self, id: u32) -> Result<Ended, LaunchError> {
        let Epochs { gpu, launches, copies, transfers, .. } = &mut self.epochs;
        if let Some(position) = transfers.iter().position(|transfer| transfer.id == id) {
            let transfer = transfers.remove(position);
            return Ok(Ended::Transfer { id, record: Box::new(self.transfer_record(&transfer)?) });
        }
        if let Some(position) = launches.iter().position(|launch| launch.id == id) {
            let launch = launches.remove(position);
            return Ok(Ended::Launch { id, record: Box::new(self.record(&launch)?) });
        }
        let position = copies.iter().position(|copy| copy.id == id).ok_or(LaunchError::Nothing)?;
        let end = copies.remove(position).ended(&gpu.spec, gpu.run_to).ok_or(LaunchError::Nothing)?;
        gpu.now = gpu.now.max(end);
        Ok(Ended::Copy { id, end })
    }

    /// Counts since the last record at the end of an item named by `what`. Conservation rules are
    /// checked if nothing else is in flight.
    fn counted(
        &mut self,
        end: u64,
        what: impl Fn() -> String,
    ) -> Result<(Counts, Vec<ChannelCounts>, Option<Series>), LaunchError> {
        let quiet = self.epochs.is_empty();
        if quiet {
            let slots = &self.slots[..];
            let partitions = self.epochs.gpu.memory.partitions();
            let steps = Steps {
                sms: &|active, end| active.iter().for_each(|number| lock(&slots[*number as usize]).run(end)),
                partitions: &|active, end| {
                    active.iter().for_each(|number| partitions.run(*number as usize, end))
                },
            };
            self.epochs.settle(slots, steps)?;
        }
        let totals = self.totals(end);
        if quiet {
            conservation::check(&totals, &self.epochs.gpu.spec.fidelity)
                .map_err(|imbalance| LaunchError::Unbalanced { kernel: what(), imbalance })?;
        }
        self.epochs.gpu.now = self.epochs.gpu.now.max(end);
        let mut counters = totals.since(&self.before);
        let channels = totals.channels_since(&self.before);
        let mut series = self.end_series(&totals, end);
        let spec = &self.epochs.gpu.spec;
        power::account(&spec.power, &mut counters, series.as_mut());
        counters.retain(|(counter, _)| spec.fidelity.models(counter));
        if let Some((counter, count, sum)) = series.as_ref().and_then(|series| series.imbalance(&counters)) {
            let imbalance = Imbalance::of_series(counter, count, sum);
            return Err(LaunchError::Unbalanced { kernel: what(), imbalance });
        }
        self.before = totals;
        self.restart_counts();
        self.begin_series(end);
        Ok((counters, channels, series))
    }

    /// Record of a completed launch, checked if nothing else is in flight.
    fn record(&mut self, launch: &Launch<'a>) -> Result<LaunchRecord, LaunchError> {
        let end = launch.end(&self.epochs.gpu.spec.launch).ok_or(LaunchError::Nothing)?;
        let kernel = &launch.program.kernel;
        let what = || format!("kernel {}", kernel.name);
        let (counters, channels, series) = self.counted(end, what)?;
        let source_counts = self.source_counts(launch);
        if let Some((left, left_value, right_value)) =
            source_counts.as_ref().filter(|_| !launch.shared).and_then(|counts| counts.imbalance(&counters))
        {
            let imbalance = Imbalance::of_pcs(left, left_value, right_value);
            return Err(LaunchError::Unbalanced { kernel: what(), imbalance });
        }
        for slot in &self.slots {
            lock(slot).sources[launch.id as usize] = None;
        }
        Ok(LaunchRecord {
            launch: kernel.launch,
            kernel: kernel.name.clone(),
            stream: kernel.stream,
            shape: kernel.shape,
            registers: kernel.registers,
            register_source: kernel.register_source,
            shared_bytes: kernel.shared_bytes,
            occupancy: Occupancy::new(&self.epochs.gpu.spec, &launch.program),
            start: launch.start,
            cycles: end - launch.start,
            warp_instructions: launch.instructions,
            shared: launch.shared,
            simulated: None,
            counters,
            channels,
            series,
            source_counts,
        })
    }

    /// Counts of an ended launch by program counter, if the launch has them from its beginning on.
    fn source_counts(&mut self, launch: &Launch<'a>) -> Option<SourceCounts> {
        if !self.epochs.gpu.pc_counts {
            return None;
        }
        let code = &launch.program.kernel.code;
        let mut sum = vec![PcCounts::default(); code.instructions.len()];
        for slot in &self.slots {
            let of_sm = lock(slot).sm.take_pc_counts(launch.id);
            of_sm
                .into_iter()
                .for_each(|counts| sum.iter_mut().zip(&counts).for_each(|(sum, own)| sum.add(own)));
        }
        let is_resumed = self.resumed.contains(&launch.id);
        self.resumed.retain(|id| *id != launch.id);
        (!is_resumed).then(|| SourceCounts::new(code, &sum))
    }
}

/// Counts of all units at a core cycle, as a series takes them.
fn sample<'t>(slots: &[Mutex<Slot<'_>>], totals: &'t Totals, cycle: u64) -> Sample<'t> {
    Sample { cycle, totals, sms: slots.iter().map(|slot| lock(slot).sm.warp_instructions()).collect() }
}

/// Runs a session's only launch to its end.
pub(super) fn finish(
    mut session: Session<'_, '_>,
    observer: &mut dyn Observer,
) -> Result<LaunchRecord, LaunchError> {
    match session.run_until_one_ends(observer)? {
        Ended::Launch { record, .. } => Ok(*record),
        Ended::Copy { .. } | Ended::Transfer { .. } => Err(LaunchError::Nothing),
        Ended::Stopped => Err(LaunchError::Stopped(Box::new(session.state()))),
    }
}

impl Drop for Session<'_, '_> {
    fn drop(&mut self) {
        let slots =
            self.slots.drain(..).map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner));
        let is_under_way = !self.epochs.is_empty();
        let gpu = &mut *self.epochs.gpu;
        (gpu.sms, gpu.inboxes) = slots.map(|slot| (slot.sm, slot.inbox)).unzip();
        if self.failed || is_under_way {
            gpu.reset();
        }
    }
}

/// Checks that a kernel can run.
pub(super) fn check_room(gpu: &Gpu, program: &Program) -> Result<(), LaunchError> {
    let Occupancy { ctas, limit, .. } = Occupancy::new(&gpu.spec, program);
    let kernel = &program.kernel;
    let room = u64::from(ctas) * u64::from(gpu.spec.chip.sms);
    match ctas {
        0 => Err(LaunchError::NoRoom { kernel: kernel.name.clone(), limit }),
        _ if kernel.cooperative && kernel.shape.cta_count() > room => Err(LaunchError::NotResident {
            kernel: kernel.name.clone(),
            ctas: kernel.shape.cta_count(),
            room,
        }),
        _ => Ok(()),
    }
}
