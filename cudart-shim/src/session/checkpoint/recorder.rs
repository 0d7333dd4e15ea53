//! Recording a run and saving it at one point or periodically.

use super::host_writes::Shadow;
use super::step_result::Before;
use super::{Launched, Refused, fingerprint, refuse, step_key, turns_so_far};
use crate::host::environment::options;
use crate::host::{log, output_files};
use crate::objects::fault::DeviceFault;
use crate::session::ending::{self, End};
use crate::session::launch::Way;
use crate::session::model::{self, Begun, Missed, Model, StopAt};
use crate::session::simulator::Simulator;
use crate::session::state::Session;
use crate::session::summary;
use crate::work::kernel_launch::KernelLaunch;
use crate::work::operation::Operation;
use functional::memory::AllocationKind;
use functional::suspend::{self, Refusal, SuspendError, SuspendedLaunch};
use saved_run::outputs::Outcome;
use saved_run::{
    About, Asked, BegunLaunch, DeviceState, Inside, Point, SavedError, Series, State, Step, StepWriter,
};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::io;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use voltsim_checkpoint::codec::CodecError;

/// The recorder of a run.
pub(super) struct Recorder {
    session: &'static Session,
    plan: Plan,
    steps: StepWriter,
    pub(super) shadow: Shadow,
}

/// Save schedule.
enum Plan {
    /// Once, at a point, into a file.
    Once { point: Point, file: PathBuf },
    /// After every `launches` launches, into files that refer to earlier ones.
    Every { launches: u64, folder: PathBuf, series: BTreeMap<u64, Series> },
}

