//! Saved state of a cluster between two steps.

use serde::{Deserialize, Serialize};
use warp_stream::{Moment, Residence, WarpSlot};

use super::ahead::{self, AheadQueue};
use super::{Fragment, SavedDeferred, SteppedCluster, SteppedWarp};
use crate::engine::cluster::SavedCluster;
use crate::engine::divergence::Between;
use crate::engine::grid::Grid;

/// Bound of warp slot numbers.
const MOST_WARPS: u32 = 1 << 16;

impl SteppedWarp {
    /// True if the warp has neither deferred ops nor instructions executed ahead.
    fn has_nothing_left(&self) -> bool {
        self.pending.is_empty() && self.ahead.is_empty()
    }
}

/// Saved state of a cluster between two steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedSteps {
    cluster: SavedCluster,
    /// First warp slot on the SM.
    first_warp: u32,
    /// Time of the last action: core cycles, nanoseconds.
    now: (u64, u64),
    warps: Vec<SavedStep>,
}

/// Saved state of a warp between two steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SavedStep {
    ready: bool,
    /// Words of the run-ahead queue: upper and lower half.
    ahead: Vec<[u32; 2]>,
    /// Numbers of deferred ops, in order.
    pending: Vec<u32>,
}

impl SavedStep {
    fn words_ahead(&self) -> Vec<u64> {
        self.ahead.iter().map(|[upper, lower]| u64::from(*upper) << 32 | u64::from(*lower)).collect()
    }
}

impl SavedSteps {
    /// Number of the cluster in the launch.
    pub(crate) fn index(&self) -> u64 {
        self.cluster.index
    }

    /// Number of the warps' deferred ops.
    pub(crate) fn pending(&self) -> usize {
        self.warps.iter().map(|warp| warp.pending.len()).sum()
    }

    /// Checks that a cluster of the launch can be in this state, in a slot of an SM with these deferred
    /// ops. The error names the inconsistency.
    pub(crate) fn check(&self, grid: &Grid, slot: u32, deferred: &SavedDeferred) -> Result<(), &'static str> {
        self.cluster.check(grid, Between::Steps)?;
        if self.warps.len() as u64
            != u64::from(grid.shape.warps_per_cta()) * u64::from(grid.ctas_per_cluster())
        {
            return Err("a CTA with a wrong number of warps");
        }
        if self.first_warp >= MOST_WARPS {
            return Err("a CTA beyond the warps of an SM");
        }
        let code = grid.program.machine.as_ref().map(|machine| &machine.code.instructions);
        let code = code.map_or(&[][..], Vec::as_slice);
        for (number, warp) in self.warps.iter().enumerate() {
            if warp.ready {
                self.cluster.check_ready(grid, number)?;
            }
            ahead::check(&warp.words_ahead(), code)?;
            deferred.check_warp(WarpSlot { cta: slot, warp: number as u32 }, &warp.pending)?;
        }
        Ok(())
    }
}

impl SteppedCluster {
    /// Saves the cluster, if it is unfinished.
    pub(crate) fn save(&mut self) -> Option<SavedSteps> {
        let simulated = self.cluster.ctas.first()?.state.simulated.as_ref();
        let (residence, now) = simulated.map(|simulated| (simulated.residence, simulated.now))?;
        if self.is_finished() && self.warps.iter().all(SteppedWarp::has_nothing_left) {
            return None;
        }
        self.park();
        let (cluster, _) = self.cluster.save(Between::Steps);
        self.take_up();
        let step = |warp: &SteppedWarp| SavedStep {
            ready: warp.ready,
            ahead: warp.ahead.words().iter().map(|word| [(word >> 32) as u32, *word as u32]).collect(),
            pending: warp.pending.clone(),
        };
        Some(SavedSteps {
            cluster,
            first_warp: residence.first_warp,
            now: (now.cycle, now.nanoseconds),
            warps: self.warps.iter().map(step).collect(),
        })
    }

    /// Restores the exact state of a cluster from checked data, in a slot of an SM.
    pub(crate) fn resumed(grid: &Grid, (sm, slot): (u32, u32), saved: &SavedSteps) -> SteppedCluster {
        let mut cluster = SteppedCluster::new(grid, slot);
        cluster.reside(Some(Residence { sm, first_warp: saved.first_warp }));
        cluster.cluster.restore(grid, &saved.cluster);
        let now = Moment { cycle: saved.now.0, nanoseconds: saved.now.1 };
        for simulated in cluster.cluster.ctas.iter_mut().filter_map(|cta| cta.state.simulated.as_mut()) {
            simulated.now = now;
        }
        for (warp, saved) in cluster.warps.iter_mut().zip(&saved.warps) {
            warp.ready = saved.ready;
            warp.ahead = AheadQueue::restored(&saved.words_ahead());
            warp.pending.clone_from(&saved.pending);
        }
        cluster.ready = cluster.warps.iter().map(|warp| u32::from(warp.ready)).sum();
        cluster.take_up();
        cluster
    }

    /// A slot whose cluster has ended.
    pub(crate) fn ended(grid: &Grid, slot: u32) -> SteppedCluster {
        let mut cluster = SteppedCluster::new(grid, slot);
        for cta in &mut cluster.cluster.ctas {
            cta.unfinished = 0;
            cta.warps.iter_mut().for_each(|warp| warp.finished = true);
        }
        cluster
    }

    /// Moves each ready warp's fragment into the queue of its other lanes.
    pub(super) fn park(&mut self) {
        for number in 0..self.warps.len() {
            let SteppedWarp { fragment, ready, .. } = self.warps[number];
            let (rank, own) = self.place(number);
            if ready {
                let divergence = &mut self.cluster.ctas[rank].warps[own].divergence;
                divergence.park_first(fragment.pc, fragment.active);
            }
        }
    }

    /// Undoes [`SteppedCluster::park`].
    fn take_up(&mut self) {
        for number in 0..self.warps.len() {
            let (rank, own) = self.place(number);
            if self.warps[number].ready
                && let Some((pc, active, frame, local_base)) =
                    self.cluster.ctas[rank].warps[own].divergence.take_first()
            {
                self.warps[number].fragment = Fragment { pc, active, frame, local_base };
            }
        }
    }
}
