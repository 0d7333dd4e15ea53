//! The choice of launches to time next. The sweep prefers launches that lower the error bound most
//! for their cost, until the bound is as small as requested.
//!
//! Costs go where the cycles are and where launches differ, as in a sample that is allocated by
//! size, spread and cost (Neyman).

use super::kernel_cluster::{Estimated, KernelCluster};
use super::untimed_prior::UntimedPrior;

/// Cost of the first round, as a fraction of the whole sweep.
const FIRST_ROUND: f64 = 1.0 / 64.0;

/// The requested error bound and the budget, as fractions of the whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aim {
    /// Error bound of the estimated cycles.
    pub(super) within: f64,
    /// Most cost, as a fraction of the cost of timing all launches.
    pub(super) budget: f64,
}

/// Numbers of the jobs to do next: at most one of each cluster, since its result changes the
/// estimates of the others. No job is left when the bound is reached or the budget is spent.
///
/// A round costs no more than all earlier rounds or [`FIRST_ROUND`], except for a single job,
/// because results may make further jobs unnecessary.
pub(super) fn next(clusters: &[KernelCluster], aim: Aim) -> Vec<usize> {
    let portions = || clusters.iter().flat_map(|cluster| &cluster.portions);
    let whole: f64 = portions().map(|portion| portion.cost() * portion.launches).sum();
    let spent: f64 = portions().map(|portion| portion.cost() * portion.timed()).sum();
    let mut left = aim.budget * whole - spent;
    let prior = UntimedPrior::new(clusters);
    let estimated: Vec<Vec<Estimated>> = clusters.iter().map(|cluster| cluster.estimate(prior)).collect();
    let sum = |of: fn(&Estimated) -> f64| estimated.iter().flatten().map(of).sum::<f64>();
    let mut excess = sum(|of| of.bound) - aim.within * sum(|of| of.cycles);
    let wanted = excess;
    let steps = clusters.iter().zip(&estimated);
    let steps = steps.filter_map(|(cluster, estimated)| best(cluster, estimated, wanted, left));
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
    /// Decrease of the error bound in cycles.
    gain: f64,
}

impl Step {
    /// Gain per cost. A gain beyond `wanted` counts as `wanted`.
    fn worth(&self, wanted: f64) -> f64 {
        self.gain.min(wanted) / self.cost
    }
}

/// The cluster's launch of the greatest worth within the budget.
fn best(cluster: &KernelCluster, estimated: &[Estimated], wanted: f64, budget: f64) -> Option<Step> {
    let slope = cluster.slopes().learnt;
    let steps = cluster.portions.iter().enumerate().filter_map(|(number, timed)| {
        let bounds =
            cluster.portions.iter().zip(estimated).enumerate().map(|(other, (portion, estimated))| {
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
    use super::super::kernel_cluster::tests::{cluster, of_instructions, portion};
    use super::*;

    const AIM: Aim = Aim { within: 0.05, budget: 1.0 };

    /// Timed kernels of one launch each, whose measured and rough cycles agree.
    fn known(number: usize) -> impl Iterator<Item = KernelCluster> {
        (0..number).map(|_| cluster(vec![portion(100.0, 1, &[100.0])]))
    }

    #[test]
    fn untimed_kernel_with_most_gain_per_cost_is_timed_first() {
        let dear = of_instructions(90_000.0, portion(900.0, 1, &[]));
        let cheap = of_instructions(10.0, portion(800.0, 1, &[]));
        assert_eq!(next(&[cluster(vec![dear]), cluster(vec![cheap])], AIM), [80_000]);
    }

    #[test]
    fn kernel_within_the_error_of_the_prior_is_not_timed() {
        let untimed = |work| [cluster(vec![portion(work, 1, &[])])];
        let jobs = |work| next(&known(9).chain(untimed(work)).collect::<Vec<_>>(), AIM);
        assert_eq!((jobs(400.0), jobs(4000.0)), (vec![], vec![400_000]));
    }

    #[test]
    fn nothing_more_is_timed_when_the_estimate_is_near_enough() {
        assert_eq!(
            next(&[cluster(vec![portion(100.0, 9, &[200.0]), portion(104.0, 9, &[])])], AIM),
            [0_usize; 0]
        );
    }

    #[test]
    fn costs_go_where_the_cycles_are() {
        let of = |launches| cluster(vec![portion(100.0, 1, &[200.0]), portion(200.0, launches, &[])]);
        let rare = cluster(vec![portion(100.0, 1, &[200.0]), portion(210.0, 1, &[])]);
        assert_eq!(next(&[rare, of(50)], AIM), [20_000]);
    }

    #[test]
    fn among_similar_gains_the_cheaper_launch_is_timed_first() {
        let of = |work, instructions| {
            let other = of_instructions(instructions, portion(work, 9, &[]));
            cluster(vec![portion(100.0, 1, &[200.0]), other])
        };
        let jobs = next(&[of(210.0, 9000.0), of(200.0, 10.0)], Aim { within: 0.0, ..AIM });
        assert_eq!(jobs, [20_000]);
    }

    #[test]
    fn a_round_costs_no_more_than_all_before_it() {
        let done = of_instructions(100.0, portion(100.0, 1, &[100.0]));
        let left = |work| cluster(vec![of_instructions(90.0, portion(work, 1, &[]))]);
        let jobs = next(&[cluster(vec![done]), left(200.0), left(300.0)], Aim { within: 0.0, ..AIM });
        assert_eq!(jobs, [30_000]);
    }

    #[test]
    fn no_more_is_timed_than_the_budget_has() {
        let of =
            || [cluster(vec![portion(100.0, 1, &[200.0]), portion(200.0, 1, &[]), portion(400.0, 1, &[])])];
        let jobs = |budget| next(&of(), Aim { within: 0.0, budget }).len();
        assert_eq!((jobs(1.0), jobs(0.5), jobs(0.2)), (1, 1, 0));
    }
}
