//! Execution of a cluster: CTAs that are co-resident, share a barrier, and can access each other's shared
//! memory (PTX manual 2.2.2). A CTA without cluster dimensions forms a cluster of one.
//!
//! One worker executes the whole cluster, its CTAs in turns. Their shared memory forms one block, CTA after
//! CTA.
//!
//! An address in the cluster's shared window is a number times [`WINDOW_SIZE`], plus an offset. Number 0 is
//! the CTA that uses the address, so a CTA's own addresses are plain offsets. Number `n + 1` is the CTA of
//! rank `n`; `mapa` makes such addresses, which are valid in the whole cluster.

mod saved;

use super::barrier::Barrier;
use super::cta::{Cta, Executed, Turn};
use super::grid::Grid;
use super::view::View;
use crate::fault::FaultKind;
use crate::memory::{CLUSTER_WINDOWS, WINDOW_SIZE};
pub(crate) use saved::SavedCluster;

/// Maximum CTAs per cluster.
pub const MAXIMUM_CTAS: u32 = CLUSTER_WINDOWS as u32 - 1;

/// Padding words after a CTA's shared memory, into which a vector load may reach.
const OVERHANG: usize = 8;

/// State shared by the CTAs of a cluster.
#[derive(Debug, Default)]
pub struct ClusterState {
    /// Cluster barrier.
    pub barrier: Barrier,
    /// Number of CTAs.
    pub ctas: u32,
    /// Threads that have not exited.
    live_threads: u32,
    /// Bytes between the CTAs' shared memory.
    pub(crate) pitch: u64,
}

impl ClusterState {
    /// Records the exit of `count` threads, which may complete the barrier.
    pub fn exit_threads(&mut self, count: u32) {
        self.live_threads -= count.min(self.live_threads);
        self.barrier.check(self.live_threads);
    }

    /// Records the arrival of `count` threads at the barrier.
    pub fn arrive(&mut self, count: u32) {
        self.barrier.arrive(count, 0, 0, self.live_threads);
    }

    /// Start of a CTA's shared memory in the cluster's block, by rank.
    pub(super) fn shared_of(&self, rank: usize, cluster: &mut [u64]) -> *mut u8 {
        // The result stays inside the block, which holds one pitch per CTA.
        cluster.as_mut_ptr().cast::<u8>().wrapping_add(rank * self.pitch as usize)
    }
}

/// Window number of the CTA with this rank, as part of an address.
pub fn window_of(rank: u32, own_rank: u32) -> u64 {
    let number = if rank == own_rank { 0 } else { rank.min(MAXIMUM_CTAS) + 1 };
    u64::from(number) * WINDOW_SIZE
}

/// Rank of the CTA that owns an address of the cluster window, and the offset in its shared memory.
pub fn rank_and_offset(address: u64, own_rank: u32) -> (u64, u64) {
    let rank = (address / WINDOW_SIZE).checked_sub(1).unwrap_or(own_rank.into());
    (rank, address % WINDOW_SIZE)
}

/// Address of the same offset in the CTA of rank `rank`.
pub fn in_cta(address: u64, rank: u32, own_rank: u32) -> u64 {
    window_of(rank, own_rank) + rank_and_offset(address, own_rank).1
}

/// Words between the CTAs' shared memory.
fn words_per_cta(grid: &Grid) -> usize {
    (grid.allocated_shared() as usize).div_ceil(8) + OVERHANG
}

/// A cluster with its storage, which the next cluster reuses.
#[derive(Debug)]
pub struct Cluster {
    /// Number of the cluster in the launch.
    index: u64,
    pub(super) state: ClusterState,
    pub(super) ctas: Vec<Cta>,
    pub(super) shared: Vec<u64>,
}

impl Cluster {
    /// Allocates storage for a cluster of this launch.
    pub fn new(grid: &Grid) -> Cluster {
        let words = words_per_cta(grid);
        let ctas = grid.ctas_per_cluster();
        Cluster {
            index: 0,
            state: ClusterState { ctas, pitch: words as u64 * 8, ..ClusterState::default() },
            ctas: (0..ctas).map(|_| Cta::new(grid)).collect(),
            shared: vec![0; words * ctas as usize],
        }
    }

