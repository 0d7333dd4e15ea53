//! Validation of restored states.
//!
//! Restored states are not trusted. Each unit checks lengths, numbers and times against its Spec
//! beside its State, so that no accepted state leads to an invalid access. Derived state is
//! recomputed, not saved.

use warp_stream::kernel_name::signature;

use crate::statistics::Counters;

/// Reason why a state cannot be continued.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// The state is of another GPU.
    #[error("the state is of a GPU with {key} = {saved}; this GPU has {key} = {here}")]
    OtherGpu {
        /// Differing value: `section.key`.
        key: String,
        /// Value in the state; empty if absent.
        saved: String,
        /// Value here.
        here: String,
    },
    /// Impossible state of a unit: damaged or foreign bytes.
    #[error("the state of {unit} is invalid: {reason}")]
    Unit {
        /// Unit.
        unit: String,
        /// Violated condition.
        reason: &'static str,
    },
    /// Unexpected work in flight.
    #[error("the state has {what} in flight")]
    UnderWay {
        /// The work.
        what: String,
    },
    /// The launch in flight takes rates of loads from outside, which no state holds.
    #[error(
        "the state has a launch in flight with rates of a recording (fidelity.rates=reuse-distance); \
             resume a checkpoint between launches"
    )]
    Rates,
    /// The launch in flight is another than the one that should continue it.
    #[error("the state has launch {launch} of kernel {}; {} cannot continue it", signature(.saved), signature(.here))]
    OtherLaunch {
        /// Number of the launch in the run.
        launch: u64,
        /// Kernel in the state.
        saved: String,
        /// Launch that should continue it.
        here: String,
    },
}

/// Result of a check; the error is the violated condition.
pub(crate) type Validity = Result<(), &'static str>;

/// Checks a condition.
pub(crate) fn ensure(holds: bool, reason: &'static str) -> Validity {
    if holds { Ok(()) } else { Err(reason) }
}

/// Error of a unit.
pub(crate) fn of_unit(unit: impl Into<String>) -> impl FnOnce(&'static str) -> RestoreError {
    move |reason| RestoreError::Unit { unit: unit.into(), reason }
}

/// Bound on cycles of any clock in a state: days of card time, whose sums cannot overflow.
pub(crate) const LATEST: u64 = 1 << 48;

/// Farthest future event: a warp can sleep for seconds.
const AHEAD: u64 = 1 << 34;

/// True if an event at `cycle` is plausible at `now`.
pub(crate) fn near(cycle: u64, now: u64) -> bool {
    cycle <= now + AHEAD
}

/// True if an event at `cycle` is plausible, or never (`u64::MAX`).
pub(crate) fn near_or_never(cycle: u64, now: u64) -> bool {
    cycle == u64::MAX || near(cycle, now)
}

/// Bound on any count of a unit, so that sums over units cannot overflow.
pub(crate) const MOST_COUNTED: u64 = 1 << 54;

/// Checks that sums of counters over all units cannot overflow.
pub(crate) fn countable(counters: &impl Counters) -> Validity {
    let mut most = 0;
    counters.each(&mut |_, value| most = most.max(value));
    ensure(most < MOST_COUNTED, "a count is too large")
}

/// Records that lists must reach exactly once each.
#[derive(Debug, Clone)]
pub(crate) struct Once(Vec<bool>);

impl Once {
    /// `count` unreached records.
    pub(crate) fn new(count: usize) -> Once {
        Once(vec![false; count])
    }

    /// Records that a list reaches a record.
    pub(crate) fn reach(&mut self, number: u32) -> Validity {
        let place = self.0.get_mut(number as usize).ok_or("a list has a dangling link")?;
        ensure(!std::mem::replace(place, true), "two lists share a record")
    }

    /// True if a list has reached a record.
    pub(crate) fn has(&self, number: u32) -> bool {
        self.0.get(number as usize).copied().unwrap_or(false)
    }

    /// Checks that every record was reached.
    pub(crate) fn all(&self) -> Validity {
        ensure(self.0.iter().all(|reached| *reached), "a record is in no list")
    }
}
