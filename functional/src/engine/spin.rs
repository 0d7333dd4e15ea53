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