    /// Resets the storage to cluster number `index` of the launch.
    pub fn start(&mut self, grid: &Grid, index: u64) {
        self.index = index;
        self.state.barrier = Barrier::default();
        self.state.live_threads = grid.shape.threads_per_cta() * self.state.ctas;
        self.shared.fill(0);
        for (rank, cta) in self.ctas.iter_mut().enumerate() {
            cta.start(grid, index, rank as u32);
        }
    }

    /// Runs the CTAs in turn until all finish or `rounds` rounds of their warps have passed.
    pub fn run(&mut self, grid: &Grid, view: &mut View, rounds: u32, executed: &mut Executed) -> Turn {
        if let [cta] = &mut self.ctas[..] {
            let turn =
                cta.run(grid, view, &mut self.state, self.shared.as_mut_ptr().cast(), rounds, executed);
            return match turn {
                Turn::Blocked => Turn::Fault(self.deadlocked(grid)),
                turn => turn,
            };
        }
        for _ in 0..rounds {
            let (mut unfinished, mut progress, mut works) = (false, false, false);
            for (rank, cta) in self.ctas.iter_mut().enumerate().filter(|(_, cta)| !cta.is_finished()) {
                let shared = self.state.shared_of(rank, &mut self.shared);
                match cta.run(grid, view, &mut self.state, shared, 1, executed) {
                    Turn::Finished => (progress, works) = (true, true),
                    Turn::Suspended => (unfinished, progress, works) = (true, true, true),
                    Turn::Spins => (unfinished, progress) = (true, true),
                    Turn::Blocked => unfinished = true,
                    Turn::Fault(fault) => return Turn::Fault(fault),
                }
                if grid.is_cancelled() {
                    return Turn::Suspended;
                }
            }
            if !unfinished {
                return Turn::Finished;
            }
            if !progress {
                return Turn::Fault(self.deadlocked(grid));
            }
            if !works {
                return Turn::Spins;
            }
        }
        Turn::Suspended
    }

    /// Coordinates of the first CTA.
    pub(crate) fn first_cta(&self) -> [u32; 3] {
        self.ctas.first().map_or([0; 3], |cta| cta.state.id)
    }

    /// Fault of the whole cluster, located at its first unfinished CTA.
    pub fn stuck(&self, grid: &Grid, kind: FaultKind) -> Box<crate::fault::Fault> {
        let cta = self.ctas.iter().find(|cta| !cta.is_finished()).unwrap_or(&self.ctas[0]);
        cta.stuck(grid, kind)
    }

    /// Deadlock fault: some threads wait at barriers that the other threads never reach.
    pub(super) fn deadlocked(&self, grid: &Grid) -> Box<crate::fault::Fault> {
        let at_named: u32 = self.ctas.iter().map(Cta::waiting_at_barriers).sum();
        let waiting = at_named + self.state.barrier.waiting();
        let others = self.state.live_threads.saturating_sub(waiting);
        let reason =
            format!("{waiting} threads wait at a barrier that the other {others} live threads never reach");
        self.stuck(grid, FaultKind::Deadlock(reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapped_addresses_keep_their_rank_and_offset() {
        for (rank, own) in [(0, 0), (0, 3), (3, 0), (15, 2)] {
            assert_eq!(rank_and_offset(window_of(rank, own) + 40, own), (u64::from(rank), 40));
        }
    }

    #[test]
    fn own_addresses_are_offsets() {
        assert_eq!(window_of(5, 5), 0);
        assert_eq!(rank_and_offset(12, 5), (5, 12));
    }

    #[test]
    fn exits_complete_the_cluster_barrier() {
        let mut cluster = ClusterState { live_threads: 64, ..ClusterState::default() };
        cluster.arrive(32);
        assert_eq!(cluster.barrier.generation, 0);
        cluster.exit_threads(32);
        assert_eq!(cluster.barrier.generation, 1);
    }
}
