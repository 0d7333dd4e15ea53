//! Checkpoints: a run is saved at a launch, and a later run of the same program resumes there.
//!
//! `VOLTSIM_CHECKPOINT` sets the point (`kernel=N,cta=M,ctas=T,instructions=Y`, or
//! `kernel=N,cycle=C` for a timed launch). `VOLTSIM_CHECKPOINT_FILE` names the file, and
//! `VOLTSIM_CHECKPOINT_STOP=1` ends the program after writing it. `VOLTSIM_RESUME` names a
//! checkpoint to resume; `VOLTSIM_RESUME_COLD=1` resumes it with empty caches. In such runs the
//! device executes serially and calls are synchronous. The state at each step then depends only on
//! earlier calls.
//!
//! A resumed run repeats all API calls and thereby recreates handles and allocations. Launches,
//! copies and fills of device memory are *steps*. Steps before the point are skipped, and the
//! checkpoint provides their effects on the host. At the point the device state is restored. A step
//! that differs from the saved run ends the resumption with an error that names it.

mod arguments;
mod call_order;
pub(crate) mod fingerprint;
mod host_writes;
mod place;
mod recorder;
mod resumer;
mod step_key;
mod step_result;

use crate::abi::error::Error;
use crate::host::environment;
use crate::objects::fault::DeviceFault;
use crate::profile::Profile;
use crate::session::launch::{Resumption, Way};
use crate::session::simulator::Simulator;
use crate::session::state::Session;
use crate::work::operation::Operation;
use call_order::Order;
pub(crate) use call_order::Turn;
use functional::parameters::ParameterWatcher;
use functional::suspend::SuspendedLaunch;
use parking_lot::Mutex;
use recorder::Recorder;
use resumer::Resumer;
use saved_run::{Asked, Outcome, Step, Turns};
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::{fmt, fs};
use step_result::Before;
use stream_engine::Context;

/// Checkpoint state of the process.
pub(crate) struct Checkpoints {
    /// Number of steps so far.
    steps: AtomicU64,
    /// Set while steps are recorded or skipped.
    active: AtomicBool,
    phase: Mutex<Phase>,
    /// Order of API calls, if threads are named.
    order: Order,
}

/// Remaining work: resumption and recording.
#[derive(Default)]
struct Phase {
    resumer: Option<Resumer>,
    recorder: Option<Recorder>,
    /// The run diverged. No further step is executed on any device.
    refused: bool,
}

/// A launch step.
#[derive(Clone, Copy)]
pub(crate) struct Launched<'c> {
    /// Number of the launch.
    pub(crate) number: u64,
    /// Execution mode.
    pub(crate) way: Way,
    /// The stream's context.
    pub(crate) context: &'c Context<DeviceFault>,
}

/// The environment's checkpoint settings cannot be satisfied. The reason was printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused;

impl Refused {
    /// Turns the error into a sticky fault: the device state is not the program's.
    fn fault(self, simulator: &Simulator) -> DeviceFault {
        DeviceFault { device: simulator.ordinal, error: Error::Unknown }
    }
}

/// Reports that a run cannot be saved or resumed, and records the failure for `voltsim resume`.
fn refuse(message: impl fmt::Display) -> Refused {
    eprintln!("voltsim: {message}");
    note_outcome("refused\n");
    Refused
}

/// Writes the outcome of the resumption for `voltsim resume`.
fn note_outcome(outcome: &str) {
    if let Some(file) = &environment::options().resume_status {
        // Without the file, the command assumes that the run did not reach the point.
        let _ = fs::write(file, outcome);
    }
}

impl Checkpoints {
    /// The checkpoint state according to the environment, if any.
    pub(crate) fn from_environment(session: &'static Session) -> Result<Option<Checkpoints>, Refused> {
        if environment::is_refused() {
            note_outcome("refused\n");
            return Err(Refused);
        }
        let resumer =
            environment::options().resume.as_deref().map(|file| Resumer::open(session, file)).transpose()?;
        let saved_turns = resumer.as_ref().map_or_else(|| Ok(Turns::default()), Resumer::turns)?;
        let phase = Phase { resumer, recorder: Recorder::from_environment(session)?, refused: false };
        Ok(phase.is_active().then(|| Checkpoints {
            steps: AtomicU64::new(0),
            active: AtomicBool::new(true),
            order: Order::new(saved_turns, phase.recorder.is_some()),
            phase: Mutex::new(phase),
        }))
    }

