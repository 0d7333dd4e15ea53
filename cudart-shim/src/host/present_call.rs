//! The API call that each thread is in, as the origin of the objects that it makes.

use crate::host::log;
use functional::sanitizer::Origin;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

static CALLS: AtomicU64 = AtomicU64::new(0);

/// Number of API calls so far.
pub(crate) fn calls() -> u64 {
    CALLS.load(Ordering::Relaxed)
}

thread_local! {
    /// Present or last call of the thread: function and call number.
    static CALL: Cell<(&'static str, u64)> = const { Cell::new(("", 0)) };
}

/// Present call of this thread, as the origin of the objects it makes.
pub(crate) fn origin() -> Origin {
    let (name, number) = CALL.get();
    Origin::Call { name: log::exported_name(name), number }
}

/// Counts a call of this thread, which becomes the present one.
pub(crate) fn begin(name: &'static str) {
    let number = CALLS.fetch_add(1, Ordering::Relaxed) + 1;
    CALL.set((name, number));
}
