//! Untimed execution on an SM: its effect on the caches and its requests to L2.

use warp_stream::{Executed, Execution, MemoryOperation, MemorySpace};

use super::front_end;
use super::memory::SUB_CORES;
use super::occupancy::Demand;
use super::program::Kind;
use super::{Program, Sm};
use crate::message::{LINE_BYTES, MemoryRequest, Requester};

/// Address for code with unknown content, beyond all other code.
const OTHER_CODE: u64 = 1 << 62;
/// Limit in bytes for other kernels' code, most recent first. No SM caches more.
const MOST_OTHER_CODE: u64 = 1 << 20;

impl Sm {
    /// Prepares an idle SM for untimed CTAs of a kernel: L1 gets the memory left by their shared
    /// memory.
    pub(crate) fn prepare_warm(&mut self, program: &Program) {
        self.state.shared = self.shared_for(&Demand::new(&self.gpu, program));
        self.memory.set_shared(self.state.shared);
    }

    /// Executes the line of an instruction for a warp of the SM. Appends requests for missing lines
    /// to `out`. Returns the line.
    pub(crate) fn warm_fetch(
        &mut self,
        program: &Program,
        warp: usize,
        position: u32,
        last: u64,
        out: &mut Vec<MemoryRequest>,
    ) -> u64 {
        let address = program.address(position);
        let line = address - address % LINE_BYTES;
        if line == last {
            return line;
        }
        let fetch = &mut self.state.sub_cores[warp % SUB_CORES].fetch;
        let missed = &mut self.missed;
        fetch.warm(&self.gpu.front_end, program, &mut self.state.instructions, line, missed);
        out.extend(
            missed.drain(..).map(|line| front_end::request(self.number, line, Requester::Instruction)),
        );
        line
    }

    /// Restores the instruction caches after a sequence of kernels that includes this program. For
    /// the other kernels only the code size matters.
    pub(crate) fn recall_code(
        &mut self,
        program: &Program,
        executed: &[Executed],
        out: &mut Vec<MemoryRequest>,
    ) {
        let others = executed.iter().filter(|executed| !executed.same);
        let mut after: u64 = others.fold(0, |bytes, executed| bytes.saturating_add(executed.bytes));
        let mut others = OTHER_CODE;
        for executed in executed {
            if executed.same {
                self.warm_code(program, out);
                continue;
            }
            after = after.saturating_sub(executed.bytes);
            let counted = executed.bytes.min(MOST_OTHER_CODE.saturating_sub(after));
            let end = others + counted.next_multiple_of(LINE_BYTES);
            for line in (others..end).step_by(LINE_BYTES as usize) {
                let sub_cores = &mut self.state.sub_cores;
                sub_cores
                    .iter_mut()
                    .for_each(|sub_core| sub_core.fetch.warm_other(&self.gpu.front_end, line));
                self.state.instructions.warm(line);
            }
            others = end;
        }
    }

    /// Fetches every instruction of a program once on every sub-core.
    pub(crate) fn warm_code(&mut self, program: &Program, out: &mut Vec<MemoryRequest>) {
        for warp in 0..SUB_CORES {
            let mut line = u64::MAX;
            for position in 0..program.instructions().len() as u32 {
                line = self.warm_fetch(program, warp, position, line, out);
            }
        }
    }

    /// Uses the pages of an address range.
    pub(crate) fn warm_pages(&mut self, address: u64, bytes: u64) {
        self.memory.warm_pages(address, bytes);
    }

    /// Executes an instruction's access. Appends requests to L2 to `out` and returns whether there
    /// may be any.
    pub(crate) fn warm_access(
        &mut self,
        program: &Program,
        position: u32,
        execution: &Execution,
        out: &mut Vec<MemoryRequest>,
    ) -> bool {
        let decoded = program.instructions().get(position as usize);
        let operation =
            decoded.filter(|decoded| decoded.kind == Kind::Memory).and_then(|decoded| decoded.memory);
        let Some(operation) = operation else { return false };
        let space = match operation.space {
            MemorySpace::Generic => execution.space,
            told => told,
        };
        if space == MemorySpace::Constant {
            return self.warm_constants(operation.width, execution, out);
        }
        self.memory.warm(MemoryOperation { space, ..operation }, execution, out);
        space != MemorySpace::Shared
    }

    /// Executes constant reads. Returns whether a line was missing.
    fn warm_constants(&mut self, width: u8, execution: &Execution, out: &mut Vec<MemoryRequest>) -> bool {
        let missed = &mut self.missed;
        self.memory.warm_constants(width, execution, missed);
        let any = !missed.is_empty();
        for line in missed.drain(..) {
            if !self.state.instructions.warm(line) {
                out.push(front_end::request(self.number, line, Requester::Constant));
            }
        }
        any
    }
}
