//! Saved state of a cluster.

use serde::{Deserialize, Serialize};

use super::Cluster;
use crate::engine::barrier::Barrier;
use crate::engine::cta::{Executed, SavedCta};
use crate::engine::divergence::Between;
use crate::engine::grid::Grid;
use crate::engine::sparse::SparseWords;

/// Saved state of a cluster: registers, memory, barriers, and program counters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct SavedCluster {
    /// Number of the cluster in the launch.
    pub(crate) index: u64,
    barrier: Barrier,
    ctas: Vec<SavedCta>,
    shared: SparseWords,
}

impl SavedCluster {
    /// Checks that a cluster of the launch can be in this state; the error names the inconsistency.
    pub(crate) fn check(&self, grid: &Grid, between: Between) -> Result<(), &'static str> {
        let ctas = grid.ctas_per_cluster();
        if self.index >= grid.cluster_count() {
            return Err("a CTA outside of the launch");
        }
        if self.ctas.len() != ctas as usize {
            return Err("a cluster with a wrong number of CTAs");
        }
        if !self.barrier.is_possible() {
            return Err("a barrier with too many threads");
        }
        if !self.shared.fits(super::words_per_cta(grid) * ctas as usize) {
            return Err("shared memory beyond its end");
        }
        // Between steps, a deferred op may be all that remains of a CTA.
        if between == Between::Turns && self.live_threads() == 0 {
            return Err("an unfinished CTA without a live thread");
        }
        self.ctas.iter().try_for_each(|cta| cta.check(grid, between))
    }

    /// Checks that a warp, numbered through the CTAs, stands before a machine instruction.
    pub(crate) fn check_ready(&self, grid: &Grid, warp: usize) -> Result<(), &'static str> {
        let warps = grid.shape.warps_per_cta() as usize;
        self.ctas.get(warp / warps).ok_or("a warp number out of range")?.check_ready(grid, warp % warps)
    }

    fn live_threads(&self) -> u32 {
        self.ctas.iter().map(SavedCta::live_threads).sum()
    }
}

impl Cluster {
    /// Saves a cluster with no running warp, and returns the work that will be counted again after
    /// resumption.
    pub(crate) fn save(&self, between: Between) -> (SavedCluster, Executed) {
        let mut twice = Executed::default();
        let saved = SavedCluster {
            index: self.index,
            barrier: self.state.barrier,
            ctas: self.ctas.iter().map(|cta| cta.save(between, &mut twice)).collect(),
            shared: SparseWords::of(&self.shared),
        };
        (saved, twice)
    }

    /// Restores the cluster from checked data.
    pub(crate) fn restore(&mut self, grid: &Grid, saved: &SavedCluster) {
        self.start(grid, saved.index);
        self.state.barrier = saved.barrier;
        self.state.live_threads = saved.live_threads();
        saved.shared.write_to(&mut self.shared);
        for (cta, saved) in self.ctas.iter_mut().zip(&saved.ctas) {
            cta.restore(grid, saved);
        }
    }
}
