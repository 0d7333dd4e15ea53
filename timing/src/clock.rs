//! Clock domains: exact conversion of cycles between clocks, without accumulating rounding errors.
//!
//! All domains start cycle 0 at the same moment. Ratios are of whole frequencies, so conversions
//! are exact.

use serde::{Deserialize, Serialize};

/// A clock in relation to the core clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    /// Cycles of this clock in [`Clock::core`] core cycles.
    own: Divisor,
    core: Divisor,
}

/// Bound on cycles scaled without a division, for ratios of numbers below [`SMALL`].
const NEAR: u64 = 1 << 40;
const SMALL: u32 = 1 << 12;

/// A divisor with its reciprocal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Divisor {
    value: u32,
    /// 2^64 / `value`, rounded up, modulo 2^64; 0 unless `value` is below [`SMALL`].
    reciprocal: u64,
}

impl Divisor {
    fn new(value: u32) -> Divisor {
        let reciprocal = if value < SMALL { (u64::MAX / u64::from(value)).wrapping_add(1) } else { 0 };
        Divisor { value, reciprocal }
    }

    /// Divides a dividend below [`NEAR`] times [`SMALL`] by a value from 2 to below [`SMALL`]. With
    /// so few bits the reciprocal's error cannot reach the quotient.
    fn divide(self, dividend: u64) -> u64 {
        ((u128::from(dividend) * u128::from(self.reciprocal)) >> 64) as u64
    }
}

impl Clock {
    /// A clock of `own` MHz beside a core clock of `core` MHz; both are positive.
    pub fn new(own: u32, core: u32) -> Clock {
        let (mut divisor, mut rest) = (own.max(1), core.max(1));
        while rest != 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        Clock { own: Divisor::new(own.max(1) / divisor), core: Divisor::new(core.max(1) / divisor) }
    }

    /// First cycle of this clock that starts at or after the start of a core cycle.
    pub fn from_core(self, cycle: u64) -> u64 {
        scaled_up(cycle, self.own, self.core)
    }

    /// First core cycle that starts at or after the start of a cycle of this clock.
    pub fn to_core(self, cycle: u64) -> u64 {
        scaled_up(cycle, self.core, self.own)
    }

    /// Core cycle in which a cycle of this clock starts.
    pub fn within_core(self, cycle: u64) -> u64 {
        scaled(cycle, self.core, self.own, 0)
    }
}

/// `cycle * numerator / denominator`, rounded up.
#[inline]
fn scaled_up(cycle: u64, numerator: Divisor, denominator: Divisor) -> u64 {
    scaled(cycle, numerator, denominator, u64::from(denominator.value) - 1)
}

/// `(cycle * numerator + more) / denominator`; `more` is below the denominator.
#[inline]
fn scaled(cycle: u64, numerator: Divisor, denominator: Divisor, more: u64) -> u64 {
    if numerator.value == denominator.value {
        return cycle;
    }
    if cycle < NEAR && numerator.value < SMALL && denominator.reciprocal != 0 {
        return denominator.divide(cycle * u64::from(numerator.value) + more);
    }
    scaled_by_division(cycle, numerator, denominator, more)
}

/// Scales any cycle between any clocks by division.
#[cold]
fn scaled_by_division(cycle: u64, numerator: Divisor, denominator: Divisor, more: u64) -> u64 {
    let multiplier = u64::from(numerator.value);
    if denominator.value == 1 {
        return cycle.saturating_mul(multiplier);
    }
    let divisor = u64::from(denominator.value);
    let whole = (cycle / divisor).saturating_mul(multiplier);
    whole.saturating_add(((cycle % divisor) * multiplier + more) / divisor)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_hour_of_dram_cycles_does_not_drift() {
        let dram = Clock::new(850, 1200);
        assert_eq!(dram.from_core(3600 * 1_200_000_000), 3600 * 850_000_000);
        assert_eq!(dram.to_core(3600 * 850_000_000), 3600 * 1_200_000_000);
    }

    #[test]
    fn cycle_between_two_core_cycles_is_within_the_first() {
        let dram = Clock::new(850, 1200);
        assert_eq!((dram.within_core(1), dram.to_core(1)), (1, 2));
        assert_eq!((dram.within_core(17), dram.to_core(17)), (24, 24));
    }

    #[test]
    fn message_to_a_slower_clock_waits_for_its_edge() {
        let half = Clock::new(600, 1200);
        assert_eq!([0, 1, 2, 3].map(|cycle| half.from_core(cycle)), [0, 1, 1, 2]);
    }

    proptest! {
        #[test]
        fn cycles_scale_exactly(
            own in 1_u32..5000, core in 1_u32..5000, cycle in 0_u64..1 << 50, shift in 0_u32..50
        ) {
            let (clock, cycle) = (Clock::new(own, core), cycle >> shift);
            let (own, core, wide) = (u128::from(own), u128::from(core), u128::from(cycle));
            prop_assert_eq!(u128::from(clock.from_core(cycle)), (wide * own).div_ceil(core));
            prop_assert_eq!(u128::from(clock.to_core(cycle)), (wide * core).div_ceil(own));
            prop_assert_eq!(u128::from(clock.within_core(cycle)), wide * core / own);
        }

        #[test]
        fn round_trip_is_late_by_less_than_a_slow_cycle(
            own in 1_u32..4000, core in 1_u32..4000, cycle in 0_u64..1 << 40
        ) {
            let clock = Clock::new(own, core);
            let back = clock.to_core(clock.from_core(cycle));
            prop_assert!(back >= cycle);
            prop_assert!(back - cycle <= u64::from(core.div_ceil(own)));
        }
    }
}
