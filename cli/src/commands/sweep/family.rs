//! Estimates of all launches of a kernel from its timed launches, with an error bound.
//!
//! Launches of a kernel with the same CTA size are a family. The plan holds the counts of each
//! launch, which give a rough time ([`Work`]). Timed launches give the error of the rough time; an
//! untimed launch takes the error of the timed launches that are most alike ([`Scale`]). Leaving
//! one timed launch out, and estimating it from the others, gives the weight of rough differences.

use launch_capture::{Group, Plan};

use super::job::Known;
use super::scale::Scale;
use super::strangers::Strangers;
use super::work::Work;

/// Launches beyond the largest one that was timed are not vouched for by smaller ones: by this
/// factor.
const BEYOND: f64 = 1.3;

/// Cycles of a GPU that mostly waits are simulated in the time of a warp instruction (60 M a
/// second; 1 to 2 M instructions).
const CYCLES_OF_AN_INSTRUCTION: f64 = 32.0;

/// How much leaving out counts that nothing was learnt from: as one launch that lies so far from
/// the others, as a part of its work.
const PRIOR: f64 = 0.2;

/// Added to how far launches lie from each other, as a part of their work: alike ones count alike.
const ALIKE: f64 = 0.01;

/// Launches of a group for which one estimate holds: its first, or all that follow.
pub(super) struct Portion {
    /// The group's number in the plan.
    pub(super) group: usize,
    /// How many launches.
    pub(super) launches: f64,
    /// Warp instructions of all of them.
    instructions: f64,
    work: Work,
    /// Part of the work by which a launch may differ from the first of the group.
    spread: f64,
    /// Cycles of the launches that were timed, with their warp instructions.
    times: Vec<(f64, f64)>,
    /// Jobs that may still be done, by number.
    left: Vec<usize>,
}

impl Portion {
    /// Of a group, with those of its jobs that are of the portion.
    fn new(group: (usize, &Group), work: Work, launches: u64, jobs: &[&Known<'_>]) -> Portion {
        let (number, group) = group;
        let stood_for = jobs.iter().map(|(_, job, _)| job.launch.weight * job.launch.instructions as f64);
        let times = jobs.iter().filter_map(|(_, job, timed)| {
            Some((timed.as_ref()?.cycles as f64, job.launch.instructions.max(1) as f64))
        });
        let left = jobs.iter().filter(|(.., timed)| timed.is_none()).map(|(job, ..)| *job);
        Portion {
            group: number,
            launches: launches as f64,
            instructions: stood_for.sum(),
            work,
            spread: if launches > 1 { group.spread } else { 0.0 },
            times: times.collect(),
            left: left.collect(),
        }
    }

    /// Roughly the cycles of one launch.
    pub(super) fn cycles(&self) -> f64 {
        self.work.cycles()
    }

    /// Warp instructions of all launches, and of those that were timed.
    pub(super) fn work(&self) -> (f64, f64) {
        (self.instructions, self.times.iter().map(|(_, instructions)| instructions).sum())
    }

    /// How long it takes to time one launch, in warp instructions.
    pub(super) fn cost(&self) -> f64 {
        self.instructions / self.launches + self.cycles() / CYCLES_OF_AN_INSTRUCTION
    }

    /// How many launches were timed.
    pub(super) fn timed(&self) -> f64 {
        self.times.len() as f64
    }

    /// The job that is done next, if one is left.
    pub(super) fn next(&self) -> Option<usize> {
        self.left.first().copied()
    }

    /// Cycles of an instruction of those that were timed.
    fn rate(&self) -> Option<f64> {
        let rates = self.times.iter().map(|(cycles, instructions)| cycles / instructions).sum::<f64>();
        (!self.times.is_empty()).then(|| rates / self.timed())
    }

    /// Cycles of a launch of those that were timed.
    fn mean(&self) -> Option<f64> {
        let cycles = self.times.iter().map(|(cycles, _)| cycles).sum::<f64>();
        (!self.times.is_empty()).then(|| cycles / self.timed())
    }

    /// How far the times of those that were timed differ, by their instructions.
    fn spread_of_times(&self) -> f64 {
        let rates = self.times.iter().map(|(cycles, instructions)| cycles / instructions);
        let (least, most) =
            rates.fold((f64::MAX, 0.0_f64), |(least, most), rate| (least.min(rate), most.max(rate)));
        self.rate().map_or(0.0, |mean| (most - least) / mean.max(f64::MIN_POSITIVE))
    }

    /// How far a launch of another portion, or of this one, may be from one of this in cycles,
    /// going by the work.
    pub(super) fn distance(&self, other: &Portion) -> f64 {
        self.work.distance(&other.work) + self.spread * self.work.cycles()
    }
}

/// All launches of a kernel with the same CTA.
pub(super) struct Family {
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

impl Family {
    /// Families of a plan, for the jobs of a configuration, with the times of timed jobs.
    pub(super) fn all(plan: &Plan, sms: u32, jobs: &[Known<'_>]) -> Vec<Family> {
        let mut families: Vec<((&str, [u32; 3]), Family)> = Vec::new();
        for (number, group) in plan.groups.iter().enumerate() {
            let own: Vec<_> = jobs.iter().filter(|(_, job, _)| job.group == number).collect();
            let (first, rest) = own.split_at(own.len().min(1));
            let key = (group.kernel.as_str(), group.block);
            let position = families.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
                families.push((key, Family { portions: Vec::new() }));
                families.len() - 1
            });
            let Some((_, family)) = families.get_mut(position) else { continue };
            // A plan that does not tell what the others do has what the first does.
            let counts_of_rest = if group.rest.is_empty() { &group.counts } else { &group.rest };
            for (jobs, launches, counts) in
                [(first, 1, &group.counts), (rest, group.launches.saturating_sub(1), counts_of_rest)]
            {
                if !jobs.is_empty() {
                    let work = Work::new(group, counts, &plan.counted, sms);
                    family.portions.push(Portion::new((number, group), work, launches, jobs));
                }
            }
        }
        families.into_iter().map(|(_, family)| family).collect()
    }

