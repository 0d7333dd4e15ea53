//! Control variate: the cycles of launches in a fast mode, from which the estimate corrects the
//! differences alone.

use std::collections::{BTreeMap, BTreeSet};

use super::job::Jobs;
use crate::failure::Failure;

/// Cycles of a configuration's jobs in the fast mode, by number of the job.
#[derive(Debug, Default)]
pub(super) struct Control(BTreeMap<usize, f64>);

/// Cycles of some launches in the fast mode.
#[derive(Debug)]
pub(super) struct Sizes {
    /// One for each launch, at least one.
    pub(super) cycles: Vec<f64>,
}

impl Control {
    /// The results of all jobs of a configuration in the fast mode.
    pub(super) fn of(jobs: &Jobs, configuration: usize) -> Result<Control, Failure> {
        let all: BTreeSet<usize> = (0..jobs.all.len()).collect();
        let results = jobs.results(configuration, &all)?;
        let cycles = |(number, _, timed): (usize, _, Option<super::job::Timed>)| {
            Some((number, timed?.cycles.max(1) as f64))
        };
        Ok(Control(results.into_iter().filter_map(cycles).collect()))
    }

    /// Cycles of jobs; `None` if one has none, or without jobs.
    pub(super) fn sizes(&self, jobs: impl Iterator<Item = usize>) -> Option<Sizes> {
        let cycles = jobs.map(|job| self.0.get(&job).copied()).collect::<Option<Vec<_>>>()?;
        (!cycles.is_empty()).then_some(Sizes { cycles })
    }
}

impl Sizes {
    /// Mean cycles of a launch.
    pub(super) fn mean(&self) -> f64 {
        self.cycles.iter().sum::<f64>() / self.cycles.len() as f64
    }

    /// Greatest difference of two launches, as a fraction of the mean.
    pub(super) fn spread(&self) -> f64 {
        let most = self.cycles.iter().copied().fold(0.0, f64::max);
        let least = self.cycles.iter().copied().fold(f64::INFINITY, f64::min);
        (most - least) / self.mean()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_mean_and_spread_of_their_launches() {
        let control = Control([(3, 90.0), (4, 110.0)].into());
        let sizes = control.sizes([3, 4].into_iter()).map(|sizes| (sizes.mean(), sizes.spread()));
        assert_eq!(sizes, Some((100.0, 0.2)));
    }

    #[test]
    fn launch_without_control_leaves_none() {
        let control = Control([(3, 90.0)].into());
        assert!(control.sizes([3, 4].into_iter()).is_none());
        assert!(control.sizes(std::iter::empty()).is_none());
    }
}
