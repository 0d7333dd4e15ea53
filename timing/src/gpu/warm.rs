//! CTAs that are executed without time, so that those that come after find caches as they would be.
//!
//! They are dealt to SMs as timed ones are, as many as fit side by side. Warps take turns: each goes on to its next access to
//! device memory, which leaves its traces in tags, sectors and replacement state of L1 and L2 by the policies of timed accesses.
//! So do instructions in their caches. Misses are answered at once, nothing is counted, DRAM is left alone, and modified lines
//! that have to make room vanish.

mod resident;

use warp_stream::{Kernel, KernelSource, WarpSource};

use self::resident::{Resident, Round};
use super::observer::{Observer, Progress};
use super::session::{check_room, finish};
use super::{Gpu, LaunchError, Stuck};
use crate::report::LaunchRecord;
use crate::sm::{Occupancy, Program};

/// Rounds between two tellings of the observer.
const TELL: u64 = 256;

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

    fn warps(&self, sm: u32) -> Box<dyn WarpSource + '_> {
        self.source.warps(sm)
    }
}

impl Gpu {
    /// Executes a launch without time. Its last `warm` CTAs leave their traces in the caches.
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
        let warm = if window.warm_after { u64::MAX } else { 0 };
        self.execute_part(&Part { source, first: end, end: count }, warm > 0, &mut untimed, observer)?;
        Ok((record, untimed))
    }

    fn begin_kernel(&mut self, source: &dyn KernelSource) -> Result<(), LaunchError> {
        check_room(self, &Program::new(&self.spec, source.kernel()))?;
        self.session().invalidate();
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
        let kernel = part.kernel();
        let program = Program::new(&self.spec, kernel);
        let Occupancy { ctas, .. } = Occupancy::new(&self.spec, &program);
        let mut waiting = (0..part.cta_count()).map(|position| part.cta(position));
        let sms = 0..self.spec.chip.sms;
        let mut sms: Vec<Resident<'_>> = sms.map(|sm| Resident::new(part, &program, sm, ctas)).collect();
        self.sms.iter_mut().for_each(|sm| sm.prepare_warm(&program));
        for slot in 0..ctas as usize {
            sms.iter_mut().try_for_each(|sm| sm.fill(slot, &mut waiting))?;
        }
        let (mut ended, mut requests) = (0, Vec::new());
        for number in 1.. {
            let now = self.spec.clocks.moment(self.now.saturating_add(number));
            let mut moved = false;
            for (resident, sm) in sms.iter_mut().zip(&mut self.sms) {
                let mut round = Round { program: &program, now, warm, untimed, requests: &mut requests };
                moved |= resident.run(&mut round, sm)?;
                self.memory.warm(requests.drain(..));
            }
            for resident in &mut sms {
                moved |= resident.perform(now)?;
            }
            for resident in &mut sms {
                ended += resident.end_ctas(&mut waiting)?;
            }
            if sms.iter().all(Resident::is_empty) {
                break;
            }
            if !moved {
                let kernels = vec![format!("kernel {}, executed without time", kernel.name)];
                return Err(LaunchError::Stuck(Stuck { cycle: self.now, kernels, waiting: Vec::new() }));
            }
            let instructions = untimed.warp_instructions;
            let progress = Progress { kernel, ctas_done: ended, cycles: 0, instructions };
            if number % TELL == 0 && observer.progress(&progress).is_break() {
                return Err(LaunchError::Cancelled);
            }
        }
        Ok(())
    }
}
