//! Execution of launches by the model: fully, in part, or only to warm the caches.

use super::concurrent::{self, Met};
use super::listing;
use super::nested::Nested;
use super::progress::Display;
use super::{Model, fault};
use crate::host::log;
use crate::objects::fault::DeviceFault;
use crate::session::simulator::Simulator;
use functional::engine::program::Program;
use functional::launch::{LaunchConfig, LaunchStatistics, launch};
use functional::memory::Memory;
use functional::suspend::{self, SuspendError, SuspendedLaunch, launch_from, launch_until};
use functional::timed::{self, Identity, LiveKernel, TimedError, TimedResumeError};
use launch_capture::Selection;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use stream_engine::Context;
use timing::gpu::{Gpu, LaunchError, Untimed, Window};
use timing::record::LaunchRecord;
use timing::sm::divergence::Divergence;

/// A launch for the model.
pub(super) struct Work<'a> {
    pub(super) simulator: &'a Simulator,
    pub(super) program: &'a Arc<Program>,
    pub(super) config: LaunchConfig,
    pub(super) begun: Option<&'a SuspendedLaunch>,
    pub(super) number: u64,
    pub(super) context: &'a Context<DeviceFault>,
    /// Set if child launches are timed too.
    pub(super) times_children: bool,
}

/// Reasons why a launch did not complete.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error(transparent)]
    Timed(#[from] TimedResumeError<LaunchError>),
    #[error("concurrent work failed")]
    GivenUp,
    #[error("a copy or fill requested by the launch failed")]
    Transfer(DeviceFault),
}

/// Result of executing the first CTAs without timing.
enum Skipped {
    /// No CTA was executed.
    Nothing,
    /// The CTAs were executed.
    To(Box<SuspendedLaunch>),
    /// The whole launch was executed: it could not stop at that CTA.
    All(LaunchStatistics),
}

impl Model {
    /// Executes a launch, or the rest of a partly executed one, in the model. With a CTA selection,
    /// only the selected CTAs.
    pub(crate) fn launch(
        &self,
        simulator: &Simulator,
        program: &Arc<Program>,
        config: LaunchConfig,
        begun: Option<&SuspendedLaunch>,
        number: u64,
        context: &Context<DeviceFault>,
    ) -> Result<LaunchStatistics, DeviceFault> {
        let times_children = self.settings.only.ctas().is_none();
        let work = Work { simulator, program, config, begun, number, context, times_children };
        if let Some(ctas) = self.settings.only.ctas() {
            return self.launch_window(work, *ctas.start(), *ctas.end());
        }
        let is_last = self.is_last.swap(false, Ordering::AcqRel);
        if begun.is_none() && self.settings.until_stable.is_none() {
            return self.launch_beside_others(&work).map_err(|failure| failure.fault(simulator));
        }
        let launched = self.execute(&work, |gpu, source, display| {
            let record = self.run(gpu, source, self.settings.until_stable.as_ref(), display)?;
            if let Some(simulated) = record.simulated.filter(|_| !is_last) {
                // Their instructions are in the record already.
                gpu.execute_from(source, simulated.ctas, display)?;
            }
            Ok((Some(record), Untimed::default()))
        });
        launched.map_err(|error| work.fault(error))
    }

    /// Executes a launch together with those of other streams.
    pub(super) fn launch_beside_others(&self, work: &Work<'_>) -> Result<LaunchStatistics, Failure> {
        let started = Instant::now();
        let mut given_up = false;
        let launched = self.drive_source(work, |source, display| {
            let record = match self.meet_with_launch(work.simulator, source)? {
                Met::Alone(_turn) => {
                    let run = |gpu: &mut Gpu| {
                        self.use_pages(gpu, work.simulator);
                        self.run(gpu, source, None, display)
                    };
                    self.with_gpu(run).map(Box::new)
                }
                Met::Launched(record) => Ok(record),
                Met::Copied | Met::Transferred(_) | Met::GivenUp => {
                    given_up = true;
                    Err(LaunchError::Cancelled)
                }
            }?;
            Ok(self.note(work, Some(*record), Untimed::default(), started.elapsed()))
        });
        launched.map_err(|error| match error {
            TimedResumeError::Launch(TimedError::Drive(_)) if given_up => Failure::GivenUp,
            error => Failure::Timed(error),
        })
    }

