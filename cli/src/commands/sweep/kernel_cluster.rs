//! Estimates of all launches of a kernel from its timed launches, with an error bound.
//!
//! Launches of a kernel with the same CTA size are a cluster. The plan holds the counts of each
//! launch, which give a rough time ([`LaunchCost`]). Timed launches give the error of the rough time; an
//! untimed launch takes the error of the timed launches that are most alike ([`Regression`]). Leaving
//! one timed launch out, and estimating it from the others, gives the weight of rough differences.
//!
//! With a control variate ([`Control`]), the cycles of a fast mode take the place of the rough time.
//! Estimate and bound then follow from the differences between both modes.

use launch_capture::{Group, Plan};

use super::control::Control;
use super::cost_model::LaunchCost;
use super::job::Known;
use super::regression::Regression;
use super::untimed_prior::UntimedPrior;

/// A launch that exceeds the largest timed one by this factor gets the bound of extrapolation.
const BEYOND: f64 = 1.3;

/// Idle cycles simulated in the host time of one warp instruction (60 M cycles a second against 1
/// to 2 M instructions).
const CYCLES_OF_AN_INSTRUCTION: f64 = 32.0;

/// Weight of the prior in leave-one-out estimates: one launch at this distance from the others, as
/// a fraction of its work.
const PRIOR: f64 = 0.2;

/// Least distance of two launches, as a fraction of their work: equal launches weigh alike.
const ALIKE: f64 = 0.01;

/// Weight of the difference by counts beside that of a control variate, in distances alone. The weight
/// is a fit to random sweeps of seven programs.
const UNSEEN: f64 = 2.5;

/// Launches of a group for which one estimate holds: its first, or all that follow.
pub(super) struct Portion {
    /// The group's number in the plan.
    pub(super) group: usize,
    /// Number of launches.
    pub(super) launches: f64,
    /// Warp instructions of all of them.
    instructions: f64,
    /// Size of all of them: cycles of the control variate, or warp instructions without one.
    size: f64,
    work: LaunchCost,
    /// Rough time by the counts of work, beside a control variate.
    counted: Option<LaunchCost>,
    /// Greatest difference of a launch's work from that of the group's first launch, as a fraction.
    spread: f64,
    times: Vec<Measured>,
    /// Numbers of the jobs that are not done.
    left: Vec<usize>,
}

/// A timed launch.
#[derive(Clone, Copy, Debug)]
struct Measured {
    cycles: f64,
    instructions: f64,
    /// Cycles of the control variate, or warp instructions without one.
    size: f64,
}

