//! Writes checksums of all allocations after launches to the file `VOLTSIM_CHECKSUMS`, with
//! `VOLTSIM_CHECKSUMS_EVERY=N` only after every N-th launch. The device then executes serially,
//! since concurrent work would change memory meanwhile. The first write error is reported, and the
//! program continues.

use crate::host::environment::options;
use crate::host::log;
use crate::host::output_files;
use crate::session::checkpoint;
use crate::session::ending;
use crate::session::state::Session;
use parking_lot::Mutex;
use saved_run::checksums::{ChecksumsWriter, MemoryDigester, Sums, Unreadable};
use saved_run::outputs::Outcome;
use std::io;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::Ordering;

/// Settings and progress.
struct Wanted {
    file: PathBuf,
    every: u64,
    progress: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    /// Opened at the first recorded launch.
    writer: Option<ChecksumsWriter>,
    digester: MemoryDigester,
    has_failed: bool,
}

/// Reasons why checksums cannot be written.
#[derive(Debug, thiserror::Error)]
enum ChecksumsError {
    #[error("{0}")]
    Write(#[from] io::Error),
    #[error("cannot read memory: {0}")]
    Memory(#[from] Unreadable),
}

/// State of checksums.
pub(crate) struct Checksums {
    wanted: LazyLock<Option<Wanted>>,
}

impl Checksums {
    /// The state before the first call.
    pub(crate) const fn new() -> Self {
        Self { wanted: LazyLock::new(read) }
    }
}

fn wanted(session: &'static Session) -> Option<&'static Wanted> {
    session.checksums.wanted.as_ref()
}

fn read() -> Option<Wanted> {
    let file = options().checksums.clone()?;
    let every = options().checksums_every.map_or(1, NonZero::get);
    Some(Wanted { file, every, progress: Mutex::default() })
}

/// Tells whether checksums are written.
pub(crate) fn is_wanted(session: &'static Session) -> bool {
    wanted(session).is_some()
}

/// Records a completed launch.
pub(crate) fn after(session: &'static Session, launch: u64, kernel: &str) {
    let Some(wanted) = wanted(session).filter(|wanted| launch.is_multiple_of(wanted.every)) else { return };
    // Before the point of a resumed run, device memory is not valid.
    if checkpoint::is_before_point(session) {
        return;
    }
    let mut progress = wanted.progress.lock();
    if progress.has_failed {
        return;
    }
    if let Err(error) = wanted.add(session, &mut progress, launch, kernel) {
        wanted.give_up(&mut progress, &error);
    }
}

/// Closes the file. A process without launches writes none: a child must not replace its parent's
/// file.
pub(crate) fn finish(session: &'static Session) {
    let Some(wanted) = wanted(session).filter(|_| !session.process().forked.load(Ordering::Relaxed)) else {
        return;
    };
    let Some(mut progress) = ending::of(&wanted.progress) else { return };
    let Some(writer) = progress.writer.take() else { return };
    match writer.finish() {
        Ok(()) => output_files::note(Outcome::Written, &wanted.file),
        Err(error) => wanted.give_up(&mut progress, &error.into()),
    }
}

impl Wanted {
    fn add(
        &self,
        session: &'static Session,
        progress: &mut Progress,
        launch: u64,
        kernel: &str,
    ) -> Result<(), ChecksumsError> {
        let Progress { writer, digester, .. } = progress;
        let mut sums = Sums::new();
        for simulator in session.started() {
            sums.extend(digester.sums(simulator.ordinal as u64, &simulator.device.memory)?);
        }
        let writer = match writer {
            Some(writer) => writer,
            None => writer.insert(ChecksumsWriter::create(&self.file, &command(), self.every)?),
        };
        Ok(writer.add(launch, kernel, sums)?)
    }

    fn give_up(&self, progress: &mut Progress, error: &ChecksumsError) {
        (progress.has_failed, progress.writer) = (true, None);
        output_files::note(Outcome::Failed, &self.file);
        log::report(|| {
            format!(
                "VOLTSIM_CHECKSUMS: {}: {error}; writing of checksums stops. Check the folder, its permissions and the free disk space",
                self.file.display()
            )
        });
    }
}

fn command() -> Vec<String> {
    std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect()
}
