//! Progress of a launch: one line on a terminal, or a line now and then in a log.

use std::io::{IsTerminal as _, Write as _, stderr};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use timing::gpu::{Observer, Progress};
use warp_stream::kernel_name::base_name;

use super::inside::StopAt;

/// Update interval on a terminal.
const PERIOD: Duration = Duration::from_millis(500);
/// Interval of lines where standard error is no terminal.
const PERIOD_OF_LINES: Duration = Duration::from_secs(30);

/// Displays the progress of a launch and stops a cancelled launch.
pub(super) struct Display {
    cancelled: Arc<AtomicBool>,
    terminal: bool,
    started: Instant,
    told: Option<Instant>,
    /// Instruction count at the start of the launch.
    before: Option<u64>,
    /// Stop condition and start cycle of the launch, if it is to be stopped.
    stop: Option<(StopAt, u64)>,
}

impl Display {
    /// A display for a new launch. The flag cancels it.
    pub(super) fn new(cancelled: Arc<AtomicBool>) -> Display {
        Display {
            cancelled,
            terminal: stderr().is_terminal(),
            started: Instant::now(),
            told: None,
            before: None,
            stop: None,
        }
    }

    /// Sets or clears the stop condition; the launch starts at core cycle `begins`.
    pub(super) fn set_stop(&mut self, at: Option<StopAt>, begins: u64) {
        self.stop = at.map(|at| (at, begins));
    }

    /// Clears the line after the launch.
    pub(super) fn end(&mut self) {
        if self.terminal && self.told.is_some() {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}

impl Observer for Display {
    fn progress(&mut self, progress: &Progress<'_>) -> ControlFlow<()> {
        if self.cancelled.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        let before = *self.before.get_or_insert(progress.instructions);
        if is_due(self.terminal, self.told.unwrap_or(self.started).elapsed()) {
            self.told = Some(Instant::now());
            let line = line(progress, progress.instructions.saturating_sub(before), self.started.elapsed());
            let _ = match self.terminal {
                true => write!(stderr(), "\r\x1b[K{line}"),
                false => writeln!(stderr(), "voltsim: {line}"),
            };
        }
        ControlFlow::Continue(())
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    fn stop_at(&self) -> Option<u64> {
        match self.stop {
            Some((StopAt::Cycle(cycle), begins)) => Some(begins.saturating_add(cycle)),
            _ => None,
        }
    }

    fn stop_after_ctas(&self) -> Option<u64> {
        match self.stop {
            Some((StopAt::Ctas(ctas), _)) => Some(ctas),
            _ => None,
        }
    }
}

/// True if a line is due after this time without one.
fn is_due(terminal: bool, quiet: Duration) -> bool {
    quiet >= if terminal { PERIOD } else { PERIOD_OF_LINES }
}

fn line(progress: &Progress<'_>, instructions: u64, elapsed: Duration) -> String {
    let Progress { kernel, ctas_done, cycles, .. } = progress;
    let seconds = elapsed.as_secs_f64();
    let ctas = kernel.shape.cta_count();
    let left = match ctas_done {
        0 => "?".to_owned(),
        done => format!("{:.0} s", seconds * (ctas - done) as f64 / *done as f64),
    };
    let per_cycle = instructions as f64 / (*cycles).max(1) as f64;
    let speed = instructions as f64 / seconds.max(1e-9) / 1e3;
    format!(
        "{}: {ctas_done} of {ctas} CTAs, cycle {cycles}, {per_cycle:.2} warp instructions a cycle, {speed:.0} thousand a second, {left} left",
        base_name(&kernel.name)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use warp_stream::{Kernel, LaunchShape};

    #[test]
    fn log_gets_a_line_every_30_seconds() {
        let due = |terminal, seconds| is_due(terminal, Duration::from_secs(seconds));
        assert_eq!([due(false, 29), due(false, 30), due(true, 1)], [false, true, true]);
    }

    #[test]
    fn progress_line_has_kernel_name_and_remaining_time() {
        let kernel = Kernel {
            name: "_Z5saxpyifPKfPf".to_owned(),
            launch: 1,
            stream: 0,
            shape: LaunchShape::new([10, 1, 1], [32, 1, 1]),
            code: Arc::default(),
            code_address: 0,
            registers: 16,
            register_source: Default::default(),
            shared_bytes: 0,
            local_bytes: 0,
            cooperative: false,
        };
        let progress = Progress { kernel: &kernel, ctas_done: 4, cycles: 2000, instructions: 0 };
        let line = line(&progress, 1000, Duration::from_secs(2));
        assert_eq!(
            line,
            "saxpy: 4 of 10 CTAs, cycle 2000, 0.50 warp instructions a cycle, 0 thousand a second, 3 s left"
        );
    }
}
