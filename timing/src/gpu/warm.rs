//! Untimed CTAs that warm the caches for timed ones.
//!
//! Untimed CTAs are dealt to SMs like timed ones, as many as fit at once. Warps take turns; a turn
//! ends with an access to device memory. Accesses update tags, sectors and replacement state of L1
//! and L2 by the policies of timed accesses; instructions update the instruction caches. Misses
//! complete at once, counters and DRAM stay untouched, and evicted dirty lines are dropped.

mod resident;

use std::sync::{Arc, Mutex, PoisonError};

use warp_stream::{Kernel, KernelSource, WarpSource};

use self::resident::Resident;
use super::epoch_workers::{EpochWorkers, lock};
use super::observer::{Observer, Progress};
use super::session::finish;
use super::{Gpu, LaunchError, Stuck};
use crate::record::LaunchRecord;
use crate::sm::{Occupancy, Program};

/// Rounds between reports to the observer.
const TELL: u64 = 256;

/// SMs with CTAs per thread below which one thread runs them all.
const SMS_PER_THREAD: usize = 2;

/// Timed CTAs of a launch, and the earlier ones that warm the caches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// First timed CTA.
    pub first: u64,
    /// Last timed CTA.
    pub last: u64,
    /// CTAs before the first that warm the caches.
    pub warm: u64,
    /// True if the CTAs after the last warm the caches for later launches.
    pub warm_after: bool,
}

/// Work executed untimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Untimed {
    /// Warp instructions.
    pub warp_instructions: u64,
    /// Lane instructions.
    pub lane_instructions: u64,
}

/// Some of a launch's CTAs, by position.
struct Part<'s> {
    source: &'s dyn KernelSource,
    first: u64,
    end: u64,
}

impl KernelSource for Part<'_> {
    fn kernel(&self) -> &Kernel {
        self.source.kernel()
    }

    fn cta_count(&self) -> u64 {
        self.end.saturating_sub(self.first)
    }

    fn cta(&self, position: u64) -> u64 {
        self.source.cta(self.first + position)
    }

    fn needs_sm_order(&self) -> bool {
        self.source.needs_sm_order()
    }

    fn warps(&self, sm: u32) -> Box<dyn WarpSource + '_> {
        self.source.warps(sm)
    }
}

impl Gpu {
    /// Executes a launch untimed. The last `warm` CTAs warm the caches; all do in a cooperative
    /// launch.
    ///
    /// # Errors
    /// The reason why the launch did not complete.
    pub fn execute(
        &mut self,
        source: &dyn KernelSource,
        warm: u64,
        observer: &mut dyn Observer,
    ) -> Result<Untimed, LaunchError> {
        let mut untimed = Untimed::default();
        let end = source.cta_count();
        let warm = if source.kernel().cooperative { end } else { warm };
        self.begin_kernel(source)?;
        self.execute_up_to(source, end, warm, &mut untimed, observer)?;
        Ok(untimed)
    }

    /// Times the CTAs of a window from [`Gpu::now`] on, and executes the others untimed before and
    /// after.
    ///
    /// # Errors
    /// As for [`Gpu::launch`].
    pub fn launch_window(
        &mut self,
        source: &dyn KernelSource,
        window: &Window,
        observer: &mut dyn Observer,
    ) -> Result<(LaunchRecord, Untimed), LaunchError> {
        let mut untimed = Untimed::default();
        let count = source.cta_count();
        // CTAs begun elsewhere come first, the others by number.
        let position = |cta: u64| (0..count).find(|position| source.cta(*position) >= cta).unwrap_or(count);
        let (first, end) = (position(window.first), position(window.last.saturating_add(1)));
        self.begin_kernel(source)?;
        self.execute_up_to(source, first, window.warm, &mut untimed, observer)?;
        let timed = Part { source, first, end };
        let now = self.now;
        let mut session = self.session();
        session.begin_warm(&timed, now)?;
        let record = finish(session, observer)?;
        let rest = Part { source, first: end, end: count };
        self.execute_part(&rest, window.warm_after, &mut untimed, observer)?;
        Ok((record, untimed))
    }

    /// Executes a launch's CTAs from a position on untimed; they warm the caches.
    ///
    /// # Errors
    /// The reason why they did not complete.
    pub fn execute_from(
        &mut self,
        source: &dyn KernelSource,
        first: u64,
        observer: &mut dyn Observer,
    ) -> Result<Untimed, LaunchError> {
        let mut untimed = Untimed::default();
        let rest = Part { source, first, end: source.cta_count() };
        self.execute_part(&rest, true, &mut untimed, observer)?;
        Ok(untimed)
    }

