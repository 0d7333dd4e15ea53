//! Execution of a launch's first clusters to their end, before any other starts.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use super::{Grid, ROUNDS, Rest};
use crate::engine::cluster::Cluster;
use crate::engine::cta::{Executed, Turn};
use crate::engine::divergence::Between;
use crate::engine::view::View;
use crate::fault::Fault;

/// Turns without an ended cluster before states are compared.
const QUIET_TURNS: u32 = 4;

/// Result of executing the first clusters.
pub(crate) enum Before {
    /// All clusters have ended.
    Ended,
    /// These clusters are in a repeated state: they wait for clusters that have not started.
    Waits(Rest),
    /// A lane faulted.
    Fault(Box<Fault>),
}

/// Executes clusters in turns.
struct Turns<'g> {
    grid: &'g Grid<'g>,
    view: View,
    executed: Executed,
    under_way: VecDeque<Cluster>,
    spare: Vec<Cluster>,
}

impl Turns<'_> {
    /// Gives a cluster a turn; returns true if it ended.
    fn give(&mut self, mut cluster: Cluster) -> Result<bool, Box<Fault>> {
        let grid = self.grid;
        match cluster.run(grid, &mut self.view, ROUNDS, &mut self.executed) {
            Turn::Finished => {
                if let Some(overdue) = grid.overdue() {
                    return Err(cluster.stuck(grid, overdue));
                }
                self.spare.push(cluster);
                return Ok(true);
            }
            Turn::Fault(fault) => return Err(fault),
            Turn::Suspended | Turn::Spins | Turn::Blocked => {}
        }
        if let Some(overdue) = grid.overdue() {
            return Err(cluster.stuck(grid, overdue));
        }
        self.view.clear();
        self.under_way.push_back(cluster);
        Ok(false)
    }

    /// Gives each unfinished cluster a turn; returns true if one ended.
    fn give_all(&mut self) -> Result<bool, Box<Fault>> {
        let mut ended = false;
        for _ in 0..self.under_way.len() {
            if let Some(cluster) = self.under_way.pop_front() {
                ended |= self.give(cluster)?;
            }
        }
        Ok(ended)
    }

    /// Hash of the state of all unfinished clusters.
    fn state(&self) -> u64 {
        let mut hasher = FxHasher::default();
        self.under_way.iter().for_each(|cluster| cluster.save(Between::Turns).0.hash(&mut hasher));
        hasher.finish()
    }
}

impl Grid<'_> {
    /// Executes the clusters before `end` on this thread.
    pub(crate) fn run_before(&self, end: u64) -> (Executed, Before) {
        let mut turns = Turns {
            grid: self,
            view: View::default(),
            executed: Executed::default(),
            under_way: VecDeque::new(),
            spare: Vec::new(),
        };
        let before = self.take_turns(end, &mut turns).unwrap_or_else(Before::Fault);
        (turns.executed, before)
    }

    fn take_turns(&self, end: u64, turns: &mut Turns<'_>) -> Result<Before, Box<Fault>> {
        let mut next = 0;
        let mut quiet = 0;
        let mut repetition = Repetition::default();
        loop {
            let mut moved = turns.give_all()?;
            while next < end && (turns.under_way.len() as u64) < self.resident_limit() {
                let mut cluster = turns.spare.pop().unwrap_or_else(|| Cluster::new(self));
                cluster.start(self, next);
                next += 1;
                turns.give(cluster)?;
                moved = true;
            }
            if turns.under_way.is_empty() {
                return Ok(Before::Ended);
            }
            if moved {
                (quiet, repetition) = (0, Repetition::default());
                continue;
            }
            quiet += 1;
            if quiet > QUIET_TURNS && repetition.has_seen(turns.state()) {
                let started = std::mem::take(&mut turns.under_way);
                return Ok(Before::Waits(Rest { started, next }));
            }
        }
    }
}

/// Cycle detection in a sequence of states (Brent's algorithm).
#[derive(Default)]
struct Repetition {
    mark: Option<u64>,
    /// States since the mark, and the interval to the next mark.
    since: u64,
    until: u64,
}

impl Repetition {
    /// Adds a state; returns true if the state occurred before.
    fn has_seen(&mut self, state: u64) -> bool {
        if self.mark == Some(state) {
            return true;
        }
        self.since += 1;
        if self.since >= self.until {
            (self.mark, self.since, self.until) = (Some(state), 0, (self.until * 2).max(1));
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cyclic_sequences_are_detected() {
        let mut repetition = Repetition::default();
        let mut states = (0..100).chain((0..).map(|n| 100 + n % 7));
        let at = states.position(|state| repetition.has_seen(state));
        assert!((107..400).contains(&at.unwrap()));
    }

    #[test]
    fn sequences_of_distinct_states_are_not_cyclic() {
        let mut repetition = Repetition::default();
        assert!(!(0..10_000).any(|state| repetition.has_seen(state)));
    }
}
