//! The whole GPU: SMs, memory side, CTA dispatch, launches, copies and fills.
//!
//! Time advances in epochs. Within an epoch each active SM runs alone, on any thread. Then the
//! memory side takes the SMs' requests in the order of (cycle, SM, sequence), runs as far, and
//! leaves replies in the SMs' inboxes. CTAs start at the beginnings of epochs, one per SM and
//! cycle. Idle epochs and idle SMs are skipped.

mod conservation;
mod copy;
mod epoch_workers;
mod epochs;
mod error;
mod launch;
mod observer;
mod recall;
mod requests;
mod rows;
mod running;
mod session;
mod slot;
mod state;
mod stuck;
mod transfer;
mod warm;

use std::collections::VecDeque;
use std::sync::Arc;

use warp_stream::{KernelSource, Moment};

pub use self::conservation::Imbalance;
pub use self::copy::{Copy, Direction};
pub use self::error::LaunchError;
pub use self::launch::LaunchId;
pub use self::observer::{Observer, Progress};
pub use self::rows::Rows;
pub use self::session::{Ended, Session, Stability};
pub use self::state::{GpuState, Interrupted};
pub use self::stuck::Stuck;
pub use self::transfer::Transfer;
pub use self::warm::{Untimed, Window};
use crate::clock::Clock;
use crate::dram::counts;
use crate::fidelity::LoadRates;
use crate::memory_side::MemorySide;
use crate::message::{MemoryReply, Timed};
use crate::record::{LaunchRecord, TransferRecord};
use crate::series::Interval;
use crate::sm::{Occupancy, Program, Sm};
use crate::specification::GpuSpec;
use crate::statistics::Counters;
pub use crate::totals::{GpuCounters, Totals};

/// A simulated GPU.
#[derive(Debug)]
pub struct Gpu {
    spec: Arc<GpuSpec>,
    threads: usize,
    /// Rates of loads, where the fidelity takes them from outside.
    rates: Option<Arc<dyn LoadRates>>,
    /// Boxed, because each launch and copy moves them; an SM has 17 KB.
    sms: Vec<Box<Sm>>,
    /// Replies not yet taken by the SMs.
    inboxes: Vec<VecDeque<Timed<MemoryReply>>>,
    memory: MemorySide,
    /// Core cycle up to which all units have run.
    run_to: u64,
    /// Core cycle that the host has reached.
    now: u64,
    counters: GpuCounters,
    /// Counts of units since replaced.
    earlier: Totals,
    /// Interval of series, if launches have them.
    series: Option<Interval>,
    /// Launches have counts by program counter.
    pc_counts: bool,
}

impl Gpu {
    /// An idle GPU with empty caches.
    pub fn new(spec: &Arc<GpuSpec>) -> Gpu {
        Gpu {
            spec: Arc::clone(spec),
            threads: 1,
            rates: None,
            sms: sms(spec),
            inboxes: inboxes(spec),
            memory: MemorySide::new(spec),
            run_to: 0,
            now: 0,
            counters: GpuCounters::default(),
            earlier: Totals::default(),
            series: None,
            pc_counts: false,
        }
    }

