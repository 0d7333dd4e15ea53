//! Sanitizer: detects programming errors of kernels at run time.
//!
//! A [`Checker`] observes kernels through probes ([`crate::engine::probe`]), so a device without one pays
//! nothing. The checker reports each [`Finding`] once and counts repetitions.

mod access;
mod barriers;
mod calls;
mod cells;
mod leaks;
mod memory;
mod order;
mod origin;
mod races;
mod report;
pub(crate) mod stack;
mod threads;
mod uninitialised;
mod written;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use parking_lot::Mutex;
use ptx_frontend::analyse::Liveness;
use ptx_frontend::ir::{Function, Instruction};

use crate::engine::grid::Grid;
use crate::engine::probe::{Watch, Watcher};
use crate::engine::program::BoundFunction;
use crate::fault::{Fault, FaultKind};
use crate::memory::Memory;

pub use memory::Origin;
pub use origin::{CallSite, LaunchOrigin};
pub(crate) use races::LaunchState;
pub use report::{Finding, Party, Reporter, Severity};

use memory::History;
use report::Findings;

/// Class of errors to detect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Check {
    /// Accesses outside of allocations and variables, misaligned accesses, accesses to freed memory.
    Memory,
    /// Reads of memory that was never written.
    Uninitialised,
    /// Unordered accesses to the same memory, at least one of them a write.
    Races,
    /// Barriers and warp-wide instructions without the required threads.
    Barriers,
    /// Allocations that the program never frees.
    Leaks,
    /// API calls that return an error.
    Calls,
}

impl Check {
    /// Every check.
    pub const ALL: [Check; 6] =
        [Check::Memory, Check::Uninitialised, Check::Races, Check::Barriers, Check::Leaks, Check::Calls];

    /// The checks of kernels, which `all` selects. Many programs free nothing and probe for errors.
    pub const KERNELS: [Check; 4] = [Check::Memory, Check::Uninitialised, Check::Races, Check::Barriers];

    /// Name of the check in settings and reports.
    pub fn name(self) -> &'static str {
        match self {
            Check::Memory => "memory",
            Check::Uninitialised => "uninitialised",
            Check::Races => "races",
            Check::Barriers => "barriers",
            Check::Leaks => "leaks",
            Check::Calls => "calls",
        }
    }
}

/// A set of checks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Checks(Vec<Check>);

impl Checks {
    /// True if the set contains `check`.
    pub fn has(&self, check: Check) -> bool {
        self.0.contains(&check)
    }
}

/// Error for an unknown check.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown check `{name}`; use {}, or all", Check::ALL.map(Check::name).join(", "))]
pub struct UnknownCheck {
    /// Name as given.
    pub name: String,
}

impl FromStr for Checks {
    type Err = UnknownCheck;

    /// Parses names separated by commas; `all` selects every check of kernels.
    fn from_str(names: &str) -> Result<Checks, UnknownCheck> {
        let mut checks = Checks::default();
        for name in names.split(',').map(str::trim) {
            if name == "all" {
                checks.0.extend(Check::KERNELS);
                continue;
            }
            let known = Check::ALL.into_iter().find(|check| check.name() == name);
            checks.0.push(known.ok_or_else(|| UnknownCheck { name: name.to_owned() })?);
        }
        Ok(checks)
    }
}

impl fmt::Display for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> =
            Check::ALL.into_iter().filter(|check| self.has(*check)).map(Check::name).collect();
        f.write_str(&names.join(","))
    }
}

/// Sanitizer of a device's kernels.
#[derive(Debug)]
pub struct Checker {
    checks: Checks,
    findings: Findings,
    history: History,
    global: uninitialised::Global,
}

/// Sanitizer state of a running CTA.
#[derive(Debug)]
pub(crate) struct CtaChecks {
    races: Option<races::CtaState>,
    written: Option<uninitialised::CtaState>,
}

impl CtaChecks {
    /// State for new CTA storage; `None` without a checker.
    pub(crate) fn new(grid: &Grid<'_>) -> Option<Box<CtaChecks>> {
        let checks = &grid.owner.checker()?.checks;
        Some(Box::new(CtaChecks {
            races: checks.has(Check::Races).then(|| races::CtaState::new(grid)),
            written: checks.has(Check::Uninitialised).then(|| uninitialised::CtaState::new(grid)),
        }))
    }

