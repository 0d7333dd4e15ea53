//! Selects representative launches.
//!
//! Launches of similar work form a group. Two launches of a group are timed. The first finds cold
//! caches and stands for itself; the second stands for all later ones.
//!
//! Launches with different amounts of memory that no cache can hold, since nothing accessed it
//! before, are dissimilar: cold misses dominate a short launch.
//!
//! The method is principal kernel selection (Baddouh et al., MICRO 2021) with the counts of one
//! functional pass. Launches arrive one by one and are not kept. A launch joins the group whose
//! first launch is similar, else it starts a group. A representative is therefore known in time to
//! be saved.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde::{Deserialize, Serialize};
use warp_stream::LaunchShape;
use warp_stream::kernel_name::{base_name, demangled};

use crate::error::Error;
use crate::folder::{read_manifest, write_manifest};
use crate::until_stable::UntilStable;

/// Format of plans that this version reads and writes.
pub const PLAN_FORMAT: u32 = 1;

/// Warp instructions whose time is the minimum of any launch.
const OF_A_LAUNCH: u64 = 200;

/// Largest difference of a group's counts from those of its first launch.
pub const TOLERANCE: f64 = 0.1;

/// A plan: launches to time, and the launches that they represent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// [`PLAN_FORMAT`] of the writer.
    pub format: u32,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// File of the launches to time, in the plan's folder.
    pub stream: String,
    /// Largest difference of a group's counts from those of its first launch.
    pub tolerance: f64,
    /// Names of the numbers in `counts`.
    pub counted: Vec<String>,
    /// Launches of the program.
    pub launches: u64,
    /// Copies between host and device.
    pub copies: Copies,
    /// Copies within the device.
    #[serde(default)]
    pub device_copies: Copies,
    /// Fills.
    #[serde(default)]
    pub fills: Copies,
    /// Criterion that ends a timed launch early, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_stable: Option<UntilStable>,
    /// GPUs for which the launches are timed.
    #[serde(default, rename = "configuration")]
    pub configurations: Vec<Configuration>,
    /// Groups, in the order of their first launches.
    #[serde(default, rename = "group")]
    pub groups: Vec<Group>,
}

impl Plan {
    /// Reads a plan.
    pub fn read(path: &Path) -> Result<Plan, Error> {
        let plan: Plan = read_manifest(path, PLAN_FORMAT)?;
        let malformed =
            |message: &str| Err(Error::Malformed { path: path.to_owned(), message: message.to_owned() });
        let is_file = Path::new(&plan.stream).file_name().is_some_and(|name| name == &*plan.stream);
        let is_number = |number: &f64| number.is_finite() && *number >= 0.0;
        let of_group = |group: &Group| {
            let weights = group.timed.iter().map(|timed| timed.weight);
            weights.chain([group.share, group.spread]).all(|number| is_number(&number))
        };
        let are_numbers = plan.groups.iter().all(of_group);
        let is_possible = plan.until_stable.is_none_or(|stable| stable.is_possible());
        let names: HashSet<&str> = plan.configurations.iter().map(|one| one.name.as_str()).collect();
        match (is_file, are_numbers, is_possible, names.len() == plan.configurations.len()) {
            (false, ..) => malformed("`stream` must name a file in the plan's folder"),
            (_, false, ..) => malformed("weights, shares and spreads must be non-negative numbers"),
            (_, _, false, _) => {
                malformed("`until_stable` must have two windows or more and a positive deviation")
            }
            (.., false) => malformed("the names of configurations must differ"),
            _ => Ok(plan),
        }
    }

    /// Writes the plan.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        write_manifest(path, self)
    }
}

/// Copies of a kind, or fills.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Copies {
    /// Copies.
    pub number: u64,
    /// Bytes copied.
    pub bytes: u64,
}

/// A GPU for which launches are timed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configuration {
    /// Name in the results.
    pub name: String,
    /// GPU name or file.
    pub gpu: String,
    /// Changed values: `section.key=value`.
    #[serde(default)]
    pub set: Vec<String>,
}

