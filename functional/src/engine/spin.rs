//! Detection of warps that only spin: a warp whose registers and places repeat waits for memory that others
//! change.
//!
//! A spin loop returns to the same registers at the same place until the value that it polls changes. The
//! detector compares fingerprints of a warp at the ends of its turns (Brent's algorithm with a bounded
//! period). A false match costs time only: the warp's CTA gives way to another one earlier.
//!
//! Turns of a warp that may spin end at one place, the anchor, whatever the number of jumps in the
//! loop. Each turn therefore finds the registers of one moment of the loop. Loops of code without
//! optimisation call functions for atomics and have some 10 to 40 jumps.

use super::divergence::Divergence;

/// Longest period, in turns, that the detector recognises.
const LONGEST_PERIOD: u8 = 8;
/// Turns that the detector also observes at barriers after some warp of the CTA was found to spin.
const SUSPICIOUS_TURNS: u8 = 16;
/// Short time slices after the last match.
const SHORT_SLICES: u8 = 4;
/// Time slices without a match after which only every [`SPARSE`]th slice is observed.
const DENSE_SLICES: u8 = 16;
/// Time slices from one observation to the next in a warp that has not spun for long.
const SPARSE: u8 = 4;

/// Jumps in a time slice of a warp that spins.
pub(super) const SPINNING_SLICE: u32 = 8;
/// Jumps in the longest loop that is recognised: a turn is longer by so many, to end at the anchor.
const LONGEST_LOOP: u32 = 64;

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
    /// Time slices that are short because the warp has spun a little before.
    short: u8,
    /// Op at which the last turn that was looked at has ended.
    anchor: u32,
    /// Jumps that the current turn has made on its way to the anchor.
    stretch: u32,
}

impl SpinDetector {
    /// The warp repeats itself.
    pub(super) fn spins(&self) -> bool {
        self.credit > 0
    }

    /// The warp could be looked at now that it has come to `pc`. Should it go on instead, to be looked at
    /// where it was looked at before?
    pub(super) fn goes_on(&mut self, pc: u32) -> bool {
        if pc == self.anchor || self.stretch == LONGEST_LOOP {
            (self.anchor, self.stretch) = (pc, 0);
            return false;
        }
        self.stretch += 1;
        true
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

    /// Is the warp's next time slice short? A warp that polls a counter spins on with another value when
    /// that has changed.
    pub(super) fn has_short_slice(&self) -> bool {
        self.spins() || self.short > 0
    }

    /// A time slice of the warp has ended.
    pub(super) fn slice_ended(&mut self, lanes: &Divergence) {
        self.short = self.short.saturating_sub(1);
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
            // After the next period without a match the warp does something else, or spins on with another
            // value.
            let period = self.since + 1;
            // The warp that comes to a barrier last runs on to the next one, which puts its period out of
            // step now and then.
            self.credit = if period == 1 { 1 } else { 2 * period + 2 };
            self.until = period;
            (self.since, self.slices, self.suspicion, self.short) = (0, 0, SUSPICIOUS_TURNS, SHORT_SLICES);
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
/// Visits of the first look's place at which the registers are compared with those of the first look.
const VISITS: u32 = 3;

/// Looks at a warp's registers within a long time slice, at a place of which it comes back, at growing
/// distances.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpinProbe {
    /// Jumps until the next look.
    until: u32,
    /// Jumps between two series of looks.
    distance: u32,
    first: Option<Look>,
}

/// First look of a series, and what is left of the series.
#[derive(Debug, Clone, Copy)]
struct Look {
    pc: u32,
    fingerprint: u64,
    jumps: u32,
    visits: u32,
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

    /// Does the probe look at the registers at all?
    pub(super) fn is_on(&self) -> bool {
        self.distance != u32::MAX
    }

    /// Jumps until the next look.
    pub(super) fn until(&self) -> u32 {
        self.until
    }

    /// The warp has made so many jumps.
    pub(super) fn passed(&mut self, jumps: u32) {
        if self.is_on() {
            self.until = self.until.saturating_sub(jumps);
        }
    }

    /// Is it time to look?
    pub(super) fn is_due(&self) -> bool {
        self.until == 0
    }

    /// Does the next look begin a series?
    pub(super) fn begins(&self) -> bool {
        self.first.is_none()
    }

    /// Puts the look off by a jump.
    pub(super) fn wait(&mut self) {
        self.until = 1;
    }

    /// Looks at the warp, which is at `pc`. Is it back at the place of the first look, with the same
    /// registers?
    pub(super) fn repeats(&mut self, pc: u32, fingerprint: impl FnOnce() -> u64) -> bool {
        self.until = 1;
        let Some(first) = &mut self.first else {
            let (jumps, visits) = (LONGEST_LOOP, VISITS);
            self.first = Some(Look { pc, fingerprint: fingerprint(), jumps, visits });
            return false;
        };
        first.jumps -= 1;
        if first.pc == pc {
            first.visits -= 1;
            if fingerprint() == first.fingerprint {
                return true;
            }
        }
        if first.jumps == 0 || first.visits == 0 {
            self.first = None;
            self.distance = self.distance.saturating_mul(2).min(u32::MAX - 1);
            self.until = self.distance;
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
    fn turns_end_where_a_loop_was_looked_at_before() {
        for jumps in 1..=LONGEST_LOOP {
            let mut detector = SpinDetector::default();
            let mut at = (1..=jumps).cycle();
            let mut turn = || at.by_ref().skip(7).find(|pc| !detector.goes_on(*pc));
            let first = turn();
            assert!((0..9).all(|_| turn() == first), "loop of {jumps} jumps");
        }
    }

    #[test]
    fn turns_end_though_the_place_does_not_come_back() {
        let mut detector = SpinDetector::default();
        assert_eq!((1..).find(|pc| !detector.goes_on(*pc)), Some(LONGEST_LOOP + 1));
    }

    /// Looks of a probe until it finds a repetition, of at most so many; the loop has so many places.
    fn looks(places: u32, most: u32, registers: impl Fn(u32) -> u64) -> Option<u32> {
        let mut probe = SpinProbe::new();
        (0..most).find(|look| probe.repeats(look % places, || registers(*look)))
    }

    #[test]
    fn probe_finds_loops_of_any_length_and_calls_of_one_function() {
        assert!((1..LONGEST_LOOP).all(|places| looks(places, 200, |_| 5) == Some(places)));
        assert_eq!(looks(7, 200, |look| u64::from(look / 7 % 2)), Some(14));
        assert_eq!(looks(7, 2000, u64::from), None);
        assert_eq!(looks(LONGEST_LOOP + 1, 2000, |_| 5), None);
    }

    #[test]
    fn spin_ends_with_the_first_new_state_of_period_one() {
        assert!(spins_after([7; 8]));
        assert!(!spins_after([7, 7, 7, 7, 8]));
    }
}
