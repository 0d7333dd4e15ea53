//! Comparison with arithmetic on wider integers, or with the manual's bit-by-bit definition.

use super::*;
use crate::ops::samples::operands;

macro_rules! chains {
    ($ty:ty, $wide:ty, $signed:ty) => {
        operands(|[a, b, c]| {
            let (x, y, z) = (a as $ty, b as $ty, c as $ty);
            for carry in [false, true] {
                let bits = <$ty>::BITS;
                let split = |sum: $wide| (sum as $ty, sum >> bits != 0);
                let sum = <$wide>::from(x) + <$wide>::from(y) + <$wide>::from(carry);
                assert_eq!(Sum::<$ty>::apply(x, y, z, carry), split(sum));
                let taken = <$wide>::from(y) + <$wide>::from(!carry);
                let difference = (1 << bits) + <$wide>::from(x) - taken;
                let expected = (difference as $ty, <$wide>::from(x) >= taken);
                assert_eq!(Difference::<$ty>::apply(x, y, z, carry), expected);
                let product = <$wide>::from(x) * <$wide>::from(y);
                let (low, high) = (product & <$wide>::from(<$ty>::MAX), product >> bits);
                let with_c = |half: $wide| split(half + <$wide>::from(z) + <$wide>::from(carry));
                assert_eq!(LowProductSum::<$ty>::apply(x, y, z, carry), with_c(low));
                assert_eq!(HighProductSum::<$ty>::apply(x, y, z, carry), with_c(high));
                let signed = (x as $signed as i128 * y as $signed as i128) >> bits;
                let (high, out) = with_c(<$wide>::from(signed as $ty));
                let got = HighProductSum::<$signed>::apply(x as $signed, y as $signed, z as $signed, carry);
                assert_eq!(got, (high as $signed, out));
            }
        });
    };
}

#[test]
fn carries_of_words_come_out_of_bit_32() {
    chains!(u32, u64, i32);
}

#[test]
fn carries_of_double_words_come_out_of_bit_64() {
    chains!(u64, u128, i64);
}

#[test]
fn chained_ops_add_and_subtract_four_word_numbers() {
    operands(|[a, b, c]| {
        let (x, y) = (u128::from(a) << 64 | u128::from(c), u128::from(b) << 64 | u128::from(a));
        let word = |value: u128, n: u32| (value >> (32 * n)) as u32;
        let (mut sum, mut carry, mut difference, mut no_borrow) = (0u128, false, 0u128, true);
        for n in 0..4 {
            let digit;
            (digit, carry) = Sum::<u32>::apply(word(x, n), word(y, n), 0, carry);
            sum |= u128::from(digit) << (32 * n);
            let digit;
            (digit, no_borrow) = Difference::<u32>::apply(word(x, n), word(y, n), 0, no_borrow);
            difference |= u128::from(digit) << (32 * n);
        }
        assert_eq!((sum, carry), x.overflowing_add(y));
        assert_eq!((difference, !no_borrow), x.overflowing_sub(y));
    });
}
