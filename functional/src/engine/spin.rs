//! Detection of warps that only spin: a warp whose registers and places repeat waits for memory that others change.
//!
//! A spin loop returns to the same registers at the same place until the value that it polls changes. The detector
//! compares fingerprints of a warp at the ends of its turns (Brent's algorithm with a bounded period). A false match
//! costs time only: the warp's CTA gives way to another one earlier.

use super::divergence::Divergence;

/// Longest period, in turns, that the detector recognises.
const LONGEST_PERIOD: u8 = 8;
/// Turns that the detector also observes at barriers after some warp of the CTA was found to spin.
const SUSPICIOUS_TURNS: u8 = 16;
/// Time slices without a match after which only every [`SPARSE`]th slice is observed.
const DENSE_SLICES: u8 = 16;
/// Time slices from one observation to the next in a warp that has not spun for long.
const SPARSE: u8 = 4;

/// Jumps in a time slice of a warp that spins.
pub(super) const SPINNING_SLICE: u32 = 8;

/// History of one warp's fingerprints.
#[derive(Debug, Default)]
pub(super) struct SpinDetector {
    mark: u64,
    /// Observations since the mark was set.
    since: u8,
    /// Observations before the next mark is set.
    until: u8,
    /// Observations without a match after which the warp no longer spins.
    credit: u8,
    suspicion: u8,
    /// Time slices without a match.
    slices: u8,
}

impl SpinDetector {
    /// The warp repeats itself.
    pub(super) fn spins(&self) -> bool {
        self.credit > 0
    }

    /// All lanes that can go on are in loops that do nothing but wait.
    pub(super) fn waits_for_memory(&mut self) {
        self.credit = 1;
        self.suspicion = SUSPICIOUS_TURNS;
    }

    /// Another warp of the CTA spins: this one may wait for it at barriers.
    pub(super) fn suspect(&mut self) {
        self.suspicion = SUSPICIOUS_TURNS;
    }

    /// A time slice of the warp has ended.
    pub(super) fn slice_ended(&mut self, lanes: &Divergence) {
        self.slices = if self.slices == u8::MAX { DENSE_SLICES } else { self.slices + 1 };
        if self.spins() || self.slices <= DENSE_SLICES || self.slices.is_multiple_of(SPARSE) {
            self.observe(lanes.fingerprint());
        }
    }

    /// The warp has come to wait at a barrier.
    pub(super) fn waits(&mut self, lanes: &Divergence) {
        if self.suspicion > 0 {
            self.observe(lanes.fingerprint());
        }
    }

    fn observe(&mut self, fingerprint: u64) {
        if fingerprint == self.mark {
            // After the next period without a match the warp does something else, or spins on with another value.
            let period = self.since + 1;
            // The warp that comes to a barrier last runs on to the next one, which puts its period out of step now and then.
            self.credit = if period == 1 { 1 } else { 2 * period + 2 };
            self.until = period;
            (self.since, self.slices, self.suspicion) = (0, 0, SUSPICIOUS_TURNS);
            return;
        }
        self.credit = self.credit.saturating_sub(1);
        self.suspicion = self.suspicion.saturating_sub(1);
        self.since += 1;
        if self.since >= self.until {
            self.until = if self.until >= LONGEST_PERIOD { 1 } else { (self.until * 2).max(1) };
            (self.mark, self.since) = (fingerprint, 0);
        }
    }
}

/// Jumps from the beginning of a turn to the first look at the registers.
const FIRST_LOOK: u32 = 64;
/// Jumps from one look of a pair to the other: a multiple of most periods of short loops.
const PAIR: u32 = 24;

/// Looks at a warp's registers within a long time slice, in pairs at growing distances.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpinProbe {
    /// Jumps until the next look.
    until: u32,
    /// Jumps between two pairs.
    distance: u32,
    first: Option<u64>,
}

impl SpinProbe {
    /// A warp's turn begins.
    pub(super) fn new() -> SpinProbe {
        SpinProbe { until: FIRST_LOOK, distance: FIRST_LOOK, first: None }
    }

    /// The registers are never looked at.
    pub(super) fn never() -> SpinProbe {
        SpinProbe { until: u32::MAX, distance: u32::MAX, first: None }
    }

    /// Jumps until the next look.
    pub(super) fn until(&self) -> u32 {
        self.until
    }

    /// The warp has made so many jumps.
    pub(super) fn passed(&mut self, jumps: u32) {
        if self.distance != u32::MAX {
            self.until = self.until.saturating_sub(jumps);
        }
    }

    /// Is it time to look?
    pub(super) fn is_due(&self) -> bool {
        self.until == 0
    }

    /// Notes what a look has found; is it what the look before it has found?
    pub(super) fn repeats(&mut self, fingerprint: u64) -> bool {
        match self.first.take() {
            Some(first) if first == fingerprint => return true,
            Some(_) => {
                self.distance = self.distance.saturating_mul(2).min(u32::MAX - 1);
                self.until = self.distance;
            }
            None => (self.first, self.until) = (Some(fingerprint), PAIR),
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spins_after(states: impl IntoIterator<Item = u64>) -> bool {
        let mut detector = SpinDetector::default();
        states.into_iter().for_each(|state| detector.observe(state));
        detector.spins()
    }

    #[test]
    fn state_that_never_returns_is_no_spin() {
        assert!((1..1000).all(|end| !spins_after(1..end)));
    }

    #[test]
    fn periods_up_to_the_longest_are_spins() {
        for period in 1..=u64::from(LONGEST_PERIOD) {
            let states = || (100..150).chain((0..).map(|n| 1 + n % period));
            assert!((100..130).all(|extra| spins_after(states().take(50 + extra))), "period {period}");
        }
    }

    #[test]
    fn spin_ends_with_the_first_new_state_of_period_one() {
        assert!(spins_after([7; 8]));
        assert!(!spins_after([7, 7, 7, 7, 8]));
    }
}
