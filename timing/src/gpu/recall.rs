//! What was accessed before anything is timed, put into caches as it would be.

use warp_stream::{KernelSource, Past, Trace};

use super::{Gpu, LaunchError};
use crate::message::{LINE_BYTES, MemoryRequest, Origin, RequestKind};
use crate::sm::memory::constant::PARAMETERS_END;

impl Gpu {
    /// Puts into L2 and its TLB what accesses have left, without time; of written sectors all bytes count. The last traces are the
    /// last to be replaced. If there were launches, L2 has the lines of parameters.
    pub fn recall(&mut self, past: &Past) {
        for trace in &past.traces {
            let read = (trace.read != 0).then(|| request(trace, RequestKind::Read));
            let write = (trace.written != 0).then(|| request(trace, RequestKind::Write));
            self.memory.warm(write.into_iter().chain(read));
        }
        if !past.pages.is_empty() {
            let lines = (0..PARAMETERS_END).step_by(LINE_BYTES as usize);
            let read = |line| request(&Trace { line, read: 0xf, written: 0 }, RequestKind::Read);
            self.memory.warm(lines.map(read));
        }
        past.pages.iter().for_each(|page| self.use_pages(*page, Past::PAGE));
    }

    /// Kernels have accessed the pages of so many bytes.
    pub fn use_pages(&mut self, address: u64, bytes: u64) {
        self.memory.warm_pages(address, bytes);
    }
}

impl Gpu {
    /// Puts the code of a launch into the instruction caches, as if it had been executed there before.
    ///
    /// # Errors
    /// The launch has no room on the GPU.
    pub fn recall_code(&mut self, source: &dyn KernelSource) -> Result<(), LaunchError> {
        let program = self.session().program(source)?;
        let mut requests = Vec::new();
        for sm in &mut self.sms {
            sm.warm_code(&program, &mut requests);
        }
        self.memory.warm(requests.into_iter());
        Ok(())
    }
}

fn request(trace: &Trace, kind: RequestKind) -> MemoryRequest {
    let sectors = if kind == RequestKind::Write { trace.written } else { trace.read } & 0xf;
    let bytes = (0..4).filter(|sector| sectors >> sector & 1 != 0);
    let bytes = bytes.fold(0_u128, |mask, sector| mask | u128::from(u32::MAX) << (sector * 32));
    MemoryRequest {
        line: trace.line / LINE_BYTES * LINE_BYTES,
        sectors,
        bytes: if kind == RequestKind::Write { bytes } else { 0 },
        kind,
        lanes: 0,
        origin: Origin::Copy,
        sm: 0,
        tag: 0,
        deferred: None,
    }
}
