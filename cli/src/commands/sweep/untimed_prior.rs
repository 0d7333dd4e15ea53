//! The prior of untimed kernels: the ratio of time to rough time ([`Portion::cycles`]) over the
//! timed kernels.
//!
//! [`Portion::cycles`]: super::kernel_cluster::Portion::cycles

use super::kernel_cluster::KernelCluster;

/// Error of a kernel without any timed kernel beside it, as a fraction of its time. The prior
/// weighs as much as one timed kernel.
const PRIOR: f64 = 1.0;

/// One kernel in this number may exceed the bound.
const FURTHER: usize = 10;

/// Prior of the kernels without a timed launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct UntimedPrior {
    /// Cycles over rough cycles.
    pub(super) ratio: f64,
    /// Error bound of the sum of many kernels, as a fraction.
    pub(super) off: f64,
    /// Error bound of one kernel, as a fraction.
    most: f64,
    /// Expected cycles of all these kernels.
    cycles: f64,
}

impl UntimedPrior {
    /// The prior of all timed clusters. Leave-one-out estimates give the error bounds.
    pub(super) fn new(clusters: &[KernelCluster]) -> UntimedPrior {
        let known = clusters.iter().filter(|cluster| !cluster.is_unknown());
        let ratios: Vec<f64> = known.map(|cluster| cluster.ratio().max(f64::MIN_POSITIVE).ln()).collect();
        let (sum, count) = (ratios.iter().sum::<f64>(), ratios.len() as f64);
        let off_by_others = |ratio: &f64| ((sum - ratio) / (count - 1.0) - ratio).exp_m1().abs();
        let mut judged: Vec<f64> =
            if count > 1.0 { ratios.iter().map(off_by_others).collect() } else { Vec::new() };
        judged.sort_by(f64::total_cmp);
        let off = (judged.iter().sum::<f64>() + PRIOR) / (judged.len() as f64 + 1.0);
        let most = judged.iter().rev().nth(judged.len() / FURTHER).copied().unwrap_or(off);
        let ratio = (sum / count.max(1.0)).exp();
        let unknown = clusters.iter().filter(|cluster| cluster.is_unknown());
        let cycles = unknown.map(|cluster| ratio * cluster.cycles()).sum();
        UntimedPrior { ratio, off, most: most.max(off), cycles }
    }

    /// Error bound of one untimed kernel, as a fraction of its time. The bound falls with the
    /// kernel's share of all untimed work, because errors of many kernels cancel.
    pub(super) fn off_of(&self, cluster: &KernelCluster) -> f64 {
        let part = self.ratio * cluster.cycles() / self.cycles.max(f64::MIN_POSITIVE);
        self.off + (self.most - self.off) * part.min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::kernel_cluster::tests::{cluster, portion};
    use super::*;

    /// Kernels with these ratios of measured to rough cycles.
    fn kernels(ratios: &[f64]) -> UntimedPrior {
        let of = |ratio: &f64| cluster(vec![portion(100.0, 1, &[100.0 * ratio])]);
        UntimedPrior::new(&ratios.iter().map(of).collect::<Vec<_>>())
    }

    #[test]
    fn without_timed_kernels_the_error_is_100_percent() {
        let UntimedPrior { ratio, off, .. } = kernels(&[]);
        assert_eq!((ratio, off), (1.0, 1.0));
        assert_eq!(kernels(&[2.0]).off, 1.0, "one kernel shows no spread");
    }

    #[test]
    fn prior_error_falls_with_each_similar_timed_kernel() {
        let of = |count| kernels(&vec![2.0; count]);
        assert!((of(9).ratio - 2.0).abs() < 1e-9);
        assert!((of(4).off - 0.2).abs() < 1e-9 && (of(9).off - 0.1).abs() < 1e-9);
    }

    #[test]
    fn one_kernel_has_the_largest_error_and_many_have_the_mean() {
        let untimed = || cluster(vec![portion(100.0, 1, &[])]);
        let off_of_one = |of: usize| {
            let ratios = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0];
            let known = ratios.iter().map(|ratio| cluster(vec![portion(100.0, 1, &[100.0 * ratio])]));
            let all: Vec<KernelCluster> = known.chain((0..of).map(|_| untimed())).collect();
            let prior = UntimedPrior::new(&all);
            (prior.off_of(&untimed()), prior.off)
        };
        let (alone, mean) = off_of_one(1);
        assert!(alone > 0.4 && mean < 0.3, "{alone}, {mean}");
        assert!((off_of_one(1000).0 - mean).abs() < 1e-3);
    }

    #[test]
    fn prior_error_covers_the_spread_of_kernels() {
        assert!(kernels(&[1.0, 2.0, 1.0, 2.0, 1.0, 2.0]).off > 0.4);
    }
}