    /// True without a timed launch.
    pub(super) fn is_unknown(&self) -> bool {
        self.timed(None).next().is_none()
    }

    /// Roughly the cycles of all launches.
    pub(super) fn cycles(&self) -> f64 {
        self.portions.iter().map(|portion| portion.cycles() * portion.launches).sum()
    }

    /// Cycles over what is roughly expected, of all that was timed.
    pub(super) fn ratio(&self) -> f64 {
        let timed = self.timed(None).map(|(portion, cycles)| (cycles, portion.cycles()));
        let (cycles, expected) = timed.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        if expected > 0.0 { cycles / expected } else { 1.0 }
    }

    /// Cycles of each portion, of a family of which nothing was timed by what is known of
    /// strangers.
    pub(super) fn estimate(&self, strangers: Strangers) -> Vec<Estimated> {
        if self.is_unknown() {
            let roughly = |portion: &Portion| strangers.ratio * portion.cycles() * portion.launches;
            let off = strangers.off_of(self);
            let estimated = |cycles| Estimated { cycles, bound: off * cycles };
            return self.portions.iter().map(|portion| estimated(roughly(portion))).collect();
        }
        let slopes = self.slopes();
        let of = |(number, portion): (usize, &Portion)| {
            let left = (portion.launches - portion.timed()).max(0.0);
            let cycles = match portion.rate() {
                Some(rate) => rate * portion.instructions,
                None => self.cycles_like(number, None) * portion.launches,
            };
            if left == 0.0 {
                return Estimated { cycles, bound: 0.0 };
            }
            let guessed = cycles * left / portion.launches;
            let far = left * slopes.at(portion) * self.nearest(portion, None);
            let far = far.min(strangers.off.min(1.0) * guessed);
            Estimated { cycles, bound: far.max(portion.spread_of_times() * guessed) }
        };
        self.portions.iter().enumerate().map(of).collect()
    }

    /// Timed portions with their mean cycles per launch; `without` leaves one portion out.
    fn timed(&self, without: Option<usize>) -> impl Iterator<Item = (&Portion, f64)> {
        let portions = self.portions.iter().enumerate().filter(move |(number, _)| Some(*number) != without);
        portions.filter_map(|(_, portion)| Some((portion, portion.mean()?)))
    }

    /// How far the nearest is that was timed, going by the work.
    fn nearest(&self, portion: &Portion, without: Option<usize>) -> f64 {
        let distances = self.timed(without).map(|(timed, _)| portion.distance(timed));
        distances.fold(f64::INFINITY, f64::min)
    }

