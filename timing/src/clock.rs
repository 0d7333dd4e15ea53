//! Clock domains: how cycles of one clock count in another, without rounding that adds up.
//!
//! All domains start their cycle 0 at the same moment. Ratios are those of whole frequencies, so they are exact.

use serde::{Deserialize, Serialize};

/// A clock beside the core clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    /// Cycles of this clock in as many as [`Clock::core`] of the core clock.
    own: u32,
    core: u32,
}

impl Clock {
    /// A clock of so many MHz beside a core clock of so many; neither is 0.
    pub fn new(own: u32, core: u32) -> Clock {
        let (mut divisor, mut rest) = (own.max(1), core.max(1));
        while rest != 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        Clock { own: own.max(1) / divisor, core: core.max(1) / divisor }
    }

    /// The first cycle of this clock that starts at or after the start of a core cycle.
    pub fn from_core(self, cycle: u64) -> u64 {
        scaled_up(cycle, self.own, self.core)
    }

    /// The first core cycle that starts at or after the start of a cycle of this clock.
    pub fn to_core(self, cycle: u64) -> u64 {
        scaled_up(cycle, self.core, self.own)
    }

    /// The core cycle within which a cycle of this clock starts.
    pub fn within_core(self, cycle: u64) -> u64 {
        if self.core == self.own {
            return cycle;
        }
        let (core, own) = (u64::from(self.core), u64::from(self.own));
        let whole = (cycle / own).saturating_mul(core);
        whole.saturating_add((cycle % own) * core / own)
    }
}

/// `cycle * numerator / denominator`, rounded up.
fn scaled_up(cycle: u64, numerator: u32, denominator: u32) -> u64 {
    if numerator == denominator {
        return cycle;
    }
    let (numerator, denominator) = (u64::from(numerator), u64::from(denominator));
    let whole = (cycle / denominator).saturating_mul(numerator);
    whole.saturating_add(((cycle % denominator) * numerator).div_ceil(denominator))
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
    fn a_cycle_that_starts_between_two_core_cycles_is_within_the_first() {
        let dram = Clock::new(850, 1200);
        assert_eq!((dram.within_core(1), dram.to_core(1)), (1, 2));
        assert_eq!((dram.within_core(17), dram.to_core(17)), (24, 24));
    }

    #[test]
    fn a_message_to_a_slower_clock_waits_for_its_next_edge() {
        let half = Clock::new(600, 1200);
        assert_eq!([0, 1, 2, 3].map(|cycle| half.from_core(cycle)), [0, 1, 1, 2]);
    }

    proptest! {
        #[test]
        fn there_and_back_is_never_early_and_late_by_less_than_a_cycle_of_the_slower(
            own in 1_u32..4000, core in 1_u32..4000, cycle in 0_u64..1 << 40
        ) {
            let clock = Clock::new(own, core);
            let back = clock.to_core(clock.from_core(cycle));
            prop_assert!(back >= cycle);
            prop_assert!(back - cycle <= u64::from(core.div_ceil(own)));
        }
    }
}
