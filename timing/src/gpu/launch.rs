//! Launches in flight.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use voltsim_checkpoint::codec;
use warp_stream::kernel_name::signature;
use warp_stream::{Kernel, KernelSource};

use crate::restore::{MOST_COUNTED, RestoreError, Validity, ensure, near, of_unit};
use crate::sm::{FinishedCta, Program};
use crate::specification::{GpuSpec, LaunchSpec};

/// Number of a launch, copy or transfer in flight.
pub type LaunchId = u32;

/// A launch in flight.
pub(super) struct Launch<'a> {
    pub(super) id: LaunchId,
    pub(super) program: Arc<Program>,
    pub(super) source: &'a dyn KernelSource,
    /// Core cycle of the start.
    pub(super) start: u64,
    /// Core cycle from which its CTAs may start.
    pub(super) ready: u64,
    /// True if another launch ran concurrently.
    pub(super) shared: bool,
    /// CTAs to execute.
    ctas: u64,
    /// CTAs started.
    started: u64,
    /// CTAs completed.
    pub(super) ended: u64,
    /// Warp instructions of completed CTAs.
    pub(super) instructions: u64,
    /// Core cycle of the last CTA's end.
    last_end: u64,
}

/// Saved form of a launch in flight.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct LaunchState {
    id: LaunchId,
    /// Compared with the kernel that continues the launch, not trusted.
    kernel: Kernel,
    start: u64,
    shared: bool,
    started: u64,
    ended: u64,
    instructions: u64,
    last_end: u64,
}

impl LaunchState {
    pub(super) fn id(&self) -> LaunchId {
        self.id
    }

    pub(super) fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Restores the launch if `source` is of the same kernel.
    pub(super) fn restore<'a>(
        &self,
        gpu: &GpuSpec,
        now: u64,
        source: Option<&'a dyn KernelSource>,
    ) -> Result<Launch<'a>, RestoreError> {
        let source = source.ok_or_else(|| self.other("nothing"))?;
        let here = source.kernel();
        if !same(&self.kernel, here) {
            return Err(self.other(&format!("launch {} of kernel {}", here.launch, here.name)));
        }
        let LaunchState { id, kernel: _, start, shared, started, ended, instructions, last_end } = *self;
        let unit = || format!("launch {}", here.launch);
        ensure(near(start, now), "the launch begins too late").map_err(of_unit(unit()))?;
        let fresh = Launch::new(&gpu.launch, id, source, Program::new(gpu, here), start);
        let launch = Launch { shared, started, ended, instructions, last_end, ..fresh };
        launch.check(now).map_err(of_unit(unit()))?;
        Ok(launch)
    }

    fn other(&self, here: &str) -> RestoreError {
        let Kernel { launch, name, .. } = &self.kernel;
        RestoreError::OtherLaunch { launch: *launch, saved: name.clone(), here: here.to_owned() }
    }
}

/// True if kernels have equal name, sizes and code.
fn same(a: &Kernel, b: &Kernel) -> bool {
    match (codec::encode(a), codec::encode(b)) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

impl<'a> Launch<'a> {
    pub(super) fn state(&self) -> LaunchState {
        // `ready` and `ctas` follow from specification and kernel.
        let Launch {
            id,
            ref program,
            source: _,
            start,
            ready: _,
            shared,
            ctas: _,
            started,
            ended,
            instructions,
            last_end,
        } = *self;
        let kernel = program.kernel.clone();
        LaunchState { id, kernel, start, shared, started, ended, instructions, last_end }
    }

    /// Checks a restored launch against the clock.
    fn check(&self, now: u64) -> Validity {
        let order = self.ended <= self.started && self.started <= self.ctas;
        ensure(order && self.instructions < MOST_COUNTED, "more CTAs have ended than started")?;
        let times = self.ready <= self.last_end && near(self.last_end, now);
        ensure(times, "the launch ends before its start, or too late")
    }

    /// Resident CTAs.
    pub(super) fn ctas_there(&self) -> u64 {
        self.started - self.ended
    }

    pub(super) fn new(
        spec: &LaunchSpec,
        id: LaunchId,
        source: &'a dyn KernelSource,
        program: Arc<Program>,
        start: u64,
    ) -> Launch<'a> {
        let ready = start + u64::from(spec.launch);
        let ctas = source.cta_count();
        Launch {
            id,
            program,
            source,
            start,
            ready,
            shared: false,
            ctas,
            started: 0,
            ended: 0,
            instructions: 0,
            last_end: ready,
        }
    }

    /// CTAs not yet started.
    pub(super) fn ctas_to_start(&self) -> u64 {
        self.ctas - self.started
    }

    /// Drops as many unstarted CTAs as possible, in multiples of `multiple`, and returns their
    /// number.
    pub(super) fn leave_out(&mut self, multiple: u64) -> u64 {
        let left_out = self.ctas_to_start() / multiple.max(1) * multiple;
        self.ctas -= left_out;
        left_out
    }

    /// Mean instructions of completed CTAs.
    pub(super) fn mean_instructions(&self) -> f64 {
        self.instructions as f64 / self.ended.max(1) as f64
    }

    /// CTAs not yet completed.
    pub(super) fn ctas_left(&self) -> u64 {
        self.ctas - self.ended
    }

    /// Starts the next CTA and returns its number.
    pub(super) fn start_cta(&mut self) -> u64 {
        self.started += 1;
        self.source.cta(self.started - 1)
    }

    /// Records the end of a CTA.
    pub(super) fn cta_ended(&mut self, cta: &FinishedCta) {
        self.ended += 1;
        self.instructions += cta.instructions;
        self.last_end = self.last_end.max(cta.cycle);
    }

    /// Core cycle of the launch's end, once all CTAs have completed.
    pub(super) fn end(&self, spec: &LaunchSpec) -> Option<u64> {
        (self.ended == self.ctas).then(|| self.last_end + u64::from(spec.drain))
    }
}

impl fmt::Display for Launch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Launch { id, program, ctas, started, ended, .. } = self;
        let name = signature(&program.kernel.name);
        write!(f, "launch {id}, kernel {name}: {ended} of {ctas} CTAs completed, {started} started")
    }
}
