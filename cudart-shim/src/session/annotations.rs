//! The program's own marks, by which launches are chosen: NVTX ranges, and whether it has the profiler started. They hold for a
//! launch as they are when the program asks for it.

use crate::session::{capture, kernel_stream, model, nvtx, recording};
use launch_capture::Marks;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

static PROFILED: AtomicBool = AtomicBool::new(false);

/// The program starts the profiler, or stops it.
pub(crate) fn set_profiled(profiled: bool) {
    PROFILED.store(profiled, Ordering::Release);
}

/// Whether launches are chosen by NVTX ranges.
pub(crate) fn needs_ranges() -> bool {
    static NEEDED: LazyLock<bool> = LazyLock::new(|| {
        [model::needs_ranges, recording::needs_ranges, capture::needs_ranges, kernel_stream::needs_ranges]
            .iter()
            .any(|needs| needs())
    });
    *NEEDED
}

/// Those that hold now, on this thread.
pub(crate) fn here() -> Marks {
    let ranges = if needs_ranges() { nvtx::open_ranges() } else { Vec::new() };
    Marks { ranges, profiled: PROFILED.load(Ordering::Acquire) }
}
