use super::*;
use crate::engine::shapes::{Binary, Ternary, Unary};
use crate::ops::samples::operands;

/// Bit `n` of b:a; bits outside are 0.
fn pair_bit(a: u32, b: u32, n: i64) -> u32 {
    match n {
        0..32 => a >> n & 1,
        32..64 => b >> (n - 32) & 1,
        _ => 0,
    }
}

fn word(bit: impl Fn(i64) -> u32) -> u32 {
    (0..32).map(|n| bit(n) << n).sum()
}

#[test]
fn bitwise_forms_follow_their_truth_tables() {
    operands(|[a, b]| {
        let (a, b) = (a as u32, b as u32);
        let bits = |table: [u32; 4]| word(|n| table[(2 * (a >> n & 1) + (b >> n & 1)) as usize]);
        assert_eq!(And::<u32>::apply(a, b), bits([0, 0, 0, 1]));
        assert_eq!(Or::<u32>::apply(a, b), bits([0, 1, 1, 1]));
        assert_eq!(Xor::<u32>::apply(a, b), bits([0, 1, 1, 0]));
        assert_eq!(Not::<u32>::apply(a), bits([1, 1, 0, 0]));
        assert_eq!(IsZero::<u32>::apply(a), u32::from(a < 1));
    });
    assert_eq!(Not::<u16>::apply(0x00ff), 0xff00);
    assert_eq!(IsZero::<u64>::apply(1 << 63), 0);
}

#[test]
fn shifts_by_the_width_or_more_leave_only_fill() {
    macro_rules! check {
        ($($ty:ty),*) => {
            $(operands(|[a, by]| {
                let (value, by) = (a as $ty, by as u32);
                let far = by.min(100);
                let left = if far < 64 { (value as u64) << far } else { 0 };
                assert_eq!(ShiftLeft::<$ty>::apply(value, by), left as $ty);
                let right = value as i128 >> far;
                assert_eq!(ShiftRight::<$ty>::apply(value, by), right as $ty, "{value} >> {by}");
            });)*
        };
    }
    check!(u16, i16, u32, i32, u64, i64);
}

#[test]
fn funnel_shifts_match_bit_loops() {
    operands(|[a, b, c]| {
        let (a, b, c) = (a as u32, b as u32, c as u32);
        for (by, left, right) in [
            (i64::from(c.min(32)), FunnelLeftClamp::apply(a, b, c), FunnelRightClamp::apply(a, b, c)),
            (i64::from(c % 32), FunnelLeftWrap::apply(a, b, c), FunnelRightWrap::apply(a, b, c)),
        ] {
            assert_eq!(left, word(|n| pair_bit(a, b, n + 32 - by)), "{a:#x} {b:#x} left {c}");
            assert_eq!(right, word(|n| pair_bit(a, b, n + by)), "{a:#x} {b:#x} right {c}");
        }
        assert_eq!(RotateLeft::apply(a, c), FunnelLeftWrap::apply(a, a, c));
        assert_eq!(RotateRight::apply(a, c), FunnelRightWrap::apply(a, a, c));
    });
}

fn by_table(table: u64, a: u32, b: u32, c: u32) -> u32 {
    word(|n| {
        let entry = (a >> n & 1) * 4 + (b >> n & 1) * 2 + (c >> n & 1);
        (table >> entry) as u32 & 1
    })
}

#[test]
fn lop3_matches_all_256_truth_tables() {
    for table in 0..=255 {
        // The manual's test vector contains every combination of three bits.
        assert_eq!(u64::from(look_up(&spread(table), 0xf0, 0xcc, 0xaa)) & 0xff, table);
    }
    operands(|[a, b, c]| {
        let (table, a, b, c) = (a >> 40 & 0xff, a as u32, b as u32, c as u32);
        assert_eq!(look_up(&spread(table), a, b, c), by_table(table, a, b, c));
    });
}

#[test]
fn specialised_lop3_functions_match_their_tables() {
    let (a, b, c) = (0xf0, 0xcc, 0xaa);
    for (table, value) in [
        (0x80, And3::apply(a, b, c)),
        (0xfe, Or3::apply(a, b, c)),
        (0x96, Xor3::apply(a, b, c)),
        (0xca, Select3::apply(a, b, c)),
        (0xe8, Majority3::apply(a, b, c)),
        (0xf8, AndOr3::apply(a, b, c)),
        (0x78, AndXor3::apply(a, b, c)),
        (0x6a, XorAnd3::apply(a, b, c)),
        (0xea, OrAnd3::apply(a, b, c)),
        (0xc0, And::<u32>::apply(a, b)),
        (0xfc, Or::<u32>::apply(a, b)),
        (0x3c, Xor::<u32>::apply(a, b)),
    ] {
        assert_eq!(value & 0xff, table);
    }
}

#[test]
fn prmt_selects_bytes_and_signs() {
    operands(|[a, b, c]| {
        let (a, b, c) = (a as u32, b as u32, c as u32);
        let bytes = [a.to_le_bytes(), b.to_le_bytes()].concat();
        let picked: [u8; 4] = std::array::from_fn(|n| {
            let digit = (c >> (4 * n)) as usize % 16;
            let byte = bytes[digit % 8];
            match (digit < 8, byte < 128) {
                (true, _) => byte,
                (false, true) => 0,
                (false, false) => 255,
            }
        });
        assert_eq!(Permute::apply(a, b, c), u32::from_le_bytes(picked));
        assert_eq!(LowHalves::apply(a, b), Permute::apply(a, b, 0x5410));
        assert_eq!(HighHalves::apply(a, b), Permute::apply(a, b, 0x7632));
        assert_eq!(SwapBytes::apply(a), Permute::apply(a, b, 0x0123));
    });
}

#[test]
fn prmt_modes_match_the_manual() {
    // Each byte of b:a holds its own number.
    let (a, b) = (0x0302_0100, 0x0706_0504);
    let forward = [0x0302_0100, 0x0403_0201, 0x0504_0302, 0x0605_0403];
    let backward = [0x0506_0700, 0x0607_0001, 0x0700_0102, 0x0001_0203];
    let replicated = [0, 0x0101_0101, 0x0202_0202, 0x0303_0303];
    let left = [0x0302_0100, 0x0302_0101, 0x0302_0202, 0x0303_0303];
    let right = [0, 0x0101_0100, 0x0202_0100, 0x0302_0100];
    let halves = [0x0100_0100, 0x0302_0302, 0x0100_0100, 0x0302_0302];
    for c in 0..8 {
        let n = c as usize % 4;
        assert_eq!(PermuteForward::apply(a, b, c), forward[n]);
        assert_eq!(PermuteBackward::apply(a, b, c), backward[n]);
        assert_eq!(ReplicateByte::apply(a, b, c), replicated[n]);
        assert_eq!(ClampLeft::apply(a, b, c), left[n]);
        assert_eq!(ClampRight::apply(a, b, c), right[n]);
        assert_eq!(ReplicateHalf::apply(a, b, c), halves[n]);
    }
}
