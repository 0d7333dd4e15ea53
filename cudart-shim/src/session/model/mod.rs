//! Timing model of a device: launch selection, simulated time and statistics.
//!
//! Settings:
//! - `VOLTSIM_MODE` enables the model: `detailed`, or a hybrid mode, which chooses fidelities.
//! - `VOLTSIM_GPU` selects the GPU by name or file, and `VOLTSIM_SET` overrides keys, one per line.
//! - `VOLTSIM_ONLY` selects the timed launches (`kernel=GLOB,launch=A..B` and others).
//! - `VOLTSIM_WARM_UP` sets the number of preceding launches that warm the caches.
//! - `VOLTSIM_UNTIL_STABLE` ends launches early (`windows=N,deviation=D`).
//! - `VOLTSIM_RATES` names a recording of accesses, from which the rates of loads follow.
//! - `VOLTSIM_STATISTICS` names the statistics file written at exit; without it, a summary goes to
//!   standard error.
//! - `VOLTSIM_SERIES` sets the interval of time series in the statistics file.
//! - `VOLTSIM_SOURCE_COUNTS` counts by program counter in the statistics file.
//! - `VOLTSIM_REPORT` names the HTML page written at exit.
//!
//! Events of a modelled device use simulated time.

mod concurrent;
mod inside;
mod listing;
mod nested;
mod partial;
mod progress;
mod written;

use crate::abi::error::Error;
use crate::host::environment::options;
use crate::objects::fault::DeviceFault;
use crate::session::launch::Way;
use crate::session::simulator::Simulator;
use crate::session::state::Session;
use crate::session::trace;
use cache_model::accesses::FileError;
use cache_model::rates::RecordedRates;
use concurrent::{Met, Waiting};
use functional::memory::Memory;
use functional::timed::TimedError;
pub(crate) use inside::{Begun, Missed, StopAt};
use launch_capture::{Marks, Selection, UntilStable, WarmUp};
use launch_report::saved;
use launch_report::{Format, Report, UnknownEnding};
pub(crate) use nested::child_fault;
use parking_lot::Mutex;
use progress::Display;
use run_options::values::SeriesInterval;
use saved_run::ModelState;
use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread::available_parallelism;
use stream_engine::{Clock, Timestamp};
use timing::RestoreError;
use timing::fidelity;
use timing::gpu::{Copy, Gpu, GpuState, LaunchError, Stability, Transfer};
use timing::series::Interval;
use timing::specification::{GpuSpec, gpu};
use voltsim_checkpoint::codec::CodecError;
use warp_stream::{Executed, Past};
pub(crate) use written::write_statistics;

/// Settings from the environment.
struct Settings {
    gpu: String,
    spec: Arc<GpuSpec>,
    only: Selection,
    warm_up: WarmUp,
    /// Condition for ending launches early, if any.
    until_stable: Option<Stability>,
    /// Rates of loads, where the fidelity takes them from outside.
    rates: Option<Arc<RecordedRates>>,
}

impl Settings {
    fn new_gpu(&self) -> Gpu {
        self.with_rates(Gpu::new(&self.spec))
    }

    /// The GPU with the rates of loads, if they are given.
    fn with_rates(&self, gpu: Gpu) -> Gpu {
        match &self.rates {
            Some(rates) => gpu.with_load_rates(Arc::<RecordedRates>::clone(rates)),
            None => gpu,
        }
    }
}

/// Errors in the model's settings.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum ModelError {
    #[error("VOLTSIM_GPU, VOLTSIM_SET: {0}")]
    Gpu(String),
    #[error("VOLTSIM_STATISTICS: {0}")]
    Statistics(#[from] UnknownEnding),
    #[error("VOLTSIM_RATES: {0}")]
    Rates(String),
}

/// State of the timing models of all devices.
pub(crate) struct Models {
    settings: LazyLock<Result<Option<Settings>, ModelError>>,
    /// NVTX ranges of launches that are not timed yet, by their numbers.
    ranges: Mutex<BTreeMap<u64, Vec<String>>>,
}

impl Models {
    /// The state before the first call.
    pub(crate) const fn new() -> Self {
        Self { settings: LazyLock::new(read), ranges: Mutex::new(BTreeMap::new()) }
    }
}

