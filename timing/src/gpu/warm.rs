//! CTAs that are executed without time, so that those that come after find caches as they would be.
//!
//! They are dealt to SMs as timed ones are, as many as fit side by side. Warps take turns: each goes on to its next access to
//! device memory, which leaves its traces in tags, sectors and replacement state of L1 and L2 by the policies of timed accesses.
//! So do instructions in their caches. Misses are answered at once, nothing is counted, DRAM is left alone, and modified lines
//! that have to make room vanish.

mod resident;

use std::sync::{Arc, Mutex, PoisonError};

use warp_stream::{Kernel, KernelSource, WarpSource};

use self::resident::Resident;
use super::crew::{Crew, lock};
use super::observer::{Observer, Progress};
use super::session::finish;
use super::{Gpu, LaunchError, Stuck};
use crate::report::LaunchRecord;
use crate::sm::{Occupancy, Program};

/// Rounds between two tellings of the observer.
const TELL: u64 = 256;

/// SMs with CTAs for each thread, below which one thread runs them all.
const SMS_PER_THREAD: usize = 2;

/// CTAs of a launch that are timed, and those before them that warm the caches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// Number of the first CTA that is timed.
    pub first: u64,
    /// Number of the last.
    pub last: u64,
    /// So many CTAs before the first leave their traces in the caches.
    pub warm: u64,
    /// Whether those after the last do, for later launches.
    pub warm_after: bool,
}

/// What was executed without time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Untimed {
    /// Instructions of warps.
    pub warp_instructions: u64,
    /// Instructions of lanes.
    pub lane_instructions: u64,
}

/// Some of a launch's CTAs, by their positions.
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
    /// Executes a launch without time. Its last `warm` CTAs leave their traces in the caches; all do if they wait for each other.
    ///
    /// # Errors
    /// Why it did not end.
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

    /// Runs the CTAs of a window from [`Gpu::now`] on, and the others of the launch without time before and after.
    ///
    /// # Errors
    /// Why it did not end, as of [`Gpu::launch`].
    pub fn launch_window(
        &mut self,
        source: &dyn KernelSource,
        window: &Window,
        observer: &mut dyn Observer,
    ) -> Result<(LaunchRecord, Untimed), LaunchError> {
        let mut untimed = Untimed::default();
        let count = source.cta_count();
        // Those that have begun elsewhere come first, all others by their numbers.
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

    /// Executes the CTAs of a launch from a position on without time; they leave their traces in the caches.
    ///
    /// # Errors
    /// Why they did not end.
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

    /// Executes the CTAs before a position, the last `warm` of them with their traces.
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

    /// Runs rounds until all CTAs have ended, with all threads: in a round SMs do not concern each other.
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
        let crew = Crew::new(residents.len(), threads);
        std::thread::scope(|scope| {
            let _end = crew.end_on_drop();
            for thread in 1..threads {
                let (crew, work) = (&crew, &work);
                scope.spawn(move || crew.work(thread, work));
            }
            let mut ended = 0;
            for round in 1.. {
                let cycle = self.now.saturating_add(round);
                crew.round(0..residents.len() as u32, false, cycle, &work);
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
        let kernels = vec![format!("kernel {}, executed without time", kernel.name)];
        Err(LaunchError::Stuck(Stuck { cycle: self.now, kernels, warps: Vec::new(), units: Vec::new() }))
    }
}
