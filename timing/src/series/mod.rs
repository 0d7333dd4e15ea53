//! Counts of a launch over time.
//!
//! A `Sampler` takes the counters of all units at ends of epochs and keeps the differences. The
//! points of a series therefore add up to the launch's counters. A series that grows beyond its
//! most points has pairs of points merged, and its interval doubles. Series of single SMs, channels
//! and banks have fewer points.

mod points;
mod sampler;

use std::num::NonZero;

use serde::{Deserialize, Serialize};

use crate::statistics::{Counter, Counters as _, Counts, Kind};
use crate::totals::Totals;
pub use points::Points;
pub(crate) use sampler::{Sample, Sampler};

/// Length of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interval {
    /// Core cycles, rounded up to whole epochs.
    Cycles(NonZero<u64>),
    /// As many core cycles as give at most [`MOST_POINTS`] points.
    Auto,
}

/// Most points of a series with an automatic interval.
pub const MOST_POINTS: usize = 2_000;

/// Counts of a launch over time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// All counters that add up, in the order of [`Series::counters`].
    counters: Points,
    /// Units of kinds.
    pub units: Units,
}

/// Counts of single units over time. A point's first value is its length in core cycles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Units {
    /// Warp instructions of each SM.
    pub sms: Points,
    /// DRAM cycles of each channel with data on the bus.
    pub channels: Points,
    /// DRAM cycles of each bank with queued accesses or with data on the bus, channel by channel.
    pub banks: Points,
}

impl Series {
    /// The counters of a series.
    pub fn counters() -> Vec<&'static Counter> {
        let mut counters = Vec::new();
        Totals::default().each(&mut |counter, _| {
            if counter.kind != Kind::Most {
                counters.push(counter);
            }
        });
        counters
    }

    /// Each counter that is not 0 everywhere, with its values.
    pub fn columns(&self) -> impl Iterator<Item = (&'static Counter, Vec<u64>)> {
        let columns = Series::counters().into_iter().enumerate();
        let columns = columns.map(|(place, counter)| (counter, self.counters.column(place)));
        columns.filter(|(_, values)| values.iter().any(|value| *value != 0))
    }

    /// Sum of each counter over the points.
    pub(crate) fn sums(&self) -> Vec<u64> {
        self.counters.sums()
    }

    /// Sets the columns from `first` on to the growth of values that follow from the sums of all
    /// points so far. The columns therefore add up to the values of the whole launch.
    pub(crate) fn account(&mut self, first: usize, values: impl Fn(&[u64]) -> Vec<u64>) {
        self.counters.account(first, values);
    }

    /// Number of points.
    pub fn points(&self) -> usize {
        self.counters.len()
    }

    /// The first counter whose points do not add up to the launch's count, with both. Counts may
    /// leave counters out.
    pub fn imbalance(&self, counts: &Counts) -> Option<(&'static Counter, u64, u64)> {
        let mut sums = Series::counters().into_iter().zip(self.counters.sums());
        let counts = counts.iter().filter(|(counter, _)| counter.kind != Kind::Most);
        counts.map(|(counter, count)| (*counter, *count)).find_map(|(counter, count)| {
            let (_, sum) = sums.find(|(own, _)| is_same(own, counter))?;
            (sum != count).then_some((counter, count, sum))
        })
    }
}

/// True for descriptions of one counter.
fn is_same(one: &Counter, other: &Counter) -> bool {
    (one.section, one.name) == (other.section, other.name)
}
