//! Markers that select launches: NVTX ranges and the profiler state. A launch uses the markers in
//! effect at its API call.

use crate::session::{capture, kernel_stream, model, nvtx, recording};
use launch_capture::Marks;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

static PROFILED: AtomicBool = AtomicBool::new(false);

/// Records that the program started or stopped the profiler.
pub(crate) fn set_profiled(profiled: bool) {
    PROFILED.store(profiled, Ordering::Release);
}

/// Tells whether NVTX ranges select launches.
pub(crate) fn needs_ranges() -> bool {
    static NEEDED: LazyLock<bool> = LazyLock::new(|| {
        [model::needs_ranges, recording::needs_ranges, capture::needs_ranges, kernel_stream::needs_ranges]
            .iter()
            .any(|needs| needs())
    });
    *NEEDED
}

/// The markers in effect on this thread.
pub(crate) fn here() -> Marks {
    let ranges = if needs_ranges() { nvtx::open_ranges() } else { Vec::new() };
    Marks { ranges, profiled: PROFILED.load(Ordering::Acquire) }
}