    /// Runs SMs on `threads` threads. Results do not depend on the number.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Gpu {
        Gpu { threads: threads.max(1), ..self }
    }

    /// Takes rates of loads from a source, for `fidelity.rates = "reuse-distance"`.
    #[must_use]
    pub fn with_load_rates(self, rates: Arc<dyn LoadRates>) -> Gpu {
        Gpu { rates: Some(rates), ..self }
    }

    /// Takes series of launches. Results do not change.
    #[must_use]
    pub fn with_series(self, series: Option<Interval>) -> Gpu {
        Gpu { series, ..self }
    }

    /// Counts by program counter. Results do not change.
    #[must_use]
    pub fn with_pc_counts(self, pc_counts: bool) -> Gpu {
        Gpu { pc_counts, ..self }
    }

    /// Specification of the GPU.
    pub fn spec(&self) -> &Arc<GpuSpec> {
        &self.spec
    }

    /// Simulated time: end of the latest launch or copy, or the time set by [`Gpu::advance_to`].
    pub fn now(&self) -> Moment {
        self.spec.clocks.moment(self.now)
    }

    /// Core cycle at which a launch made now begins.
    pub fn next_start(&self) -> u64 {
        self.now.max(self.run_to)
    }

    /// Advances the idle GPU to a core cycle; an earlier cycle has no effect.
    pub fn advance_to(&mut self, cycle: u64) {
        self.now = self.now.max(cycle);
    }

    /// CTAs of a kernel that fit an SM, and the limiting resource.
    pub fn occupancy(&self, source: &dyn KernelSource) -> Occupancy {
        Occupancy::new(&self.spec, &Program::new(&self.spec, source.kernel()))
    }

    /// Runs a launch from [`Gpu::now`] to its end.
    ///
    /// # Errors
    /// The reason why the launch did not complete. [`LaunchError::Stopped`] holds the state in
    /// flight. The GPU is then idle with empty caches.
    pub fn launch(
        &mut self,
        source: &dyn KernelSource,
        observer: &mut dyn Observer,
    ) -> Result<LaunchRecord, LaunchError> {
        let now = self.now;
        let mut session = self.session();
        session.begin(source, now)?;
        session::finish(session, observer)
    }

    /// Copies between host and device from [`Gpu::now`] on.
    ///
    /// # Errors
    /// A unit of the memory side does not respond.
    pub fn copy(&mut self, copy: Copy) -> Result<(), LaunchError> {
        let now = self.now;
        let mut session = self.session();
        session.begin_copy(copy, now);
        session.run_until_one_ends(&mut ()).map(|_| ())
    }

    /// Copies within the device, or fills, from [`Gpu::now`] on, in a numbered stream.
    ///
    /// # Errors
    /// As for [`Gpu::launch`].
    pub fn transfer(
        &mut self,
        transfer: Transfer,
        stream: u64,
        observer: &mut dyn Observer,
    ) -> Result<TransferRecord, LaunchError> {
        let now = self.now;
        let mut session = self.session();
        session.begin_transfer(transfer, stream, now)?;
        match session.run_until_one_ends(observer)? {
            Ended::Transfer { record, .. } => Ok(*record),
            _ => Err(LaunchError::Nothing),
        }
    }

    /// Starts a session of overlapping launches, copies and fills.
    pub fn session<'a>(&mut self) -> Session<'_, 'a> {
        Session::new(self)
    }

    /// Counts of all units since the start or the last error, with clocks as of a core cycle.
    fn totals<'s>(&self, cycle: u64, sms: impl Iterator<Item = &'s Sm>) -> Totals {
        let mut totals = self.totals_beside_sms(cycle);
        sms.for_each(|one| one.add_counters(&mut totals.sm));
        totals
    }

    /// Counts of all units but SMs.
    fn totals_beside_sms(&self, cycle: u64) -> Totals {
        let GpuSpec { chip, clocks, cta, partition, dram, .. } = &*self.spec;
        let in_clock = |own: u32| Clock::new(own, clocks.core).from_core(cycle);
        let gpu = GpuCounters {
            cycles: cycle,
            nanoseconds: clocks.moment(cycle).nanoseconds,
            sm_cycles: cycle * u64::from(chip.sms),
            warp_slot_cycles: cycle * u64::from(chip.sms) * u64::from(cta.warps),
            l2_cycles: in_clock(clocks.l2) * u64::from(partition.all_slices()),
            dram_cycles: in_clock(clocks.dram) * u64::from(partition.channels * dram.pseudo_channels),
            ..self.counters
        };
        let mut totals = self.earlier.clone();
        totals.gpu = gpu;
        totals.memory.add(&self.memory.counters());
        totals.crossbar.add(&self.memory.crossbar_counters());
        totals.l2.add(&self.memory.l2_counters());
        totals.dram.add(&self.memory.dram_counters());
        counts::add(&mut totals.channels, &self.memory.channel_counts());
        totals
    }

    /// Discards all work in flight and all counts.
    fn reset(&mut self) {
        self.renew();
        self.counters = GpuCounters::default();
        self.earlier = Totals::default();
        self.now = self.now.max(self.run_to);
    }

    /// Replaces all units by new ones.
    fn renew(&mut self) {
        self.sms = sms(&self.spec);
        self.inboxes = inboxes(&self.spec);
        self.memory = MemorySide::new(&self.spec);
    }
}

fn inboxes(spec: &GpuSpec) -> Vec<VecDeque<Timed<MemoryReply>>> {
    vec![VecDeque::new(); spec.chip.sms as usize]
}

fn sms(spec: &Arc<GpuSpec>) -> Vec<Box<Sm>> {
    (0..spec.chip.sms).map(|number| Box::new(Sm::new(spec, number as u16))).collect()
}