/// Launches of similar work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Mangled name of the kernel.
    pub kernel: String,
    /// CTAs of the first launch along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a CTA along x, y, z.
    pub block: [u32; 3],
    /// Counts of the first launch.
    pub counts: Vec<u64>,
    /// Mean counts of the other launches; empty without others or without counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rest: Vec<u64>,
    /// Launches of the group.
    pub launches: u64,
    /// Share of the program's warp instructions.
    pub share: f64,
    /// Largest difference of counts from those of the first launch.
    pub spread: f64,
    /// Launch numbers: `1..4, 7`.
    pub members: String,
    /// Timed launches: the first, and those that represent the others.
    pub timed: Vec<Representative>,
}

/// A timed launch that represents others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Representative {
    /// Launch number, from 1.
    pub launch: u64,
    /// Warp instructions.
    pub instructions: u64,
    /// Time of the represented launches relative to this one's, by instructions.
    pub weight: f64,
}

impl Group {
    /// CTAs of the first launch's grid and threads of a CTA. The file has them as two keys.
    pub fn shape(&self) -> LaunchShape {
        LaunchShape::new(self.grid, self.block)
    }

    /// Kernel name as in the source, without namespaces and template arguments.
    pub fn name(&self) -> String {
        base_name(&demangled(&self.kernel)).to_string()
    }
}

/// An executed launch.
#[derive(Clone, Debug)]
pub struct Launched<'a> {
    /// Launch number, from 1.
    pub number: u64,
    /// Mangled name of the kernel.
    pub kernel: &'a str,
    /// CTAs of the grid and threads of a CTA.
    pub shape: LaunchShape,
    /// Warp instructions.
    pub instructions: u64,
    /// Warp instructions by kind.
    pub mix: &'a [u64],
    /// Memory accesses by kind.
    pub accesses: &'a [u64],
    /// Maxima over warps, instructions first, and over memory locations.
    pub longest: &'a [u64],
    /// Cold misses; otherwise similar launches may differ in them.
    pub uncached: &'a [u64],
}

impl Launched<'_> {
    /// All counts, in the order of [`Group::counts`].
    fn counts(&self) -> impl Iterator<Item = u64> {
        [self.mix, self.accesses, self.longest, self.uncached].into_iter().flatten().copied()
    }
}

/// Default of timed launches a group: the first, and the second for all others.
pub const REPRESENTATIVES: usize = 2;

/// Groups of a run so far.
#[derive(Debug)]
pub struct Groups {
    /// Most timed launches of a group.
    representatives: usize,
    groups: Vec<Growing>,
    by_kernel: HashMap<String, Vec<usize>>,
    launches: u64,
    instructions: u64,
}

#[derive(Debug)]
struct Growing {
    kernel: String,
    first: Executed,
    /// Timed launches after the first.
    next: Vec<Executed>,
    shape: LaunchShape,
    mix: Vec<u64>,
    accesses: Vec<u64>,
    longest: Vec<u64>,
    /// Counts of the first launch, in the order of [`Group::counts`].
    counts: Vec<u64>,
    /// Summed counts of the later launches, in the order of [`Group::counts`].
    rest: Vec<u64>,
    /// Instructions of all launches.
    total: u64,
    spread: f64,
    /// First and last of consecutive launches.
    members: Vec<(u64, u64)>,
}

/// A timed launch.
#[derive(Clone, Copy, Debug)]
struct Executed {
    launch: u64,
    instructions: u64,
}

impl Executed {
    fn weight(self, instructions: f64) -> Representative {
        Representative {
            launch: self.launch,
            instructions: self.instructions,
            weight: instructions / self.instructions.max(1) as f64,
        }
    }
}

impl Default for Groups {
    fn default() -> Groups {
        Groups::new(REPRESENTATIVES)
    }
}

impl Groups {
    /// Groups with up to `representatives` timed launches: the first, with cold caches, and the
    /// rest for all others.
    pub fn new(representatives: usize) -> Groups {
        Groups {
            representatives: representatives.max(2),
            groups: Vec::new(),
            by_kernel: HashMap::new(),
            launches: 0,
            instructions: 0,
        }
    }

