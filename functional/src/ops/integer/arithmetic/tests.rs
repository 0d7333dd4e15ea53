//! Comparison with arithmetic on wider integers, or with the manual's bit-by-bit definition.

use super::*;
use crate::engine::shapes::{Binary, Ternary, Unary};
use crate::ops::samples::operands;

/// Defines a test per integer type: the one-lane function equals the truncated expression over `i128`.
macro_rules! agrees {
    (@one $form:ident $ty:ty, (|$($x:ident),*| $oracle:expr)) => {
        operands(|[$($x),*]| {
            let ($($x,)*) = ($($x as $ty,)*);
            let got = $form::<$ty>::apply($($x),*);
            let expected = {
                #[allow(unused)]
                const BITS: u32 = <$ty>::BITS;
                $(let $x = $x as i128;)*
                ($oracle) as $ty
            };
            assert_eq!(got, expected, "{} {:?}", stringify!($ty), ($($x,)*));
        });
    };
    ($name:ident, $form:ident, [$($ty:ty),*], $oracle:tt) => {
        #[test]
        fn $name() {
            $(agrees!(@one $form $ty, $oracle);)*
        }
    };
}

/// Quotient and remainder of two magnitudes, bit by bit.
fn long_division(a: u128, b: u128) -> (u128, u128) {
    let (mut quotient, mut rest) = (0, 0);
    for bit in (0..64).rev() {
        rest = rest << 1 | (a >> bit & 1);
        quotient <<= 1;
        if rest >= b {
            rest -= b;
            quotient |= 1;
        }
    }
    (quotient, rest)
}

fn quotient(a: i128, b: i128) -> i128 {
    if b == 0 {
        return -1;
    }
    let (quotient, _) = long_division(a.unsigned_abs(), b.unsigned_abs());
    if (a < 0) != (b < 0) { -(quotient as i128) } else { quotient as i128 }
}

fn remainder(a: i128, b: i128) -> i128 {
    if b == 0 {
        return -1;
    }
    let (_, rest) = long_division(a.unsigned_abs(), b.unsigned_abs());
    if a < 0 { -(rest as i128) } else { rest as i128 }
}

/// Bits of a * b from bit `from` up, for numbers of up to 64 bits, by products of 32-bit digits.
fn product_from(a: i128, b: i128, from: u32) -> i128 {
    let (low, high) = (b & 0xffff_ffff, b >> 32);
    let (first, second) = (a * low, a * high);
    if from == 64 { (second + (first >> 32)) >> 32 } else { (first + (second << 32)) >> from }
}

agrees!(add_wraps, Add, [u16, i16, u32, i32, u64, i64], (|a, b| a + b));
agrees!(sub_wraps, Sub, [u16, i16, u32, i32, u64, i64], (|a, b| a - b));
agrees!(mul_lo_keeps_the_low_half, MulLo, [u16, i16, u32, i32], (|a, b| a * b));
agrees!(
    mul_lo_of_double_words_keeps_the_low_half,
    MulLo,
    [u64, i64],
    (|a, b| (a & 0xffff_ffff) * b + (((a >> 32) * b) << 32))
);
agrees!(mul_hi_keeps_the_high_half, MulHi, [u16, i16, u32, i32, u64, i64], (|a, b| product_from(a, b, BITS)));
agrees!(
    mad_hi_adds_to_the_high_half,
    MadHi,
    [u16, i16, u32, i32, u64, i64],
    (|a, b, c| product_from(a, b, BITS) + c)
);
agrees!(mad_lo_adds_to_the_low_half, MadLo, [u16, i16, u32, i32], (|a, b, c| a * b + c));
agrees!(div_is_towards_zero, Div, [u16, i16, u32, i32, u64, i64], (|a, b| quotient(a, b)));
agrees!(rem_has_the_dividends_sign, Rem, [u16, i16, u32, i32, u64, i64], (|a, b| remainder(a, b)));
agrees!(sad_adds_the_absolute_difference, Sad, [u16, i16, u32, i32, u64, i64], (|a, b, c| (a - b).abs() + c));
agrees!(abs_of_the_least_number_is_itself, Abs, [i16, i32, i64], (|a| if a < 0 { -a } else { a }));
agrees!(neg_wraps, Neg, [i16, i32, i64], (|a| 0 - a));
agrees!(min_is_the_smaller, Min, [u16, i16, u32, i32, u64, i64], (|a, b| if a < b { a } else { b }));
agrees!(max_is_the_larger, Max, [u16, i16, u32, i32, u64, i64], (|a, b| if a > b { a } else { b }));

fn clamped(value: i128) -> i32 {
    value.clamp(-0x8000_0000, 0x7fff_ffff) as i32
}

#[test]
fn saturating_forms_clamp_to_s32() {
    operands(|[a, b, c]| {
        let (a, b, c) = (a as i32, b as i32, c as i32);
        let (x, y, z) = (i128::from(a), i128::from(b), i128::from(c));
        assert_eq!(AddSaturating::apply(a, b), clamped(x + y));
        assert_eq!(SubSaturating::apply(a, b), clamped(x - y));
        assert_eq!(MadHiSaturating::apply(a, b, c), clamped(product_from(x, y, 32) + z));
    });
}

macro_rules! wide_forms_agree {
    ($($ty:ty => $wide:ty),*) => {
        $(operands(|[a, b, c]| {
            let (a, b, c) = (a as $ty, b as $ty, c as $wide);
            let product = i128::from(a) * i128::from(b);
            assert_eq!(MulWide::<$ty>::apply(a, b), product as $wide);
            assert_eq!(MadWide::<$ty>::apply(a, b, c), (product + i128::from(c)) as $wide);
        });)*
    };
}

#[test]
fn wide_forms_return_the_whole_product() {
    wide_forms_agree!(u16 => u32, i16 => i32, u32 => u64, i32 => i64);
}

#[test]
fn twenty_four_bit_products_ignore_the_top_bytes() {
    operands(|[a, b, c]| {
        let (a, b, c) = (a as u32, b as u32, c as u32);
        let unsigned = i128::from(a % (1 << 24)) * i128::from(b % (1 << 24));
        let extend = |x: u32| i128::from(x % (1 << 24)) - i128::from(x >> 23 & 1) * (1 << 24);
        let signed = extend(a) * extend(b);
        let (s, t) = (a as i32, b as i32);
        assert_eq!(Mul24Lo::<u32>::apply(a, b), unsigned as u32);
        assert_eq!(Mul24Lo::<i32>::apply(s, t), signed as u32);
        assert_eq!(Mul24Hi::<u32>::apply(a, b), (unsigned >> 16) as u32);
        assert_eq!(Mul24Hi::<i32>::apply(s, t), (signed >> 16) as u32);
        assert_eq!(Mad24Lo::<u32>::apply(a, b, c), (unsigned + i128::from(c)) as u32);
        assert_eq!(Mad24Lo::<i32>::apply(s, t, c), (signed + i128::from(c)) as u32);
        assert_eq!(Mad24Hi::<u32>::apply(a, b, c), ((unsigned >> 16) + i128::from(c)) as u32);
        assert_eq!(Mad24Hi::<i32>::apply(s, t, c), ((signed >> 16) + i128::from(c)) as u32);
    });
}
