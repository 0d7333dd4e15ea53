//! Who watches a launch.

use std::ops::ControlFlow;

use warp_stream::Kernel;

/// How far a launch is.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// CTAs that have ended.
    pub ctas_done: u64,
    /// Core cycles since the launch started.
    pub cycles: u64,
    /// Warp instructions of all launches since the device started.
    pub instructions: u64,
}

/// Is told how far launches are, now and then.
pub trait Observer {
    /// So far a launch is. [`ControlFlow::Break`] ends all that runs.
    fn progress(&mut self, progress: &Progress<'_>) -> ControlFlow<()>;

    /// Whether all that runs is to end: asked as often, also when no launch is among it.
    fn is_cancelled(&self) -> bool {
        false
    }

    /// All that runs stops at the first end of an epoch at or after this core cycle, and can go on from there; nothing if it
    /// runs to its end. Asked at the end of each epoch.
    fn stop_at(&self) -> Option<u64> {
        None
    }

    /// The same at the first end of an epoch at which so many CTAs of the oldest launch have ended.
    fn stop_after_ctas(&self) -> Option<u64> {
        None
    }
}

/// Watches nothing.
impl Observer for () {
    fn progress(&mut self, _: &Progress<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
