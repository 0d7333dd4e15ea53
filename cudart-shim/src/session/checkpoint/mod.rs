//! Checkpoints: a run is saved at a launch, and a later run of the same program goes on from there.
//!
//! `VOLTSIM_CHECKPOINT` names the point (`kernel=N,cta=M,ctas=T,instructions=Y`; `kernel=N,cycle=C` of a launch that is timed),
//! `VOLTSIM_CHECKPOINT_FILE` the file, `VOLTSIM_CHECKPOINT_STOP=1` ends the program once it is written; `VOLTSIM_RESUME` names a
//! file to resume from, with `VOLTSIM_RESUME_COLD=1` with a timing model's caches empty. In such runs the device does one thing at a
//! time and a call returns when its work is done, so that what each step finds depends on the calls before it alone.
//!
//! A resumed run makes all calls again, and so has all handles and allocations again. Launches, and copies and fills of
//! device memory, are *steps*: those before the point are not executed; what they have brought to the host comes from the
//! checkpoint. At the point the device's memory is put in place. A step that is not what it was in the saved run ends the
//! resumption with an error that names it.

mod arguments;
mod call_order;
mod fingerprint;
mod host_writes;
mod place;
mod recorder;
mod resumer;
mod step_key;
mod step_result;

use crate::abi::error::Error;
use crate::host::environment;
use crate::profile::Profile;
use crate::session::launch::{Resumption, Way};
use crate::session::operation::Operation;
use crate::session::process::{self, process};
use crate::session::simulator::{DeviceFault, Simulator, owner_of};
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
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::{fmt, fs};
use step_result::Before;
use stream_engine::Context;

/// What a process does about checkpoints.
pub(crate) struct Checkpoints {
    /// Steps that have been asked for.
    steps: AtomicU64,
    /// Some step is yet to be recorded, or left out.
    active: AtomicBool,
    phase: Mutex<Phase>,
    /// The order of calls, where threads are told apart.
    order: Order,
}

/// What is yet to be done.
#[derive(Default)]
struct Phase {
    resumer: Option<Resumer>,
    recorder: Option<Recorder>,
    /// The run is not the one that was saved: no further step is done, on whatever device.
    refused: bool,
}

/// A launch that the program asks for.
#[derive(Clone, Copy)]
pub(crate) struct Launched<'c> {
    /// Its number.
    pub(crate) number: u64,
    /// How it is executed.
    pub(crate) way: Way,
    /// The stream's.
    pub(crate) context: &'c Context<DeviceFault>,
}

/// The environment asks for something that cannot be; standard error has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused;

impl Refused {
    /// Every later call fails: the program must not go on with a device that is not what it was.
    fn fault(self, simulator: &Simulator) -> DeviceFault {
        DeviceFault { device: simulator.ordinal, error: Error::Unknown }
    }
}

/// Tells why a run cannot be saved or resumed, and notes for `voltsim resume` that it was not.
fn refuse(message: impl fmt::Display) -> Refused {
    eprintln!("voltsim: {message}");
    note_outcome("refused\n");
    Refused
}

/// Tells `voltsim resume` what has become of the resumption.
fn note_outcome(outcome: &str) {
    if let Some(file) = environment::variable("VOLTSIM_RESUME_STATUS") {
        // Without it the command takes the run for one that has not come to the point.
        let _ = fs::write(Path::new(&file), outcome);
    }
}

impl Checkpoints {
    /// What the environment asks for, if anything.
    pub(crate) fn from_environment() -> Result<Option<Checkpoints>, Refused> {
        let resumer = environment::variable("VOLTSIM_RESUME").map(|file| Resumer::open(Path::new(&file)));
        let resumer = resumer.transpose()?;
        let saved_turns = resumer.as_ref().map_or_else(|| Ok(Turns::default()), Resumer::turns)?;
        let phase = Phase { resumer, recorder: Recorder::from_environment()?, refused: false };
        Ok(phase.is_active().then(|| Checkpoints {
            steps: AtomicU64::new(0),
            active: AtomicBool::new(true),
            order: Order::new(saved_turns, phase.recorder.is_some()),
            phase: Mutex::new(phase),
        }))
    }

