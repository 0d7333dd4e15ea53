//! States that were written and are read again: why one may not fit, and how that is found out.
//!
//! What is read is not trusted. Each unit has a check beside its State that holds lengths, numbers and times against the Spec,
//! so that no state that passes makes a unit look where nothing is. What follows from the rest of a State is not written,
//! but made anew.

use warp_stream::kernel_name::signature;

use crate::statistics::Counters;

/// Why a state cannot be gone on with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// It is of another GPU.
    #[error("the state is of a GPU with {key} = {saved}; this one has {here}")]
    OtherGpu {
        /// A value that differs: `section.key`.
        key: String,
        /// Its value in the state; nothing if it has none.
        saved: String,
        /// Its value here.
        here: String,
    },
    /// A unit can have no such state: the bytes are damaged, or somebody else's.
    #[error("the state of {unit} cannot be: {reason}")]
    Unit {
        /// Which.
        unit: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// Something was under way, and was not asked for.
    #[error("{what} is under way in the state")]
    UnderWay {
        /// What.
        what: String,
    },
    /// A launch was under way, and what is to go on with it is another one.
    #[error("the state has launch {launch} of kernel {}; {} cannot go on with it", signature(.saved), signature(.here))]
    OtherLaunch {
        /// Number of the launch in the run.
        launch: u64,
        /// Its kernel.
        saved: String,
        /// What there is.
        here: String,
    },
}

/// Whether a state can be; if not, why.
pub(crate) type Fits = Result<(), &'static str>;

/// Nothing, if a condition holds.
pub(crate) fn fits(holds: bool, reason: &'static str) -> Fits {
    if holds { Ok(()) } else { Err(reason) }
}

/// The error of a unit.
pub(crate) fn of_unit(unit: impl Into<String>) -> impl FnOnce(&'static str) -> RestoreError {
    move |reason| RestoreError::Unit { unit: unit.into(), reason }
}

/// Cycles of any clock that a state may have come to: some days of the card's time, and sums of such numbers are numbers.
pub(crate) const LATEST: u64 = 1 << 48;

/// Cycles ahead that something may have been put off: a warp can rest for seconds.
const AHEAD: u64 = 1 << 34;

/// Whether something may happen at a cycle, as seen from another one.
pub(crate) fn near(cycle: u64, now: u64) -> bool {
    cycle <= now + AHEAD
}

/// The same of a cycle that may be never (`u64::MAX`).
pub(crate) fn near_or_never(cycle: u64, now: u64) -> bool {
    cycle == u64::MAX || near(cycle, now)
}

/// No count of a unit comes to so many: sums over all units are numbers.
pub(crate) const MOST_COUNTED: u64 = 1 << 54;

/// Whether counts are such that their sums over all units are numbers.
pub(crate) fn countable(counters: &impl Counters) -> Fits {
    let mut most = 0;
    counters.each(&mut |_, value| most = most.max(value));
    fits(most < MOST_COUNTED, "a count is too large")
}

/// Records that lists lead to, each of which has to be reached once.
#[derive(Debug, Clone)]
pub(crate) struct Once(Vec<bool>);

impl Once {
    /// So many records.
    pub(crate) fn new(count: usize) -> Once {
        Once(vec![false; count])
    }

    /// A list leads to a record.
    pub(crate) fn reach(&mut self, number: u32) -> Fits {
        let place = self.0.get_mut(number as usize).ok_or("a list leads to nothing")?;
        fits(!std::mem::replace(place, true), "two lists lead to one record")
    }

    /// Whether a list has led to a record.
    pub(crate) fn has(&self, number: u32) -> bool {
        self.0.get(number as usize).copied().unwrap_or(false)
    }

    /// All lists were followed.
    pub(crate) fn all(&self) -> Fits {
        fits(self.0.iter().all(|reached| *reached), "no list leads to a record")
    }
}
