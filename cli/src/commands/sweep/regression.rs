//! Correction factors of a kernel's rough times, fitted to its timed launches.
//!
//! The serial part and the shared part of a time have different errors: short launches measure the
//! serial part alone. Each part has a factor, which is 1 without a timed launch. The fit is least
//! squares with a prior for both factors. Every launch measures the serial part, so the prior of
//! the serial factor soon loses its weight.

use super::cost_model::LaunchCost;

/// Standard deviation of the serial factor's prior around 1.
const LATENCY_DEVIATION: f64 = 3.0;

/// Standard deviation of the shared factor's prior around 1.
const THROUGHPUT_DEVIATION: f64 = 0.6;

/// Least value of a factor.
const LEAST: f64 = 0.2;

/// Correction factors of a launch's rough cycles.
#[derive(Clone, Copy, Debug)]
pub(super) struct Regression {
    /// Factor of the serial part.
    latency: f64,
    /// Factor of the shared part.
    throughput: f64,
}

impl Regression {
    /// Fits the factors to timed launches: rough work, measured cycles, and distance from the
    /// launch to be estimated. The distance is a fraction of the work, and serves as standard
    /// deviation of the measurement.
    pub(super) fn of(timed: impl Iterator<Item = (LaunchCost, f64, f64)>) -> Regression {
        let [latency, throughput] =
            [LATENCY_DEVIATION, THROUGHPUT_DEVIATION].map(|deviation| deviation.powi(-2));
        // The normal equations of latency, throughput and both, and their right sides.
        let (mut ll, mut lt, mut tt, mut l1, mut t1) = (latency, 0.0, throughput, latency, throughput);
        for (work, cycles, far) in timed {
            let weight = far.powi(-2);
            let (latency, throughput) = (work.latency() / cycles, work.throughput() / cycles);
            ll += weight * latency * latency;
            lt += weight * latency * throughput;
            tt += weight * throughput * throughput;
            l1 += weight * latency;
            t1 += weight * throughput;
        }
        let determinant = ll * tt - lt * lt;
        let latency = (l1 * tt - lt * t1) / determinant;
        let throughput = (ll * t1 - l1 * lt) / determinant;
        Regression { latency: latency.max(LEAST), throughput: throughput.max(LEAST) }
    }

    /// Corrected cycles of a launch.
    pub(super) fn cycles(&self, work: &LaunchCost) -> f64 {
        self.latency * work.latency() + self.throughput * work.throughput()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(launch: f64, issue: f64) -> LaunchCost {
        LaunchCost { launch, issue, ..LaunchCost::default() }
    }

    #[test]
    fn without_timed_launches_factors_are_1() {
        assert_eq!(Regression::of([].into_iter()).cycles(&work(100.0, 50.0)), 150.0);
    }

    #[test]
    fn launch_equal_to_a_timed_one_takes_its_cycles() {
        let scale = Regression::of([(work(100.0, 50.0), 300.0, 0.01)].into_iter());
        assert!((scale.cycles(&work(100.0, 50.0)) - 300.0).abs() < 1.0);
    }

    #[test]
    fn short_launches_leave_the_shared_factor_at_1() {
        let scale = Regression::of([(work(100.0, 0.0), 50.0, 0.01)].into_iter());
        assert!((scale.cycles(&work(100.0, 1000.0)) - 1050.0).abs() < 1.0);
    }

    #[test]
    fn short_and_long_launches_fit_both_factors() {
        let timed = [(work(100.0, 10.0), 70.0, 0.01), (work(100.0, 1000.0), 2050.0, 0.01)];
        let cycles = Regression::of(timed.into_iter()).cycles(&work(100.0, 2000.0));
        assert!((cycles - 4050.0).abs() < 10.0, "{cycles}");
    }

    #[test]
    fn corrected_cycles_are_positive() {
        let timed = [(work(100.0, 100.0), 1.0, 0.01), (work(100.0, 10.0), 500.0, 0.01)];
        assert!(Regression::of(timed.into_iter()).cycles(&work(0.0, 100.0)) > 0.0);
    }
}
