//! A run that is saved when it comes to a point.

use super::outcome::Before;
use super::shadow::Shadow;
use super::{Left, Refused, own, refuse};
use crate::environment;
use crate::launch::KernelLaunch;
use crate::log;
use crate::model;
use crate::operation::Operation;
use crate::simulator::{DeviceFault, Simulator, started};
use crate::summary;
use functional::memory::AllocationKind;
use functional::suspend::{Refusal, SuspendError, SuspendedLaunch, Window};
use saved_run::{Asked, BegunLaunch, DeviceState, Point, SavedError, State, Step, StepWriter};
use std::fmt::Display;
use std::io;
use std::path::PathBuf;
use voltsim_checkpoint::codec::CodecError;

/// A run until it is saved.
pub(super) struct Recorder {
    pub(super) point: Point,
    file: PathBuf,
    steps: StepWriter,
    pub(super) shadow: Shadow,
}

/// Why a run cannot be saved at a point.
#[derive(Debug, thiserror::Error)]
enum SaveError {
    #[error("{address:#x} is memory of another process, which a checkpoint cannot have")]
    OtherProcess { address: u64 },
    #[error("runs with checks of kernels cannot be saved")]
    Checked,
    #[error("the launch cannot be stopped there: {0}")]
    Refused(Refusal),
    #[error("the state of the timing model: {0}")]
    Model(#[from] CodecError),
    #[error("memory that the host sees: {0}")]
    Host(#[from] io::Error),
    #[error("{0}")]
    File(#[from] SavedError),
}

/// What has become of a launch that was to be stopped inside.
enum Begin {
    Stopped(BegunLaunch),
    /// It was not, and is over or has failed.
    Over(Result<(), DeviceFault>, SaveError),
    /// It was not, and has not begun.
    Not(SaveError),
}

impl Recorder {
    pub(super) fn new(point: &str, file: Option<PathBuf>) -> Result<Recorder, Refused> {
        let point: Point =
            point.parse().map_err(|error| refuse(format_args!("VOLTSIM_CHECKPOINT: {error}")))?;
        let Some(file) = file else {
            return Err(refuse("VOLTSIM_CHECKPOINT_FILE: a checkpoint needs the name of a file"));
        };
        if point.window.is_some() && model::gpu_name().is_some() {
            let remedy = "save the run in mode functional and resume it in mode detailed";
            return Err(refuse(format_args!(
                "VOLTSIM_CHECKPOINT: a timed launch cannot be saved inside; {remedy}"
            )));
        }
        let steps = StepWriter::beside(&file)
            .map_err(|error| refuse(format_args!("VOLTSIM_CHECKPOINT_FILE: {error}")))?;
        Ok(Recorder { point, file, steps, shadow: Shadow::default() })
    }

    /// Is this the launch at the point?
    pub(super) fn is_at(&self, asked: &Asked) -> bool {
        matches!(asked, Asked::Kernel { launch, .. } if *launch == self.point.kernel)
    }

    /// Notes a step that is over.
    pub(super) fn note(&mut self, step: &Step) -> Result<(), SavedError> {
        self.steps.push(step)
    }

    /// Tells that the run is not saved, and why. The program goes on.
    pub(super) fn give_up(self, error: &dyn Display) {
        eprintln!("voltsim: no checkpoint {} is written: {error}", self.file.display());
    }

    /// Writes the checkpoint at the launch at the point, which is the next step; what has begun of the launch is `begun`.
    /// Without it, the program goes on all the same.
    pub(super) fn save(
        mut self,
        simulator: &'static Simulator,
        operation: &Operation,
        place: (u64, &Asked),
        begun: &mut Option<SuspendedLaunch>,
    ) -> Left {
        let launch = match (self.point.window, operation) {
            (Some(window), Operation::Kernel(launch)) => {
                let window =
                    Window { first: window.cta, ctas: window.ctas, instructions: window.instructions };
                match self.begin(simulator, launch, &window) {
                    Begin::Stopped(launch) => Some(launch),
                    Begin::Not(error) => {
                        self.give_up(&error);
                        return Left::Work(None);
                    }
                    Begin::Over(result, error) => {
                        self.give_up(&error);
                        return result.map_or_else(Left::Failed, |()| Left::Nothing);
                    }
                }
            }
            _ => None,
        };
        let written = self.write(simulator, place, launch.as_ref());
        *begun = launch.map(|launch| launch.state);
        match written {
            Ok(()) => log::line(|| format!("checkpoint {} at {}", self.file.display(), self.point)),
            Err(error) => {
                self.give_up(&error);
                return Left::Work(None);
            }
        }
        if environment::variable("VOLTSIM_CHECKPOINT_STOP").is_some_and(|flag| flag != "0") {
            eprintln!("voltsim: {} is written; the program ends here", self.file.display());
            end_program();
        }
        Left::Work(None)
    }

    /// Executes the launch up to the point inside of it.
    fn begin(&mut self, simulator: &'static Simulator, launch: &KernelLaunch, window: &Window) -> Begin {
        if let Err(error) = self.shadow.follow() {
            return Begin::Not(error.into());
        }
        let before = Before::kernel(simulator);
        let state = launch.begin(simulator, window);
        let printed = before.printed_since(simulator);
        let state = match state {
            Ok(state) => state,
            Err(SuspendError::Refused { refusal, rest: None, .. }) => {
                return Begin::Not(SaveError::Refused(refusal));
            }
            Err(SuspendError::Refused { refusal, rest: Some(rest), .. }) => {
                return Begin::Over(launch.finish(simulator, *rest), SaveError::Refused(refusal));
            }
            Err(SuspendError::Launch(error)) => {
                let fault = simulator.launch_fault(&error);
                let reason = io::Error::other("the launch has failed before the point");
                return Begin::Over(Err(fault), SaveError::Host(reason));
            }
        };
        let (device, written) = (simulator.ordinal as u64, self.shadow.changes().unwrap_or_default());
        Begin::Stopped(BegunLaunch { device, state, printed, written })
    }

    fn write(
        &mut self,
        simulator: &Simulator,
        (number, asked): (u64, &Asked),
        launch: Option<&BegunLaunch>,
    ) -> Result<(), SaveError> {
        let about = own::about(&simulator.profile, self.point, number, asked.clone());
        let devices: Vec<DeviceState> = started().map(state_of).collect::<Result<_, _>>()?;
        let memories: Vec<_> = started().map(|simulator| &simulator.device.memory).collect();
        let state = State {
            about: &about,
            devices: &devices,
            memories: &memories,
            kernels: &summary::counts(),
            launch,
        };
        Ok(saved_run::write(&self.file, &mut self.steps, state)?)
    }
}

/// Ends the program as if it had returned 0, but for what it does at its end: it is in the middle of its work.
fn end_program() -> ! {
    // SAFETY: both take what is given; all open streams of C's library are flushed.
    unsafe {
        libc::fflush(std::ptr::null_mut());
        libc::_exit(0)
    }
}

fn state_of(simulator: &Simulator) -> Result<DeviceState, SaveError> {
    if simulator.device.checker().is_some() {
        return Err(SaveError::Checked);
    }
    let memory = simulator.device.memory.state();
    let imported = memory.allocations.iter().find(|found| found.kind == AllocationKind::Imported);
    if let Some(found) = imported {
        return Err(SaveError::OtherProcess { address: found.address });
    }
    Ok(DeviceState {
        number: simulator.ordinal as u64,
        memory,
        counters: simulator.device.counters(),
        model: simulator.model.as_ref().map(|model| model.state()).transpose()?,
    })
}