    /// The number of the next step.
    fn next_step(&self) -> Option<u64> {
        let active = self.active.load(Ordering::Relaxed);
        active.then(|| self.steps.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Changes the phase, unless the run was already refused.
    fn update<T>(&self, change: impl FnOnce(&mut Phase) -> Result<T, Refused>) -> Result<T, Refused> {
        let mut phase = self.phase.lock();
        if phase.refused {
            return Err(Refused);
        }
        let was_before_point = phase.resumer.is_some();
        let outcome = change(&mut phase);
        phase.refused = outcome.is_err();
        if was_before_point && (phase.resumer.is_none() || phase.refused) {
            self.order.forget_saved();
        }
        self.active.store(phase.is_active(), Ordering::Relaxed);
        outcome
    }
}

impl Phase {
    fn is_active(&self) -> bool {
        self.resumer.is_some() || self.recorder.is_some() || self.refused
    }

    /// Decides how much of a step to execute. Before the point, the step is skipped and its saved
    /// effects on the host are applied. At the point, the devices are restored, and the launch may
    /// be partly complete. At a point to save, the checkpoint is written.
    fn left_of(
        &mut self,
        simulator: &'static Simulator,
        operation: &Operation,
        (number, asked): (u64, &Asked),
        launched: Option<Launched<'_>>,
        begun: &mut Option<SuspendedLaunch>,
    ) -> Result<Left, Refused> {
        if let Some(resumer) = &mut self.resumer {
            let like = |saved: &Asked| step_key::like(simulator.session, saved, asked, operation);
            if let Some((asked, outcome)) = resumer.outcome(number, like)? {
                step_result::apply(simulator, operation, &outcome).map_err(refuse)?;
                resumer.check_addresses(number, &outcome)?;
                let fault = step_result::fault(simulator, &outcome);
                self.note(number, asked, outcome);
                return Ok(Left::Over(fault.map_or(Ok(()), Err)));
            }
            // The saved part of the launch counts as part of the step.
            let before = self.before(simulator, operation);
            *begun = self.go_on(launched.map(|launched| launched.way))?;
            if begun.is_some() {
                return Ok(Left::Work(before));
            }
            if let Some(before) = before {
                before.printed_since(simulator);
            }
        }
        if let Some(recorder) = self.recorder.as_mut().filter(|recorder| recorder.is_at(asked)) {
            let result = recorder.save(simulator, (operation, launched), (number, asked), begun);
            if recorder.is_for_once() {
                self.recorder = None;
            }
            if let Some(result) = result {
                return Ok(Left::Over(result));
            }
        }
        Ok(Left::Work(self.before(simulator, operation)))
    }

    /// Restores the devices at the point. `way` is the execution mode of the launch there.
    fn go_on(&mut self, way: Option<Way>) -> Result<Option<SuspendedLaunch>, Refused> {
        let begun = self.resumer.as_mut().map_or(Ok(None), |resumer| resumer.restore(way))?;
        self.resumer = None;
        note_outcome("resumed\n");
        Ok(begun)
    }

    /// Records a completed step.
    fn note(&mut self, number: u64, asked: Asked, outcome: Outcome) {
        if let Some(recorder) = &mut self.recorder
            && let Err(error) = recorder.note(&Step { number, asked, outcome })
        {
            self.give_up(&error);
        }
    }

    /// Stops recording after an error.
    fn give_up(&mut self, error: &dyn fmt::Display) {
        if let Some(recorder) = self.recorder.take() {
            recorder.give_up(error);
        }
    }
}

/// The process's checkpoint state, if any.
fn checkpoints(session: &'static Session) -> Option<&'static Checkpoints> {
    session.process().checkpoints.as_ref().ok().and_then(Option::as_ref)
}

/// Rejects a device if the settings cannot be satisfied or the checkpoint is for another device.
pub(crate) fn admit(session: &'static Session, profile: &Profile) -> crate::abi::error::Result<()> {
    let admitted =
        session.process().checkpoints.as_ref().map_err(|refused| *refused).and_then(|checkpoints| {
            let Some(checkpoints) = checkpoints else { return Ok(()) };
            checkpoints.phase.lock().resumer.as_ref().map_or(Ok(()), |resumer| resumer.admit(profile))
        });
    admitted.map_err(|Refused| Error::InitializationError)
}

/// Tells whether a resumed run has not reached its point.
pub(crate) fn is_before_point(session: &'static Session) -> bool {
    checkpoints(session).is_some_and(|checkpoints| checkpoints.phase.lock().resumer.is_some())
}

/// Tells whether this process saves or resumes a run.
pub(crate) fn is_wanted(session: &'static Session) -> bool {
    !matches!(session.process().checkpoints, Ok(None))
}

/// Tells whether this run is saved.
pub(crate) fn is_saved(session: &'static Session) -> bool {
    checkpoints(session).is_some_and(|checkpoints| checkpoints.phase.lock().recorder.is_some())
}

/// Observer of parameter reads, present in saved runs. A program stopped inside a launch keeps it
/// when resumed.
pub(crate) fn watcher(session: &'static Session) -> Option<Arc<ParameterWatcher>> {
    (is_saved(session) || is_inside_launch(session)).then(|| Arc::new(ParameterWatcher))
}

/// Tells whether the point of the run is inside a launch.
pub(crate) fn is_inside_launch(session: &'static Session) -> bool {
    checkpoints(session).is_some_and(|checkpoints| {
        let phase = checkpoints.phase.lock();
        phase.resumer.as_ref().is_some_and(Resumer::is_inside_launch)
            || phase.recorder.as_ref().is_some_and(Recorder::is_inside_launch)
    })
}

/// Waits for this thread's turn to make a call. Dropping the result ends the turn.
pub(crate) fn turn(session: &'static Session, call: &str) -> Option<Turn<'static>> {
    let thread = call_order::own_name()?;
    let process = if thread == call_order::FIRST { session.existing_process()? } else { session.process() };
    process.checkpoints.as_ref().ok()?.as_ref()?.order.turn(call, thread)
}

/// Bytes of stack to clear.
const LEFT: usize = 32 << 10;

/// Clears the stack below the API function, in saved and resumed runs. Programs may pass
/// uninitialised bytes, which would otherwise differ between runs.
#[inline(never)]
pub(crate) fn leave_nothing_on_stack(session: &'static Session) {
    if session.existing_process().is_some_and(|process| matches!(process.checkpoints, Ok(Some(_)))) {
        let mut left = [MaybeUninit::<u8>::uninit(); LEFT];
        left.fill(MaybeUninit::new(0));
        black_box(&mut left);
    }
}

/// Order of calls in this run so far.
fn turns_so_far(session: &'static Session) -> Turns {
    checkpoints(session).map(|checkpoints| checkpoints.order.taken()).unwrap_or_default()
}

/// The number of the next step, while steps are counted.
pub(crate) fn next_step(session: &'static Session) -> Option<u64> {
    checkpoints(session)?.next_step()
}

/// Executes an operation or applies its saved result. `execute` receives the state of a partly
/// executed launch.
pub(crate) fn perform(
    simulator: &'static Simulator,
    operation: &Operation,
    (step, launched): (Option<u64>, Option<Launched<'_>>),
    execute: impl FnOnce(Resumption<'_>) -> Result<(), DeviceFault>,
) -> Result<(), DeviceFault> {
    let as_it_is = Resumption::default();
    let Some((checkpoints, number)) = checkpoints(simulator.session).zip(step) else {
        return execute(as_it_is);
    };
    let number_of_launch = launched.map(|launched| launched.number);
    let Some(asked) = step_key::of(simulator.session, operation, number_of_launch) else {
        return execute(as_it_is);
    };
    let mut begun = None;
    let left = checkpoints
        .update(|phase| phase.left_of(simulator, operation, (number, &asked), launched, &mut begun));
    match left.map_err(|refused| refused.fault(simulator))? {
        Left::Over(result) => result,
        Left::Work(mut before) => {
            // Parameter reads before the checkpoint are unknown.
            if let Some(before) = before.as_mut().filter(|_| begun.is_some()) {
                before.parameter_reads = None;
            }
            let parameter_reads = before.as_ref().and_then(|before| before.parameter_reads.clone());
            let result = execute(Resumption { begun: begun.as_ref(), parameter_reads });
            if let Some(before) = before {
                let mut phase = checkpoints.phase.lock();
                phase.after(simulator, operation, (number, asked), before, result.as_ref().err());
            }
            result
        }
    }
}

/// Remaining work of an operation.
enum Left {
    /// All of it, or the rest of a launch; with the prior state if the step is recorded.
    Work(Option<Before>),
    /// None: the operation ended with this result, in this run or the saved one.
    Over(Result<(), DeviceFault>),
}

/// Selects the body of a conditional node by `choose`, or as in the saved run.
pub(crate) fn choice(
    simulator: &Simulator,
    choose: impl FnOnce() -> Option<usize>,
) -> Result<Option<usize>, DeviceFault> {
    let Some((checkpoints, number)) = checkpoints(simulator.session).zip(next_step(simulator.session)) else {
        return Ok(choose());
    };
    let chosen = checkpoints.update(|phase| {
        let saved =
            phase.resumer.as_mut().map(|resumer| resumer.outcome(number, |_| Asked::Choice)).transpose()?;
        let outcome = saved
            .flatten()
            .map(|(_, outcome)| outcome)
            .unwrap_or_else(|| Outcome { choice: choose().map(|body| body as u64), ..Outcome::default() });
        let chosen = outcome.choice.map(|body| body as usize);
        phase.note(number, Asked::Choice, outcome);
        Ok(chosen)
    });
    chosen.map_err(|refused| refused.fault(simulator))
}

/// Tells whether a stream's wait is over, by `is_met` or as in the saved run.
pub(crate) fn is_met(
    session: &'static Session,
    step: Option<u64>,
    address: u64,
    is_met: impl FnOnce() -> bool,
) -> bool {
    let Some((checkpoints, number)) = checkpoints(session).zip(step) else { return is_met() };
    let asked = Asked::Wait { address: place::of(session, address) };
    let met = checkpoints.update(|phase| {
        let met = match &mut phase.resumer {
            // In host-visible memory the word has its saved value. In other memory it is not valid
            // before the point.
            Some(resumer) => {
                let is_seen =
                    session.owner_of(address).is_some_and(|(_, found)| found.kind.is_seen_by_host());
                (!is_seen || is_met()) && resumer.has_passed(number, &asked)?
            }
            None => is_met(),
        };
        if met {
            phase.note(number, asked, Outcome::default());
        }
        Ok(met)
    });
    // The next step reports the error.
    met.unwrap_or(true)
}
