//! Exclusive or of all the bits above, as many at a time as number the places.

use super::Policy;

pub(super) struct Xor;

impl Policy for Xor {
    /// The groups of bits of `upper` over one another, modulo `modulus`.
    fn hash(mut upper: u64, modulus: u32) -> u32 {
        let bits = modulus.next_power_of_two().trailing_zeros();
        if bits == 0 {
            return 0;
        }
        let mut folded = 0;
        while upper != 0 {
            folded ^= upper & ((1 << bits) - 1);
            upper >>= bits;
        }
        folded as u32 % modulus
    }
}
