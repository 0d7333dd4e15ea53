//! What a cluster brings to the host's caches before its warps are stepped.

use warp_stream::host_cache::read_all;

use super::{Step, SteppedCluster};

/// Words of what a warp has executed ahead that are told of in a turn.
const SOON: usize = 16;

/// Rows of registers beyond which more would be read than is used.
const MOST_ROWS: usize = 128;

impl SteppedCluster {
    /// Its warps are going to be stepped: most have executed ahead what they do.
    pub(crate) fn foresee(&self) {
        read_all(&self.warps);
        for warp in &self.warps {
            let words = warp.ahead.words();
            read_all(&words[..words.len().min(SOON)]);
        }
    }

    /// A warp of a CTA is going to execute something.
    pub(super) fn foresee_warp(&self, rank: usize, own: usize) {
        read_all(std::slice::from_ref(&self.cluster.ctas[rank].warps[own]));
    }
}

impl Step<'_, '_> {
    /// Many instructions of the warp are going to be executed: they use most of its registers.
    pub(super) fn foresee_frame(&self) {
        let divergence = &self.w.divergence;
        let frame = divergence.frames.get(divergence.frame);
        let layout = &self.w.grid.program.functions[frame.function as usize].layout;
        let rows = layout.predicate_rows + layout.register_rows;
        read_all(&frame.rows()[..rows.min(MOST_ROWS)]);
    }
}
