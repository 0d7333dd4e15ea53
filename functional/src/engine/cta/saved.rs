//! Saved state of a CTA.

use serde::{Deserialize, Serialize};

use super::{Cta, Executed, WarpState};
use crate::engine::barrier::{BARRIERS, Barrier};
use crate::engine::divergence::{Between, SLICE, SavedLanes};
use crate::engine::grid::Grid;
use crate::engine::sparse::SparseWords;
use crate::engine::special;

/// Saved state of a warp between its turns.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct SavedWarp {
    lanes: SavedLanes,
    local: SparseWords,
    fuel: u32,
}

/// Saved state of a CTA.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct SavedCta {
    barriers: [Barrier; BARRIERS],
    warps: Vec<SavedWarp>,
}

impl SavedCta {
    /// Threads that have not exited.
    pub(crate) fn live_threads(&self) -> u32 {
        self.warps.iter().map(|warp| warp.lanes.live.count_ones()).sum()
    }

    /// Checks that a warp stands before a machine instruction.
    pub(crate) fn check_ready(&self, grid: &Grid, warp: usize) -> Result<(), &'static str> {
        self.warps.get(warp).ok_or("a warp number out of range")?.lanes.check_ready(&grid.program)
    }

    /// Checks that a CTA of the launch can be in this state; the error names the inconsistency.
    pub(crate) fn check(&self, grid: &Grid, between: Between) -> Result<(), &'static str> {
        let local_bytes = grid.local_bytes();
        if !self.barriers.iter().all(Barrier::is_possible) {
            return Err("a barrier with too many threads");
        }
        if self.warps.len() != grid.shape.warps_per_cta() as usize {
            return Err("a CTA with a wrong number of warps");
        }
        for (warp, number) in self.warps.iter().zip(0..) {
            warp.lanes.check(&grid.program, grid.shape.lanes_of_warp(number), local_bytes, between)?;
            if !warp.local.fits(local_words(local_bytes) * 32) {
                return Err("local memory beyond its end");
            }
        }
        Ok(())
    }
}

/// Words of a lane's local memory.
fn local_words(bytes: u32) -> usize {
    bytes as usize / 8
}

impl Cta {
    /// Saves the CTA. Work that will be counted again after resumption is added to `twice`.
    pub(crate) fn save(&self, between: Between, twice: &mut Executed) -> SavedCta {
        let words = local_words(self.local_bytes) * 32;
        let warps = self.warps.iter().map(|warp| {
            let (lanes, counted) = warp.divergence.save(between);
            *twice += counted;
            SavedWarp { lanes, local: SparseWords::of(&warp.local[..words]), fuel: warp.fuel }
        });
        SavedCta { barriers: self.state.barriers, warps: warps.collect() }
    }

    /// Restores a freshly started CTA from checked data.
    pub(crate) fn restore(&mut self, grid: &Grid, saved: &SavedCta) {
        self.state.barriers = saved.barriers;
        self.state.live_threads = saved.live_threads();
        self.unfinished = 0;
        for ((warp, saved), number) in self.warps.iter_mut().zip(&saved.warps).zip(0..) {
            let WarpState { divergence, local, finished, fuel } = warp;
            divergence.is_stack = grid.simt_stack;
            divergence.restore(&saved.lanes, &grid.program, |function, frame| {
                special::fill(&function.specials, frame, grid, &self.state, number);
            });
            saved.local.write_to(local);
            *finished = saved.lanes.live == 0;
            *fuel = saved.fuel.clamp(1, SLICE);
            self.unfinished += usize::from(!*finished);
        }
    }
}
