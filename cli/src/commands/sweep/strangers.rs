//! The prior of untimed kernels: the ratio of time to rough time ([`Portion::cycles`]) over the
//! timed kernels.
//!
//! [`Portion::cycles`]: super::family::Portion::cycles

use super::family::Family;

/// How far off a kernel is taken to be if no other was timed, as a part of its time; counts as one
/// kernel beside those that were.
const PRIOR: f64 = 1.0;

/// One of so many kernels may exceed the bound.
const FURTHER: usize = 10;

/// Prior of the kernels without a timed launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strangers {
    /// Cycles over rough cycles.
    pub(super) ratio: f64,
    /// Error bound of the sum of many kernels, as a fraction.
    pub(super) off: f64,
    /// Error bound of one kernel, as a fraction.
    most: f64,
    /// Expected cycles of all these kernels.
    cycles: f64,
}

impl Strangers {
    /// From the families of which launches were timed: each, estimated by all others, tells how far
    /// off that is.
    pub(super) fn new(families: &[Family]) -> Strangers {
        let known = families.iter().filter(|family| !family.is_unknown());
        let ratios: Vec<f64> = known.map(|family| family.ratio().max(f64::MIN_POSITIVE).ln()).collect();
        let (sum, count) = (ratios.iter().sum::<f64>(), ratios.len() as f64);
        let off_by_others = |ratio: &f64| ((sum - ratio) / (count - 1.0) - ratio).exp_m1().abs();
        let mut judged: Vec<f64> =
            if count > 1.0 { ratios.iter().map(off_by_others).collect() } else { Vec::new() };
        judged.sort_by(f64::total_cmp);
        let off = (judged.iter().sum::<f64>() + PRIOR) / (judged.len() as f64 + 1.0);
        let most = judged.iter().rev().nth(judged.len() / FURTHER).copied().unwrap_or(off);
        let ratio = (sum / count.max(1.0)).exp();
        let unknown = families.iter().filter(|family| family.is_unknown());
        let cycles = unknown.map(|family| ratio * family.cycles()).sum();
        Strangers { ratio, off, most: most.max(off), cycles }
    }

    /// How far one of them is taken to be off, as a part of its time: the more of them it is, the
    /// less others make up for it.
    pub(super) fn off_of(&self, family: &Family) -> f64 {
        let part = self.ratio * family.cycles() / self.cycles.max(f64::MIN_POSITIVE);
        self.off + (self.most - self.off) * part.min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::family::tests::{family, portion};
    use super::*;

    /// Kernels that take so many cycles for each that is expected.
    fn kernels(ratios: &[f64]) -> Strangers {
        let of = |ratio: &f64| family(vec![portion(100.0, 1, &[100.0 * ratio])]);
        Strangers::new(&ratios.iter().map(of).collect::<Vec<_>>())
    }

    #[test]
    fn nothing_is_known_of_a_kernel_if_none_was_timed() {
        let Strangers { ratio, off, .. } = kernels(&[]);
        assert_eq!((ratio, off), (1.0, 1.0));
        assert_eq!(kernels(&[2.0]).off, 1.0, "one alone does not say how far kernels differ");
    }

    #[test]
    fn the_more_kernels_were_timed_that_are_alike_the_more_is_known_of_others() {
        let of = |count| kernels(&vec![2.0; count]);
        assert!((of(9).ratio - 2.0).abs() < 1e-9);
        assert!((of(4).off - 0.2).abs() < 1e-9 && (of(9).off - 0.1).abs() < 1e-9);
    }

    #[test]
    fn a_kernel_alone_may_be_as_far_off_as_those_that_were_furthest_and_many_are_as_the_mean() {
        let stranger = || family(vec![portion(100.0, 1, &[])]);
        let off_of_one = |of: usize| {
            let ratios = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0];
            let known = ratios.iter().map(|ratio| family(vec![portion(100.0, 1, &[100.0 * ratio])]));
            let all: Vec<Family> = known.chain((0..of).map(|_| stranger())).collect();
            let strangers = Strangers::new(&all);
            (strangers.off_of(&stranger()), strangers.off)
        };
        let (alone, mean) = off_of_one(1);
        assert!(alone > 0.4 && mean < 0.3, "{alone}, {mean}");
        assert!((off_of_one(1000).0 - mean).abs() < 1e-3);
    }

    #[test]
    fn where_kernels_differ_others_may_be_as_far_off() {
        assert!(kernels(&[1.0, 2.0, 1.0, 2.0, 1.0, 2.0]).off > 0.4);
    }
}
