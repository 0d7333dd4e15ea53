//! Records launches into the directory `VOLTSIM_RECORD`: the machine instructions of each warp with
//! lanes and addresses, one file per launch. A list of launches and copies (`kernelslist.g`) serves
//! `voltsim time`.
//!
//! `VOLTSIM_RECORD_FORMAT=accelsim` selects Accel-Sim's trace format, and `VOLTSIM_ONLY` selects
//! launches. The first failure is reported and ends recording; the program continues. The list
//! names only complete files, and no file is overwritten. A child process with launches of its own
//! records nothing.

use crate::host::environment::options;
use crate::objects::fault::DeviceFault;
use crate::session::simulator::Simulator;
use crate::session::state::Session;
use crate::session::stepped_launch::GivenUp;
use functional::engine::program::Program;
use functional::launch::{LaunchConfig, LaunchStatistics};
use functional::timed::turns::Order;
use launch_capture::{Marks, Selection};
use run_options::values::RecordFormat;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, OnceLock};
use stream_engine::Context;
use timing::gpu;
use voltsim_checkpoint::output::Output;
use warp_trace::accelsim::{self, Entry, LIST};
use warp_trace::{ENDING, Recorder, Recording};

/// Settings from the environment.
struct Settings {
    folder: PathBuf,
    only: Selection,
    accelsim: bool,
}

/// State of recordings.
pub(crate) struct Recordings {
    settings: LazyLock<Option<Settings>>,
    /// List of the traces in the folder.
    list: OnceLock<io::Result<File>>,
    given_up: GivenUp,
}

impl Recordings {
    /// The state before the first call.
    pub(crate) const fn new() -> Self {
        Self { settings: LazyLock::new(read), list: OnceLock::new(), given_up: GivenUp::new() }
    }
}

fn settings(session: &'static Session) -> Option<&'static Settings> {
    session.recordings.settings.as_ref()
}

fn read() -> Option<Settings> {
    let folder = options().record.clone()?;
    let only = options().only.as_ref().map(|only| only.value.clone()).unwrap_or_default();
    let wrong = |error| eprintln!("voltsim: VOLTSIM_ONLY: {error}; records no launch");
    let only = only.of_whole_launches().map_err(wrong).ok()?;
    let accelsim = options().record_format == Some(RecordFormat::Accelsim);
    Some(Settings { folder, only, accelsim })
}

/// Tells whether launches are recorded.
pub(crate) fn is_wanted(session: &'static Session) -> bool {
    settings(session).is_some()
}

/// Tells whether NVTX ranges select launches.
pub(crate) fn needs_ranges(session: &'static Session) -> bool {
    settings(session).is_some_and(|settings| settings.only.needs_ranges())
}

/// Tells whether a launch is selected for recording.
pub(crate) fn wants(session: &'static Session, kernel: &str, number: u64, marks: &Marks) -> bool {
    settings(session).is_some_and(|settings| {
        session.selections.recorded.note(settings.only.contains(kernel, number, marks))
    })
}

/// Tells whether recording has failed.
pub(crate) fn has_given_up(session: &'static Session) -> bool {
    session.recordings.given_up.is_set()
}

/// Executes and records a launch.
pub(crate) fn launch(
    simulator: &Simulator,
    program: &Arc<Program>,
    config: LaunchConfig,
    number: u64,
    context: &Context<DeviceFault>,
) -> Result<LaunchStatistics, DeviceFault> {
    simulator.launch_stepped(
        program,
        config,
        (number, context),
        |source, stepper| {
            let recorder = Recorder::new(source);
            stepper.execute(&recorder, Order::InTurn, |_| ())?;
            Ok(recorder.finish())
        },
        |recording| {
            let written = recording
                .map_err(io::Error::other)
                .and_then(|recording| write(simulator.session, &recording, number));
            if let Err(error) = written {
                give_up(simulator.session, &error);
            }
        },
    )
}

/// Records a copy between host and device. The list contains only copies to the device.
pub(crate) fn copied(session: &'static Session, copy: gpu::Copy) {
    let gpu::Copy { direction, address, bytes } = copy;
    if !is_wanted(session) || direction != gpu::Direction::ToDevice || has_given_up(session) {
        return;
    }
    if let Err(error) = list(session, &Entry::Copy { address, bytes }) {
        give_up(session, &error);
    }
}

fn write(session: &'static Session, recording: &Recording, number: u64) -> io::Result<()> {
    let Some(settings) = settings(session) else { return Ok(()) };
    let ending = if settings.accelsim { "traceg" } else { ENDING };
    let file = settings.folder.join(format!("kernel-{number}.{ending}"));
    list_file(session)?;
    if file.exists() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let mut out = Output::create(&file)?;
    match settings.accelsim {
        true => accelsim::write_kernel(recording, &mut out)?,
        false => out.write_all(&recording.write().map_err(io::Error::other)?)?,
    }
    out.finish()?;
    list(session, &Entry::Kernel { file })
}

/// Appends an entry to the list, which belongs to this process alone.
fn list(session: &'static Session, entry: &Entry) -> io::Result<()> {
    let line = accelsim::write_list(std::slice::from_ref(entry));
    list_file(session)?.write_all(line.as_bytes())
}

fn list_file(session: &'static Session) -> io::Result<&'static File> {
    session
        .recordings
        .list
        .get_or_init(|| create_list(session))
        .as_ref()
        .map_err(|error| io::Error::new(error.kind(), format!("{LIST}: {error}")))
}

fn create_list(session: &'static Session) -> io::Result<File> {
    let folder = settings(session).map_or(Path::new(""), |settings| &settings.folder);
    File::create_new(folder.join(LIST))
}

fn give_up(session: &'static Session, error: &io::Error) {
    let folder = settings(session).map_or(Path::new(""), |settings| &settings.folder);
    let message = || format!("VOLTSIM_RECORD: cannot record in {}: {error}", folder.display());
    session.recordings.given_up.set(folder, message);
}
