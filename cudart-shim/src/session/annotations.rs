//! Markers that select launches: NVTX ranges and the profiler state. A launch uses the markers in
//! effect at its API call.

use crate::session::state::session;
use crate::session::{capture, kernel_stream, model, nvtx, recording, sanitizer_report};
use launch_capture::Marks;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Markers that belong to no thread.
pub(crate) struct Annotations {
    /// True while the profiler runs.
    profiled: AtomicBool,
    needs_ranges: LazyLock<bool>,
}

impl Annotations {
    /// The state before the first call.
    pub(crate) const fn new() -> Self {
        Self { profiled: AtomicBool::new(false), needs_ranges: LazyLock::new(any_needs_ranges) }
    }
}

/// Records that the program started or stopped the profiler.
pub(crate) fn set_profiled(profiled: bool) {
    session().annotations.profiled.store(profiled, Ordering::Release);
}

/// Tells whether NVTX ranges select launches.
pub(crate) fn needs_ranges() -> bool {
    *session().annotations.needs_ranges
}

fn any_needs_ranges() -> bool {
    [
        model::needs_ranges,
        recording::needs_ranges,
        capture::needs_ranges,
        kernel_stream::needs_ranges,
        sanitizer_report::needs_ranges,
    ]
    .iter()
    .any(|needs| needs())
}

/// The markers in effect on this thread.
pub(crate) fn here() -> Marks {
    let ranges = if needs_ranges() { nvtx::open_ranges() } else { Vec::new() };
    Marks { ranges, profiled: session().annotations.profiled.load(Ordering::Acquire) }
}
