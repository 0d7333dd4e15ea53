//! Process exit: writes the outputs that cover the whole run.

use crate::session::checksums;
use crate::session::coverage;
use crate::session::kernel_stream;
use crate::session::model;
use crate::session::sanitizer_report;
use crate::session::signals;
use crate::session::state::Session;
use crate::session::summary;
use crate::session::unmatched_selections;
use parking_lot::{Mutex, MutexGuard};
use std::ffi::c_int;
use std::thread;
use std::time::Duration;

/// Time limit for a lock: a thread stopped by the exit may hold it for ever.
const PATIENCE: Duration = Duration::from_secs(1);

/// Cause of the exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Normal exit.
    Exit,
    /// Exit by a signal. Outputs cover the run so far.
    Signal(c_int),
}

impl End {
    /// Name of the cause, if it cut the run short.
    pub(crate) fn cause(self) -> Option<&'static str> {
        match self {
            End::Exit => None,
            End::Signal(signal) => Some(signals::name(signal)),
        }
    }
}

/// Tells whether the environment requests an output at exit.
pub(crate) fn is_wanted(session: &'static Session) -> bool {
    summary::is_wanted()
        || model::gpu_name(session).is_some()
        || coverage::is_wanted()
        || sanitizer_report::checker(session).is_some()
        || kernel_stream::is_wanted(session)
        || checksums::is_wanted(session)
}

/// State of the end of the process.
pub(crate) struct Ending {
    /// Held while outputs are written.
    writing: Mutex<()>,
}

impl Ending {
    /// The state before the first call.
    pub(crate) const fn new() -> Self {
        Self { writing: Mutex::new(()) }
    }
}

/// Writes all outputs once. During an exit by signal, a thread that calls `exit` stops here. Python
/// calls it right after it has sent itself the signal.
pub(crate) fn write_outputs(session: &'static Session, end: End) {
    while end == End::Exit && signals::is_ending() {
        thread::park();
    }
    let writing = session.ending.writing.lock();
    summary::write(session, end);
    model::write_statistics(session, end);
    coverage::write(session, end);
    kernel_stream::finish(session);
    checksums::finish(session);
    sanitizer_report::summarise(session);
    unmatched_selections::tell(session);
    match end {
        End::Exit => drop(writing),
        End::Signal(_) => std::mem::forget(writing),
    }
}

/// Locks a mutex; `None` if a thread keeps it, such as one that the exit stopped.
pub(crate) fn of<T>(lock: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    lock.try_lock_for(PATIENCE)
}
