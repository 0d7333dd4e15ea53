//! Observers of launches.

use std::ops::ControlFlow;

use warp_stream::Kernel;

/// Progress of a launch.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// CTAs completed.
    pub ctas_done: u64,
    /// Core cycles since the launch started.
    pub cycles: u64,
    /// Warp instructions of all launches since the device started.
    pub instructions: u64,
}

/// Receives progress reports.
pub trait Observer {
    /// Receives a launch's progress. [`ControlFlow::Break`] ends everything in flight.
    fn progress(&mut self, progress: &Progress<'_>) -> ControlFlow<()>;

    /// True to end everything in flight. Polled as often, with or without a launch.
    fn is_cancelled(&self) -> bool {
        false
    }

    /// Core cycle at whose epoch end everything in flight stops, resumable from there; `None` to
    /// run on. Polled at the end of each epoch.
    fn stop_at(&self) -> Option<u64> {
        None
    }

    /// CTAs of the oldest launch at whose completion everything in flight stops.
    fn stop_after_ctas(&self) -> Option<u64> {
        None
    }
}

/// An observer without effect.
impl Observer for () {
    fn progress(&mut self, _: &Progress<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