    /// Adds a launch; true if it is to be timed.
    pub fn add(&mut self, launched: &Launched<'_>) -> bool {
        self.launches += 1;
        self.instructions += launched.instructions;
        let executed = Executed { launch: launched.number, instructions: launched.instructions };
        let known = self.by_kernel.get(launched.kernel).map_or(&[][..], Vec::as_slice);
        let like = known.iter().find_map(|&number| {
            let spread = self.groups.get(number)?.spread_with(launched)?;
            (spread <= TOLERANCE).then_some((number, spread))
        });
        match like.and_then(|(number, spread)| Some((self.groups.get_mut(number)?, spread))) {
            Some((group, spread)) => {
                group.total += launched.instructions;
                group.spread = group.spread.max(spread);
                group.rest.iter_mut().zip(launched.counts()).for_each(|(sum, count)| *sum += count);
                let is_timed = group.next.len() + 1 < self.representatives;
                if is_timed {
                    group.next.push(executed);
                }
                match group.members.last_mut() {
                    Some((_, last)) if *last + 1 == launched.number => *last = launched.number,
                    _ => group.members.push((launched.number, launched.number)),
                }
                is_timed
            }
            None => {
                let groups = self.by_kernel.entry(launched.kernel.to_owned()).or_default();
                groups.push(self.groups.len());
                self.groups.push(Growing::new(launched, executed));
                true
            }
        }
    }

    /// Launches so far.
    pub fn launches(&self) -> u64 {
        self.launches
    }

    /// The groups.
    pub fn finish(&self) -> Vec<Group> {
        self.groups.iter().map(|group| group.finish(self.instructions)).collect()
    }
}

impl Growing {
    fn new(launched: &Launched<'_>, first: Executed) -> Growing {
        let Launched { number, kernel, shape, instructions, mix, accesses, longest, uncached: _ } = launched;
        let counts: Vec<u64> = launched.counts().collect();
        Growing {
            kernel: (*kernel).to_owned(),
            first,
            next: Vec::new(),
            shape: *shape,
            mix: mix.to_vec(),
            accesses: accesses.to_vec(),
            longest: longest.to_vec(),
            rest: vec![0; counts.len()],
            counts,
            total: *instructions,
            spread: 0.0,
            members: vec![(*number, *number)],
        }
    }

    /// Difference of a launch's counts from the first's; `None` if they are not comparable.
    ///
    /// Instruction differences are relative to all instructions. Access differences are relative to
    /// all accesses, or to instructions if those are more, since few accesses cost little beside
    /// many instructions. Maxima of warps and locations are relative to themselves, to the
    /// instructions of the longest warp, or to [`OF_A_LAUNCH`].
    fn spread_with(&self, launched: &Launched<'_>) -> Option<f64> {
        if self.shape.block != launched.shape.block {
            return None;
        }
        let ctas = |shape: &LaunchShape| shape.cta_count() as f64;
        let difference = |a: &[u64], b: &[u64], of: f64| {
            let all: u64 = a.iter().zip(b).map(|(a, b)| a.abs_diff(*b)).sum();
            all as f64 / of.max(1.0)
        };
        let instructions = self.first.instructions as f64;
        let accesses = (self.accesses.iter().sum::<u64>() as f64).max(instructions);
        let least = self.longest.first().copied().unwrap_or_default().max(OF_A_LAUNCH);
        let longest = self.longest.iter().zip(launched.longest);
        let longest = longest.map(|(a, b)| a.abs_diff(*b) as f64 / *a.max(&least) as f64);
        let spreads = [
            (ctas(&self.shape) - ctas(&launched.shape)).abs() / ctas(&self.shape).max(1.0),
            difference(&self.mix, launched.mix, instructions),
            difference(&self.accesses, launched.accesses, accesses),
            longest.fold(0.0, f64::max),
        ];
        Some(spreads.into_iter().fold(0.0, f64::max))
    }

