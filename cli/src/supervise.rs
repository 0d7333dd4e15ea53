//! Running a program as a child of this process. At the end, this process closes a timeline. The
//! exit status is its own if checks found mistakes, a kernel was refused, or an output could not be
//! written.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitCode;
use std::thread;

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, setrlimit};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::origin::WithOrigin;
use tempfile::NamedTempFile;

use saved_run::refusals;

use crate::failure::Failure;
use crate::outputs::Told;
use crate::program::Prepared;

/// Refused kernels that are named at the end.
const MOST_NAMED: usize = 10;

/// Exit status of a run that succeeded but for what the checks have found.
pub(crate) const MISTAKES_FOUND: u8 = 86;

/// How a program has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) struct Ended {
    /// The program's status, as a shell gives it: 128 and the signal's number for a signal. Three
    /// statuses replace a success. Status 86 follows mistakes found by checks, and 89 an output
    /// that could not be written. Status 88 follows a refused kernel whose error the program
    /// ignored.
    pub(crate) status: u8,
    signal: Option<i32>,
}

impl Ended {
    /// Did a signal end the program?
    pub(crate) fn is_by_signal(self) -> bool {
        self.signal.is_some()
    }

    /// Ends this process by the signal that has ended the program, if there is one; else gives the
    /// program's status. Callers have written and removed their files before.
    pub(crate) fn pass_on(self) -> ExitCode {
        self.signal.into_iter().for_each(die_by);
        ExitCode::from(self.status)
    }
}

/// Ends this process by a signal.
pub(crate) fn die_by(signal: i32) {
    // The program has written its core file.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}

/// [`run`] of a program whose kernels are checked.
pub(crate) fn run_checked(mut program: Prepared) -> Result<Ended, Failure> {
    let found =
        NamedTempFile::new().map_err(|error| Failure::new(format_args!("no temporary file: {error}")))?;
    program.options.check_status = Some(found.path().to_owned());
    let status = program.all_options().check_exit_status.map_or(MISTAKES_FOUND, |status| status.get() as u8);
    let ended = run(program)?;
    let has_mistakes = found.as_file().metadata().is_ok_and(|file| file.len() > 0);
    Ok(if ended.status == 0 && has_mistakes { Ended { status, signal: None } } else { ended })
}

/// Runs the program to its end, and passes signals on.
pub(crate) fn run(mut program: Prepared) -> Result<Ended, Failure> {
    let tables = program.tables.take();
    let renamed = tables.as_ref().map(|tables| (tables.json(), tables.launches().to_owned()));
    let told = Told::by(&mut program.options, renamed)?;
    let refused =
        NamedTempFile::new().map_err(|error| Failure::new(format_args!("no temporary file: {error}")))?;
    program.options.refused_status = Some(refused.path().to_owned());
    program.options.supervisor = Some(std::process::id());
    let mut command = program.into_command();
    let signals = SignalsInfo::<WithOrigin>::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2]);
    let mut signals = signals.map_err(|error| Failure::new(format_args!("signals: {error}")))?;
    let mut child =
        command.spawn().map_err(|error| Failure::in_file(Path::new(command.get_program()), error))?;
    let pid = Pid::from_child(&child);
    // The thread ends with the process: it waits for signals only.
    thread::spawn(move || {
        for origin in signals.forever() {
            // One without a sender comes from the terminal, which has sent it to the program too.
            if origin.process.is_some()
                && let Some(signal) = Signal::from_named_raw(origin.signal)
            {
                // A program that is gone needs no signal.
                let _ = kill_process(pid, signal);
            }
        }
    });
    let status = child.wait()?;
    tables.map_or(Ok(()), |tables| tables.write())?;
    let signal = status.signal();
    let status = match status.code() {
        Some(0) if tell_refused(refused.path()) => refusals::STATUS,
        Some(code) => told.status(code as u8),
        None => 128 + signal.unwrap_or(0) as u8,
    };
    Ok(Ended { status, signal })
}

/// Names the refused kernels whose error the program has not asked for, as its libraries say in a
/// file; false for none.
fn tell_refused(file: &Path) -> bool {
    let open = refusals::open_at_end(&fs::read_to_string(file).unwrap_or_default());
    for (kernel, holder) in open.iter().take(MOST_NAMED) {
        let place = if holder.is_empty() { String::new() } else { format!(" of {holder}") };
        eprintln!("voltsim: kernel {kernel}{place} was refused, and the program has not asked for the error");
    }
    if open.len() > MOST_NAMED {
        eprintln!("voltsim: {} more kernels were refused", open.len() - MOST_NAMED);
    }
    if !open.is_empty() {
        eprintln!(
            "voltsim: exit status {} instead of 0: results lack what refused kernels compute; the reasons are said above, \
             and --strict ends the run at the first refused kernel",
            refusals::STATUS
        );
    }
    !open.is_empty()
}
