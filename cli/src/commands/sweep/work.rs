//! A rough time of a launch, from the counts of its work.
//!
//! One part is serial on a GPU of any size: the launch itself, first fetches of code, page walks,
//! the longest path of a warp. SMs and memory share the rest. A line that all warps write is a
//! serial path too; the longer of both paths counts. Sectors from DRAM also come through L2, so
//! the longer of these two counts as well.

use launch_capture::Group;

/// How many things a launch's time goes into.
const PARTS: usize = 11;

/// Core cycles of a walk through the page tables. Those of a launch's new pages mostly come at the
/// same time.
const WALK: f64 = 650.0;

/// Core cycles of a launch of which half is not spent on waiting for code that is not there.
const LONG: f64 = 20_000.0;

/// By how much more than expected two launches may differ in each.
const DEARER: [f64; PARTS] = [1.0, 1.0, 2.0, 2.0, 4.0, 1.0, 1.0, 2.0, 2.0, 3.0, 1.0];

/// Roughly the core cycles of a launch, by what takes them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work {
    /// Any launch.
    pub(super) launch: f64,
    /// The longest path of a warp.
    pub(super) path: f64,
    /// Instructions of an SM.
    pub(super) issue: f64,
    /// Shared memory and loads of an SM.
    pub(super) loads: f64,
    /// Stores of an SM.
    pub(super) stores: f64,
    /// Atomic operations of an SM.
    pub(super) atomics: f64,
    /// Sectors that no launch before has used.
    pub(super) dram: f64,
    /// Sectors from and to L2.
    pub(super) l2: f64,
    /// Writes to the line that is written to most.
    pub(super) hottest: f64,
    /// Code that was not executed before.
    pub(super) code: f64,
    /// Pages that were not accessed before.
    pub(super) walk: f64,
}

impl Work {
    /// Of a group's launch that does what is counted, on so many SMs. What is multiplied is what a
    /// launch takes on a Volta GPU, roughly, by a fit to all launches of our examples.
    pub(super) fn new(group: &Group, counts: &[u64], counted: &[String], sms: u32) -> Work {
        let count = |name: &str| {
            let position = counted.iter().position(|counted| counted == name);
            position.and_then(|position| counts.get(position)).map_or(0.0, |count| *count as f64)
        };
        let product = |extents: [u32; 3]| extents.into_iter().map(f64::from).product::<f64>().max(1.0);
        let instructions = group.timed.first().map_or(0.0, |first| first.instructions as f64);
        let (ctas, threads) = (product(group.grid), product(group.block));
        // A plan that does not say what its longest warp does has the mean of all.
        let longest = count("longest_instructions").max(instructions / (ctas * (threads / 32.0).ceil()));
        let sms = ctas.min(f64::from(sms));
        let work = Work {
            launch: 2400.0,
            path: 4.0 * longest + 100.0 * count("longest_global"),
            issue: 0.5 * instructions / sms,
            loads: (0.1 * count("shared_accesses") + 0.3 * count("sectors_read")) / sms,
            stores: 0.7 * count("sectors_written") / sms,
            atomics: 0.3 * count("atomic_lanes") / sms,
            dram: 0.08 * count("sectors_new"),
            l2: 2.4 * count("sectors_far") / sms,
            // A slice takes one in a cycle; what waits behind them makes it more.
            hottest: 1.2 * count("hottest_writes"),
            code: 0.0,
            walk: WALK * count("pages_new").min(1.0),
        };
        // A warp waits for code that it executes itself: of paths that part, others' comes at the
        // same time.
        let new_code = count("instructions_new").min(longest);
        if new_code == 0.0 {
            return work;
        }
        // Lines of code come one after the other, and each SM asks one slice of L2 for the same. In
        // a long launch other warps go on meanwhile.
        let waiting = LONG / (LONG + work.cycles());
        Work { code: 450.0 + (9.0 + 0.5 * sms) * new_code * waiting, ..work }
    }

    /// Of all cycles, those of what comes one after the other.
    pub(super) fn latency(&self) -> f64 {
        let path = if self.path < self.hottest { 0.0 } else { self.path };
        self.launch + self.code + self.walk + path
    }

    /// Of all cycles, those of what is shared out.
    pub(super) fn throughput(&self) -> f64 {
        let hottest = if self.path < self.hottest { self.hottest } else { 0.0 };
        self.issue + self.loads + self.stores + self.atomics + self.dram.max(self.l2) + hottest
    }

    /// Cycles in all.
    pub(super) fn cycles(&self) -> f64 {
        self.latency() + self.throughput()
    }

    /// By how many cycles two launches may differ.
    pub(super) fn distance(&self, other: &Work) -> f64 {
        let parts = self.parts().into_iter().zip(other.parts()).zip(DEARER);
        parts.map(|((a, b), dearer)| dearer * (a - b).abs()).sum()
    }

    fn parts(&self) -> [f64; PARTS] {
        let Work { launch, path, issue, loads, stores, atomics, dram, l2, hottest, code, walk } = *self;
        [launch, path, issue, loads, stores, atomics, dram, l2, hottest, code, walk]
    }
}

#[cfg(test)]
mod tests {
    use launch_capture::Representative;

    use super::*;

    /// The part for code of the work of a launch of one warp.
    fn code(longest: u64, new: u64) -> f64 {
        let timed = Representative { launch: 1, instructions: longest, weight: 1.0 };
        let group = Group {
            kernel: "kernel".to_owned(),
            grid: [1; 3],
            block: [32, 1, 1],
            counts: vec![longest, new],
            rest: Vec::new(),
            launches: 1,
            share: 1.0,
            spread: 0.0,
            members: "1".to_owned(),
            timed: vec![timed],
        };
        let counted = ["longest_instructions", "instructions_new"].map(str::to_owned);
        Work::new(&group, &group.counts, &counted, 80).code
    }

    #[test]
    fn no_warp_waits_for_more_code_than_it_executes() {
        assert_eq!(code(200, 200), code(200, 800));
        assert!(code(200, 100) < code(200, 200));
        assert_eq!(code(200, 0), 0.0);
    }

    #[test]
    fn of_the_longest_path_and_the_line_that_is_written_most_the_longer_one_counts() {
        let cycles = |path, hottest| Work { path, hottest, ..Work::default() }.cycles();
        assert_eq!([cycles(300.0, 200.0), cycles(200.0, 300.0), cycles(300.0, 0.0)], [300.0; 3]);
    }

    #[test]
    fn sectors_from_dram_are_not_counted_again_at_l2() {
        let cycles = |dram, l2| Work { dram, l2, ..Work::default() }.cycles();
        assert_eq!([cycles(300.0, 200.0), cycles(200.0, 300.0)], [300.0; 2]);
    }
}
