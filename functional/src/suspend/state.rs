//! Saved state of a suspended launch: its identity and remaining work.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ResumeError;
use super::fingerprint::fingerprint;
use crate::device::Device;
use crate::engine::cluster::{Cluster, SavedCluster};
use crate::engine::cta::Executed;
use crate::engine::divergence::Between;
use crate::engine::grid::{Grid, Rest};
use crate::engine::program::Program;
use crate::launch::{LaunchConfig, OwnMemory, Prepared};
use crate::memory::MemoryError;
use crate::timed::SavedSm;

/// Saved state of a suspended launch, without device memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuspendedLaunch {
    launch: Identity,
    /// Fingerprint of the bound program.
    program: u64,
    own: OwnMemory,
    executed: Executed,
    /// Started clusters that no timing model has taken.
    started: Vec<SavedCluster>,
    /// First cluster that has not started, or had not when a timing model took over.
    next: u64,
    /// Saved SMs of the timing model that executed the launch.
    sms: Option<Vec<SavedSm>>,
}

/// Properties that must be equal at resumption.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Identity {
    kernel: String,
    number: u64,
    ctas: [u32; 3],
    cluster: [u32; 3],
    threads: [u32; 3],
    shared_bytes: u32,
    local_bytes: u32,
    cooperative: bool,
    parameters: Vec<u8>,
}

impl Identity {
    fn of(grid: &Grid<'_>) -> Identity {
        Identity {
            kernel: grid.program.kernel().name.clone(),
            number: grid.number,
            ctas: grid.shape.grid,
            cluster: grid.cluster,
            threads: grid.shape.block,
            shared_bytes: grid.shared_bytes(),
            local_bytes: grid.local_bytes(),
            cooperative: grid.cooperative,
            parameters: grid.parameters.clone(),
        }
    }

    /// Difference between the saved launch and the current one.
    fn difference(&self, now: &Identity) -> Option<String> {
        let differ = |what: &str, saved: &dyn std::fmt::Debug, now: &dyn std::fmt::Debug| {
            Some(format!("it had {saved:?} {what}, now {now:?}"))
        };
        if self.kernel != now.kernel {
            return Some(format!("the state belongs to {}", self.kernel));
        }
        if self.ctas != now.ctas {
            return differ("CTAs", &self.ctas, &now.ctas);
        }
        if self.cluster != now.cluster {
            return differ("CTAs in a cluster", &self.cluster, &now.cluster);
        }
        if self.threads != now.threads {
            return differ("threads per CTA", &self.threads, &now.threads);
        }
        if self.shared_bytes != now.shared_bytes {
            return differ("bytes of shared memory", &self.shared_bytes, &now.shared_bytes);
        }
        if self.local_bytes != now.local_bytes {
            return differ("bytes of local memory", &self.local_bytes, &now.local_bytes);
        }
        if self.cooperative != now.cooperative {
            return Some("only one of them is a cooperative launch".to_owned());
        }
        let same = self.parameters.iter().zip(&now.parameters).take_while(|(a, b)| a == b).count();
        let differs = self.parameters != now.parameters;
        differs.then(|| format!("its parameters differ at byte {same}"))
    }
}

impl SuspendedLaunch {
    /// Parameter block of the launch.
    pub fn parameters(&self) -> &[u8] {
        &self.launch.parameters
    }

    /// Saved state of a launch with this remaining work.
    pub(super) fn of(
        prepared: &Prepared<'_>,
        mut executed: Executed,
        rest: &Rest,
    ) -> Result<SuspendedLaunch, MemoryError> {
        let grid = &prepared.grid;
        let started = rest.started.iter().map(|cluster| {
            let (saved, twice) = cluster.save(Between::Turns);
            executed -= twice;
            saved
        });
        let started = started.collect();
        Ok(SuspendedLaunch {
            launch: Identity::of(grid),
            program: fingerprint(&grid.program),
            own: prepared.own_memory()?,
            executed,
            started,
            next: rest.next,
            sms: None,
        })
    }

