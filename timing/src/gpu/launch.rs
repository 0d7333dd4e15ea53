//! A launch that is under way.

use std::fmt;
use std::sync::Arc;

use warp_stream::KernelSource;

use super::LaunchSpec;
use crate::sm::{FinishedCta, Program};

/// Names a launch that is under way.
pub type LaunchId = u32;

/// A launch that is under way.
pub(super) struct Launch<'a> {
    pub(super) id: LaunchId,
    pub(super) program: Arc<Program>,
    pub(super) source: &'a dyn KernelSource,
    /// When it began. Core cycles.
    pub(super) start: u64,
    /// From when on its CTAs can start. Core cycles.
    pub(super) ready: u64,
    /// Another launch was under way at the same time.
    pub(super) shared: bool,
    /// CTAs to execute.
    ctas: u64,
    /// CTAs that were started.
    started: u64,
    /// CTAs that ended.
    pub(super) ended: u64,
    /// Instructions that warps of these have issued.
    pub(super) instructions: u64,
    /// When the last of them ended. Core cycles.
    last_end: u64,
}

impl<'a> Launch<'a> {
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

    /// CTAs that have not started.
    pub(super) fn ctas_to_start(&self) -> u64 {
        self.ctas - self.started
    }

    /// CTAs that have not ended.
    pub(super) fn ctas_left(&self) -> u64 {
        self.ctas - self.ended
    }

    /// The number of the next CTA, which starts.
    pub(super) fn start_cta(&mut self) -> u64 {
        self.started += 1;
        self.source.cta(self.started - 1)
    }

    /// A CTA has ended.
    pub(super) fn cta_ended(&mut self, cta: &FinishedCta) {
        self.ended += 1;
        self.instructions += cta.instructions;
        self.last_end = self.last_end.max(cta.cycle);
    }

    /// When it ends, if all its CTAs have. Core cycles.
    pub(super) fn end(&self, spec: &LaunchSpec) -> Option<u64> {
        (self.ended == self.ctas).then(|| self.last_end + u64::from(spec.drain))
    }
}

impl fmt::Display for Launch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Launch { id, program, ctas, started, ended, .. } = self;
        let name = &program.kernel.name;
        write!(f, "launch {id}, kernel {name}: {ended} of {ctas} CTAs have ended, {started} have started")
    }
}