    /// A number for a step that the program asks for now.
    fn next_step(&self) -> Option<u64> {
        let active = self.active.load(Ordering::Relaxed);
        active.then(|| self.steps.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Changes the phase, unless the run was refused before.
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

    /// What is to be done of a step. One that was before the point is left out, and the host gets what it had from it. At
    /// the point of a saved run the devices become what they were, and the launch there may have begun. At a point where
    /// this run is to be saved it is.
    fn left_of(
        &mut self,
        simulator: &'static Simulator,
        operation: &Operation,
        (number, asked): (u64, &Asked),
        launched: Option<Launched<'_>>,
        begun: &mut Option<SuspendedLaunch>,
    ) -> Result<Left, Refused> {
        if let Some(resumer) = &mut self.resumer {
            let like = |saved: &Asked| step_key::like(saved, asked, operation);
            if let Some((asked, outcome)) = resumer.outcome(number, like)? {
                step_result::apply(simulator, operation, &outcome).map_err(refuse)?;
                resumer.check_addresses(number, &outcome)?;
                let fault = step_result::fault(simulator, &outcome);
                self.note(number, asked, outcome);
                return Ok(Left::Over(fault.map_or(Ok(()), Err)));
            }
            // What the launch had done before is part of what it does.
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

    /// The devices become what they were at the point. The launch there is executed this way.
    fn go_on(&mut self, way: Option<Way>) -> Result<Option<SuspendedLaunch>, Refused> {
        let begun = self.resumer.as_mut().map_or(Ok(None), |resumer| resumer.restore(way))?;
        self.resumer = None;
        note_outcome("resumed\n");
        Ok(begun)
    }

    /// Notes a step that is over.
    fn note(&mut self, number: u64, asked: Asked, outcome: Outcome) {
        if let Some(recorder) = &mut self.recorder
            && let Err(error) = recorder.note(&Step { number, asked, outcome })
        {
            self.give_up(&error);
        }
    }

    /// The run is not saved.
    fn give_up(&mut self, error: &dyn fmt::Display) {
        if let Some(recorder) = self.recorder.take() {
            recorder.give_up(error);
        }
    }
}

/// What the process does about checkpoints, if anything.
fn checkpoints() -> Option<&'static Checkpoints> {
    process().checkpoints.as_ref().ok().and_then(Option::as_ref)
}

/// Refuses a device when the environment asks for something that cannot be, or for a checkpoint of another device.
pub(crate) fn admit(profile: &Profile) -> crate::abi::error::Result<()> {
    let admitted = process().checkpoints.as_ref().map_err(|refused| *refused).and_then(|checkpoints| {
        let Some(checkpoints) = checkpoints else { return Ok(()) };
        checkpoints.phase.lock().resumer.as_ref().map_or(Ok(()), |resumer| resumer.admit(profile))
    });
    admitted.map_err(|Refused| Error::InitializationError)
}

/// Is the run one that is resumed, and has not come to its point?
pub(crate) fn is_before_point() -> bool {
    checkpoints().is_some_and(|checkpoints| checkpoints.phase.lock().resumer.is_some())
}

/// Are runs of this process saved or resumed?
pub(crate) fn is_wanted() -> bool {
    !matches!(process().checkpoints, Ok(None))
}

/// Is this run saved?
pub(crate) fn is_saved() -> bool {
    checkpoints().is_some_and(|checkpoints| checkpoints.phase.lock().recorder.is_some())
}

/// Who notes what launches read of their parameters: in runs that are saved. Programs that are stopped inside are the same in the run
/// that goes on.
pub(crate) fn watcher() -> Option<Arc<ParameterWatcher>> {
    (is_saved() || is_inside_launch()).then(|| Arc::new(ParameterWatcher))
}

/// Does the run stop inside of a launch, or go on there?
pub(crate) fn is_inside_launch() -> bool {
    checkpoints().is_some_and(|checkpoints| {
        let phase = checkpoints.phase.lock();
        phase.resumer.as_ref().is_some_and(Resumer::is_inside_launch)
            || phase.recorder.as_ref().is_some_and(Recorder::is_inside_launch)
    })
}

/// Waits until it is this thread's turn to make a call, which it has until it drops what it is given.
pub(crate) fn turn(call: &str) -> Option<Turn<'static>> {
    let thread = call_order::own_name()?;
    let process = if thread == call_order::FIRST { process::started()? } else { process() };
    process.checkpoints.as_ref().ok()?.as_ref()?.order.turn(call, thread)
}

/// Bytes of the stack on which a program may find what a call has left there.
const LEFT: usize = 32 << 10;

/// Clears what a call has left on the stack below the function that the program has called, in runs that are saved or resumed: programs
/// pass on bytes that they have not set, and these would be others from run to run.
#[inline(never)]
pub(crate) fn leave_nothing_on_stack() {
    if process::started().is_some_and(|process| matches!(process.checkpoints, Ok(Some(_)))) {
        let mut left = [MaybeUninit::<u8>::uninit(); LEFT];
        left.fill(MaybeUninit::new(0));
        black_box(&mut left);
    }
}

/// The order in which threads have made calls in this run.
fn turns_so_far() -> Turns {
    checkpoints().map(|checkpoints| checkpoints.order.taken()).unwrap_or_default()
}

/// A number for a step that the program asks for now, while steps are counted.
pub(crate) fn next_step() -> Option<u64> {
    checkpoints()?.next_step()
}

/// Does an operation, or what the checkpoint has in its place. Of a launch `execute` gets where it stands if it has begun.
pub(crate) fn perform(
    simulator: &'static Simulator,
    operation: &Operation,
    (step, launched): (Option<u64>, Option<Launched<'_>>),
    execute: impl FnOnce(Resumption<'_>) -> Result<(), DeviceFault>,
) -> Result<(), DeviceFault> {
    let as_it_is = Resumption::default();
    let Some((checkpoints, number)) = checkpoints().zip(step) else { return execute(as_it_is) };
    let number_of_launch = launched.map(|launched| launched.number);
    let Some(asked) = step_key::of(operation, number_of_launch) else { return execute(as_it_is) };
    let mut begun = None;
    let left = checkpoints
        .update(|phase| phase.left_of(simulator, operation, (number, &asked), launched, &mut begun));
    match left.map_err(|refused| refused.fault(simulator))? {
        Left::Over(result) => result,
        Left::Work(mut before) => {
            // What a launch that has begun has read before is not known.
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

/// What is left of an operation.
enum Left {
    /// All of it, or what is left of a launch. If it is to be recorded, what was there before.
    Work(Option<Before>),
    /// Nothing: it has ended so, in this run or in the saved one.
    Over(Result<(), DeviceFault>),
}

/// The body that a conditional node runs: what `choose` says, or what it was in the saved run.
pub(crate) fn choice(
    simulator: &Simulator,
    choose: impl FnOnce() -> Option<usize>,
) -> Result<Option<usize>, DeviceFault> {
    let Some((checkpoints, number)) = checkpoints().zip(next_step()) else { return Ok(choose()) };
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

/// Is what a stream waits for there: does `is_met` say so, or was it there in the saved run?
pub(crate) fn is_met(step: Option<u64>, address: u64, is_met: impl FnOnce() -> bool) -> bool {
    let Some((checkpoints, number)) = checkpoints().zip(step) else { return is_met() };
    let asked = Asked::Wait { address: place::of(address) };
    let met = checkpoints.update(|phase| {
        let met = match &mut phase.resumer {
            // In memory that the host sees the word is what it was; in other memory it is not before the point.
            Some(resumer) => {
                let is_seen = owner_of(address).is_some_and(|(_, found)| found.kind.is_seen_by_host());
                (!is_seen || is_met()) && resumer.has_passed(number, &asked)?
            }
            None => is_met(),
        };
        if met {
            phase.note(number, asked, Outcome::default());
        }
        Ok(met)
    });
    // The next step has the error.
    met.unwrap_or(true)
}
