//! Markers that select launches: NVTX ranges and the profiler state. A launch uses the markers in
//! effect at its API call.

use crate::session::state::Session;
use crate::session::{capture, kernel_stream, model, nvtx, recording, sanitizer_report};
use launch_capture::Marks;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Markers that belong to no thread.
pub(crate) struct Annotations {
    /// True while the profiler runs.
    profiled: AtomicBool,
    needs_ranges: OnceLock<bool>,
}

impl Annotations {
    /// The state before the first call.
    pub(crate) const fn new() -> Self {
        Self { profiled: AtomicBool::new(false), needs_ranges: OnceLock::new() }
    }
}

/// Records that the program started or stopped the profiler.
pub(crate) fn set_profiled(session: &'static Session, profiled: bool) {
    session.annotations.profiled.store(profiled, Ordering::Release);
}

/// Tells whether NVTX ranges select launches, or an output shows them.
pub(crate) fn needs_ranges(session: &'static Session) -> bool {
    *session.annotations.needs_ranges.get_or_init(|| any_needs_ranges(session))
}

fn any_needs_ranges(session: &'static Session) -> bool {
    [model::needs_ranges, recording::needs_ranges, capture::needs_ranges, kernel_stream::needs_ranges]
        .iter()
        .any(|needs| needs(session))
        || model::shows_ranges(session)
        || sanitizer_report::needs_ranges()
}

/// The markers in effect on this thread.
pub(crate) fn here(session: &'static Session) -> Marks {
    let ranges = if needs_ranges(session) { nvtx::open_ranges(session) } else { Vec::new() };
    Marks { ranges, profiled: session.annotations.profiled.load(Ordering::Acquire) }
}
