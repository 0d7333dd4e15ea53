//! Random choices: fixed by default, different in each run of a search, or determined by
//! `VOLTSIM_TEST_SEED`.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Environment variable of the seed, as printed by a failure.
const SEED: &str = "VOLTSIM_TEST_SEED";

/// Default seed, with which results do not depend on the machine.
const USUAL: u64 = 0;

/// Returns the seed of this run of the suite, random in a search. Fails if the variable is not a number.
pub(crate) fn seed(is_search: bool) -> Result<u64, String> {
    match std::env::var(SEED) {
        Ok(given) => given.parse().map_err(|_| format!("{SEED}={given} is not a number")),
        // Uses the system's random numbers, like the standard library's maps.
        Err(_) if !is_search => Ok(USUAL),
        Err(_) => Ok(RandomState::new().build_hasher().finish()),
    }
}

/// Random number generator.
pub(crate) struct Dice(u64);

impl Dice {
    /// Returns the generator of a trial, independent of other trials.
    pub(crate) fn of(seed: u64, trial: &str) -> Dice {
        Dice(trial.bytes().fold(seed, |seed, byte| seed.wrapping_mul(31).wrapping_add(byte.into())))
    }

    /// Returns a number below `bound`, or 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        // SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound.max(1)
    }
}
