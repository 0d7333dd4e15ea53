//! Comparison with arithmetic on wider integers, or with the manual's bit-by-bit definition.

use super::*;
use crate::engine::shapes::{Binary, Quaternary, Ternary, Unary};
use crate::ops::samples::operands;

/// Bit `n` of a number; bits above 63 repeat bit 63.
fn bit(value: u64, n: u32) -> u64 {
    value >> n.min(63) & 1
}

fn from_bits(width: u32, f: impl Fn(u32) -> u64) -> u64 {
    (0..width).map(|n| f(n) << n).sum()
}

/// Position of the highest bit that differs from the sign (0 for unsigned numbers).
fn highest(value: u64, width: u32, signed: bool) -> Option<u32> {
    let sign = if signed { bit(value, width - 1) } else { 0 };
    (0..width).rev().find(|&n| bit(value, n) != sign)
}

macro_rules! for_widths {
    ($check:ident: $(($ty:ty, $signed:literal)),*) => { $($check!($ty, $signed);)* };
}

#[test]
fn popc_clz_and_brev_match_bit_loops() {
    macro_rules! check {
        ($ty:ty, $signed:literal) => {
            operands(|[a]| {
                let width = <$ty>::BITS;
                let a = u64::from(a as $ty);
                assert_eq!(u64::from(Ones::<$ty>::apply(a as $ty)), (0..width).map(|n| bit(a, n)).sum());
                let zeros = (0..width).rev().take_while(|&n| bit(a, n) == 0).count();
                assert_eq!(LeadingZeros::<$ty>::apply(a as $ty) as usize, zeros);
                let reversed = from_bits(width, |n| bit(a, width - 1 - n));
                assert_eq!(u64::from(Reversed::<$ty>::apply(a as $ty)), reversed);
            });
        };
    }
    for_widths!(check: (u32, false), (u64, false));
}

#[test]
fn bfind_finds_the_highest_non_sign_bit() {
    macro_rules! check {
        ($ty:ty, $signed:literal) => {
            operands(|[a]| {
                let found = highest(a, <$ty>::BITS, $signed);
                assert_eq!(Highest::<$ty>::apply(a as $ty), found.unwrap_or(u32::MAX));
                let shift = found.map_or(u32::MAX, |n| <$ty>::BITS - 1 - n);
                assert_eq!(ShiftToTop::<$ty>::apply(a as $ty), shift);
            });
        };
    }
    for_widths!(check: (u32, false), (i32, true), (u64, false), (i64, true));
}

/// Position or length of a field: 8 bits for words, 32 for double words, where all values beyond the width
/// are equivalent.
fn count(operand: u64, bits: u32) -> u32 {
    if bits == 64 { (operand as u32).min(1000) } else { (operand & 0xff) as u32 }
}

#[test]
fn bfe_extracts_and_extends_fields() {
    macro_rules! check {
        ($ty:ty, $signed:literal) => {
            operands(|[a, b, c]| {
                let top = <$ty>::BITS - 1;
                let (position, length) = (count(b, <$ty>::BITS), count(c, <$ty>::BITS));
                let sign = if $signed && length > 0 { bit(a, (position + length - 1).min(top)) } else { 0 };
                let expected = from_bits(top + 1, |n| {
                    if n < length && position + n <= top { bit(a, position + n) } else { sign }
                });
                assert_eq!(
                    Field::<$ty>::apply(a as $ty, b as u32, c as u32),
                    expected as $ty,
                    "{a:#x} {b} {c}"
                );
            });
        };
    }
    for_widths!(check: (u32, false), (i32, true), (u64, false), (i64, true));
}

#[test]
fn bfi_replaces_exactly_the_field() {
    macro_rules! check {
        ($ty:ty, $signed:literal) => {
            operands(|[a, b, c, e]| {
                // Mostly small positions and lengths.
                let (c, e) = (c % 300, e % 300);
                let (position, length) = (count(c, <$ty>::BITS), count(e, <$ty>::BITS));
                let expected = from_bits(<$ty>::BITS, |n| {
                    if n >= position && n - position < length { bit(a, n - position) } else { bit(b, n) }
                });
                let got = Insert::<$ty>::apply(a as $ty, b as $ty, c as u32, e as u32);
                assert_eq!(got, expected as $ty, "{a:#x} {b:#x} {c} {e}");
            });
        };
    }
    for_widths!(check: (u32, false), (u64, false));
}

/// `fns` by the manual's loop.
fn find_one(mask: u32, base: u32, offset: i32) -> u32 {
    let (mut position, mut count) = (i64::from(base), offset.unsigned_abs());
    let step = match offset {
        0 => return if base < 32 && mask >> base & 1 == 1 { base } else { u32::MAX },
        1.. => 1,
        _ => -1,
    };
    while (0..32).contains(&position) {
        if mask >> position & 1 == 1 {
            count -= 1;
            if count == 0 {
                return position as u32;
            }
        }
        position += step;
    }
    u32::MAX
}

#[test]
fn fns_counts_ones_in_both_directions() {
    operands(|[a, b, c]| {
        let (mask, base, offset) = (a as u32, b as u32 % 40, c as i32 % 40);
        assert_eq!(
            FindOne::apply(mask, base, offset),
            find_one(mask, base, offset),
            "{mask:#x} {base} {offset}"
        );
    });
    assert_eq!(FindOne::apply(u32::MAX, 0, i32::MIN), u32::MAX);
}

#[test]
fn szext_extends_from_the_bit_below() {
    operands(|[a, b]| {
        let (a, b) = (a as u32, b as u32);
        for clamp in [false, true] {
            let low = b & 31;
            let too_large = clamp && b >= 32;
            let mask = if too_large { 0 } else { !0 << low };
            let negative = low != 0 && !too_large && a >> (low.wrapping_sub(1) & 31) & 1 == 1;
            let zero = a & !mask;
            let sign = zero | if negative { mask } else { 0 };
            if clamp {
                assert_eq!(ZeroExtendClamp::apply(a, b), zero);
                assert_eq!(SignExtendClamp::apply(a as i32, b) as u32, sign);
            } else {
                assert_eq!(ZeroExtendWrap::apply(a, b), zero);
                assert_eq!(SignExtendWrap::apply(a as i32, b) as u32, sign);
            }
        }
    });
}

/// `bmsk` by the manual's definition.
fn mask(a: u32, b: u32, clamp: bool) -> u32 {
    let (position, width) = (a & 31, b & 31);
    let sum = position + width;
    let mut from = !0u32 << position;
    let mut beyond = if sum < 32 { !0u32 << sum } else { 0 };
    let mut overflow = sum >= 32;
    if clamp {
        if a >= 32 {
            overflow = true;
            from = 0;
        }
        overflow |= b >= 32;
    }
    if overflow {
        beyond = 0;
    } else if width == 0 {
        beyond = !0;
    }
    from & !beyond
}

#[test]
fn bmsk_is_a_run_of_ones() {
    operands(|[a, b]| {
        let (a, b) = (a as u32 % 70, b as u32 % 70);
        assert_eq!(MaskClamp::apply(a, b), mask(a, b, true), "{a} {b}");
        assert_eq!(MaskWrap::apply(a, b), mask(a, b, false), "{a} {b}");
    });
}