/// The settings, if the model is enabled.
fn settings(session: &'static Session) -> Result<Option<&'static Settings>, ModelError> {
    session.models.settings.as_ref().map(Option::as_ref).map_err(Clone::clone)
}

fn read() -> Result<Option<Settings>, ModelError> {
    let options = options();
    let Some(mode) = options.mode.filter(|mode| mode.is_timed()) else { return Ok(None) };
    let gpu = options.gpu.clone().unwrap_or_else(|| gpu::DEFAULT.to_owned());
    let gpu = gpu::spelt(&gpu).map_or(gpu, str::to_owned);
    let own = fidelity::Mode::named(mode.name()).map_or(&[][..], |mode| mode.changes);
    let changes = options.set.iter().flat_map(|changes| changes.of_gpu());
    let changes = own.iter().copied().chain(changes);
    let spec = GpuSpec::changed(&gpu, changes).map_err(|error| ModelError::Gpu(error.to_string()))?;
    written::statistics_file().map(Format::of_file).transpose()?;
    let only = options.only.as_ref().map(|only| only.value.clone()).unwrap_or_default();
    let warm_up = options.warm_up.as_ref().map(|warm_up| warm_up.value).unwrap_or_default();
    let until_stable =
        options.until_stable.map(|UntilStable { windows, deviation }| Stability { windows, deviation });
    let rates = options.rates.as_deref().map(|file| rates(&spec, file)).transpose()?;
    Ok(Some(Settings { gpu, spec: Arc::new(spec), only, warm_up, until_stable, rates }))
}

/// Rates of loads by a recording of accesses.
fn rates(spec: &GpuSpec, file: &Path) -> Result<Arc<RecordedRates>, ModelError> {
    let refused = |error: FileError| ModelError::Rates(format!("{error}; {}", error.remedy()));
    RecordedRates::read(spec, file).map(Arc::new).map_err(refused)
}

/// The interval of time series, if an output shows them.
fn series() -> Option<Interval> {
    match options().series {
        Some(SeriesInterval::Auto) => Some(Interval::Auto),
        Some(SeriesInterval::Cycles(cycles)) => Some(Interval::Cycles(cycles)),
        None => options().report.as_ref().map(|_| Interval::Auto),
    }
}

/// Counts over time and by program counter, as the outputs show them.
fn observed(gpu: Gpu) -> Gpu {
    let counts = options().source_counts == Some(true) || options().report.is_some();
    gpu.with_series(series()).with_pc_counts(counts)
}

/// Execution mode of a launch with these markers; `None` if the model has no say.
pub(crate) fn way(session: &'static Session, kernel: &str, number: u64, marks: &Marks) -> Option<Way> {
    let Settings { only, warm_up, .. } = settings(session).ok().flatten()?;
    if session.selections.timed.note(only.contains(kernel, number, marks)) {
        if !marks.ranges.is_empty() && shows_ranges(session) {
            session.models.ranges.lock().insert(number, marks.ranges.clone());
        }
        return Some(Way::Timed);
    }
    let warms = warm_up.ctas > 0 && only.may_contain_after(number, warm_up.launches);
    warms.then_some(Way::Warming)
}

/// Tells whether NVTX ranges select launches.
pub(crate) fn needs_ranges(session: &'static Session) -> bool {
    settings(session).ok().flatten().is_some_and(|settings| settings.only.needs_ranges())
}

/// Tells whether an output shows the NVTX ranges of launches.
pub(crate) fn shows_ranges(session: &'static Session) -> bool {
    let is_timed = settings(session).ok().flatten().is_some();
    is_timed && (written::statistics_file().is_some() || options().report.is_some())
}

/// Name of the modelled GPU, if any.
pub(crate) fn gpu_name(session: &'static Session) -> Option<&'static str> {
    settings(session).ok().flatten().map(|settings| settings.gpu.as_str())
}

/// Reasons why a model cannot be restored from a state.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StateError {
    #[error("timing-model state: {0}")]
    Decode(#[from] saved::DecodeError),
    #[error("{0}")]
    Restore(#[from] RestoreError),
    #[error("the timing-model state has version {0}; this build reads version {VERSION}", VERSION = saved::VERSION)]
    Version(u32),
}

impl StateError {
    /// Remedy for the user.
    pub(crate) fn remedy(&self) -> &'static str {
        match self {
            StateError::Version(_) | StateError::Decode(saved::DecodeError::Unit { .. }) => {
                "Drop it with `voltsim checkpoint convert --cold OLD -o NEW`, or resume with the Voltsim that made it, or in mode functional"
            }
            StateError::Decode(_) | StateError::Restore(_) => {
                "Resume with the GPU of the saved run, or in mode functional"
            }
        }
    }
}

/// Clock of a device's events in simulated time.
#[derive(Debug, Default)]
struct SimulatedClock(AtomicU64);

impl Clock for SimulatedClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Acquire))
    }
}

