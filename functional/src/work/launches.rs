//! Which kernels were executed, in order, and how many CTAs they had: whose code the instruction caches of SMs have.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustc_hash::FxHashMap;
use warp_stream::Executed;

/// Bytes of machine code for an instruction of PTX, about.
const INSTRUCTION: u64 = 16;

/// The launches of a program so far.
#[derive(Debug, Default)]
pub struct Launches {
    /// The last one at the end. Of one kernel there are only those that had more CTAs than each after them.
    executed: Vec<(String, u64)>,
    /// Instructions of functions that were ever executed.
    reached: FxHashMap<String, Arc<AtomicU64>>,
}

impl Launches {
    /// How many instructions of a function were ever executed, for who sees them executed.
    pub(super) fn reached(&mut self, function: &str) -> Arc<AtomicU64> {
        match self.reached.get(function) {
            Some(known) => Arc::clone(known),
            None => Arc::clone(self.reached.entry(function.to_owned()).or_default()),
        }
    }

    /// A kernel is launched.
    pub fn add(&mut self, kernel: &str, ctas: u64) {
        self.executed.retain(|(other, others)| other != kernel || *others > ctas);
        self.executed.push((kernel.to_owned(), ctas));
    }

    /// What was executed before a launch of a kernel.
    pub fn before(&self, kernel: &str) -> Vec<Executed> {
        let told = |(other, ctas): &(String, u64)| Executed {
            same: other == kernel,
            ctas: *ctas,
            bytes: self.reached.get(other).map_or(0, |reached| reached.load(Ordering::Relaxed) * INSTRUCTION),
        };
        self.executed.iter().map(told).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_kernel_the_last_launch_is_known_and_those_before_it_with_more_ctas() {
        let mut launches = Launches::default();
        launches.reached("a").fetch_add(7, Ordering::Relaxed);
        launches.reached("a").fetch_add(3, Ordering::Relaxed);
        for (kernel, ctas) in [("a", 5), ("a", 80), ("b", 7), ("a", 1), ("a", 2)] {
            launches.add(kernel, ctas);
        }
        let one = |same, ctas, bytes| Executed { same, ctas, bytes };
        assert_eq!(launches.before("a"), [one(true, 80, 160), one(false, 7, 0), one(true, 2, 160)]);
    }
}
