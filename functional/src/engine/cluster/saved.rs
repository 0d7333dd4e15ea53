//! A cluster as data.

use serde::{Deserialize, Serialize};

use super::Cluster;
use crate::engine::barrier::Barrier;
use crate::engine::cta::{Executed, SavedCta};
use crate::engine::grid::Grid;
use crate::engine::sparse::SparseWords;

/// A cluster as data: registers, memory, barriers, and where its threads stand.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct SavedCluster {
    /// Its number in the launch.
    pub(crate) index: u64,
    barrier: Barrier,
    ctas: Vec<SavedCta>,
    shared: SparseWords,
}

impl SavedCluster {
    /// Checks that a cluster of the launch can be in this state, and says what is wrong if it cannot.
    pub(crate) fn check(&self, grid: &Grid) -> Result<(), &'static str> {
        let ctas = grid.ctas_per_cluster();
        if self.index >= grid.cluster_count() {
            return Err("a CTA that the launch has not");
        }
        if self.ctas.len() != ctas as usize {
            return Err("a cluster with other CTAs");
        }
        if !self.barrier.is_possible() {
            return Err("a barrier with too many threads");
        }
        if !self.shared.fits(super::words_per_cta(grid) * ctas as usize) {
            return Err("shared memory beyond its end");
        }
        if self.live_threads() == 0 {
            return Err("a CTA under way without a thread");
        }
        self.ctas.iter().try_for_each(|cta| cta.check(grid))
    }

    fn live_threads(&self) -> u32 {
        self.ctas.iter().map(SavedCta::live_threads).sum()
    }
}

impl Cluster {
    /// The cluster, between turns of its warps, as data; and what is counted twice when it goes on.
    pub(crate) fn save(&self, grid: &Grid) -> (SavedCluster, Executed) {
        let mut twice = Executed::default();
        let saved = SavedCluster {
            index: self.index,
            barrier: self.state.barrier,
            ctas: self.ctas.iter().map(|cta| cta.save(grid, &mut twice)).collect(),
            shared: SparseWords::of(&self.shared),
        };
        (saved, twice)
    }

    /// Makes this the cluster that goes on from data that was checked.
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
