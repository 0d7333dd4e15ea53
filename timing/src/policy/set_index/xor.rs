//! Exclusive or: the bits above the index are folded onto the index.

use super::Policy;

pub(super) struct Xor;

impl Policy for Xor {
    fn index(line: u64, sets: u64) -> u64 {
        let bits = sets.next_power_of_two().trailing_zeros().max(1);
        let (mut folded, mut rest) = (0, line);
        while rest != 0 {
            folded ^= rest;
            rest >>= bits;
        }
        folded
    }
}
