//! Checkers: they look for mistakes that a kernel makes while it runs.
//!
//! A [`Checker`] watches kernels through probes ([`crate::engine::probe`]), so a device without one executes nothing for
//! it. What it finds is a [`Finding`], reported when it is met for the first time and counted after that.

mod access;
mod barriers;
mod cells;
mod memory;
mod order;
mod races;
mod report;
pub(crate) mod stack;
mod threads;
mod uninitialised;
mod written;

use std::fmt;
use std::str::FromStr;

use parking_lot::Mutex;
use ptx_frontend::analyse::Liveness;
use ptx_frontend::ir::{Function, Instruction};

use crate::engine::grid::Grid;
use crate::engine::probe::{Watch, Watcher};
use crate::engine::program::BoundFunction;
use crate::fault::{Fault, FaultKind};
use crate::memory::Memory;

pub use memory::Origin;
pub(crate) use races::LaunchState;
pub use report::{Finding, Party, Reporter, Severity};

use memory::History;
use report::Findings;

/// What is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Check {
    /// Accesses outside of allocations and variables, misaligned ones, and to freed memory.
    Memory,
    /// Reads of memory that nothing has written.
    Uninitialised,
    /// Accesses that nothing orders, one of them a write.
    Races,
    /// Barriers and warp-wide instructions that threads do not come to as they have to.
    Barriers,
}

impl Check {
    /// Every check.
    pub const ALL: [Check; 4] = [Check::Memory, Check::Uninitialised, Check::Races, Check::Barriers];

    /// Its name in settings and reports.
    pub fn name(self) -> &'static str {
        match self {
            Check::Memory => "memory",
            Check::Uninitialised => "uninitialised",
            Check::Races => "races",
            Check::Barriers => "barriers",
        }
    }
}

/// Some of the checks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Checks(Vec<Check>);

impl Checks {
    /// Is this one of them?
    pub fn has(&self, check: Check) -> bool {
        self.0.contains(&check)
    }
}

/// A name that no check has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is no check; there are {}, all", Check::ALL.map(Check::name).join(", "))]
pub struct UnknownCheck {
    /// The name.
    pub name: String,
}

impl FromStr for Checks {
    type Err = UnknownCheck;

    /// Names with commas between them; `all` stands for every check.
    fn from_str(names: &str) -> Result<Checks, UnknownCheck> {
        let mut checks = Checks::default();
        for name in names.split(',').map(str::trim) {
            if name == "all" {
                checks.0.extend(Check::ALL);
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

/// Looks for mistakes in the kernels of a device.
#[derive(Debug)]
pub struct Checker {
    checks: Checks,
    findings: Findings,
    history: History,
    global: uninitialised::Global,
}

/// What checks know of a CTA that runs.
#[derive(Debug)]
pub(crate) struct CtaChecks {
    races: Option<races::CtaState>,
    written: Option<uninitialised::CtaState>,
}

impl CtaChecks {
    /// For a CTA whose storage is new; nothing if nobody checks.
    pub(crate) fn new(grid: &Grid<'_>) -> Option<Box<CtaChecks>> {
        let checks = &grid.owner.checker()?.checks;
        Some(Box::new(CtaChecks {
            races: checks.has(Check::Races).then(|| races::CtaState::new(grid)),
            written: checks.has(Check::Uninitialised).then(|| uninitialised::CtaState::new(grid)),
        }))
    }

    /// The storage is another CTA's.
    pub(crate) fn restart(&mut self, grid: &Grid<'_>) {
        if let Some(races) = &mut self.races {
            races.restart(grid);
        }
        if let Some(written) = &mut self.written {
            written.restart();
        }
    }

    /// A call has copied bytes into a lane's local memory.
    pub(crate) fn local_written(&mut self, warp: u32, lane: usize, start: u32, bytes: u32) {
        if let Some(written) = &mut self.written {
            written.local_written(warp, lane, start.into(), bytes.into());
        }
    }
}

impl Checker {
    /// A checker that tells `reporter` of each finding when it is made for the first time.
    pub fn new(checks: Checks, reporter: Reporter) -> Checker {
        Checker {
            checks,
            findings: Findings::new(reporter),
            history: History::default(),
            global: uninitialised::Global::default(),
        }
    }

    /// What has been found, and how often.
    pub fn findings(&self) -> Vec<(Finding, u64)> {
        self.findings.all()
    }

    /// Lines that say how often each finding was made; `None` if there are none.
    pub fn summary(&self) -> Option<String> {
        self.findings.summary()
    }

    /// Does a check follow what happens in its order, so that CTAs have to be executed by one thread?
    pub(crate) fn needs_one_worker(&self) -> bool {
        self.checks.has(Check::Races) || self.checks.has(Check::Uninitialised)
    }

    /// Does a check look for accesses to freed memory, whose addresses must not be given again at
    /// once?
    pub(crate) fn keeps_freed(&self) -> bool {
        self.checks.has(Check::Memory)
    }

    /// What the checks know of a launch that begins.
    pub(crate) fn launch_state(&self) -> Option<Mutex<LaunchState>> {
        self.checks.has(Check::Races).then(Mutex::default)
    }

    /// An allocation has been made.
    pub fn allocated(&self, memory: &Memory, address: u64, by: Origin) {
        if let Some(allocation) = memory.allocation_of(address) {
            self.history.allocated(allocation, by);
            if self.checks.has(Check::Uninitialised) {
                self.global.allocated(allocation);
            }
        }
    }

    /// The allocation at an address has been freed.
    pub fn freed(&self, address: u64, by: Origin) {
        self.history.freed(address, by);
        self.global.freed(address);
    }

    /// The host has written device memory.
    pub fn written(&self, address: u64, bytes: u64) {
        self.global.written(address, bytes);
    }

    /// Device memory has been copied to device memory.
    pub fn copied(&self, to: u64, from: u64, bytes: u64) {
        self.global.copied(to, from, bytes);
    }

    /// A launch has ended with a fault.
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
        self.findings.add(key, || finding);
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
