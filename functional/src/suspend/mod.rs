//! A launch that is stopped in its midst, as data that can go on in another process (Lew et al., ISPASS 2019, III-F).
//!
//! CTAs are executed in order up to a window, those of the window for so many instructions each, by one thread, warps in
//! turn. [`SuspendedLaunch`] then has all that belongs to the launch: registers, local and shared memory, where lanes
//! stand, barriers, its own blocks of device memory. Device memory itself, printed text and the heap's account are the
//! caller's, who puts them back before the launch goes on.
//!
//! What comes from outside is checked against the bound program before it is used: a state of another program, or a
//! damaged one, is an error.

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

/// Where a launch is stopped. CTAs are counted x fastest; in a launch with clusters they are counted cluster after
/// cluster, and the window is made wider so that it has whole clusters. All CTAs of a cooperative launch wait for each
/// other, so all are in its window, which has to begin with the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// CTAs before this one are executed to their end.
    pub first: u64,
    /// CTAs from it on that are begun.
    pub ctas: u64,
    /// Instructions that each of these executes, unless it ends before: machine instructions of warps, which may have executed some
    /// more ahead.
    pub instructions: u64,
}

impl Window {
    /// The first cluster of the window, and the first behind it.
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

/// A launch whose point was refused when it was under way.
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
    /// Executes what is left; statistics are of the whole launch, but for the time.
    ///
    /// # Errors
    /// As of [`crate::launch::launch`].
    pub fn finish(self) -> Result<LaunchStatistics, LaunchError> {
        let workers = self.prepared.grid.owner.worker_count();
        self.prepared.run(self.executed, self.rest, workers)
    }
}

/// Executes a launch up to a window, and the window.
///
/// # Errors
/// The launch's own, or why it cannot be stopped there. Then it has not begun, or can go on in this process.
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

/// Why a launch cannot be stopped in the window, as far as that is known before; the machine side of its program, if the
/// window has instructions.
fn refusal<'p>(
    grid: &Grid<'_>,
    program: &'p Program,
    window: &Window,
) -> Result<Option<&'p Machine>, Refusal> {
    let ctas = grid.cta_count();
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

/// Executes what is left of a suspended launch: first the CTAs that have started, from where they stood. The launch is
/// that of the same kernel with the same sizes and parameters, and device memory is as it was. Statistics are of the whole
/// launch, but for the time.
///
/// # Errors
/// The launch's own, or that the state is not one of this launch.
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
