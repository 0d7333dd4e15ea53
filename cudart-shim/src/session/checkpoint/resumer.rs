//! Resuming a run from a checkpoint.

use super::place::{Moved, other_registration};
use super::{Refused, refuse};
use super::{fingerprint, step_result};
use crate::host::environment::options;
use crate::host::log;
use crate::profile::Profile;
use crate::session::launch::Way;
use crate::session::model::{self, Model, StateError};
use crate::session::state::Session;
use crate::session::summary;
use functional::memory::{OtherRequest, Requests};
use functional::suspend::SuspendedLaunch;
use parking_lot::Mutex;
use saved_run::{
    About, Asked, BegunLaunch, DeviceState, Foreign, Outcome, SavedError, SavedRun, Step, Turns,
};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};

type Steps = Box<dyn Iterator<Item = Result<Step, SavedError>> + Send>;

/// Prefix of divergence messages.
const DIVERGED: &str = "the program diverged from the saved run:";

/// A run that has not reached its point.
pub(super) struct Resumer {
    session: &'static Session,
    file: PathBuf,
    /// The checkpoint, for the life of the process.
    saved: &'static SavedRun,
    about: About,
    /// Saved devices.
    devices: Vec<DeviceState>,
    /// Memory requests of the saved program, by device.
    requests: BTreeMap<u64, Requests>,
    /// Steps not read yet.
    steps: Steps,
    /// Steps read ahead, by number.
    ahead: BTreeMap<u64, Step>,
    /// Accepts different arguments (`VOLTSIM_RESUME_ANY_ARGUMENTS`).
    any_arguments: bool,
    /// Accepts a different program or libraries (`VOLTSIM_RESUME_ANY_PROGRAM`).
    any_program: bool,
    /// Differences already reported.
    told: Mutex<Vec<Foreign>>,
    /// Number of launches with different arguments.
    others: u64,
}

impl Resumer {
    pub(super) fn open(session: &'static Session, file: &Path) -> Result<Resumer, Refused> {
        let open = || {
            let saved: &SavedRun = Box::leak(Box::new(SavedRun::open(file)?));
            Ok((
                saved,
                saved.about()?,
                saved.devices()?,
                saved.requests()?,
                Box::new(saved.steps()?) as Steps,
            ))
        };
        let (saved, about, devices, requests, steps) =
            open().map_err(|error: SavedError| refused(file, &error, error.remedy()))?;
        let any_arguments = options().resume_any_arguments == Some(true);
        let any_program = options().resume_any_program == Some(true);
        let (file, ahead) = (file.to_owned(), BTreeMap::new());
        Ok(Resumer {
            session,
            file,
            saved,
            about,
            devices,
            requests,
            steps,
            ahead,
            any_arguments,
            any_program,
            told: Mutex::default(),
            others: 0,
        })
    }

    /// Saved order of API calls before the point.
    pub(super) fn turns(&self) -> Result<Turns, Refused> {
        self.saved.turns().map_err(|error| self.unreadable(&error))
    }

    /// Tells whether the point is inside a launch.
    pub(super) fn is_inside_launch(&self) -> bool {
        self.about.point.inside.is_some()
    }

    /// Rejects a checkpoint of another program, build or device.
    pub(super) fn admit(&self, profile: &Profile) -> Result<(), Refused> {
        if self.about.is_inside_timed_launch() {
            if model::gpu_name(self.session).is_none() {
                return Err(self.inside_timed("this run is in mode functional"));
            }
            if options().resume_cold == Some(true) {
                return Err(self.inside_timed("the launch in flight needs the caches, which --cold drops"));
            }
        }
        let own = self.own(profile);
        self.about.check(&own).map_err(|error| refused(&self.file, &error, error.remedy()))?;
        self.admit_program(self.about.check_program(&own))
    }

    fn own(&self, profile: &Profile) -> About {
        fingerprint::about(
            self.session,
            profile,
            self.about.point,
            self.about.step,
            self.about.launch.clone(),
        )
    }

    /// Rejects another program or library, or reports it if any is accepted.
    fn admit_program(&self, checked: Result<(), Foreign>) -> Result<(), Refused> {
        match checked {
            Err(error) if self.any_program => {
                let mut told = self.told.lock();
                if !told.contains(&error) {
                    log::report(|| format!("{}: {error}; resuming nevertheless", self.file.display()));
                    told.push(error);
                }
                Ok(())
            }
            checked => checked.map_err(|error| refused(&self.file, &error, error.remedy())),
        }
    }

    fn inside_timed(&self, what: &str) -> Refused {
        let message = format_args!("the checkpoint was made inside a timed launch, and {what}");
        let remedy = "Resume with --mode detailed, without --cold, and with the GPU and launches selected as in the saved run";
        refused(&self.file, &message, remedy)
    }

