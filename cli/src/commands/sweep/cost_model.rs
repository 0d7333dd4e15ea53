//! A rough time of a launch, from the counts of its work.
//!
//! One part is serial on a GPU of any size: the launch, first fetches of code, page walks, the
//! longest path of a warp. SMs and memory share the rest. A line that all warps write is a serial
//! path too; the longer of both paths counts. Sectors from DRAM also come through L2, so the longer
//! of these two counts as well.

use launch_capture::Group;

/// Number of parts of a launch's rough time.
const PARTS: usize = 12;

/// Core cycles of a page walk. The walks of a launch's new pages mostly overlap.
const WALK: f64 = 650.0;

/// Core cycles of a launch that hides half of its waits for code.
const LONG: f64 = 20_000.0;

/// Weight of each part in the distance of two launches.
const DEARER: [f64; PARTS] = [1.0, 1.0, 2.0, 2.0, 4.0, 1.0, 1.0, 2.0, 2.0, 3.0, 1.0, 1.0];

/// Rough core cycles of a launch, by cause.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LaunchCost {
    /// Fixed cost of a launch.
    pub(super) launch: f64,
    /// The longest path of a warp.
    pub(super) path: f64,
    /// Instruction issue of an SM.
    pub(super) issue: f64,
    /// Shared memory and loads of an SM.
    pub(super) loads: f64,
    /// Stores of an SM.
    pub(super) stores: f64,
    /// Atomic operations of an SM.
    pub(super) atomics: f64,
    /// Sectors that no earlier launch used.
    pub(super) dram: f64,
    /// Sectors from and to L2.
    pub(super) l2: f64,
    /// Writes to the line with the most writes.
    pub(super) hottest: f64,
    /// First execution of code.
    pub(super) code: f64,
    /// First access to pages.
    pub(super) walk: f64,
    /// Cycles of a control variate, in place of all parts but `code`.
    pub(super) control: f64,
}

impl LaunchCost {
    /// LaunchCost of a group's launch with these counts on `sms` SMs. The factors are a fit to all
    /// launches of the examples on a Volta GPU.
    pub(super) fn new(group: &Group, counts: &[u64], counted: &[String], sms: u32) -> LaunchCost {
        let count = |name: &str| {
            let position = counted.iter().position(|counted| counted == name);
            position.and_then(|position| counts.get(position)).map_or(0.0, |count| *count as f64)
        };
        let instructions = group.timed.first().map_or(0.0, |first| first.instructions as f64);
        let (shape, at_least_one) = (group.shape(), |count: u64| count.max(1) as f64);
        let (ctas, threads) = (at_least_one(shape.cta_count()), at_least_one(shape.threads_per_cta().into()));
        // A plan without the instructions of the longest warp has the mean of all warps.
        let longest = count("longest_instructions").max(instructions / (ctas * (threads / 32.0).ceil()));
        let sms = ctas.min(f64::from(sms));
        let work = LaunchCost {
            launch: 2400.0,
            path: 4.0 * longest + 100.0 * count("longest_global"),
            issue: 0.5 * instructions / sms,
            loads: (0.1 * count("shared_accesses") + 0.3 * count("sectors_read")) / sms,
            stores: 0.7 * count("sectors_written") / sms,
            atomics: 0.3 * count("atomic_lanes") / sms,
            dram: 0.08 * count("sectors_new"),
            l2: 2.4 * count("sectors_far") / sms,
            // A slice serves one write a cycle, and requests wait behind the writes.
            hottest: 1.2 * count("hottest_writes"),
            code: 0.0,
            walk: WALK * count("pages_new").min(1.0),
            control: 0.0,
        };
        // A warp waits only for code that it executes itself. Code of divergent paths arrives
        // meanwhile.
        let new_code = count("instructions_new").min(longest);
        if new_code == 0.0 {
            return work;
        }
        // Lines of code arrive one by one, and all SMs request them from one slice of L2. In a long
        // launch other warps hide the wait.
        let waiting = LONG / (LONG + work.cycles());
        LaunchCost { code: 450.0 + (9.0 + 0.5 * sms) * new_code * waiting, ..work }
    }

    /// The cost with the cycles of another mode, which has no cost of code.
    pub(super) fn with_control(self, cycles: f64) -> LaunchCost {
        LaunchCost { control: cycles, code: self.code, ..LaunchCost::default() }
    }

    /// Cycles of the serial part.
    pub(super) fn latency(&self) -> f64 {
        let path = if self.path < self.hottest { 0.0 } else { self.path };
        self.launch + self.code + self.walk + path
    }

    /// Cycles of the part that SMs and memory share.
    pub(super) fn throughput(&self) -> f64 {
        let hottest = if self.path < self.hottest { self.hottest } else { 0.0 };
        self.issue + self.loads + self.stores + self.atomics + self.dram.max(self.l2) + hottest + self.control
    }

    /// Sum of both parts.
    pub(super) fn cycles(&self) -> f64 {
        self.latency() + self.throughput()
    }

    /// Distance of two launches in rough cycles.
    pub(super) fn distance(&self, other: &LaunchCost) -> f64 {
        let parts = self.parts().into_iter().zip(other.parts()).zip(DEARER);
        parts.map(|((a, b), dearer)| dearer * (a - b).abs()).sum()
    }

    fn parts(&self) -> [f64; PARTS] {
        let LaunchCost { launch, path, issue, loads, stores, atomics, .. } = *self;
        let LaunchCost { dram, l2, hottest, code, walk, control, .. } = *self;
        [launch, path, issue, loads, stores, atomics, dram, l2, hottest, code, walk, control]
    }
}

#[cfg(test)]
mod tests {
    use launch_capture::Representative;

    use super::*;

    /// Cycles for code in a launch of one warp.
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
        LaunchCost::new(&group, &group.counts, &counted, 80).code
    }

    #[test]
    fn no_warp_waits_for_more_code_than_it_executes() {
        assert_eq!(code(200, 200), code(200, 800));
        assert!(code(200, 100) < code(200, 200));
        assert_eq!(code(200, 0), 0.0);
    }

    #[test]
    fn longer_of_warp_path_and_hottest_line_counts() {
        let cycles = |path, hottest| LaunchCost { path, hottest, ..LaunchCost::default() }.cycles();
        assert_eq!([cycles(300.0, 200.0), cycles(200.0, 300.0), cycles(300.0, 0.0)], [300.0; 3]);
    }

    #[test]
    fn sectors_from_dram_are_not_counted_again_at_l2() {
        let cycles = |dram, l2| LaunchCost { dram, l2, ..LaunchCost::default() }.cycles();
        assert_eq!([cycles(300.0, 200.0), cycles(200.0, 300.0)], [300.0; 2]);
    }
}