    fn begin_kernel(&mut self, source: &dyn KernelSource) -> Result<(), LaunchError> {
        let mut session = self.session();
        let program = session.program(source)?;
        session.invalidate(&program);
        Ok(())
    }

    /// Executes the CTAs before a position; the last `warm` of them warm the caches.
    fn execute_up_to(
        &mut self,
        source: &dyn KernelSource,
        end: u64,
        warm: u64,
        untimed: &mut Untimed,
        observer: &mut dyn Observer,
    ) -> Result<(), LaunchError> {
        let first = end.saturating_sub(warm);
        self.execute_part(&Part { source, first: 0, end: first }, false, untimed, observer)?;
        self.execute_part(&Part { source, first, end }, true, untimed, observer)
    }

    fn execute_part(
        &mut self,
        part: &Part<'_>,
        warm: bool,
        untimed: &mut Untimed,
        observer: &mut dyn Observer,
    ) -> Result<(), LaunchError> {
        if part.cta_count() == 0 {
            return Ok(());
        }
        let program = Program::new(&self.spec, part.kernel());
        let Occupancy { ctas, .. } = Occupancy::new(&self.spec, &program);
        let sms = (0..).zip(self.sms.drain(..));
        let resident = |sm| Mutex::new(Resident::new(sm, part, &program, ctas, warm));
        let residents: Vec<Mutex<Resident<'_>>> = sms.map(resident).collect();
        let outcome = self.execute_on(&residents, part, ctas, observer);
        for resident in residents {
            let Resident { sm, untimed: part, .. } =
                resident.into_inner().unwrap_or_else(PoisonError::into_inner);
            self.sms.push(sm);
            untimed.warp_instructions += part.warp_instructions;
            untimed.lane_instructions += part.lane_instructions;
        }
        outcome
    }

    /// Runs rounds until all CTAs have ended, on all threads: within a round SMs are independent.
    fn execute_on(
        &mut self,
        residents: &[Mutex<Resident<'_>>],
        part: &Part<'_>,
        ctas: u32,
        observer: &mut dyn Observer,
    ) -> Result<(), LaunchError> {
        let mut waiting = (0..part.cta_count()).map(|position| part.cta(position));
        for slot in 0..ctas as usize {
            residents.iter().try_for_each(|resident| lock(resident).fill(slot, &mut waiting))?;
        }
        let busy =
            usize::try_from(part.cta_count()).map_or(residents.len(), |ctas| ctas.min(residents.len()));
        let threads = if part.needs_sm_order() { 1 } else { self.threads.min(busy / SMS_PER_THREAD).max(1) };
        let spec = Arc::clone(&self.spec);
        let moment = |cycle| spec.clocks.moment(cycle);
        let work = |number: u32, cycle: u64| lock(&residents[number as usize]).run(moment(cycle));
        let workers = EpochWorkers::new(residents.len(), threads);
        std::thread::scope(|scope| {
            let _end = workers.end_on_drop();
            for thread in 1..threads {
                let (workers, work) = (&workers, &work);
                scope.spawn(move || workers.work(thread, work));
            }
            let mut ended = 0;
            for round in 1.. {
                let cycle = self.now.saturating_add(round);
                workers.round(0..residents.len() as u32, false, cycle, &work);
                let (mut moved, mut empty) = (false, true);
                residents.iter().try_for_each(|resident| lock(resident).publish())?;
                for resident in residents {
                    let resident = &mut *lock(resident);
                    moved |= std::mem::replace(&mut resident.moved, Ok(false))?;
                    self.memory.warm(resident.requests.drain(..));
                    moved |= resident.perform(moment(cycle))?;
                    ended += resident.end_ctas(&mut waiting)?;
                    empty &= resident.is_empty();
                }
                if empty {
                    break;
                }
                self.check_progress(part.kernel(), moved)?;
                let progress =
                    Progress { kernel: part.kernel(), ctas_done: ended, cycles: 0, instructions: 0 };
                if round % TELL == 0 && observer.progress(&progress).is_break() {
                    return Err(LaunchError::Cancelled);
                }
            }
            Ok(())
        })
    }

    fn check_progress(&self, kernel: &Kernel, moved: bool) -> Result<(), LaunchError> {
        if moved {
            return Ok(());
        }
        let kernels = vec![format!("kernel {}, executed untimed", kernel.name)];
        Err(LaunchError::Stuck(Stuck { cycle: self.now, kernels, warps: Vec::new(), units: Vec::new() }))
    }
}
