//! Writes launches and copies to the kernel stream file `VOLTSIM_IMAGE`.
//!
//! `VOLTSIM_IMAGE_ONLY` selects launches. With `VOLTSIM_PLAN`, launches are grouped by similarity,
//! and the stream contains the first launches of each group (`VOLTSIM_PLAN_REPRESENTATIVES`,
//! default two). The plan file describes the groups. Both files appear under their names at exit.
//! The first failure is reported and ends writing; the program continues.

use crate::host::environment::options;
use crate::host::log;
use crate::host::output_files;
use crate::profile::Profile;
use crate::session::ending;
use crate::session::state::Session;
use functional::workload_profile::{self, WorkloadProfile};
use launch_capture::{
    About, Copies, Error, Groups, HeldLaunch, Launch, Launched, Marks, PLAN_FORMAT, Plan, REPRESENTATIVES,
    Selection, StreamWriter, TOLERANCE,
};
use parking_lot::Mutex;
use saved_run::outputs::Outcome;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock};
use timing::gpu::{Copy, Direction, Rows, Transfer};
use warp_stream::Past;

/// Settings and progress.
struct Stream {
    file: PathBuf,
    selection: Selection,
    progress: Mutex<Progress>,
    planner: Option<Planner>,
}

#[derive(Default)]
struct Progress {
    writer: Option<StreamWriter>,
    copies: Copies,
    device_copies: Copies,
    fills: Copies,
    /// Set after a failure, because later writes would fail too.
    has_failed: bool,
}

/// Groups launches.
struct Planner {
    file: PathBuf,
    work: Arc<WorkloadProfile>,
    plan: Mutex<Planned>,
}

struct Planned {
    groups: Groups,
    /// Launch in execution.
    running: Option<HeldLaunch>,
}

/// State of the kernel stream.
pub(crate) struct KernelStream {
    stream: LazyLock<Option<Stream>>,
}

impl KernelStream {
    /// The state before the first call.
    pub(crate) const fn new() -> Self {
        Self { stream: LazyLock::new(read) }
    }
}