    /// Cycles of a launch of a portion, from those of others.
    fn cycles_like(&self, number: usize, without: Option<usize>) -> f64 {
        let Some(portion) = self.portions.get(number) else { return 0.0 };
        let timed = self.timed(without).map(|(timed, cycles)| {
            let far = portion.distance(timed) / portion.cycles().max(timed.cycles()) + ALIKE;
            (timed.work, cycles, far)
        });
        Scale::of(timed).cycles(&portion.work)
    }

    /// How many cycles launches differ in time for each that their work differs in.
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

/// Cycles of time for each cycle of work by which launches differ.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slopes {
    pub(super) learnt: f64,
    beyond: f64,
    /// Work of the largest launch that was timed.
    largest: f64,
}

impl Slopes {
    /// For a portion: what was learnt holds between launches that were timed.
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
            work: Work { launch: work, ..Work::default() },
            spread: 0.0,
            times: times.iter().map(|cycles| (*cycles, work)).collect(),
            left: (times.len()..launches).map(|launch| work as usize * 100 + launch).collect(),
        }
    }

    /// The portion with another number of warp instructions per launch.
    pub(in super::super) fn of_instructions(instructions: f64, portion: Portion) -> Portion {
        Portion { instructions: instructions * portion.launches, ..portion }
    }

    pub(in super::super) fn family(portions: Vec<Portion>) -> Family {
        Family { portions }
    }

    fn total(family: &Family) -> (f64, f64) {
        let estimated = family.estimate(Strangers::new(&[]));
        (estimated.iter().map(|of| of.cycles).sum(), estimated.iter().map(|of| of.bound).sum())
    }

    #[test]
    fn launches_of_a_portion_take_what_those_took_that_were_timed() {
        let (cycles, bound) = total(&family(vec![portion(100.0, 1, &[300.0]), portion(100.0, 9, &[210.0])]));
        assert_eq!((cycles, bound), (2190.0, 0.0));
    }

    #[test]
    fn the_bound_is_no_less_than_how_far_the_times_of_a_portion_differ() {
        let (cycles, bound) = total(&family(vec![portion(100.0, 4, &[200.0, 220.0])]));
        assert_eq!(cycles, 840.0);
        assert!((bound - 420.0 * 20.0 / 210.0).abs() < 1e-9, "{bound}");
    }

    #[test]
    fn a_launch_that_was_not_timed_is_as_far_from_its_work_as_one_that_was() {
        let (cycles, bound) = total(&family(vec![portion(100.0, 1, &[200.0]), portion(120.0, 3, &[])]));
        assert!((cycles - 920.0).abs() < 6.0, "{cycles}");
        assert!((bound - 3.0 * 2.0 * 20.0).abs() < 1e-9, "{bound}");
    }

    #[test]
    fn the_nearer_launch_tells_more() {
        let between = |work| {
            let family =
                family(vec![portion(100.0, 1, &[100.0]), portion(200.0, 1, &[400.0]), portion(work, 1, &[])]);
            family.estimate(Strangers::new(&[]))[2].cycles / work
        };
        assert!(between(110.0) < 1.1 && between(190.0) > 1.9);
    }

    #[test]
    fn where_work_tells_the_time_the_bound_is_small_and_where_it_does_not_it_is_large() {
        let bound = |times: [f64; 3]| {
            let [small, middle, large] = times;
            let timed =
                [portion(100.0, 1, &[small]), portion(200.0, 1, &[middle]), portion(300.0, 1, &[large])];
            total(&family(timed.into_iter().chain([portion(250.0, 1, &[])]).collect())).1
        };
        assert!(bound([200.0, 400.0, 600.0]) < 50.0);
        assert!(bound([200.0, 900.0, 300.0]) > 150.0);
    }

    #[test]
    fn smaller_launches_do_not_vouch_for_a_much_larger_one() {
        let bound = |work| {
            let timed = [portion(100.0, 1, &[100.0]), portion(200.0, 1, &[200.0]), portion(work, 1, &[])];
            total(&family(timed.into())).1 / (work - 200.0)
        };
        assert!(bound(250.0) < 0.5 * bound(300.0), "{} {}", bound(250.0), bound(300.0));
    }
}
