//! Which launches are timed next: those of which most is learnt for what it costs to time them, until the estimate is likely to be as
//! near as wanted.
//!
//! Costs go where the cycles are and where launches differ, as in a sample that is allocated by size, spread and cost (Neyman).

use super::family::{Estimated, Family, Portion};

/// How near an estimate is to be, and what that may take. Parts of the whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aim {
    /// Its bound.
    pub(super) within: f64,
    /// Of what it costs to time all launches, so much may be spent.
    pub(super) budget: f64,
}

/// The jobs that are done next, by number; none if what was done is enough, or all that may be done. Of a family they have one: with it
/// more is known of the others.
///
/// Of each family one launch is timed, whatever is aimed at: of a kernel that was never timed nothing is known.
pub(super) fn next(families: &[Family], aim: Aim) -> Vec<usize> {
    let unknown: Vec<usize> = families.iter().filter_map(first).collect();
    if !unknown.is_empty() {
        return unknown;
    }
    let portions = || families.iter().flat_map(|family| &family.portions);
    let whole: f64 = portions().map(|portion| portion.cost() * portion.launches).sum();
    let spent: f64 = portions().map(|portion| portion.cost() * portion.timed()).sum();
    let mut left = aim.budget * whole - spent;
    let estimated: Vec<Vec<Estimated>> = families.iter().map(Family::estimate).collect();
    let sum = |of: fn(&Estimated) -> f64| estimated.iter().flatten().map(of).sum::<f64>();
    let mut excess = sum(|of| of.bound) - aim.within * sum(|of| of.cycles);
    let steps =
        families.iter().zip(&estimated).filter_map(|(family, estimated)| best(family, estimated, left));
    let mut steps: Vec<Step> = steps.collect();
    steps.sort_by(|a, b| b.worth().total_cmp(&a.worth()));
    let mut jobs = Vec::new();
    for step in steps {
        if excess > 0.0 && step.cost <= left {
            excess -= step.gain;
            left -= step.cost;
            jobs.push(step.job);
        }
    }
    jobs
}

/// The launch of a family that tells most of all, for its cost, if none was timed.
fn first(family: &Family) -> Option<usize> {
    let worth = |timed: &Portion| {
        let told =
            |portion: &Portion| portion.launches * (portion.cycles() - portion.distance(timed)).max(0.0);
        family.portions.iter().map(told).sum::<f64>() / timed.cost()
    };
    let unknown = family.portions.iter().filter(|_| family.is_unknown());
    unknown.max_by(|a, b| worth(a).total_cmp(&worth(b)))?.next()
}

/// A launch that could be timed.
struct Step {
    job: usize,
    cost: f64,
    /// Cycles by which the bound gets smaller.
    gain: f64,
}

impl Step {
    fn worth(&self) -> f64 {
        self.gain / self.cost
    }
}

/// The launch of a family that is worth most of those that the budget allows.
fn best(family: &Family, estimated: &[Estimated], budget: f64) -> Option<Step> {
    let slope = family.slopes().learnt;
    let steps = family.portions.iter().enumerate().filter_map(|(number, timed)| {
        let bounds =
            family.portions.iter().zip(estimated).enumerate().map(|(other, (portion, estimated))| {
                let left = portion.launches - portion.timed() - f64::from(other == number);
                estimated.bound - estimated.bound.min(slope * portion.distance(timed) * left.max(0.0))
            });
        let step = Step { job: timed.next()?, cost: timed.cost(), gain: bounds.sum() };
        (step.gain > 0.0 && step.cost <= budget).then_some(step)
    });
    steps.max_by(|a, b| a.worth().total_cmp(&b.worth()))
}

#[cfg(test)]
mod tests {
    use super::super::family::tests::{family, of_instructions, portion};
    use super::*;

    const AIM: Aim = Aim { within: 0.05, budget: 1.0 };

    #[test]
    fn one_launch_of_each_family_is_timed_whatever_the_budget() {
        let of = |work| family(vec![portion(work, 1, &[]), portion(work + 1.0, 8, &[])]);
        let jobs = next(&[of(10.0), of(50.0)], Aim { budget: 0.0, ..AIM });
        assert_eq!(jobs.iter().map(|job| job / 1000).collect::<Vec<_>>(), [1, 5]);
    }

    #[test]
    fn nothing_more_is_timed_when_the_estimate_is_near_enough() {
        assert_eq!(
            next(&[family(vec![portion(100.0, 9, &[200.0]), portion(104.0, 9, &[])])], AIM),
            [0_usize; 0]
        );
    }

    #[test]
    fn costs_go_where_the_cycles_are() {
        let of = |launches| family(vec![portion(100.0, 1, &[200.0]), portion(200.0, launches, &[])]);
        let rare = family(vec![portion(100.0, 1, &[200.0]), portion(210.0, 1, &[])]);
        assert_eq!(next(&[rare, of(50)], AIM), [20_000]);
    }

    #[test]
    fn of_launches_that_tell_nearly_as_much_that_of_fewer_instructions_comes_first() {
        let of = |work, instructions| {
            let other = of_instructions(instructions, portion(work, 9, &[]));
            family(vec![portion(100.0, 1, &[200.0]), other])
        };
        let jobs = next(&[of(210.0, 9000.0), of(200.0, 10.0)], Aim { within: 0.0, ..AIM });
        assert_eq!(jobs, [20_000, 21_000]);
    }

    #[test]
    fn no_more_is_timed_than_the_budget_has() {
        let of =
            || [family(vec![portion(100.0, 1, &[200.0]), portion(200.0, 1, &[]), portion(400.0, 1, &[])])];
        let jobs = |budget| next(&of(), Aim { within: 0.0, budget }).len();
        assert_eq!((jobs(1.0), jobs(0.5), jobs(0.2)), (1, 1, 0));
    }
}
