//! Which launches are timed next: those of which most is learnt for what it costs to time them,
//! until the estimate is likely to be as near as wanted.
//!
//! Costs go where the cycles are and where launches differ, as in a sample that is allocated by
//! size, spread and cost (Neyman).

use super::family::{Estimated, Family};
use super::strangers::Strangers;

/// Cost of the first round, as a fraction of the whole sweep.
const FIRST_ROUND: f64 = 1.0 / 64.0;

/// How near an estimate is to be, and what that may take. Parts of the whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aim {
    /// Bound of the time.
    pub(super) within: f64,
    /// Of what it costs to time all launches, so much may be spent.
    pub(super) budget: f64,
}

/// The jobs that are done next, by number; none if what was done is enough, or all that may be
/// done. Of a family they have one: with it more is known of the others.
///
/// They cost no more than all that was done before, or [`FIRST_ROUND`] (one of them may): what they
/// tell may make others needless.
pub(super) fn next(families: &[Family], aim: Aim) -> Vec<usize> {
    let portions = || families.iter().flat_map(|family| &family.portions);
    let whole: f64 = portions().map(|portion| portion.cost() * portion.launches).sum();
    let spent: f64 = portions().map(|portion| portion.cost() * portion.timed()).sum();
    let mut left = aim.budget * whole - spent;
    let strangers = Strangers::new(families);
    let estimated: Vec<Vec<Estimated>> = families.iter().map(|family| family.estimate(strangers)).collect();
    let sum = |of: fn(&Estimated) -> f64| estimated.iter().flatten().map(of).sum::<f64>();
    let mut excess = sum(|of| of.bound) - aim.within * sum(|of| of.cycles);
    let wanted = excess;
    let steps = families.iter().zip(&estimated);
    let steps = steps.filter_map(|(family, estimated)| best(family, estimated, wanted, left));
    let mut steps: Vec<Step> = steps.collect();
    steps.sort_by(|a, b| b.worth(wanted).total_cmp(&a.worth(wanted)));
    let mut round = spent.max(FIRST_ROUND * whole);
    let mut jobs = Vec::new();
    for step in steps {
        if excess > 0.0 && step.cost <= left && (step.cost <= round || jobs.is_empty()) {
            excess -= step.gain;
            left -= step.cost;
            round -= step.cost;
            jobs.push(step.job);
        }
    }
    jobs
}

/// A launch that could be timed.
struct Step {
    job: usize,
    cost: f64,
    /// Cycles by which the bound gets smaller.
    gain: f64,
}

impl Step {
    /// For its cost; more than is wanted is worth no more.
    fn worth(&self, wanted: f64) -> f64 {
        self.gain.min(wanted) / self.cost
    }
}

/// The launch of a family that is worth most of those that the budget allows.
fn best(family: &Family, estimated: &[Estimated], wanted: f64, budget: f64) -> Option<Step> {
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
    steps.max_by(|a, b| a.worth(wanted).total_cmp(&b.worth(wanted)))
}

#[cfg(test)]
mod tests {
    use super::super::family::tests::{family, of_instructions, portion};
    use super::*;

    const AIM: Aim = Aim { within: 0.05, budget: 1.0 };

    /// Kernels of one launch that were timed, and as many cycles as expected.
    fn known(number: usize) -> impl Iterator<Item = Family> {
        (0..number).map(|_| family(vec![portion(100.0, 1, &[100.0])]))
    }

    #[test]
    fn of_kernels_of_which_nothing_was_timed_those_come_first_that_tell_most_for_their_cost() {
        let dear = of_instructions(90_000.0, portion(900.0, 1, &[]));
        let cheap = of_instructions(10.0, portion(800.0, 1, &[]));
        assert_eq!(next(&[family(vec![dear]), family(vec![cheap])], AIM), [80_000]);
    }

    #[test]
    fn a_kernel_is_not_timed_that_matters_less_than_is_known_of_strangers() {
        let stranger = |work| [family(vec![portion(work, 1, &[])])];
        let jobs = |work| next(&known(9).chain(stranger(work)).collect::<Vec<_>>(), AIM);
        assert_eq!((jobs(400.0), jobs(4000.0)), (vec![], vec![400_000]));
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
        assert_eq!(jobs, [20_000]);
    }

    #[test]
    fn a_round_costs_no_more_than_all_before_it() {
        let done = of_instructions(100.0, portion(100.0, 1, &[100.0]));
        let left = |work| family(vec![of_instructions(90.0, portion(work, 1, &[]))]);
        let jobs = next(&[family(vec![done]), left(200.0), left(300.0)], Aim { within: 0.0, ..AIM });
        assert_eq!(jobs, [30_000]);
    }

    #[test]
    fn no_more_is_timed_than_the_budget_has() {
        let of =
            || [family(vec![portion(100.0, 1, &[200.0]), portion(200.0, 1, &[]), portion(400.0, 1, &[])])];
        let jobs = |budget| next(&of(), Aim { within: 0.0, budget }).len();
        assert_eq!((jobs(1.0), jobs(0.5), jobs(0.2)), (1, 1, 0));
    }
}