    fn finish(&self, all: u64) -> Group {
        let runs = self.members.iter().map(|(first, last)| match first == last {
            true => first.to_string(),
            false => format!("{first}..{last}"),
        });
        let first = self.first.weight(self.first.instructions as f64);
        // The other timed launches represent equal parts of the rest.
        let rest = (self.total - self.first.instructions) as f64 / self.next.len().max(1) as f64;
        let next = self.next.iter().map(|next| next.weight(rest));
        let launches = self.members.iter().map(|(first, last)| last - first + 1).sum();
        let mean = |sum: &u64| (sum + (launches - 1) / 2) / (launches - 1);
        Group {
            kernel: self.kernel.clone(),
            grid: self.shape.grid,
            block: self.shape.block,
            counts: self.counts.clone(),
            rest: if launches > 1 { self.rest.iter().map(mean).collect() } else { Vec::new() },
            launches,
            share: self.total as f64 / all.max(1) as f64,
            spread: self.spread,
            members: runs.collect::<Vec<_>>().join(", "),
            timed: std::iter::once(first).chain(next).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launched(number: u64, mix: &[u64]) -> Launched<'_> {
        let instructions = mix.iter().sum();
        Launched {
            number,
            kernel: "k",
            shape: LaunchShape::new([4, 1, 1], [32, 1, 1]),
            instructions,
            mix,
            accesses: &[8, 0],
            longest: &[50, 4],
            uncached: &[0, 0],
        }
    }

    #[test]
    fn second_similar_launch_represents_the_rest() {
        let mut groups = Groups::default();
        assert!(groups.add(&Launched { uncached: &[7, 90], ..launched(1, &[100, 100]) }));
        assert!(groups.add(&launched(2, &[105, 95])));
        assert!(!groups.add(&launched(4, &[105, 95])));
        assert!(!groups.add(&launched(5, &[110, 100])));
        let [group] = groups.finish().try_into().unwrap();
        assert_eq!((group.launches, group.members.as_str()), (4, "1..2, 4..5"));
        let timed: Vec<_> = group.timed.iter().map(|timed| (timed.launch, timed.weight)).collect();
        assert_eq!(timed, [(1, 1.0), (2, 3.05)]);
        assert!((group.spread - 0.05).abs() < 1e-9, "{group:?}");
    }

    #[test]
    fn group_separates_first_and_other_counts() {
        let mut groups = Groups::default();
        groups.add(&Launched { uncached: &[7, 90], ..launched(1, &[100, 100]) });
        assert!(groups.finish()[0].rest.is_empty(), "there are no others");
        groups.add(&Launched { uncached: &[0, 1], ..launched(2, &[104, 96]) });
        groups.add(&Launched { uncached: &[0, 4], ..launched(3, &[104, 96]) });
        let [group] = groups.finish().try_into().unwrap();
        assert_eq!(group.counts, [100, 100, 8, 0, 50, 4, 7, 90]);
        assert_eq!(group.rest, [104, 96, 8, 0, 50, 4, 0, 3]);
    }

    #[test]
    fn more_timed_launches_share_the_rest_equally() {
        let mut groups = Groups::new(3);
        let timed: Vec<bool> = (1..=5).map(|number| groups.add(&launched(number, &[100, 100]))).collect();
        assert_eq!(timed, [true, true, true, false, false]);
        let [group] = groups.finish().try_into().unwrap();
        let weights: Vec<_> = group.timed.iter().map(|timed| timed.weight).collect();
        assert_eq!(weights, [1.0, 2.0, 2.0]);
    }

    #[test]
    fn other_instruction_mix_starts_a_group() {
        let mut groups = Groups::default();
        assert!(groups.add(&launched(1, &[100, 100])));
        assert!(groups.add(&launched(2, &[150, 50])));
        assert!(groups.add(&launched(3, &[150, 50])), "it is the second that is like the second");
        assert!(!groups.add(&launched(4, &[150, 50])));
        assert_eq!(groups.finish().iter().map(|group| group.launches).collect::<Vec<_>>(), [1, 3]);
    }

    #[test]
    fn other_kernel_block_memory_or_longest_warp_starts_a_group() {
        let mut groups = Groups::default();
        let first = launched(1, &[10, 10]);
        groups.add(&first);
        groups.add(&Launched { kernel: "other", ..first.clone() });
        groups.add(&Launched { shape: LaunchShape { block: [64, 1, 1], ..first.shape }, ..first.clone() });
        groups.add(&Launched { shape: LaunchShape { grid: [8, 1, 1], ..first.shape }, ..first.clone() });
        groups.add(&Launched { accesses: &[0, 20], ..first.clone() });
        groups.add(&Launched { longest: &[80, 4], ..first.clone() });
        assert_eq!(groups.finish().len(), 6);
    }

    #[test]
    fn group_shares_sum_to_one() {
        let mut groups = Groups::default();
        for number in 1..=6 {
            groups.add(&launched(number, &[number * 40, 60]));
        }
        let shares: f64 = groups.finish().iter().map(|group| group.share).sum();
        assert!((shares - 1.0).abs() < 1e-9);
        assert_eq!(groups.launches(), 6);
    }
}
