//! Numbers that are drawn: always the same, or anew in each run that looks for more, unless `VOLTSIM_TEST_SEED` says from
//! which seed.

use std::hash::{BuildHasher, Hasher, RandomState};

/// The seed, as a failure has printed it.
const SEED: &str = "VOLTSIM_TEST_SEED";

/// Where nothing more is looked for: what passes on one machine passes on the next.
const USUAL: u64 = 0;

/// The seed of this run of the suite, which may be a search; an error if what is given is no number.
pub(crate) fn seed(is_search: bool) -> Result<u64, String> {
    match std::env::var(SEED) {
        Ok(given) => given.parse().map_err(|_| format!("{SEED}={given} is no number")),
        // As the standard library seeds its maps: from the system's random numbers.
        Err(_) if !is_search => Ok(USUAL),
        Err(_) => Ok(RandomState::new().build_hasher().finish()),
    }
}

/// Draws numbers.
pub(crate) struct Dice(u64);

impl Dice {
    /// Those of a trial, whatever other trials draw.
    pub(crate) fn of(seed: u64, trial: &str) -> Dice {
        Dice(trial.bytes().fold(seed, |seed, byte| seed.wrapping_mul(31).wrapping_add(byte.into())))
    }

    /// A number below `bound`, or 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        // SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound.max(1)
    }
}