impl Portion {
    /// A portion of a group, with the portion's jobs.
    fn new(
        group: (usize, &Group),
        work: LaunchCost,
        launches: u64,
        jobs: &[&Known<'_>],
        control: Option<&Control>,
    ) -> Portion {
        let (number, group) = group;
        let stood_for = jobs.iter().map(|(_, job, _)| job.launch.weight * job.launch.instructions as f64);
        let sizes = control.and_then(|control| control.sizes(jobs.iter().map(|(job, ..)| *job)));
        let times = jobs.iter().enumerate().filter_map(|(place, (_, job, timed))| {
            let instructions = job.launch.instructions.max(1) as f64;
            let size = sizes.as_ref().map_or(instructions, |sizes| sizes.cycles[place] + work.code);
            Some(Measured { cycles: timed.as_ref()?.cycles as f64, instructions, size })
        });
        let instructions: f64 = stood_for.sum();
        let left = jobs.iter().filter(|(.., timed)| timed.is_none()).map(|(job, ..)| *job);
        Portion {
            group: number,
            launches: launches as f64,
            instructions,
            size: sizes.as_ref().map_or(instructions, |sizes| (sizes.mean() + work.code) * launches as f64),
            work: sizes.as_ref().map_or(work, |sizes| work.with_control(sizes.mean())),
            counted: sizes.as_ref().map(|_| work),
            spread: match &sizes {
                _ if launches <= 1 => 0.0,
                // All launches have the control variate.
                Some(sizes) if sizes.cycles.len() as u64 == launches => sizes.spread(),
                Some(sizes) => sizes.spread().max(group.spread),
                None => group.spread,
            },
            times: times.collect(),
            left: left.collect(),
        }
    }

    /// Rough cycles of one launch.
    pub(super) fn cycles(&self) -> f64 {
        self.work.cycles()
    }

    /// Warp instructions of all launches, and of the timed ones.
    pub(super) fn work(&self) -> (f64, f64) {
        (self.instructions, self.times.iter().map(|timed| timed.instructions).sum())
    }

    /// Host time of one timed launch, in warp instructions.
    pub(super) fn cost(&self) -> f64 {
        self.instructions / self.launches + self.cycles() / CYCLES_OF_AN_INSTRUCTION
    }

    /// Number of timed launches.
    pub(super) fn timed(&self) -> f64 {
        self.times.len() as f64
    }

    /// The first job that is left.
    pub(super) fn next(&self) -> Option<usize> {
        self.left.first().copied()
    }

    /// Mean cycles by size of the timed launches.
    fn rate(&self) -> Option<f64> {
        let rates = self.times.iter().map(|timed| timed.cycles / timed.size).sum::<f64>();
        (!self.times.is_empty()).then(|| rates / self.timed())
    }

    /// Mean cycles of the timed launches.
    fn mean(&self) -> Option<f64> {
        let cycles = self.times.iter().map(|timed| timed.cycles).sum::<f64>();
        (!self.times.is_empty()).then(|| cycles / self.timed())
    }

    /// Spread of the timed launches' cycles by size, as a fraction of the mean.
    fn spread_of_times(&self) -> f64 {
        let rates = self.times.iter().map(|timed| timed.cycles / timed.size);
        let (least, most) =
            rates.fold((f64::MAX, 0.0_f64), |(least, most), rate| (least.min(rate), most.max(rate)));
        self.rate().map_or(0.0, |mean| (most - least) / mean.max(f64::MIN_POSITIVE))
    }

    /// Greatest difference in rough cycles between a launch of this portion and one of `other`.
    pub(super) fn distance(&self, other: &Portion) -> f64 {
        let counted = self.counted.zip(other.counted).map_or(0.0, |(own, other)| own.distance(&other));
        self.work.distance(&other.work) + UNSEEN * counted + self.spread * self.work.cycles()
    }
}

/// All launches of a kernel with one CTA size.
pub(super) struct KernelCluster {
    pub(super) portions: Vec<Portion>,
}

/// Estimated time of a portion.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Estimated {
    /// Cycles of all its launches.
    pub(super) cycles: f64,
    /// Error bound of `cycles`.
    pub(super) bound: f64,
}

