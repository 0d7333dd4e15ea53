//! Execution without time: what the caches of an SM hold after it, and what it asks of L2.

use warp_stream::{Executed, Execution, MemoryOperation, MemorySpace};

use super::front_end;
use super::memory::SUB_CORES;
use super::occupancy::Demand;
use super::program::Kind;
use super::{Program, Sm};
use crate::message::{LINE_BYTES, MemoryRequest, Requester};

/// Where code lies of which nothing but the size is known: behind all other.
const OTHER_CODE: u64 = 1 << 62;
/// Bytes of others' code that are taken into account, those executed last: no SM holds as many.
const MOST_OTHER_CODE: u64 = 1 << 20;

impl Sm {
    /// CTAs of a kernel are to run without time on the SM, which is idle: L1 gets what their shared memory leaves.
    pub(crate) fn prepare_warm(&mut self, program: &Program) {
        self.state.shared = self.shared_for(&Demand::new(&self.gpu, program));
        self.memory.set_shared(self.state.shared);
    }

    /// A warp, of those of the SM, executes instructions of the line with this one; adds requests for those that are not there to
    /// `out`. Gives the line.
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

    /// Kernels were executed on the SM, one of them that of this program: the instruction caches are as they leave them. Of the
    /// others nothing but the size matters.
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

    /// Warps of all sub-cores execute each instruction of a program once, as far as fetching it goes.
    pub(crate) fn warm_code(&mut self, program: &Program, out: &mut Vec<MemoryRequest>) {
        for warp in 0..SUB_CORES {
            let mut line = u64::MAX;
            for position in 0..program.instructions().len() as u32 {
                line = self.warm_fetch(program, warp, position, line, out);
            }
        }
    }

    /// Warps of the SM have used the pages of so many bytes.
    pub(crate) fn warm_pages(&mut self, address: u64, bytes: u64) {
        self.memory.warm_pages(address, bytes);
    }

    /// A warp has executed an instruction; adds what it asks of L2 to `out`. Says whether it may have asked for something.
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

    /// A warp has read constants; says whether lines of them were not there.
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