/// Reasons why a run cannot be saved at a point.
#[derive(Debug, thiserror::Error)]
enum SaveError {
    #[error("{address:#x} is memory of another process; a checkpoint cannot hold it")]
    OtherProcess { address: u64 },
    #[error("runs with --check cannot be saved")]
    Checked,
    #[error("the launch cannot stop at the point: {0}")]
    Refused(Refusal),
    #[error("{0}")]
    Missed(Missed),
    #[error(
        "the launch is not timed, or only in part; select the whole launch with --only, or save the run in mode functional"
    )]
    NotTimed,
    #[error("timing-model state: {0}")]
    Model(#[from] CodecError),
    #[error("host-visible memory: {0}")]
    Host(#[from] io::Error),
    #[error("{0}")]
    File(#[from] SavedError),
}

/// A launch that was not stopped inside as planned.
enum Unstopped {
    /// The launch ended or failed.
    Over(Result<(), DeviceFault>, Box<SaveError>),
    /// The launch has not started.
    Not(SaveError),
}

impl Recorder {
    /// The recorder according to `VOLTSIM_CHECKPOINT` or `VOLTSIM_CHECKPOINT_EVERY`, and
    /// `VOLTSIM_CHECKPOINT_FILE`.
    pub(super) fn from_environment(session: &'static Session) -> Result<Option<Recorder>, Refused> {
        let (point, every) = (options().checkpoint, options().checkpoint_every);
        if point.is_none() && every.is_none() {
            return Ok(None);
        }
        let Some(file) = options().checkpoint_file.clone() else {
            return Err(refuse("VOLTSIM_CHECKPOINT_FILE: must name a file"));
        };
        let plan = match (point, every) {
            (Some(point), _) => Plan::Once { point: checked_point(session, point)?, file },
            (None, every) => {
                let launches = every.map_or(1, NonZero::get);
                Plan::Every { launches, folder: file, series: BTreeMap::new() }
            }
        };
        let folder = match &plan {
            Plan::Once { file, .. } => file.parent().filter(|folder| !folder.as_os_str().is_empty()),
            Plan::Every { folder, .. } => Some(folder.as_path()),
        };
        let steps = StepWriter::in_folder(folder.unwrap_or(Path::new(".")))
            .map_err(|error| refuse(format_args!("VOLTSIM_CHECKPOINT_FILE: {error}")))?;
        Ok(Some(Recorder { session, plan, steps, shadow: Shadow::default() }))
    }

    /// Tells whether the run is saved at this launch.
    pub(super) fn is_at(&self, asked: &Asked) -> bool {
        let Asked::Kernel { launch, .. } = asked else { return false };
        match &self.plan {
            Plan::Once { point, .. } => *launch == point.kernel,
            Plan::Every { launches, .. } => *launch > 1 && (*launch - 1).is_multiple_of(*launches),
        }
    }

    /// Tells whether the point is inside a launch.
    pub(super) fn is_inside_launch(&self) -> bool {
        matches!(self.plan, Plan::Once { point: Point { inside: Some(_), .. }, .. })
    }

    /// Tells whether the run is saved only once.
    pub(super) fn is_for_once(&self) -> bool {
        matches!(self.plan, Plan::Once { .. })
    }

    /// Records a completed step.
    pub(super) fn note(&mut self, step: &Step) -> Result<(), SavedError> {
        self.steps.push(step)
    }

    /// Reports why the run is not saved. The program continues.
    pub(super) fn give_up(&self, error: &dyn Display) {
        let (Plan::Once { file, .. } | Plan::Every { folder: file, .. }) = &self.plan;
        output_files::note(Outcome::Failed, file);
        tell_unwritten(file, error);
    }

    /// Writes the checkpoint at this launch, which is the next step. `begun` is the launch's state
    /// if it is partly executed. On failure the program continues. `None` if the launch, or its
    /// rest, is still to be executed.
    pub(super) fn save(
        &mut self,
        simulator: &'static Simulator,
        (operation, launched): (&Operation, Option<Launched<'_>>),
        (number, asked): (u64, &Asked),
        begun: &mut Option<SuspendedLaunch>,
    ) -> Option<Result<(), DeviceFault>> {
        let Asked::Kernel { launch: kernel, .. } = asked else { return None };
        let (point, file) = match &self.plan {
            Plan::Once { point, file } => (*point, file.clone()),
            Plan::Every { folder, .. } => {
                (Point { kernel: *kernel, inside: None }, folder.join(format!("{kernel:06}.vck")))
            }
        };
        let mut begun_launch = None;
        if let (Some(inside), Operation::Kernel(launch), Some(launched)) = (point.inside, operation, launched)
        {
            match self.begin(simulator, launch, launched, inside) {
                Ok(launch) => begun_launch = Some(launch),
                Err(Unstopped::Not(error)) => {
                    tell_unwritten(&file, &error);
                    return None;
                }
                Err(Unstopped::Over(result, error)) => {
                    tell_unwritten(&file, &error);
                    return Some(result);
                }
            }
        }
        let at_point = match point.inside {
            Some(_) => asked.clone(),
            None => step_key::before_launch(simulator.session, asked, operation),
        };
        let about = fingerprint::about(simulator.session, &simulator.profile, point, number, at_point);
        let written = self.write(&file, &about, begun_launch.as_ref());
        *begun = begun_launch.map(|launch| launch.state);
        match written {
            Ok(()) => log::line(|| format!("checkpoint {} at {point}", file.display())),
            Err(error) => {
                if matches!(error, SaveError::File(_)) {
                    output_files::note(Outcome::Failed, &file);
                }
                tell_unwritten(&file, &error);
                return None;
            }
        }
        if options().checkpoint_stop == Some(true) {
            eprintln!("voltsim: {} is complete; ending the program", file.display());
            ending::write_outputs(simulator.session, End::Exit);
            end_program();
        }
        None
    }

    /// Executes the launch up to the point inside it.
    fn begin(
        &mut self,
        simulator: &'static Simulator,
        launch: &KernelLaunch,
        launched: Launched<'_>,
        inside: Inside,
    ) -> Result<BegunLaunch, Unstopped> {
        self.shadow.follow(self.session).map_err(|error| Unstopped::Not(error.into()))?;
        let before = Before::kernel(simulator);
        let state = if model::gpu_name(simulator.session).is_some() {
            begin_timed(simulator, launch, launched, inside)
        } else {
            begin_untimed(simulator, launch, inside)
        };
        let printed = before.printed_since(simulator);
        let (device, written) =
            (simulator.ordinal as u64, self.shadow.changes(self.session).unwrap_or_default());
        Ok(BegunLaunch { device, state: state?, printed, written })
    }

    fn write(&mut self, file: &Path, about: &About, launch: Option<&BegunLaunch>) -> Result<(), SaveError> {
        let devices: Vec<DeviceState> = self.session.started().map(state_of).collect::<Result<_, _>>()?;
        let memories: Vec<_> = self.session.started().map(|simulator| &simulator.device.memory).collect();
        let mut models = BTreeMap::new();
        for simulator in self.session.started() {
            if let Some(model) = &simulator.model {
                models.insert(simulator.ordinal as u64, model.state()?);
            }
        }
        let (models, kernels, turns) = (&models, &summary::counts(self.session), &turns_so_far(self.session));
        let requests =
            self.session.started().map(|it| (it.ordinal as u64, it.device.memory.requests())).collect();
        let (devices, memories, requests) = (&devices, &memories, &requests);
        let state = State { about, devices, memories, models, kernels, launch, turns, requests };
        let series = match &mut self.plan {
            Plan::Once { .. } => None,
            Plan::Every { series, .. } => Some(series),
        };
        Ok(saved_run::write(file, &mut self.steps, state, series)?)
    }
}

/// Executes a launch functionally up to a window.
fn begin_untimed(
    simulator: &'static Simulator,
    launch: &KernelLaunch,
    inside: Inside,
) -> Result<SuspendedLaunch, Unstopped> {
    let Inside::Window(window) = inside else { return Err(Unstopped::Not(SaveError::NotTimed)) };
    let window = suspend::Window { first: window.cta, ctas: window.ctas, instructions: window.instructions };
    launch.begin(simulator, &window).map_err(|error| match error {
        SuspendError::Refused { refusal, rest: None, .. } => Unstopped::Not(SaveError::Refused(refusal)),
        SuspendError::Refused { refusal, rest: Some(rest), .. } => {
            Unstopped::Over(launch.finish(simulator, *rest), Box::new(SaveError::Refused(refusal)))
        }
        SuspendError::Launch(error) => has_failed(simulator.launch_fault(&error)),
    })
}

/// Executes a launch in the timing model up to a point.
fn begin_timed(
    simulator: &'static Simulator,
    launch: &KernelLaunch,
    Launched { number, way, context }: Launched<'_>,
    inside: Inside,
) -> Result<SuspendedLaunch, Unstopped> {
    let timed = |model: &&Model| way == Way::Timed && model.times_whole_launches();
    let Some(model) = simulator.model.as_ref().filter(timed) else {
        return Err(Unstopped::Not(SaveError::NotTimed));
    };
    let at = match inside {
        Inside::Cycle(cycle) => StopAt::Cycle(cycle),
        Inside::Window(window) => StopAt::Ctas(window.cta),
    };
    match launch.begin_timed(simulator, model, (number, at), context) {
        Ok(Begun::Stopped(state)) => Ok(*state),
        Ok(Begun::Over(_, missed)) => Err(Unstopped::Over(Ok(()), Box::new(SaveError::Missed(missed)))),
        Err(fault) => Err(has_failed(fault)),
    }
}

fn has_failed(fault: DeviceFault) -> Unstopped {
    let error = SaveError::Host(io::Error::other("the launch failed before the point"));
    Unstopped::Over(Err(fault), Box::new(error))
}

fn tell_unwritten(file: &Path, error: &dyn Display) {
    eprintln!("voltsim: cannot write checkpoint {}: {error}", file.display());
}

/// Checks a point.
fn checked_point(session: &'static Session, point: Point) -> Result<Point, Refused> {
    let refused = |what: &str, remedy: &str| {
        Err(refuse(format_args!("VOLTSIM_CHECKPOINT: {point}: {what}\n  remedy: {remedy}")))
    };
    match (point.inside, model::gpu_name(session)) {
        (Some(Inside::Cycle(_)), None) => {
            refused("only timed launches have cycles", "Add --mode detailed, or name CTAs")
        }
        (Some(Inside::Window(window)), Some(_)) if window.ctas > 0 || window.instructions > 0 => refused(
            "ctas= and instructions= apply to functional launches only; this launch is timed",
            "Use kernel=N,cycle=C or kernel=N,cta=M, or save the run in mode functional and resume it in mode detailed",
        ),
        _ => Ok(point),
    }
}

/// Ends the program with status 0, without its exit handlers: it is in the middle of its work.
fn end_program() -> ! {
    // SAFETY: the arguments are valid; all open C streams are flushed.
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
        registered: simulator.registered.lock().clone(),
        counters: simulator.device.counters(),
    })
}
