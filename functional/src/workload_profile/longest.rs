//! The longest warp of a launch, which the end of the launch waits for.

use rustc_hash::FxHashMap;

/// Work executed by a warp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Executed {
    /// Warp instructions.
    pub(super) instructions: u64,
    /// Loads and atomic operations on global memory.
    pub(super) global: u64,
}

/// Work of each warp of a launch so far, and the maximum of each count.
#[derive(Debug, Default)]
pub(super) struct Longest {
    /// The running warp, by CTA and number. Other warps are kept in `others` until they run again.
    running: (u64, u32),
    executed: Executed,
    others: FxHashMap<(u64, u32), Executed>,
    longest: Executed,
}

impl Longest {
    /// Counts an instruction of a warp.
    pub(super) fn count(&mut self, cta: u64, warp: u32, is_global: bool) {
        if self.running != (cta, warp) {
            self.others.insert(self.running, self.executed);
            self.running = (cta, warp);
            self.executed = self.others.remove(&self.running).unwrap_or_default();
        }
        let Executed { instructions, global } = &mut self.executed;
        *instructions += 1;
        *global += u64::from(is_global);
        self.longest.instructions = self.longest.instructions.max(*instructions);
        self.longest.global = self.longest.global.max(*global);
    }

    /// Maximum counts at the end of the launch.
    pub(super) fn take(&mut self) -> Executed {
        std::mem::take(self).longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternating_warps_are_counted_separately() {
        let mut longest = Longest::default();
        for _ in 0..3 {
            longest.count(0, 0, false);
            longest.count(0, 1, true);
            longest.count(0, 1, false);
            longest.count(1, 1, false);
        }
        assert_eq!(longest.take(), Executed { instructions: 6, global: 3 });
        assert_eq!(longest.take(), Executed::default());
    }
}