    /// Saved state of a launch that a timing model executed, from the start or from an earlier suspension.
    pub(crate) fn timed(
        prepared: &Prepared<'_>,
        begun: Option<&SuspendedLaunch>,
        sms: Vec<SavedSm>,
    ) -> Result<SuspendedLaunch, MemoryError> {
        let grid = &prepared.grid;
        Ok(SuspendedLaunch {
            launch: Identity::of(grid),
            program: fingerprint(&grid.program),
            own: prepared.own_memory()?,
            executed: begun.map(|begun| begun.executed).unwrap_or_default(),
            started: begun.map(|begun| begun.started.clone()).unwrap_or_default(),
            next: begun.map_or(0, |begun| begun.next),
            sms: Some(sms),
        })
    }

    /// True if a timing model executed the launch, so that only that model can resume it.
    pub fn is_timed(&self) -> bool {
        self.sms.is_some()
    }

    /// Saved SMs of the timing model that executed the launch.
    pub(crate) fn sms(&self) -> &[SavedSm] {
        self.sms.as_deref().unwrap_or_default()
    }

    /// Name of the kernel.
    pub fn kernel(&self) -> &str {
        &self.launch.kernel
    }

    /// Number of the launch on its device (`%gridid`).
    pub fn number(&self) -> u64 {
        self.launch.number
    }

    /// Number of started, unfinished CTAs; an unfinished cluster counts with all of its CTAs.
    pub fn ctas_started(&self) -> u64 {
        self.started.len() as u64 * u64::from(self.launch.cluster.iter().product::<u32>())
    }

    /// Work executed before the suspension.
    pub fn executed(&self) -> Executed {
        self.executed
    }

    /// Prepares the launch with its memory, if the state belongs to it.
    pub(crate) fn prepare<'d>(
        &self,
        device: &'d Device,
        program: &Arc<Program>,
        config: LaunchConfig,
    ) -> Result<Prepared<'d>, ResumeError> {
        let kernel = || program.kernel().name.clone();
        if device.checker().is_some() {
            let reason = "launches under the sanitizer (--check) cannot be resumed".to_owned();
            return Err(ResumeError::Foreign { kernel: kernel(), reason });
        }
        let grid = Grid::new(Arc::clone(program), device, config, self.launch.number);
        if let Some(reason) = self.launch.difference(&Identity::of(&grid)) {
            return Err(ResumeError::Foreign { kernel: kernel(), reason });
        }
        // Without started CTAs, the program may be bound differently.
        if (!self.started.is_empty() || self.is_timed()) && self.program != fingerprint(program) {
            let reason = "its code, addresses or binding differ".to_owned();
            return Err(ResumeError::Foreign { kernel: kernel(), reason });
        }
        self.check(&grid).map_err(|reason| ResumeError::Damaged { kernel: kernel(), reason })?;
        let prepared = Prepared::again(grid, &self.own);
        let prepared = prepared.ok_or_else(|| ResumeError::Taken { kernel: kernel() })?;
        device.count_launch(self.launch.number);
        Ok(prepared)
    }

    /// Started clusters, and the first one not started.
    pub(crate) fn left(&self) -> (&[SavedCluster], u64) {
        (&self.started, self.next)
    }

    /// Checks properties that the engine does not check later.
    fn check(&self, grid: &Grid<'_>) -> Result<(), &'static str> {
        if !self.own.fits(grid) {
            return Err("device memory of another launch");
        }
        if self.next > grid.cluster_count() {
            return Err("more CTAs than the launch has");
        }
        let mut numbers: Vec<u64> = self.started.iter().map(|cluster| cluster.index).collect();
        numbers.sort_unstable();
        if numbers.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err("a CTA that is resident twice");
        }
        if numbers.last().is_some_and(|&last| last >= self.next) {
            return Err("a resident CTA that has not started");
        }
        self.started.iter().try_for_each(|cluster| cluster.check(grid, Between::Turns))?;
        self.sms.as_deref().map_or(Ok(()), |sms| SavedSm::check_all(sms, grid))
    }

    /// Remaining work of the launch from [`SuspendedLaunch::prepare`].
    pub(crate) fn rest(&self, grid: &Grid<'_>) -> Rest {
        let restore = |saved: &SavedCluster| {
            let mut cluster = Cluster::new(grid);
            cluster.restore(grid, saved);
            cluster
        };
        Rest { started: self.started.iter().map(restore).collect(), next: self.next }
    }
}