    /// Executes a launch untimed and warms the caches.
    pub(crate) fn warm(
        &self,
        simulator: &Simulator,
        program: &Arc<Program>,
        config: LaunchConfig,
        number: u64,
        context: &Context<DeviceFault>,
    ) -> Result<LaunchStatistics, DeviceFault> {
        let work = Work { simulator, program, config, begun: None, number, context, times_children: false };
        let ctas = self.settings.warm_up.ctas;
        // CTAs of a cooperative launch must execute together.
        let first =
            if work.config.cooperative { 0 } else { work.config.shape.cta_count().saturating_sub(ctas) };
        let skipped = match work.skip(first)? {
            Skipped::All(statistics) => return Ok(statistics),
            Skipped::To(state) => Some(state),
            Skipped::Nothing => None,
        };
        let work = Work { begun: skipped.as_deref(), ..work };
        let warmed =
            self.execute(&work, |gpu, source, display| Ok((None, gpu.execute(source, ctas, display)?)));
        warmed.or_else(|error| match error {
            // A launch that the model does not support leaves the caches unchanged.
            TimedResumeError::Launch(
                TimedError::Unsupported { .. }
                | TimedError::Drive(LaunchError::NoRoom { .. } | LaunchError::NotResident { .. }),
            ) => work.execute(),
            error => Err(work.fault(error)),
        })
    }

    /// Executes a launch and times a range of its CTAs.
    fn launch_window(&self, work: Work<'_>, first: u64, last: u64) -> Result<LaunchStatistics, DeviceFault> {
        if work.config.cooperative {
            let reason = "VOLTSIM_ONLY selects only part of its CTAs, but the launch is cooperative";
            let kernel = work.program.kernel().name.clone();
            return Err(fault(work.simulator, &TimedError::Unsupported { kernel, reason }));
        }
        if first >= work.config.shape.cta_count() {
            return work.execute();
        }
        let warm_up = self.settings.warm_up;
        let warm_after = self.settings.only.may_contain_after(work.number, warm_up.launches);
        let window = Window { first, last, warm: warm_up.ctas, warm_after };
        let skipped = match work.begun {
            Some(_) => Skipped::Nothing,
            None => work.skip(first.saturating_sub(warm_up.ctas))?,
        };
        let skipped = match skipped {
            Skipped::All(statistics) => return Ok(statistics),
            Skipped::To(state) => Some(state),
            Skipped::Nothing => None,
        };
        let work = Work { begun: skipped.as_deref().or(work.begun), ..work };
        let launched = self.execute(&work, |gpu, source, display| {
            let (record, untimed) = gpu.launch_window(source, &window, display)?;
            Ok((Some(record), untimed))
        });
        launched.map_err(|error| work.fault(error))
    }

    /// Executes a launch in the model and keeps the record, if any.
    fn execute(
        &self,
        work: &Work<'_>,
        drive: impl FnOnce(
            &mut Gpu,
            &LiveKernel<'_>,
            &mut Display,
        ) -> Result<(Option<LaunchRecord>, Untimed), LaunchError>,
    ) -> Result<LaunchStatistics, TimedResumeError<LaunchError>> {
        let started = Instant::now();
        self.drive(work, |gpu, source, display| {
            let (record, untimed) = drive(gpu, source, display)?;
            Ok(self.note(work, record, untimed, started.elapsed()))
        })
    }

