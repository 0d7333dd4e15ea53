//! What was accessed before anything is timed, put into caches as it would be.

use warp_stream::{Executed, KernelSource, Past, Trace};

use super::{Gpu, LaunchError};
use crate::message::{LINE_BYTES, MemoryRequest, Origin, RequestKind};
use crate::sm::memory::constant::PARAMETERS_END;

impl Gpu {
    /// Puts into L2 and TLBs what accesses have left, without time. The last traces are the last to be replaced. If there were
    /// launches, L2 has the lines of parameters.
    pub fn recall(&mut self, past: &Past) {
        let lines = self.spec.l2.lines() * u64::from(self.spec.partition.all_slices());
        for trace in past.traces.iter().map(|trace| trace.in_cache_of(lines)) {
            let read = (trace.read != 0).then(|| request(&trace, RequestKind::Read));
            let write = (trace.written != 0).then(|| request(&trace, RequestKind::Write));
            self.memory.warm(write.into_iter().chain(read));
        }
        if !past.pages.is_empty() {
            let lines = (0..PARAMETERS_END).step_by(LINE_BYTES as usize);
            let read = |line| request(&Trace { line, read: 0xf, ..Trace::default() }, RequestKind::Read);
            self.memory.warm(lines.map(read));
        }
        for page in &past.pages {
            self.use_pages(page.address, Past::PAGE);
            let sms = self.sms.iter_mut().zip(0..page.ctas);
            sms.for_each(|(sm, _)| sm.warm_pages(page.address, Past::PAGE));
        }
    }

    /// Kernels have accessed the pages of so many bytes.
    pub fn use_pages(&mut self, address: u64, bytes: u64) {
        self.memory.warm_pages(address, bytes);
    }
}

impl Gpu {
    /// Puts the code of a launch into the instruction caches, as it is there after all that was executed, the launch's own kernel
    /// and others. If that was not executed, nothing is there.
    ///
    /// # Errors
    /// The launch has no room on the GPU.
    pub fn recall_code(
        &mut self,
        source: &dyn KernelSource,
        executed: &[Executed],
    ) -> Result<(), LaunchError> {
        if !executed.iter().any(|executed| executed.same) {
            return Ok(());
        }
        let program = self.session().program(source)?;
        let mut requests = Vec::new();
        // The first CTAs of a launch go to an SM each, by their numbers.
        for (sm, number) in self.sms.iter_mut().zip(0..) {
            let here = executed.iter().copied().filter(|executed| executed.ctas > number);
            sm.recall_code(&program, &here.collect::<Vec<_>>(), &mut requests);
        }
        self.memory.warm(requests.into_iter());
        Ok(())
    }
}

fn request(trace: &Trace, kind: RequestKind) -> MemoryRequest {
    let (sectors, bytes) = match kind {
        RequestKind::Write => (trace.written, trace.bytes),
        _ => (trace.read, 0),
    };
    MemoryRequest {
        line: trace.line / LINE_BYTES * LINE_BYTES,
        sectors: sectors & 0xf,
        bytes,
        kind,
        lanes: 0,
        origin: Origin::Copy,
        sm: 0,
        tag: 0,
        deferred: None,
    }
}