/// The timing model of a device.
pub(crate) struct Model {
    session: &'static Session,
    settings: &'static Settings,
    threads: usize,
    gpu: Mutex<Gpu>,
    /// GPU state inside an interrupted launch, which replaces the GPU when the launch resumes.
    interrupted: Mutex<Option<GpuState>>,
    clock: Arc<SimulatedClock>,
    report: Mutex<Report>,
    /// Kernels executed elsewhere before the next launch.
    executed: Mutex<Vec<Executed>>,
    /// Set if no later launch depends on the next one.
    is_last: AtomicBool,
    /// Stream items that wait for the model.
    waiting: Mutex<Waiting>,
}

impl Model {
    /// The model of a new device, if enabled. The default is one simulator thread per core.
    pub(crate) fn from_environment(
        session: &'static Session,
        threads: usize,
    ) -> Result<Option<Model>, ModelError> {
        let Some(settings) = settings(session)? else { return Ok(None) };
        let threads = if threads == 0 { available_parallelism().map_or(1, NonZero::get) } else { threads };
        Ok(Some(Model {
            session,
            settings,
            threads,
            gpu: Mutex::new(observed(settings.new_gpu().with_threads(threads))),
            interrupted: Mutex::new(None),
            clock: Arc::default(),
            report: Mutex::new(written::new_report(session, &settings.gpu)),
            executed: Mutex::default(),
            is_last: AtomicBool::new(false),
            waiting: Mutex::default(),
        }))
    }

    /// The GPU's specification.
    pub(crate) fn spec(&self) -> &GpuSpec {
        &self.settings.spec
    }

