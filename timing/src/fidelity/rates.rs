//! Sources of the levels that serve the loads of an analytical memory.

use std::fmt::Debug;

use serde::{Deserialize, Serialize};
use warp_stream::Kernel;

use crate::message::Level;

/// A whole in the unit of [`LevelRates`].
pub const WHOLE: u32 = 1 << 16;

crate::choice! {
    /// Source of the levels that serve loads.
    pub enum Rates {
        /// Tags of L1 in the order of issue and of L2 in the order of requests: a functional cache
        /// pass along with the launch.
        FunctionalCache = "functional-cache",
        /// Hit rates by launch and instruction from outside, as the reuse-distance model gives them.
        ReuseDistance = "reuse-distance",
    }
}

/// Parts of a load's lines that L1 and L2 serve, in units of 1 / [`WHOLE`]; DRAM serves the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LevelRates {
    /// Part that L1 serves.
    pub l1: u32,
    /// Part that L2 serves.
    pub l2: u32,
}

/// Hit rates of loads, by launch and instruction.
pub trait LoadRates: Debug + Send + Sync {
    /// Tells whether the source knows a launch.
    fn has(&self, _kernel: &Kernel) -> bool {
        true
    }

    /// Rates of the load at a position of a launch's code; `None` if no lane executes it.
    fn rates(&self, kernel: &Kernel, position: u32) -> Option<LevelRates>;
}

/// Lines by which each level is behind its part, by instruction.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Drawn(Vec<[i64; 3]>);

impl Drawn {
    /// Level of the next line of the load at a position: the one most behind its part. Over many
    /// lines the levels have their parts exactly.
    pub fn next(&mut self, position: u32, rates: LevelRates) -> Level {
        let position = position as usize;
        if self.0.len() <= position {
            self.0.resize(position + 1, [0; 3]);
        }
        let behind = &mut self.0[position];
        let (l1, l2) = (rates.l1.min(WHOLE), rates.l2.min(WHOLE - rates.l1.min(WHOLE)));
        let parts = [l1, l2, WHOLE - l1 - l2];
        behind.iter_mut().zip(parts).for_each(|(behind, part)| *behind += i64::from(part));
        let mut next = 0;
        for level in 1..behind.len() {
            if behind[level] > behind[next] {
                next = level;
            }
        }
        behind[next] -= i64::from(WHOLE);
        [Level::L1, Level::L2, Level::Dram][next]
    }

    /// Forgets all instructions, at the start of a launch.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_drawn_in_their_parts() {
        let mut drawn = Drawn::default();
        let rates = LevelRates { l1: WHOLE / 2, l2: WHOLE / 8 };
        let levels: Vec<Level> = (0..800).map(|_| drawn.next(3, rates)).collect();
        let count = |level| levels.iter().filter(|drawn| **drawn == level).count();
        assert_eq!([Level::L1, Level::L2, Level::Dram].map(count), [400, 100, 300]);
    }

    #[test]
    fn impossible_rates_are_cut() {
        let mut drawn = Drawn::default();
        let rates = LevelRates { l1: 2 * WHOLE, l2: WHOLE };
        assert!((0..10).all(|_| drawn.next(0, rates) == Level::L1));
    }
}