    /// The saved outcome of a step; `None` for the launch at the point. `like` reduces this run's
    /// request to the parts that the saved one compares.
    pub(super) fn outcome(
        &mut self,
        number: u64,
        like: impl FnOnce(&Asked) -> Asked,
    ) -> Result<Option<(Asked, Outcome)>, Refused> {
        let is_point = number == self.about.step;
        let Some(step) = self.take(number)? else {
            let launch = self.about.launch.clone();
            let asked = like(&launch);
            if !is_point {
                return Err(
                    self.diverged(format_args!("step {number}, {asked}, is not among the saved steps"))
                );
            }
            return self.compare(number, &launch, &asked).map(|()| None);
        };
        let asked = like(&step.asked);
        self.compare(number, &step.asked, &asked).map(|()| Some((asked, step.outcome)))
    }

    /// Rejects a step that differs from the saved one.
    fn compare(&mut self, number: u64, saved: &Asked, asked: &Asked) -> Result<(), Refused> {
        let arguments = saved.differs_by_arguments(asked);
        if saved == asked || (arguments && self.any_arguments) {
            self.others += u64::from(arguments);
            if arguments && self.others == 1 {
                log::report(|| {
                    format!("{asked} had different arguments in the saved run; later launches may differ too")
                });
            }
            return Ok(());
        }
        if let Some(other) = self.other_request_so_far() {
            return Err(other);
        }
        if arguments {
            let remedy = "Resume with the same arguments, environment and files; where a program leaves parts of its \
                          kernels' arguments uninitialised, add --any-arguments";
            let message = format_args!("{DIVERGED} step {number} was {saved} and is now {asked}");
            return Err(refused(&self.file, &message, remedy));
        }
        Err(self.differs(number, saved, asked))
    }

    /// Tells whether a stream's wait ended before the point.
    pub(super) fn has_passed(&mut self, number: u64, asked: &Asked) -> Result<bool, Refused> {
        match self.take(number)? {
            Some(step) if step.asked == *asked => Ok(true),
            Some(step) => Err(self.differs(number, &step.asked, asked)),
            None => Ok(false),
        }
    }

    /// Restores the devices at the point. Returns the state of the launch there if it is partly
    /// executed. `way` is its execution mode.
    pub(super) fn restore(&mut self, way: Option<Way>) -> Result<Option<SuspendedLaunch>, Refused> {
        if let Some(step) = self.left()? {
            return Err(
                self.diverged(format_args!("the program did not make step {}, {}", step.number, step.asked))
            );
        }
        if let Some(simulator) = self.session.started().next() {
            // All libraries are loaded by now.
            self.admit_program(self.about.check_libraries(&self.own(&simulator.profile)))?;
        }
        let cold = options().resume_cold == Some(true);
        let states = std::mem::take(&mut self.devices);
        let moved = Moved::since(self.session, &states);
        for simulator in self.session.started() {
            if !states.iter().any(|state| state.number == simulator.ordinal as u64) {
                return Err(
                    self.diverged(format_args!("the saved run did not use device {}", simulator.ordinal))
                );
            }
        }
        for state in states {
            let number = state.number as usize;
            let Some(simulator) = self.session.started().find(|simulator| simulator.ordinal == number) else {
                return Err(self.diverged(format_args!("the program did not use device {number}")));
            };
            if let Some(difference) = other_registration(&state, simulator) {
                return Err(self.diverged(difference));
            }
            let memory = &simulator.device.memory;
            let saved = self.requests.get(&state.number);
            if let Some(other) = saved.and_then(|saved| saved.first_difference(&memory.requests())) {
                return Err(self.other_request(number as u64, other));
            }
            memory.restore(&state.memory).map_err(|error| self.diverged(error))?;
            self.saved.fill(number as u64, memory).map_err(|error| self.unreadable(&error))?;
            let pointer = moved.first_in_memory(memory, &state.memory.allocations);
            if let Some(word) = pointer.map_err(|error| self.diverged(error))? {
                return Err(self.points_to_moved(word, format_args!("memory of device {number}")));
            }
            simulator.device.set_counters(state.counters);
            let state = match &simulator.model {
                Some(_) => self.saved.model(number as u64).map_err(|error| self.unreadable(&error))?,
                None => None,
            };
            match (&simulator.model, state) {
                (Some(model), Some(state)) => {
                    model.restore(&state, cold).map_err(|error| self.other_model(&error))?;
                }
                (Some(model), None) => model.passed(memory),
                (None, _) => {}
            }
        }
        if !moved.is_empty() && model::gpu_name(self.session).is_some() {
            log::report(|| {
                "registered memory has other addresses than in the saved run, so launches that use it \
                 may take a different time"
                    .to_owned()
            });
        }
        let counts = self.saved.counts().map_err(|error| self.unreadable(&error))?;
        summary::set_counts(self.session, counts);
        let launch = self.saved.launch().map_err(|error| self.unreadable(&error))?;
        if launch.is_some() && !moved.is_empty() {
            return Err(self.moved("a launch in flight may hold its address"));
        }
        launch.map(|launch| self.go_inside(launch, way)).transpose()
    }

