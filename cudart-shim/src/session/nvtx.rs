//! The program's NVTX 3 markers and ranges, which appear in the timeline and select launches.

use crate::session::state::Session;
use crate::session::trace;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Strings and ranges of the program.
pub(crate) struct Nvtx {
    /// Registered strings by handle.
    strings: Mutex<Option<FxHashMap<usize, String>>>,
    /// Ranges that may end on another thread: name and start.
    ranges: Mutex<Option<FxHashMap<u64, (String, f64)>>>,
    /// Handles handed out so far.
    made: AtomicU64,
    /// Set if the program's tables contain these functions.
    is_followed: AtomicBool,
}

impl Nvtx {
    /// The state before the first call.
    pub(crate) const fn new() -> Self {
        Self {
            strings: Mutex::new(None),
            ranges: Mutex::new(None),
            made: AtomicU64::new(0),
            is_followed: AtomicBool::new(false),
        }
    }
}

thread_local! {
    /// Names of the thread's open ranges.
    static OPEN: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn next(session: &'static Session) -> u64 {
    session.nvtx.made.fetch_add(1, Ordering::Relaxed) + 1
}

/// Starts a range that may end on another thread, and returns its number.
pub(crate) fn start(session: &'static Session, name: String) -> u64 {
    let range = next(session);
    session.nvtx.ranges.lock().get_or_insert_default().insert(range, (name, trace::now(session)));
    range
}

/// Ends a range.
pub(crate) fn end(session: &'static Session, range: u64) {
    let ended = session.nvtx.ranges.lock().get_or_insert_default().remove(&range);
    if let Some((name, start)) = ended {
        trace::free_range(session, &name, start);
    }
}

/// Depth of the new range, from 0.
pub(crate) fn push(session: &'static Session, name: String) -> c_int {
    trace::begin_range(session, &name);
    OPEN.with_borrow_mut(|open| {
        open.push(name);
        open.len() as c_int - 1
    })
}

/// Depth of the ended range; negative if none was open.
pub(crate) fn pop(session: &'static Session) -> c_int {
    let depth = OPEN.with_borrow_mut(|open| open.pop().map(|_| open.len()));
    match depth {
        Some(depth) => {
            trace::end_range(session);
            depth as c_int
        }
        None => -1,
    }
}

/// Tells whether NVTX ranges are available.
pub(crate) fn is_followed(session: &'static Session) -> bool {
    session.nvtx.is_followed.load(Ordering::Relaxed)
}

/// Names of open ranges that may end on any thread, then of this thread's open ranges; in the order
/// of their starts.
pub(crate) fn open_ranges(session: &'static Session) -> Vec<String> {
    let mut open = Vec::new();
    if let Some(ranges) = &*session.nvtx.ranges.lock() {
        let mut started: Vec<_> = ranges.iter().collect();
        started.sort_unstable_by_key(|(number, _)| **number);
        open.extend(started.into_iter().map(|(_, (name, _))| name.clone()));
    }
    open.extend(OPEN.with_borrow(Vec::clone));
    open
}

/// Registers a string and returns its handle.
pub(crate) fn register(session: &'static Session, text: String) -> usize {
    // Handles look like addresses but are never dereferenced.
    let handle = (next(session) as usize) << 4;
    session.nvtx.strings.lock().get_or_insert_default().insert(handle, text);
    handle
}

/// The text of a registered string; empty if unknown.
pub(crate) fn registered(session: &'static Session, handle: usize) -> String {
    session.nvtx.strings.lock().get_or_insert_default().get(&handle).cloned().unwrap_or_default()
}

/// Notes that the program's tables contain the functions.
pub(crate) fn follow(session: &'static Session) {
    session.nvtx.is_followed.store(true, Ordering::Relaxed);
}