fn stream(session: &'static Session) -> Option<&'static Stream> {
    session.kernel_stream.stream.as_ref()
}

fn read() -> Option<Stream> {
    let file = options().image.clone()?;
    let selection = options().image_only.as_ref().map(|only| only.value.0.clone()).unwrap_or_default();
    let planner = options().plan.clone().map(|file| Planner {
        file,
        work: Arc::default(),
        plan: Mutex::new(Planned { groups: Groups::new(representatives()), running: None }),
    });
    Some(Stream { file, selection, progress: Mutex::default(), planner })
}

/// Number of representatives per group.
fn representatives() -> usize {
    options().plan_representatives.map_or(REPRESENTATIVES, |count| count.get() as usize)
}

/// Tells whether a stream is written.
pub(crate) fn is_wanted(session: &'static Session) -> bool {
    stream(session).is_some()
}

/// Counter for the work of launches, if a plan is written.
pub(crate) fn counter(session: &'static Session) -> Option<Arc<WorkloadProfile>> {
    Some(Arc::clone(&stream(session)?.planner.as_ref()?.work))
}

/// Tells whether number, name and markers select this launch for the stream.
pub(crate) fn wants(session: &'static Session, kernel: &str, number: u64, marks: &Marks) -> bool {
    stream(session).is_some_and(|stream| {
        let chosen = session.selections.written.note(stream.selection.contains(kernel, number, marks));
        chosen && !stream.progress.lock().has_failed
    })
}

/// Tells whether NVTX ranges select launches.
pub(crate) fn needs_ranges(session: &'static Session) -> bool {
    stream(session).is_some_and(|stream| stream.selection.needs_ranges())
}

/// Records the start of a launch.
pub(crate) fn begin(session: &'static Session, mut held: HeldLaunch) {
    let Some(stream) = stream(session) else { return };
    match &stream.planner {
        Some(planner) => {
            // Work of failed kernels is discarded.
            planner.work.take();
            let mut plan = planner.plan.lock();
            held.past = Some(planner.past_of(&held.launch));
            plan.running = Some(held);
        }
        None => stream.write(session, |writer| writer.launch(&held)),
    }
}

/// Records the end of the launch.
pub(crate) fn end(session: &'static Session) {
    if let Some((stream, planner)) =
        stream(session).and_then(|stream| Some((stream, stream.planner.as_ref()?)))
    {
        stream.group(session, planner);
    }
}

/// Records a copy between host and device.
pub(crate) fn copied(session: &'static Session, copy: Copy) {
    let Some(stream) = stream(session) else { return };
    match &stream.planner {
        Some(planner) => {
            let writes = copy.direction == Direction::ToDevice;
            planner.work.reuse_tracker().lock().copy(copy.address, copy.bytes, writes);
        }
        None => {
            let Copy { direction, address, bytes } = copy;
            stream.write(session, |writer| writer.copy(direction == Direction::ToDevice, address, bytes));
        }
    }
    count(&mut stream.progress.lock().copies, copy.bytes);
}

/// Records a copy or fill within the device.
pub(crate) fn transferred(session: &'static Session, transfer: &Transfer) {
    let Some(stream) = stream(session) else { return };
    match &stream.planner {
        Some(planner) => {
            let reuse_tracker = &mut *planner.work.reuse_tracker().lock();
            let mut touch =
                |rows: &Rows, writes| rows.each(|row| reuse_tracker.copy(row, rows.width, writes));
            transfer.from.iter().for_each(|from| touch(from, false));
            touch(&transfer.to, true);
        }
        None => stream.write(session, |writer| writer.transfer(transfer)),
    }
    let progress = &mut *stream.progress.lock();
    let of_kind = if transfer.from.is_some() { &mut progress.device_copies } else { &mut progress.fills };
    count(of_kind, transfer.bytes());
}

fn count(copies: &mut Copies, bytes: u64) {
    copies.number += 1;
    copies.bytes += bytes;
}

/// Reports the first failure and stops writing.
pub(crate) fn give_up(session: &'static Session, error: &Error) {
    let Some(stream) = stream(session) else { return };
    let mut progress = stream.progress.lock();
    if !std::mem::replace(&mut progress.has_failed, true) {
        progress.writer = None;
        output_files::note(Outcome::Failed, &stream.file);
        log::report(|| format!("VOLTSIM_IMAGE: {error}; no stream is written. {}", error.remedy()));
    }
}

/// Completes the files. A process without launches writes none: a child must not replace its
/// parent's files.
pub(crate) fn finish(session: &'static Session) {
    let Some(stream) = stream(session).filter(|_| !session.process().forked.load(Ordering::Relaxed)) else {
        return;
    };
    let Some(writer) = ending::of(&stream.progress).and_then(|mut progress| progress.writer.take()) else {
        return;
    };
    let plan = stream.planner.as_ref().map(|planner| (planner, stream.plan(planner)));
    let written = writer.finish().and_then(|()| match plan {
        Some((planner, plan)) => plan.write(&planner.file),
        None => Ok(()),
    });
    match written {
        Ok(()) => output_files::note(Outcome::Written, &stream.file),
        Err(error) => give_up(session, &error),
    }
}

fn command() -> Vec<String> {
    std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect()
}

impl Planner {
    /// The history of a launch, for cache state. Adds the launch to it.
    fn past_of(&self, launch: &Launch) -> Past {
        let mut launches = self.work.launches().lock();
        let code = launches.before(&launch.kernel);
        launches.add(&launch.kernel, launch.shape().cta_count());
        let reuse_tracker = self.work.reuse_tracker().lock();
        Past { traces: reuse_tracker.last(), pages: reuse_tracker.pages(), code }
    }
}

impl Stream {
    /// Writes to the file. The first launch or copy creates it.
    fn write(&self, session: &'static Session, write: impl FnOnce(&mut StreamWriter) -> Result<(), Error>) {
        let written = self.try_write(write);
        if let Err(error) = written {
            give_up(session, &error);
        }
    }

    fn try_write(&self, write: impl FnOnce(&mut StreamWriter) -> Result<(), Error>) -> Result<(), Error> {
        let mut progress = self.progress.lock();
        if progress.has_failed {
            return Ok(());
        }
        if progress.writer.is_none() {
            let voltsim = env!("CARGO_PKG_VERSION").to_owned();
            let about = About { voltsim, command: command(), device: Profile::chosen() };
            progress.writer = Some(StreamWriter::create(&self.file, &about)?);
        }
        progress.writer.as_mut().map_or(Ok(()), write)
    }

    /// Assigns the executed launch to a group. A representative goes to the stream.
    fn group(&self, session: &'static Session, planner: &Planner) {
        let counts = planner.work.take();
        let of = |range: Range<usize>| counts.get(range).unwrap_or_default();
        let mix = of(0..workload_profile::UNITS);
        let mut plan = planner.plan.lock();
        let Some(held) = plan.running.take() else { return };
        let launch = &held.launch;
        let launched = Launched {
            number: launch.launch,
            kernel: &launch.kernel,
            shape: launch.shape(),
            instructions: mix.iter().sum(),
            mix,
            accesses: of(workload_profile::ACCESSES),
            longest: of(workload_profile::LONGEST),
            uncached: of(workload_profile::UNCACHED),
        };
        if plan.groups.add(&launched) {
            self.write(session, |writer| writer.launch(&held));
        }
    }

    fn plan(&self, planner: &Planner) -> Plan {
        let plan = planner.plan.lock();
        let Progress { copies, device_copies, fills, .. } = *self.progress.lock();
        let name = |file: &Path| file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Plan {
            format: PLAN_FORMAT,
            command: command(),
            stream: name(&self.file),
            tolerance: TOLERANCE,
            counted: workload_profile::NAMES.map(str::to_owned).to_vec(),
            launches: plan.groups.launches(),
            copies,
            device_copies,
            fills,
            until_stable: None,
            configurations: Vec::new(),
            groups: plan.groups.finish(),
        }
    }
}
