//! The warp of a launch that has most to do, which the launch waits for in the end.

use rustc_hash::FxHashMap;

/// What a warp has executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Executed {
    /// Warp instructions.
    pub(super) instructions: u64,
    /// Loads and atomic operations on global memory.
    pub(super) global: u64,
}

/// What each warp of a launch has executed so far, and the most of each that any has.
#[derive(Debug, Default)]
pub(super) struct Longest {
    /// The warp that runs, by CTA and number: others wait in `others` until it stops for a while.
    running: (u64, u32),
    executed: Executed,
    others: FxHashMap<(u64, u32), Executed>,
    longest: Executed,
}

impl Longest {
    /// A warp executes an instruction.
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

    /// The most of each, as the launch is over.
    pub(super) fn take(&mut self) -> Executed {
        std::mem::take(self).longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warps_that_take_turns_are_counted_each_for_itself() {
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