impl KernelCluster {
    /// Clusters of a plan, for the jobs of a configuration, with the times of timed jobs.
    pub(super) fn all(
        plan: &Plan,
        sms: u32,
        jobs: &[Known<'_>],
        control: Option<&Control>,
    ) -> Vec<KernelCluster> {
        let mut clusters: Vec<((&str, [u32; 3]), KernelCluster)> = Vec::new();
        for (number, group) in plan.groups.iter().enumerate() {
            let own: Vec<_> = jobs.iter().filter(|(_, job, _)| job.group == number).collect();
            let (first, rest) = own.split_at(own.len().min(1));
            let key = (group.kernel.as_str(), group.block);
            let position = clusters.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
                clusters.push((key, KernelCluster { portions: Vec::new() }));
                clusters.len() - 1
            });
            let Some((_, cluster)) = clusters.get_mut(position) else { continue };
            // A plan without counts of later launches gives them those of the first.
            let counts_of_rest = if group.rest.is_empty() { &group.counts } else { &group.rest };
            for (jobs, launches, counts) in
                [(first, 1, &group.counts), (rest, group.launches.saturating_sub(1), counts_of_rest)]
            {
                if !jobs.is_empty() {
                    let work = LaunchCost::new(group, counts, &plan.counted, sms);
                    cluster.portions.push(Portion::new((number, group), work, launches, jobs, control));
                }
            }
        }
        clusters.into_iter().map(|(_, cluster)| cluster).collect()
    }

    /// True without a timed launch.
    pub(super) fn is_unknown(&self) -> bool {
        self.timed(None).next().is_none()
    }

    /// Rough cycles of all launches.
    pub(super) fn cycles(&self) -> f64 {
        self.portions.iter().map(|portion| portion.cycles() * portion.launches).sum()
    }

    /// Measured cycles over rough cycles, of all timed launches.
    pub(super) fn ratio(&self) -> f64 {
        let timed = self.timed(None).map(|(portion, cycles)| (cycles, portion.cycles()));
        let (cycles, expected) = timed.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        if expected > 0.0 { cycles / expected } else { 1.0 }
    }

    /// Estimated cycles of each portion. A cluster without a timed launch gets those of the prior.
    pub(super) fn estimate(&self, prior: UntimedPrior) -> Vec<Estimated> {
        if self.is_unknown() {
            let roughly = |portion: &Portion| prior.ratio * portion.cycles() * portion.launches;
            let off = prior.off_of(self);
            let estimated = |cycles| Estimated { cycles, bound: off * cycles };
            return self.portions.iter().map(|portion| estimated(roughly(portion))).collect();
        }
        let slopes = self.slopes();
        let of = |(number, portion): (usize, &Portion)| {
            let left = (portion.launches - portion.timed()).max(0.0);
            let cycles = match portion.rate() {
                Some(rate) => rate * portion.size,
                None => self.cycles_like(number, None) * portion.launches,
            };
            if left == 0.0 {
                return Estimated { cycles, bound: 0.0 };
            }
            let guessed = cycles * left / portion.launches;
            let far = left * slopes.at(portion) * self.nearest(portion, None);
            let far = far.min(prior.off.min(1.0) * guessed);
            Estimated { cycles, bound: far.max(portion.spread_of_times() * guessed) }
        };
        self.portions.iter().enumerate().map(of).collect()
    }

    /// Timed portions with their mean cycles per launch; `without` leaves one portion out.
    fn timed(&self, without: Option<usize>) -> impl Iterator<Item = (&Portion, f64)> {
        let portions = self.portions.iter().enumerate().filter(move |(number, _)| Some(*number) != without);
        portions.filter_map(|(_, portion)| Some((portion, portion.mean()?)))
    }

    /// Distance to the nearest timed portion, in rough cycles.
    fn nearest(&self, portion: &Portion, without: Option<usize>) -> f64 {
        let distances = self.timed(without).map(|(timed, _)| portion.distance(timed));
        distances.fold(f64::INFINITY, f64::min)
    }

    /// Cycles of a launch of portion `number`, from the timed launches.
    fn cycles_like(&self, number: usize, without: Option<usize>) -> f64 {
        let Some(portion) = self.portions.get(number) else { return 0.0 };
        let timed = self.timed(without).map(|(timed, cycles)| {
            let far = portion.distance(timed) / portion.cycles().max(timed.cycles()) + ALIKE;
            (timed.work, cycles, far)
        });
        Regression::of(timed).cycles(&portion.work)
    }

    /// Differences of measured cycles for each cycle of difference in rough cycles.
    pub(super) fn slopes(&self) -> Slopes {
        let ratio = self.ratio();
        let (mut off, mut far, mut all, mut largest, mut times) = (0.0, 0.0, 0.0, 0.0_f64, 0.0);
        for (number, portion) in self.portions.iter().enumerate() {
            let Some(mean) = portion.mean() else { continue };
            let near = self.nearest(portion, Some(number));
            if near.is_finite() {
                off += (self.cycles_like(number, Some(number)) - mean).abs();
                far += near;
            }
            all += portion.cycles();
            largest = largest.max(portion.cycles());
            times += 1.0;
        }
        let prior = PRIOR * all / times;
        let learnt = if times > 1.0 { (off + ratio * prior) / (far + prior) } else { ratio };
        Slopes { learnt, beyond: learnt.max(ratio), largest }
    }
}

/// Measured difference of two launches for each rough cycle of difference.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slopes {
    pub(super) learnt: f64,
    beyond: f64,
    /// Rough cycles of the largest timed launch.
    largest: f64,
}

