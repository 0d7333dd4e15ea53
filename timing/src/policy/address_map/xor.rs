//! Exclusive or of the upper bits, in groups as wide as the place number.

use super::Policy;

pub(super) struct Xor;

impl Policy for Xor {
    /// Exclusive or of the bit groups of `upper`, modulo `modulus`.
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
