//! Correction factors of a kernel's rough times, fitted to its timed launches.
//!
//! The serial part and the shared part of a time have different errors: short launches measure the
//! serial part alone. Each part has a factor, which is 1 without a timed launch. The fit is least
//! squares with a prior for both factors. Every launch measures the serial part, so the prior of
//! the serial factor soon loses its weight.

use super::work::Work;

/// How far the factor of what comes one after the other is from 1, as a standard deviation, if
/// nothing is known.
const LATENCY_DEVIATION: f64 = 3.0;

/// How far that of what is shared out is.
const THROUGHPUT_DEVIATION: f64 = 0.6;

/// No factor is less.
const LEAST: f64 = 0.2;

/// Factors of what is expected of a launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    /// Of what comes one after the other.
    latency: f64,
    /// Of what is shared out.
    throughput: f64,
}

impl Scale {
    /// From launches that were timed: what is expected, the cycles, and how far each is from the
    /// one in question, as a part of its work, which counts as the standard deviation of what it
    /// tells.
    pub(super) fn of(timed: impl Iterator<Item = (Work, f64, f64)>) -> Scale {
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
        Scale { latency: latency.max(LEAST), throughput: throughput.max(LEAST) }
    }

    /// Cycles of a launch.
    pub(super) fn cycles(&self, work: &Work) -> f64 {
        self.latency * work.latency() + self.throughput * work.throughput()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(launch: f64, issue: f64) -> Work {
        Work { launch, issue, ..Work::default() }
    }

    #[test]
    fn what_nothing_is_known_of_takes_what_is_expected() {
        assert_eq!(Scale::of([].into_iter()).cycles(&work(100.0, 50.0)), 150.0);
    }

    #[test]
    fn a_launch_like_one_that_was_timed_takes_as_long() {
        let scale = Scale::of([(work(100.0, 50.0), 300.0, 0.01)].into_iter());
        assert!((scale.cycles(&work(100.0, 50.0)) - 300.0).abs() < 1.0);
    }

    #[test]
    fn short_launches_tell_nothing_of_what_is_shared_out() {
        let scale = Scale::of([(work(100.0, 0.0), 50.0, 0.01)].into_iter());
        assert!((scale.cycles(&work(100.0, 1000.0)) - 1050.0).abs() < 1.0);
    }

    #[test]
    fn a_short_and_a_long_launch_tell_of_both() {
        let timed = [(work(100.0, 10.0), 70.0, 0.01), (work(100.0, 1000.0), 2050.0, 0.01)];
        let cycles = Scale::of(timed.into_iter()).cycles(&work(100.0, 2000.0));
        assert!((cycles - 4050.0).abs() < 10.0, "{cycles}");
    }

    #[test]
    fn no_launch_takes_less_than_nothing() {
        let timed = [(work(100.0, 100.0), 1.0, 0.01), (work(100.0, 10.0), 500.0, 0.01)];
        assert!(Scale::of(timed.into_iter()).cycles(&work(0.0, 100.0)) > 0.0);
    }
}