    /// Runs a launch in the model exclusively.
    pub(super) fn drive<T>(
        &self,
        work: &Work<'_>,
        drive: impl FnOnce(&mut Gpu, &LiveKernel<'_>, &mut Display) -> Result<T, LaunchError>,
    ) -> Result<T, TimedResumeError<LaunchError>> {
        self.drive_source(work, |source, display| {
            let _turn = self.meet_alone(work.simulator)?;
            self.with_gpu(|gpu| {
                self.use_pages(gpu, work.simulator);
                drive(gpu, source, display)
            })
        })
    }

    /// If only some launches are timed, the others count as accessing all allocated pages.
    fn use_pages(&self, gpu: &mut Gpu, simulator: &Simulator) {
        if self.settings.only != Selection::default() {
            use_allocations(gpu, &simulator.device.memory);
        }
    }

    /// Provides a launch's instruction stream to a consumer.
    fn drive_source<T>(
        &self,
        work: &Work<'_>,
        drive: impl FnOnce(&LiveKernel<'_>, &mut Display) -> Result<T, LaunchError>,
    ) -> Result<T, TimedResumeError<LaunchError>> {
        let Work { simulator, program, config, begun, number, context, times_children } = work;
        let identity = Identity { launch: *number, stream: context.stream().to_raw() };
        let run = |source: &LiveKernel<'_>| {
            let mut display = Display::new(context.cancel_flag());
            let driven = drive(source, &mut display);
            display.end();
            driven
        };
        let simt_stack = self.settings.spec.sm.divergence == Divergence::Stack;
        let launcher = times_children.then(|| Nested::launcher(work));
        let (device, config) = (&simulator.device, LaunchConfig { simt_stack, launcher, ..config.clone() });
        match begun {
            Some(begun) => timed::launch_from(device, program, config, begun, identity, run),
            None => timed::launch(device, program, config, identity, run).map_err(TimedResumeError::from),
        }
    }

    /// Keeps the record of a launch, if any, before those of its children. Returns the executed
    /// instructions.
    pub(super) fn note(
        &self,
        work: &Work<'_>,
        record: Option<LaunchRecord>,
        untimed: Untimed,
        elapsed: Duration,
    ) -> LaunchStatistics {
        let before = work.begun.map(SuspendedLaunch::executed).unwrap_or_default();
        let timed = |name| record.as_ref().map_or(0, |record| counted(record, name));
        let statistics = LaunchStatistics {
            warp_instructions: timed("warp_instructions")
                + untimed.warp_instructions
                + before.warp_instructions,
            lane_instructions: timed("thread_instructions")
                + untimed.lane_instructions
                + before.lane_instructions,
            native_instructions: 0,
            elapsed,
        };
        if let Some(mut record) = record {
            self.tell_trace(record.start, record.cycles);
            let mut report = self.report.lock();
            if let Some(counts) = &mut record.source_counts {
                counts.listing = Some(work.program.number);
                report.list(work.program.number, || listing::of(work.program));
            }
            let ranges = self.session.models.ranges.lock().remove(&record.launch).unwrap_or_default();
            report.add_in(record, ranges.iter().map(String::as_str));
        }
        statistics
    }
}

impl Work<'_> {
    /// Executes the CTAs before the first timed one.
    fn skip(&self, first: u64) -> Result<Skipped, DeviceFault> {
        if first == 0 {
            return Ok(Skipped::Nothing);
        }
        let window = suspend::Window { first, ctas: 0, instructions: 0 };
        match launch_until(&self.simulator.device, self.program, self.config.clone(), &window) {
            Ok(state) => Ok(Skipped::To(Box::new(state))),
            Err(SuspendError::Launch(error)) => Err(self.simulator.launch_fault(&error)),
            Err(SuspendError::Refused { rest: None, .. }) => Ok(Skipped::Nothing),
            Err(SuspendError::Refused { kernel, refusal, rest: Some(rest) }) => {
                log::report(|| format!("{kernel} runs untimed: {refusal}"));
                let statistics = rest.finish().map_err(|error| self.simulator.launch_fault(&error))?;
                Ok(Skipped::All(statistics))
            }
        }
    }

    /// Executes the rest of the launch without the model.
    fn execute(&self) -> Result<LaunchStatistics, DeviceFault> {
        let (device, config) = (&self.simulator.device, self.config.clone());
        match self.begun {
            Some(begun) => launch_from(device, self.program, config, begun)
                .map_err(|error| self.simulator.resume_fault(&error)),
            None => launch(device, self.program, config).map_err(|error| self.simulator.launch_fault(&error)),
        }
    }

    pub(super) fn fault(&self, error: TimedResumeError<LaunchError>) -> DeviceFault {
        Failure::Timed(error).fault(self.simulator)
    }
}

impl Failure {
    pub(super) fn fault(&self, simulator: &Simulator) -> DeviceFault {
        match self {
            Failure::Timed(TimedResumeError::State(error)) => simulator.resume_fault(error),
            Failure::Timed(TimedResumeError::Launch(error)) => fault(simulator, error),
            Failure::GivenUp => concurrent::fault_of_another(simulator),
            Failure::Transfer(fault) => *fault,
        }
    }
}

/// Marks all allocated memory as accessed.
pub(super) fn use_allocations(gpu: &mut Gpu, memory: &Memory) {
    for allocation in memory.allocations() {
        gpu.use_pages(allocation.address, allocation.size);
    }
}

fn counted(record: &LaunchRecord, name: &str) -> u64 {
    let wanted = record.counters.iter().find(|(counter, _)| (counter.section, counter.name) == ("sm", name));
    wanted.map_or(0, |(_, value)| *value)
}
