//! History of executed kernels and their CTAs, from which the contents of SMs' instruction caches follow.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustc_hash::FxHashMap;
use warp_stream::Executed;

/// Approximate bytes of machine code per PTX instruction.
const INSTRUCTION: u64 = 16;

/// Launches of a program so far.
#[derive(Debug, Default)]
pub struct Launches {
    /// Executed kernels, the last at the end. Earlier launches of a kernel are kept only if they had more
    /// CTAs than all later ones.
    executed: Vec<(String, u64)>,
    /// Number of each function's instructions that were ever executed.
    reached: FxHashMap<String, Arc<AtomicU64>>,
}

impl Launches {
    /// Counter of a function's executed instructions, for the probes that see them.
    pub(super) fn reached(&mut self, function: &str) -> Arc<AtomicU64> {
        match self.reached.get(function) {
            Some(known) => Arc::clone(known),
            None => Arc::clone(self.reached.entry(function.to_owned()).or_default()),
        }
    }

    /// Records the launch of a kernel.
    pub fn add(&mut self, kernel: &str, ctas: u64) {
        self.executed.retain(|(other, others)| other != kernel || *others > ctas);
        self.executed.push((kernel.to_owned(), ctas));
    }

    /// Kernels executed before a launch of `kernel`.
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
    fn history_keeps_last_and_larger_launches_of_a_kernel() {
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
