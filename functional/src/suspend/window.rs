//! Execution of the CTAs of a window, for a number of instructions each.

use std::collections::VecDeque;
use std::ops::Range;

use warp_stream::{Execution, Moment, Next};

use crate::engine::cluster::Cluster;
use crate::engine::cta::Executed;
use crate::engine::grid::Grid;
use crate::engine::machine::Machine;
use crate::engine::stepping::{Deferred, Engine, SteppedCluster};
use crate::fault::Fault;

/// Started clusters, without ended ones.
pub(super) struct Begun {
    pub(super) clusters: VecDeque<Cluster>,
    pub(super) executed: Executed,
}

/// A cluster with the remaining instructions of its CTAs.
struct Stepped {
    cluster: SteppedCluster,
    left: Vec<u64>,
}

/// Executes `instructions` machine instructions of each CTA of these clusters, one per warp in turn.
pub(super) fn begin(
    grid: &Grid<'_>,
    machine: &Machine,
    clusters: Range<u64>,
    instructions: u64,
) -> Result<Begun, Box<Fault>> {
    let mut engine = Engine::new(grid, machine, Deferred::default());
    let mut stepped = Vec::new();
    for index in clusters {
        let mut cluster = SteppedCluster::new(grid, stepped.len() as u32);
        cluster.start(&mut engine, index, None)?;
        stepped.push(Stepped { cluster, left: vec![instructions; grid.ctas_per_cluster() as usize] });
    }
    let mut execution = Execution::default();
    loop {
        let mut moved = false;
        for one in &mut stepped {
            moved |= one.turn(&mut engine, &mut execution)?;
        }
        if !moved {
            break;
        }
        if let Some(overdue) = grid.overdue()
            && let Some(Stepped { cluster, .. }) =
                stepped.iter().find(|one| one.left.iter().any(|&left| left > 0))
        {
            return Err(cluster.stuck(grid, overdue));
        }
    }
    let mut begun = Begun { clusters: VecDeque::new(), executed: Executed::default() };
    for Stepped { cluster, .. } in stepped {
        begun.executed += cluster.executed();
        if !cluster.is_finished() {
            begun.clusters.push_back(cluster.into_cluster());
        }
    }
    Ok(begun)
}

impl Stepped {
    /// Executes an instruction of each ready warp whose CTA has some left; returns whether there was one.
    fn turn(&mut self, engine: &mut Engine<'_>, execution: &mut Execution) -> Result<bool, Box<Fault>> {
        let warps = engine.grid.shape.warps_per_cta() as usize;
        let mut moved = false;
        for number in 0..self.cluster.warp_count() {
            let left = &mut self.left[number / warps];
            if *left == 0 || !matches!(self.cluster.next(engine, number)?, Next::Instruction(_)) {
                continue;
            }
            *left -= 1;
            moved = true;
            self.cluster.step(engine, number, Moment::default(), execution)?;
            if let Some(deferred) = execution.deferred {
                self.cluster.perform(engine, number, deferred, Moment::default())?;
            }
        }
        Ok(moved)
    }
}
