//! Wall-clock and per-thread processor time of a process. On a loaded machine wall-clock time says
//! little.

use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

/// Times of a process at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Moment {
    /// Seconds since the start.
    seconds: f64,
    /// Processor nanoseconds of each thread, by thread number.
    threads: BTreeMap<u32, u64>,
}

impl Moment {
    /// Times now, of a process started at `start`.
    pub(super) fn now(process: u32, start: Instant) -> Self {
        let mut threads = BTreeMap::new();
        // A terminating process has no threads left.
        for entry in fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
            let number: Option<u32> = entry.file_name().to_str().and_then(|name| name.parse().ok());
            let text = fs::read_to_string(entry.path().join("schedstat")).ok();
            let on: Option<u64> = text.and_then(|text| text.split_whitespace().next()?.parse().ok());
            threads.extend(number.zip(on));
        }
        Self { seconds: start.elapsed().as_secs_f64(), threads }
    }

    /// The later of two moments.
    pub(super) fn later(self, other: &Moment) -> Moment {
        if other.seconds > self.seconds { other.clone() } else { self }
    }

    /// Processor seconds of the busiest thread since then: the simulating thread. Others at most
    /// wait for it.
    pub(super) fn processor_seconds_since(&self, earlier: &Moment) -> f64 {
        let before = |number: &u32| earlier.threads.get(number).copied().unwrap_or(0);
        let since = self.threads.iter().map(|(number, on)| on.saturating_sub(before(number)));
        since.max().unwrap_or(0) as f64 / 1e9
    }

    #[cfg(test)]
    pub(super) fn of_one_thread(seconds: f64) -> Self {
        Self { seconds, threads: BTreeMap::from([(1, (seconds * 1e9) as u64)]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_thread_counts() {
        let moment =
            |first, second| Moment { seconds: 0.0, threads: BTreeMap::from([(7, first), (8, second)]) };
        let (before, after) = (moment(9_000_000_000, 0), moment(9_500_000_000, 2_000_000_000));
        assert_eq!(after.processor_seconds_since(&before), 2.0);
    }

    #[test]
    fn busy_process_gains_processor_time() {
        let start = Instant::now();
        let before = Moment::now(std::process::id(), start);
        while start.elapsed().as_millis() < 20 {}
        let seconds = Moment::now(std::process::id(), start).processor_seconds_since(&before);
        assert!(seconds > 0.0 && seconds <= start.elapsed().as_secs_f64(), "{seconds}");
    }
}
