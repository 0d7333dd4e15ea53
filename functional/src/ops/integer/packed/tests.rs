//! Comparison with arithmetic on wider integers, or with the manual's bit-by-bit definition.

use super::*;
use crate::engine::shapes::Binary;
use crate::ops::samples::operands;

fn unsigned_bytes(word: u32) -> [i64; 4] {
    word.to_le_bytes().map(i64::from)
}

fn signed_bytes(word: u32) -> [i64; 4] {
    word.to_le_bytes().map(|byte| i64::from(byte as i8))
}

fn unsigned_halves(word: u32) -> [i64; 2] {
    [i64::from(word & 0xffff), i64::from(word >> 16)]
}

fn signed_halves(word: u32) -> [i64; 2] {
    unsigned_halves(word).map(|half| if half >= 0x8000 { half - 0x10000 } else { half })
}

fn dot<const N: usize>(a: [i64; N], b: &[i64], c: u32) -> i32 {
    let products: i64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
    (products + i64::from(c)) as i32
}

#[test]
fn packed_sums_do_not_carry_into_each_other() {
    operands(|[a, b]| {
        let (a, b) = (a as u32, b as u32);
        let [low, high] = [0, 1].map(|n| (unsigned_halves(a)[n] + unsigned_halves(b)[n]) as u16);
        assert_eq!(AddHalves::apply(a, b), u32::from(high) << 16 | u32::from(low));
    });
}

#[test]
fn dp4a_sums_four_products_of_bytes() {
    operands(|[a, b, c]| {
        let (a, b, c) = (a as u32, b as u32, c as u32);
        let (ua, sa, ub, sb) = (unsigned_bytes(a), signed_bytes(a), unsigned_bytes(b), signed_bytes(b));
        assert_eq!(Dot4::<Unsigned, Unsigned>::apply(a, b, c as i32), dot(ua, &ub, c));
        assert_eq!(Dot4::<Unsigned, Signed>::apply(a, b, c as i32), dot(ua, &sb, c));
        assert_eq!(Dot4::<Signed, Unsigned>::apply(a, b, c as i32), dot(sa, &ub, c));
        assert_eq!(Dot4::<Signed, Signed>::apply(a, b, c as i32), dot(sa, &sb, c));
    });
}

#[test]
fn dp2a_selects_low_or_high_bytes_of_b() {
    operands(|[a, b, c]| {
        let (a, b, c) = (a as u32, b as u32, c as u32);
        let (ua, sa, ub, sb) = (unsigned_halves(a), signed_halves(a), unsigned_bytes(b), signed_bytes(b));
        assert_eq!(Dot2::<Unsigned, Unsigned, 0>::apply(a, b, c as i32), dot(ua, &ub[..2], c));
        assert_eq!(Dot2::<Unsigned, Signed, 0>::apply(a, b, c as i32), dot(ua, &sb[..2], c));
        assert_eq!(Dot2::<Signed, Unsigned, 2>::apply(a, b, c as i32), dot(sa, &ub[2..], c));
        assert_eq!(Dot2::<Signed, Signed, 2>::apply(a, b, c as i32), dot(sa, &sb[2..], c));
    });
}
