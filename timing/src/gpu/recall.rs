//! Warms caches with accesses made before timing starts.

use warp_stream::{Executed, KernelSource, MemoryOperation, MemorySpace, Past, Trace, local_memory};

use super::{Gpu, LaunchError};
use crate::message::{LINE_BYTES, MemoryRequest, RequestKind, Requester};
use crate::sm::memory::constant::PARAMETERS_END;
use crate::sm::{Occupancy, Program};

/// Local memory above this fraction (1/n) of L2 counts as stacks, which threads use only in part.
const LOCAL_OF_L2: u64 = 4;

impl Gpu {
    /// Leaves past accesses in L2 and TLBs without simulated time. The latest traces become the
    /// most recently used. After earlier launches, L2 also holds their parameters.
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

    /// Marks pages as accessed.
    pub fn use_pages(&mut self, address: u64, bytes: u64) {
        self.memory.warm_pages(address, bytes);
    }
}

impl Gpu {
    /// Fills the instruction caches for a launch from the code executed before it, of its own
    /// kernel and others. Without executed code they stay empty.
    ///
    /// # Errors
    /// The launch does not fit the GPU.
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
        // The first CTAs of a launch go to one SM each, in order.
        for (sm, number) in self.sms.iter_mut().zip(0..) {
            let here = executed.iter().copied().filter(|executed| executed.ctas > number);
            sm.recall_code(&program, &here.collect::<Vec<_>>(), &mut requests);
        }
        self.memory.warm(requests.into_iter());
        let ctas = executed.iter().filter(|executed| executed.same).map(|executed| executed.ctas).max();
        self.recall_local_memory(&program, ctas.unwrap_or(0));
        Ok(())
    }

    /// Leaves the local memory of an executed kernel's warps in TLBs and L2. Memory too large for a
    /// few variables is left out of L2.
    fn recall_local_memory(&mut self, program: &Program, ctas: u64) {
        let (kernel, places) = (&program.kernel, self.spec.cta.warps);
        let is_local = |memory: MemoryOperation| memory.space == MemorySpace::Local;
        let instructions = &kernel.code.instructions;
        if !instructions.iter().any(|instruction| instruction.memory.is_some_and(is_local)) {
            return;
        }
        let on_each = ctas.div_ceil(u64::from(self.spec.chip.sms));
        let on_each = on_each.min(Occupancy::new(&self.spec, program).ctas.into());
        let bytes = on_each
            * u64::from(kernel.shape.warps_per_cta())
            * local_memory::size_of_warp(kernel.local_bytes);
        let l2 = self.spec.l2.lines() * u64::from(self.spec.partition.all_slices()) * LINE_BYTES;
        let is_in_l2 = bytes * ctas.min(self.spec.chip.sms.into()) <= l2 / LOCAL_OF_L2;
        for (sm, number) in self.sms.iter_mut().zip(0..).filter(|(_, number)| u64::from(*number) < ctas) {
            let address = local_memory::of_warp(number, 0, places, kernel.local_bytes);
            sm.warm_pages(address, bytes);
            self.memory.warm_pages(address, bytes);
            if is_in_l2 {
                let lines = (address..address + bytes).step_by(LINE_BYTES as usize);
                let trace = |line| Trace { line, written: 0xf, bytes: u128::MAX, ..Trace::default() };
                self.memory.warm(lines.map(|line| request(&trace(line), RequestKind::Write)));
            }
        }
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
        requester: Requester::Copy,
        sm: 0,
        tag: 0,
        deferred: None,
    }
}
