//! Untimed accesses: their effect on L1 and their requests to L2.

use warp_stream::{AccessKind, Execution, MemoryOperation, MemorySpace};

use super::access::{Line, requester};
use super::coalescer::Pattern;
use super::{MemoryUnit, arbitration};
use crate::message::{LINE_BYTES, MemoryRequest, RequestKind};

impl MemoryUnit {
    /// Executes an access of a warp with a resolved space in an idle unit. Appends its requests to
    /// `out`. Counts nothing.
    pub(crate) fn warm(
        &mut self,
        operation: MemoryOperation,
        execution: &Execution,
        out: &mut Vec<MemoryRequest>,
    ) {
        let Execution { active, addresses, stride, texels, deferred, .. } = execution;
        let marks = operation.kind != AccessKind::Load;
        self.coalesced.clear();
        match operation.space {
            MemorySpace::Shared | MemorySpace::Constant => {}
            MemorySpace::Texture => {
                self.coalesced.coalesce_texels(texels, operation.width, marks);
            }
            MemorySpace::Global | MemorySpace::Local | MemorySpace::Generic => {
                let pattern =
                    Pattern { active: *active, addresses, stride: *stride, width: operation.width, marks };
                self.coalesced.coalesce(self.gpu.coalescer.policy, &pattern);
            }
        }
        let bypasses = arbitration::bypasses(&operation, *deferred);
        for place in 0..self.coalesced.lines.len() {
            let line = self.coalesced.lines[place];
            self.warm_line(&operation, bypasses, &line, out);
        }
    }

    /// Uses the pages of an address range.
    pub(crate) fn warm_pages(&mut self, address: u64, bytes: u64) {
        self.state.tlb.warm_range(&self.gpu.tlb, address, bytes);
    }

    /// Executes constant reads of a warp. Appends the missing lines of the instruction cache to
    /// `missed`. Counts nothing.
    pub(crate) fn warm_constants(&mut self, width: u8, execution: &Execution, missed: &mut Vec<u64>) {
        let Execution { active, addresses, .. } = execution;
        self.coalesced.clear();
        self.gpu.constant.requests(*active, addresses, width, &mut self.coalesced.lines);
        let constants = &mut self.state.constants;
        let lines = self.coalesced.lines.iter().map(|line| line.address);
        missed.extend(lines.filter(|line| !constants.warm(*line)).map(|line| line - line % LINE_BYTES));
    }

    fn warm_line(
        &mut self,
        operation: &MemoryOperation,
        bypasses: bool,
        line: &Line,
        out: &mut Vec<MemoryRequest>,
    ) {
        let spec = &self.gpu.l1;
        let l1 = &mut self.state.l1;
        let mut sectors = line.sectors;
        let kind = match operation.kind {
            AccessKind::Load => {
                if !bypasses {
                    sectors = l1.warm_load(spec, line.address, sectors, &mut self.answered);
                }
                RequestKind::Read
            }
            AccessKind::Store => {
                l1.warm_store(spec, line.address, sectors);
                RequestKind::Write
            }
            AccessKind::Atomic => {
                l1.drop_line(line.address, sectors);
                RequestKind::Atomic
            }
            AccessKind::Reduction => {
                l1.drop_line(line.address, sectors);
                RequestKind::Reduction
            }
        };
        if sectors != 0 {
            self.state.tlb.warm(&self.gpu.tlb, line.address);
            out.push(MemoryRequest {
                line: line.address,
                sectors,
                bytes: line.bytes,
                kind,
                lanes: line.lanes,
                requester: requester(operation.space),
                sm: self.sm,
                tag: 0,
                deferred: None,
            });
        }
    }
}
