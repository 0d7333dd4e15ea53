//! The end of the process, at which it writes the outputs that have the whole run in them.

use crate::session::checksums;
use crate::session::coverage;
use crate::session::kernel_stream;
use crate::session::model;
use crate::session::sanitizer_report;
use crate::session::signals;
use crate::session::summary;
use crate::session::unmatched_selections;
use parking_lot::{Mutex, MutexGuard};
use std::ffi::c_int;
use std::time::Duration;

/// How long a lock is waited for that a thread of the ending process may hold for ever.
const PATIENCE: Duration = Duration::from_secs(1);

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// By itself.
    Exit,
    /// By a signal: there is what was counted until then.
    Signal(c_int),
}

impl End {
    /// Cause that ended the run before its time.
    pub(crate) fn cause(self) -> Option<&'static str> {
        match self {
            End::Exit => None,
            End::Signal(signal) => Some(signals::name(signal)),
        }
    }
}

/// Does the environment ask for an output that is written at the end?
pub(crate) fn is_wanted() -> bool {
    summary::is_wanted()
        || model::gpu_name().is_some()
        || coverage::is_wanted()
        || sanitizer_report::checker().is_some()
        || kernel_stream::is_wanted()
        || checksums::is_wanted()
}

/// Writes all outputs, once. Where a signal ends the process, the thread that called `exit` meanwhile stays here.
pub(crate) fn write_outputs(end: End) {
    static WRITING: Mutex<()> = Mutex::new(());
    let writing = WRITING.lock();
    summary::write(end);
    model::write_statistics(end);
    coverage::write(end);
    kernel_stream::finish();
    checksums::finish();
    sanitizer_report::summarise();
    unmatched_selections::tell();
    match end {
        End::Exit => drop(writing),
        End::Signal(_) => std::mem::forget(writing),
    }
}

/// Value that a lock guards; nothing if a thread keeps the lock, such as one that the process's end has stopped.
pub(crate) fn of<T>(lock: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    lock.try_lock_for(PATIENCE)
}