    /// Applies the saved host effects of a partly executed launch.
    fn go_inside(&self, launch: BegunLaunch, way: Option<Way>) -> Result<SuspendedLaunch, Refused> {
        let BegunLaunch { device, state, printed, written } = launch;
        step_result::write_seen(self.session, &written).map_err(refuse)?;
        let simulator = self.session.started().find(|simulator| simulator.ordinal as u64 == device);
        let simulator = simulator
            .ok_or_else(|| self.diverged(format_args!("the program did not use device {device}")))?;
        let timed = simulator.model.as_ref().filter(|_| way == Some(Way::Timed));
        if state.is_timed() && !timed.is_some_and(Model::times_whole_launches) {
            return Err(self.inside_timed("this run times none or only part of it"));
        }
        simulator.device.add_printed(&printed);
        Ok(state)
    }

    /// Rejects a step result that contains an address of moved registered memory.
    pub(super) fn check_addresses(&self, number: u64, outcome: &Outcome) -> Result<(), Refused> {
        let moved = Moved::since(self.session, &self.devices);
        if moved.is_empty() {
            return Ok(());
        }
        let written = outcome.written.iter().map(|(_, bytes)| bytes);
        let word = written.chain(&outcome.received).find_map(|bytes| moved.first_in(bytes));
        match word {
            Some(word) => {
                Err(self.points_to_moved(word, format_args!("the result of step {number} on the host")))
            }
            None => Ok(()),
        }
    }

    fn points_to_moved(&self, word: u64, place: impl Display) -> Refused {
        self.moved(format_args!("{place} holds its address {word:#x}"))
    }

    fn moved(&self, what: impl Display) -> Refused {
        let message = format_args!("registered memory has another address than in the saved run, and {what}");
        let remedy = "Save the run before the program registers the memory or after its last use, and start it with \
                      `voltsim run` and `voltsim resume`, which keep addresses";
        refused(&self.file, &message, remedy)
    }

    fn take(&mut self, number: u64) -> Result<Option<Step>, Refused> {
        if let Some(step) = self.ahead.remove(&number) {
            return Ok(Some(step));
        }
        while let Some(step) = self.next()? {
            if step.number == number {
                return Ok(Some(step));
            }
            self.ahead.insert(step.number, step);
        }
        Ok(None)
    }

    fn next(&mut self) -> Result<Option<Step>, Refused> {
        self.steps.next().transpose().map_err(|error| self.unreadable(&error))
    }

    /// The next saved step that was not repeated.
    fn left(&mut self) -> Result<Option<Step>, Refused> {
        match self.ahead.pop_first() {
            Some((_, step)) => Ok(Some(step)),
            None => self.next(),
        }
    }

    fn differs(&self, number: u64, saved: &Asked, asked: &Asked) -> Refused {
        self.diverged(format_args!("step {number} was {saved} and is now {asked}"))
    }

    /// Rejects an allocation of different size: later allocations would have other addresses.
    fn other_request_so_far(&self) -> Option<Refused> {
        self.session.started().find_map(|simulator| {
            let number = simulator.ordinal as u64;
            let now = simulator.device.memory.requests();
            let other = self.requests.get(&number)?.first_difference_so_far(&now)?;
            Some(self.other_request(number, other))
        })
    }

    fn other_request(&self, device: u64, other: OtherRequest) -> Refused {
        self.diverged(format_args!("on device {device} {other}"))
    }

    fn diverged(&self, what: impl Display) -> Refused {
        let message = format_args!("{DIVERGED} {what}");
        refused(
            &self.file,
            &message,
            "Resume with the same arguments, environment and files; what depends on time, chance or addresses of the \
             host must not reach the device",
        )
    }

    fn other_model(&self, error: &StateError) -> Refused {
        refused(&self.file, error, error.remedy())
    }

    fn unreadable(&self, error: &SavedError) -> Refused {
        refused(&self.file, error, error.remedy())
    }
}

fn refused(file: &Path, error: &dyn Display, remedy: &str) -> Refused {
    refuse(format_args!("cannot resume from {}: {error}\n  remedy: {remedy}", file.display()))
}
