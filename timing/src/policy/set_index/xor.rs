//! Exclusive or: the bits above the index are folded onto the index.

use super::Policy;

pub(super) struct Xor;

impl Policy for Xor {
    fn index(line: u64, sets: u64) -> u64 {
        let bits = sets.next_power_of_two().trailing_zeros().max(1);
        if sets.is_power_of_two() {
            // Only the lowest group matters: the number of folded groups doubles at each step.
            let (mut folded, mut shift) = (line, bits);
            while shift < u64::BITS {
                folded ^= folded >> shift;
                shift *= 2;
            }
            return folded;
        }
        let (mut folded, mut rest) = (0, line);
        while rest != 0 {
            folded ^= rest;
            rest >>= bits;
        }
        folded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_is_the_exclusive_or_of_all_groups_of_bits() {
        let by_groups = |line: u64, bits: u32| {
            (0..u64::BITS).step_by(bits as usize).fold(0, |set, shift| set ^ line >> shift) % (1 << bits)
        };
        for line in (0..300_u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (n % 60)) {
            for bits in 1..7 {
                assert_eq!(Xor::index(line, 1 << bits) % (1 << bits), by_groups(line, bits));
            }
        }
    }
}