impl Slopes {
    /// The slope for a portion. The learnt slope holds up to the largest timed launch.
    pub(super) fn at(&self, portion: &Portion) -> f64 {
        let is_beyond = portion.cycles() > BEYOND * self.largest;
        if is_beyond { self.beyond } else { self.learnt }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A portion of `launches` launches of equal work, of which some are timed; each launch is a job.
    pub(in super::super) fn portion(work: f64, launches: usize, times: &[f64]) -> Portion {
        Portion {
            group: 0,
            launches: launches as f64,
            instructions: work * launches as f64,
            size: work * launches as f64,
            work: LaunchCost { launch: work, ..LaunchCost::default() },
            counted: None,
            spread: 0.0,
            times: times
                .iter()
                .map(|cycles| Measured { cycles: *cycles, instructions: work, size: work })
                .collect(),
            left: (times.len()..launches).map(|launch| work as usize * 100 + launch).collect(),
        }
    }

    /// The portion with another number of warp instructions per launch.
    pub(in super::super) fn of_instructions(instructions: f64, portion: Portion) -> Portion {
        let all = instructions * portion.launches;
        Portion { instructions: all, size: all, ..portion }
    }

    pub(in super::super) fn cluster(portions: Vec<Portion>) -> KernelCluster {
        KernelCluster { portions }
    }

    fn total(cluster: &KernelCluster) -> (f64, f64) {
        let estimated = cluster.estimate(UntimedPrior::new(&[]));
        (estimated.iter().map(|of| of.cycles).sum(), estimated.iter().map(|of| of.bound).sum())
    }

    #[test]
    fn launches_of_a_portion_take_what_those_took_that_were_timed() {
        let (cycles, bound) = total(&cluster(vec![portion(100.0, 1, &[300.0]), portion(100.0, 9, &[210.0])]));
        assert_eq!((cycles, bound), (2190.0, 0.0));
    }

    #[test]
    fn bound_covers_the_spread_of_timed_launches() {
        let (cycles, bound) = total(&cluster(vec![portion(100.0, 4, &[200.0, 220.0])]));
        assert_eq!(cycles, 840.0);
        assert!((bound - 420.0 * 20.0 / 210.0).abs() < 1e-9, "{bound}");
    }

    #[test]
    fn control_variate_widens_the_bound_by_the_difference_of_counts() {
        let cost = |launch| LaunchCost { launch, ..LaunchCost::default() };
        let bound = |counted: [f64; 2]| {
            let [timed, untimed] = counted.map(|counted| Some(cost(counted)));
            let timed = Portion { counted: timed, ..portion(100.0, 1, &[200.0]) };
            let untimed = Portion { counted: untimed, ..portion(100.0, 1, &[]) };
            total(&cluster(vec![timed, untimed])).1
        };
        assert_eq!(bound([50.0, 50.0]), 0.0);
        assert!(bound([50.0, 60.0]) > 0.0);
    }

    #[test]
    fn untimed_launch_takes_the_error_of_the_timed_launch() {
        let (cycles, bound) = total(&cluster(vec![portion(100.0, 1, &[200.0]), portion(120.0, 3, &[])]));
        assert!((cycles - 920.0).abs() < 6.0, "{cycles}");
        assert!((bound - 3.0 * 2.0 * 20.0).abs() < 1e-9, "{bound}");
    }

    #[test]
    fn the_nearer_launch_tells_more() {
        let between = |work| {
            let cluster = cluster(vec![
                portion(100.0, 1, &[100.0]),
                portion(200.0, 1, &[400.0]),
                portion(work, 1, &[]),
            ]);
            cluster.estimate(UntimedPrior::new(&[]))[2].cycles / work
        };
        assert!(between(110.0) < 1.1 && between(190.0) > 1.9);
    }

    #[test]
    fn bound_grows_with_the_error_of_rough_times() {
        let bound = |times: [f64; 3]| {
            let [small, middle, large] = times;
            let timed =
                [portion(100.0, 1, &[small]), portion(200.0, 1, &[middle]), portion(300.0, 1, &[large])];
            total(&cluster(timed.into_iter().chain([portion(250.0, 1, &[])]).collect())).1
        };
        assert!(bound([200.0, 400.0, 600.0]) < 50.0);
        assert!(bound([200.0, 900.0, 300.0]) > 150.0);
    }

    #[test]
    fn smaller_launches_do_not_vouch_for_a_much_larger_one() {
        let bound = |work| {
            let timed = [portion(100.0, 1, &[100.0]), portion(200.0, 1, &[200.0]), portion(work, 1, &[])];
            total(&cluster(timed.into())).1 / (work - 200.0)
        };
        assert!(bound(250.0) < 0.5 * bound(300.0), "{} {}", bound(250.0), bound(300.0));
    }
}
