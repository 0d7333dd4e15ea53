//! Suspension of a launch in mid-execution, as data that another process can resume (Lew et al., ISPASS
//! 2019, III-F).
//!
//! One thread executes all CTAs before a window, then a number of instructions of each CTA in the window,
//! with warps in turn. [`SuspendedLaunch`] then holds the launch's state: registers, local and shared
//! memory, lanes, barriers, and the launch's own device memory. The caller saves and restores other device
//! memory, printed text and the heap's account.
//!
//! Untrusted data is checked against the bound program before use: damaged state, or state of another
//! program, is an error.

mod error;
mod fingerprint;
mod state;
mod window;

use std::sync::Arc;

use crate::device::Device;
use crate::engine::cta::Executed;
use crate::engine::grid::{Before, Grid, Rest};
use crate::engine::machine::Machine;
use crate::engine::program::Program;
use crate::launch::{LaunchConfig, LaunchError, LaunchStatistics, Prepared, check};
pub use error::{Refusal, ResumeError, SuspendError};
pub use state::SuspendedLaunch;

/// Suspension point of a launch. CTAs are counted x fastest. In a launch with clusters, CTAs are counted
/// cluster by cluster, and the window is widened to whole clusters. CTAs of a cooperative launch wait for
/// each other, so its window contains all CTAs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// First CTA of the window; earlier CTAs are executed to their end.
    pub first: u64,
    /// Number of CTAs in the window.
    pub ctas: u64,
    /// Machine instructions of warps that each CTA of the window executes, unless it ends before. Warps may
    /// have executed more of them ahead.
    pub instructions: u64,
}

impl Window {
    /// First cluster of the window, and first cluster after it.
    fn clusters(&self, grid: &Grid<'_>) -> (u64, u64) {
        let per_cluster = u64::from(grid.ctas_per_cluster());
        let first = self.first / per_cluster;
        if self.ctas == 0 || self.instructions == 0 {
            return (first, first);
        }
        let end = match grid.cooperative {
            true => grid.cluster_count(),
            false => self.first.saturating_add(self.ctas).div_ceil(per_cluster).min(grid.cluster_count()),
        };
        (first, end)
    }
}

/// An unfinished launch whose suspension was refused.
pub struct UnfinishedLaunch<'d> {
    prepared: Prepared<'d>,
    executed: Executed,
    rest: Rest,
}

impl std::fmt::Debug for UnfinishedLaunch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UnfinishedLaunch").field("executed", &self.executed).finish_non_exhaustive()
    }
}

impl UnfinishedLaunch<'_> {
    /// Executes the remaining work. Statistics cover the whole launch, except the time.
    ///
    /// # Errors
    /// As for [`crate::launch::launch`].
    pub fn finish(self) -> Result<LaunchStatistics, LaunchError> {
        let workers = self.prepared.grid.owner.worker_count();
        self.prepared.run(self.executed, self.rest, workers)
    }
}

/// Executes a launch up to a window, and the window.
///
/// # Errors
/// The launch's own error, or a refusal. After a refusal, the launch has not begun or can continue in this
/// process.
pub fn launch_until<'d>(
    device: &'d Device,
    program: &Arc<Program>,
    config: LaunchConfig,
    window: &Window,
) -> Result<SuspendedLaunch, SuspendError<'d>> {
    check(device, program, &config)?;
    let refused = |refusal, rest: Option<UnfinishedLaunch<'d>>| SuspendError::Refused {
        kernel: program.kernel().name.clone(),
        refusal,
        rest: rest.map(Box::new),
    };
    let grid = Grid::new(Arc::clone(program), device, config.clone(), 0);
    let machine = refusal(&grid, program, window).map_err(|refusal| refused(refusal, None))?;
    let prepared = Prepared::new(device, program, config)?;
    let grid = &prepared.grid;
    let (first, end) = window.clusters(grid);
    let (mut executed, before) = grid.run_before(first);
    match before {
        Before::Ended => {}
        Before::Waits(rest) => {
            let cta = rest.started.front().map_or([0; 3], |cluster| cluster.first_cta());
            return Err(refused(Refusal::Waits { cta }, Some(UnfinishedLaunch { prepared, executed, rest })));
        }
        Before::Fault(fault) => return Err(prepared.fail(fault).into()),
    }
    let mut rest = Rest { next: first, ..Rest::default() };
    if let Some(machine) = machine {
        match window::begin(grid, machine, first..end, window.instructions) {
            Ok(begun) => {
                executed += begun.executed;
                rest = Rest { started: begun.clusters, next: end };
            }
            Err(fault) => return Err(prepared.fail(fault).into()),
        }
    }
    if grid.children.has_requests() {
        return Err(refused(Refusal::AsksForWork, Some(UnfinishedLaunch { prepared, executed, rest })));
    }
    let saved = SuspendedLaunch::of(&prepared, executed, &rest);
    saved.map_err(|error| SuspendError::Launch(error.into()))
}

/// Refusal of the window, as far as it is known beforehand; otherwise the machine code of the program, for
/// a window with instructions.
fn refusal<'p>(
    grid: &Grid<'_>,
    program: &'p Program,
    window: &Window,
) -> Result<Option<&'p Machine>, Refusal> {
    let ctas = grid.shape.cta_count();
    if window.first >= ctas {
        return Err(Refusal::BeyondEnd { first: window.first, ctas });
    }
    if grid.cooperative && window.first > 0 {
        return Err(Refusal::Cooperative);
    }
    if grid.owner.checker().is_some() {
        return Err(Refusal::Checked);
    }
    let (first, end) = window.clusters(grid);
    let (begun, most) = (end - first, grid.resident_limit());
    if begun > most {
        let ctas = |clusters| clusters * u64::from(grid.ctas_per_cluster());
        return Err(Refusal::TooMany { ctas: ctas(begun), most: ctas(most) });
    }
    match &program.machine {
        _ if begun == 0 => Ok(None),
        Some(machine) => Ok(Some(machine)),
        None => Err(Refusal::NotStepped),
    }
}

/// Executes the remaining work of a suspended launch, started CTAs first. Kernel, sizes, parameters and
/// device memory are as before. Statistics cover the whole launch, except the time.
///
/// # Errors
/// The launch's own error, or a state of another launch.
pub fn launch_from(
    device: &Device,
    program: &Arc<Program>,
    config: LaunchConfig,
    suspended: &SuspendedLaunch,
) -> Result<LaunchStatistics, ResumeError> {
    check(device, program, &config)?;
    if suspended.is_timed() {
        return Err(ResumeError::Timed { kernel: program.kernel().name.clone() });
    }
    let prepared = suspended.prepare(device, program, config)?;
    let rest = suspended.rest(&prepared.grid);
    Ok(prepared.run(suspended.executed(), rest, device.worker_count())?)
}
