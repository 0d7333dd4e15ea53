//! Sources of event timestamps.

use std::time::Instant;

/// Nanoseconds since an arbitrary origin fixed for the life of an engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Milliseconds from `start` to `self`, negative when `self` is the earlier one
    /// (`cudaEventElapsedTime`'s unit).
    pub fn milliseconds_since(self, start: Self) -> f32 {
        let nanoseconds = i128::from(self.0) - i128::from(start.0);
        (nanoseconds as f64 / 1e6) as f32
    }
}

/// The clock of events. The engine reads it with its lock held, so a clock must not call the
/// engine.
pub trait Clock: Send + Sync {
    /// Present time; never decreases.
    fn now(&self) -> Timestamp;
}

/// The host's monotonic clock, counted from its creation.
#[derive(Debug)]
pub struct HostClock(Instant);

impl Default for HostClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for HostClock {
    fn now(&self) -> Timestamp {
        Timestamp(u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}
