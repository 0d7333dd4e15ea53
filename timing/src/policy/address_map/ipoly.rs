//! Pseudo-random interleaving (Rau, "Pseudo-Randomly Interleaved Memory", ISCA 1991): the remainder
//! of the address as a polynomial over GF(2) by an irreducible one. Power-of-two strides spread
//! over all places.

use super::Policy;

const DEGREES: usize = 7;

/// Primitive polynomials of degrees 0 to 7, without their highest term.
const POLYNOMIALS: [u32; DEGREES + 1] = [0, 0b1, 0b11, 0b011, 0b0011, 0b0_0101, 0b00_0011, 0b000_0011];

/// Remainders by degree, position of the dividend's byte (lowest first), and byte value.
static REMAINDERS: [[[u8; 256]; 8]; DEGREES + 1] = remainders();

const fn remainders() -> [[[u8; 256]; 8]; DEGREES + 1] {
    let mut remainders = [[[0; 256]; 8]; DEGREES + 1];
    let mut degree = 1;
    while degree <= DEGREES {
        // Remainder of x^`bit`.
        let mut power = 1_u32;
        let mut bit = 0;
        while bit < 64 {
            if power >> degree != 0 {
                power = (power ^ POLYNOMIALS[degree]) & ((1 << degree) - 1);
            }
            // Bytes whose highest bit is this one.
            let own = 1_usize << (bit % 8);
            let mut below = 0;
            while below < own {
                remainders[degree][bit / 8][own | below] = remainders[degree][bit / 8][below] ^ power as u8;
                below += 1;
            }
            power <<= 1;
            bit += 1;
        }
        degree += 1;
    }
    remainders
}

pub(super) struct Ipoly;

impl Policy for Ipoly {
    /// The remainder of `upper` by the smallest polynomial with at least `modulus` remainders, then
    /// modulo `modulus`.
    fn hash(upper: u64, modulus: u32) -> u32 {
        let degree = modulus.next_power_of_two().trailing_zeros().min(DEGREES as u32) as usize;
        let (mut remainder, mut rest) = (0, upper);
        for remainders in &REMAINDERS[degree] {
            remainder ^= u32::from(remainders[(rest & 0xff) as usize]);
            rest >>= 8;
            if rest == 0 {
                break;
            }
        }
        if remainder < modulus { remainder } else { remainder - modulus }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn power_of_two_strides_never_collide() {
        for degree in 1..=DEGREES {
            let places = 1_u64 << degree;
            for shift in 0..40 {
                let met: HashSet<u32> = (0..places).map(|i| Ipoly::hash(i << shift, places as u32)).collect();
                assert_eq!(met.len() as u64, places, "degree {degree}, shift {shift}");
            }
        }
    }
}