    /// Clock of the device's events.
    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        Arc::<SimulatedClock>::clone(&self.clock)
    }

    /// Simulated time in nanoseconds.
    pub(crate) fn now(&self) -> u64 {
        self.clock.now().0
    }

    /// The current simulated time, for work without duration.
    pub(crate) fn instant(&self) -> trace::Span {
        let now = self.now() as f64 / 1e3;
        trace::Span { start: now, end: now }
    }

    /// Reports the simulated time of this thread's work, in core cycles.
    fn tell_trace(&self, start: u64, cycles: u64) {
        if trace::enabled(self.session) {
            // Cycles divided by the clock in MHz are microseconds.
            let time = |cycle: u64| cycle as f64 / f64::from(self.settings.spec.clocks.core);
            trace::took(trace::Span { start: time(start), end: time(start.saturating_add(cycles)) });
        }
    }

    /// Sets the clock of events.
    pub(crate) fn set_now(&self, nanoseconds: u64) {
        self.clock.0.store(nanoseconds, Ordering::Release);
    }

    /// The model's state in a checkpoint: the GPU with its caches, and the timed launches.
    pub(crate) fn state(&self) -> Result<ModelState, CodecError> {
        let (gpu, report) = (self.gpu.lock(), self.report.lock());
        let bytes = match &*self.interrupted.lock() {
            Some(state) => saved::encode(state, &report),
            None => saved::encode(&gpu.state(), &report),
        };
        Ok(ModelState { version: saved::VERSION, bytes: bytes? })
    }

    /// Restores a state; with `cold`, the caches stay empty.
    pub(crate) fn restore(&self, state: &ModelState, cold: bool) -> Result<(), StateError> {
        if state.version != saved::VERSION {
            return Err(StateError::Version(state.version));
        }
        let (gpu, report) = saved::decode(&state.bytes)?;
        let spec = &self.settings.spec;
        if gpu.kernels().next().is_some() && !cold {
            *self.report.lock() = report;
            return self.interrupt(gpu);
        }
        let gpu = if cold { Gpu::restore_cold(spec, gpu) } else { Gpu::restore(spec, gpu) }?;
        self.set_now(gpu.now().nanoseconds);
        *self.gpu.lock() = observed(self.settings.with_rates(gpu.with_threads(self.threads)));
        *self.report.lock() = report;
        Ok(())
    }

    /// Accounts for untimed launches: all allocated pages count as accessed. Simulated time
    /// continues from its previous value.
    pub(crate) fn passed(&self, memory: &Memory) {
        let mut gpu = self.gpu.lock();
        let cycle = self.settings.spec.clocks.cycle_at(self.now());
        gpu.advance_to(cycle);
        partial::use_allocations(&mut gpu, memory);
    }

    /// Sets the caches to their state before the next launch; the launch provides its code.
    pub(crate) fn recall(&self, past: Past) {
        self.gpu.lock().recall(&past);
        *self.executed.lock() = past.code;
    }

    /// Declares that no later launch depends on the next one, so that its untimed CTAs may be
    /// skipped.
    pub(crate) fn next_is_last(&self) {
        self.is_last.store(true, Ordering::Release);
    }

    /// Accesses the GPU and then updates the clock of events.
    fn with_gpu<T>(&self, act: impl FnOnce(&mut Gpu) -> T) -> T {
        let mut gpu = self.gpu.lock();
        let result = act(&mut gpu);
        self.set_now(gpu.now().nanoseconds);
        result
    }

    /// Reports a copy between host and device.
    pub(crate) fn copied(&self, simulator: &Simulator, copy: Copy) -> Result<(), DeviceFault> {
        let before = self.instant();
        let copied = match self.meet_with_copy(simulator, copy) {
            Ok(Met::Alone(_turn)) => self.with_gpu(|gpu| gpu.copy(copy)),
            Ok(Met::Copied | Met::Launched(_) | Met::Transferred(_)) => Ok(()),
            Ok(Met::GivenUp) => return Err(concurrent::fault_of_another(simulator)),
            Err(error) => Err(error),
        };
        trace::took(trace::Span { end: self.instant().end, ..before });
        copied.map_err(|error| fault(simulator, &TimedError::Drive(error)))
    }

    /// Reports a copy or fill within the device, in the stream with this number.
    pub(crate) fn transferred(
        &self,
        simulator: &Simulator,
        transfer: Transfer,
        stream: u64,
    ) -> Result<(), DeviceFault> {
        let transferred = match self.meet_with_transfer(simulator, transfer, stream) {
            Ok(Met::Alone(_turn)) => {
                let mut display = Display::new(simulator.engine.cancel_flag());
                self.with_gpu(|gpu| gpu.transfer(transfer, stream, &mut display)).map(Some)
            }
            Ok(Met::Transferred(record)) => Ok(Some(*record)),
            Ok(Met::Copied | Met::Launched(_)) => Ok(None),
            Ok(Met::GivenUp) => return Err(concurrent::fault_of_another(simulator)),
            Err(error) => Err(error),
        };
        let record = transferred.map_err(|error| fault(simulator, &TimedError::Drive(error)))?;
        if let Some(record) = record {
            self.tell_trace(record.start, record.cycles);
            self.report.lock().add_transfer(record);
        }
        Ok(())
    }
}

/// The sticky error of a failed timed launch or copy.
fn fault(simulator: &Simulator, error: &TimedError<LaunchError>) -> DeviceFault {
    if let TimedError::Drive(LaunchError::Cancelled) = error {
        // The error was reported where the launch was cancelled.
        return DeviceFault { device: simulator.ordinal, error: Error::LaunchTimeout };
    }
    simulator.timed_fault(error, |error| match error {
        LaunchError::NotResident { .. } => Error::CooperativeLaunchTooLarge,
        LaunchError::NoRoom { .. } => Error::LaunchOutOfResources,
        LaunchError::Stuck(_) | LaunchError::Cancelled => Error::LaunchTimeout,
        _ => Error::Unknown,
    })
}
