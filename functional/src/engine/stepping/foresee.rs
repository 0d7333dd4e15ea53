//! What a cluster asks the host's caches for before its warps are stepped.

use warp_stream::host_cache::{Turn, prepare, prepare_at};

use super::{Fragment, SteppedCluster};
use crate::engine::frame::Row;
use crate::engine::op::Op;
use crate::engine::program::Program;

/// Byte offset in a frame from which on a field of an op is taken to be no row.
const FAR_ROW: u32 = 1 << 16;

impl SteppedCluster {
    /// Its warps are going to be stepped.
    pub(crate) fn foresee(&self, turn: Turn, program: &Program) {
        match turn {
            Turn::AfterNext => {
                prepare(&self.warps);
                self.cluster.ctas.iter().for_each(|cta| prepare(&cta.warps));
            }
            Turn::Next => {
                let soon = self.warps.iter().filter(|warp| warp.ready && warp.ahead.is_empty());
                soon.for_each(|warp| warp.fragment.foresee(program));
            }
        }
    }
}

impl Fragment {
    /// The op that it stands at is going to be executed.
    fn foresee(&self, program: &Program) {
        let Some(Op { d, a, b, c, .. }) = program.code.get(self.pc as usize) else { return };
        // Predicates are at the frame's start.
        prepare_at(self.frame, 1);
        for row in [d, a, b, c].into_iter().filter(|row| **row < FAR_ROW) {
            prepare_at(self.frame.wrapping_add(*row as usize), size_of::<Row>());
        }
    }
}
