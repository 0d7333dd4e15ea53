//! Prefetch of a cluster's state into the host's caches before its warps are stepped.

use warp_stream::host_cache::read_all;

use super::{SteppedCluster, WarpStep};

/// Words of the run-ahead queue consumed per turn.
const SOON: usize = 16;

/// Maximum rows worth prefetching: beyond it, too few of them are used.
const MOST_ROWS: usize = 128;

impl SteppedCluster {
    /// Prefetches for the warps' next steps, most of which come from the run-ahead queue.
    pub(crate) fn prefetch_host(&self) {
        read_all(&self.warps);
        for warp in &self.warps {
            let words = warp.ahead.words();
            read_all(&words[..words.len().min(SOON)]);
        }
    }

    /// Prefetches for a warp's next execution.
    pub(super) fn prefetch_host_warp(&self, rank: usize, own: usize) {
        read_all(std::slice::from_ref(&self.cluster.ctas[rank].warps[own]));
    }
}

impl WarpStep<'_, '_> {
    /// Prefetches most registers of a warp that is about to execute many instructions.
    pub(super) fn prefetch_host_frame(&self) {
        let divergence = &self.w.divergence;
        let frame = divergence.frames.get(divergence.frame);
        let layout = &self.w.grid.program.functions[frame.function as usize].layout;
        let rows = layout.predicate_rows + layout.register_rows;
        read_all(&frame.rows()[..rows.min(MOST_ROWS)]);
    }
}