    /// Restarts the state for the storage's next CTA.
    pub(crate) fn restart(&mut self, grid: &Grid<'_>) {
        if let Some(races) = &mut self.races {
            races.restart(grid);
        }
        if let Some(written) = &mut self.written {
            written.restart();
        }
    }

    /// Records that a call copied bytes into a lane's local memory.
    pub(crate) fn local_written(&mut self, warp: u32, lane: usize, start: u32, bytes: u32) {
        if let Some(written) = &mut self.written {
            written.local_written(warp, lane, start.into(), bytes.into());
        }
    }
}

impl Checker {
    /// Creates a checker that passes each new finding to `reporter`, and shows the first `limit`.
    pub fn new(checks: Checks, limit: usize, reporter: Box<dyn Reporter>) -> Checker {
        Checker {
            checks,
            findings: Findings::new(limit, reporter),
            history: History::default(),
            global: uninitialised::Global::default(),
        }
    }

    /// All findings with their counts.
    pub fn findings(&self) -> Vec<(Finding, u64)> {
        self.findings.all()
    }

    /// Summary of the findings, one line each; `None` without findings.
    pub fn summary(&self) -> Option<String> {
        self.findings.summary()
    }

    /// True if a check depends on the order of execution, so that one thread must execute all CTAs.
    pub(crate) fn needs_one_worker(&self) -> bool {
        self.checks.has(Check::Races) || self.checks.has(Check::Uninitialised)
    }

    /// True if a check looks for accesses to freed memory, whose addresses must not be reused at once.
    pub(crate) fn keeps_freed(&self) -> bool {
        self.checks.has(Check::Memory)
    }

    /// State for a launch that starts.
    pub(crate) fn launch_state(&self) -> Option<Mutex<LaunchState>> {
        self.checks.has(Check::Races).then(Mutex::default)
    }

    /// Records an allocation.
    pub fn allocated(&self, memory: &Memory, address: u64, by: Origin, call: Option<Arc<dyn CallSite>>) {
        if let Some(allocation) = memory.allocation_of(address) {
            self.history.allocated(allocation, by, call);
            if self.checks.has(Check::Uninitialised) {
                self.global.allocated(allocation);
            }
        }
    }

    /// Records that the allocation at `address` was freed.
    pub fn freed(&self, address: u64, by: Origin) {
        self.history.freed(address, by);
        self.global.freed(address);
    }

    /// Records that the host wrote device memory.
    pub fn written(&self, address: u64, bytes: u64) {
        self.global.written(address, bytes);
    }

    /// Records a copy within device memory.
    pub fn copied(&self, to: u64, from: u64, bytes: u64) {
        self.global.copied(to, from, bytes);
    }

    /// Explains the fault that ended a launch.
    pub(crate) fn faulted(&self, grid: &Grid<'_>, fault: &Fault) {
        let finding = match &fault.kind {
            FaultKind::Deadlock(_) if self.checks.has(Check::Barriers) => barriers::deadlock(grid, fault),
            _ if self.checks.has(Check::Memory) => match memory::explain(&self.history, grid, fault) {
                Some(finding) => finding,
                None => return,
            },
            _ => return,
        };
        let key = report::Key { kind: "fault", program: grid.number, sites: [0; 2] };
        self.findings.add(grid, key, || finding);
    }
}

impl Watcher for Checker {
    fn watch(&self, _: &Function, instruction: &Instruction) -> Vec<Watch> {
        let mut watches = Vec::new();
        if self.checks.has(Check::Barriers) {
            watches.extend(barriers::watch(instruction));
        }
        if self.checks.has(Check::Uninitialised) {
            watches.extend(uninitialised::watch(instruction));
        }
        if self.checks.has(Check::Races) {
            watches.extend(races::watch(instruction));
        }
        watches
    }

    fn bound(&self, function: &BoundFunction, liveness: &Liveness) {
        if self.checks.has(Check::Uninitialised) {
            uninitialised::registers(self, function, liveness);
        }
    }
}
