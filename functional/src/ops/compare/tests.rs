use super::*;
use crate::engine::shapes::Ternary;

/// Floating-point comparisons with their true relations according to the manual.
const FLOAT: [(Modifier, &str); 14] = [
    (Modifier::Eq, "="),
    (Modifier::Ne, "<>"),
    (Modifier::Lt, "<"),
    (Modifier::Le, "<="),
    (Modifier::Gt, ">"),
    (Modifier::Ge, ">="),
    (Modifier::Equ, "=?"),
    (Modifier::Neu, "<>?"),
    (Modifier::Ltu, "<?"),
    (Modifier::Leu, "<=?"),
    (Modifier::Gtu, ">?"),
    (Modifier::Geu, ">=?"),
    (Modifier::Num, "<=>"),
    (Modifier::IsNan, "?"),
];

fn relation(a: f32, b: f32) -> char {
    if a.is_nan() || b.is_nan() {
        '?'
    } else if (a - b) == 0.0 || a == b {
        '='
    } else if a - b < 0.0 {
        '<'
    } else {
        '>'
    }
}

const SINGLES: [f32; 9] = [f32::NEG_INFINITY, -1.5, -1e-40, -0.0, 0.0, 1e-40, 1.5, f32::INFINITY, f32::NAN];

#[test]
fn float_comparisons_hold_for_their_relations() {
    for a in SINGLES {
        for b in SINGLES {
            let holds = |how: Modifier| match how {
                Modifier::Eq => Equal::apply(a, b),
                Modifier::Ne => OrderedNotEqual::apply(a, b),
                Modifier::Lt => Less::apply(a, b),
                Modifier::Le => LessEqual::apply(a, b),
                Modifier::Gt => Greater::apply(a, b),
                Modifier::Ge => GreaterEqual::apply(a, b),
                Modifier::Equ => UnorderedEqual::apply(a, b),
                Modifier::Neu => NotEqual::apply(a, b),
                Modifier::Ltu => UnorderedLess::apply(a, b),
                Modifier::Leu => UnorderedLessEqual::apply(a, b),
                Modifier::Gtu => UnorderedGreater::apply(a, b),
                Modifier::Geu => UnorderedGreaterEqual::apply(a, b),
                Modifier::Num => Numbers::apply(a, b),
                _ => SomeNan::apply(a, b),
            };
            for (how, relations) in FLOAT {
                assert_eq!(holds(how), relations.contains(relation(a, b)), "{a} {} {b}", how.name());
            }
        }
    }
}

#[test]
fn general_comparison_matches_the_plain_ones() {
    for (how, text) in FLOAT {
        let of = |symbol: char, relation: Relations| if text.contains(symbol) { relation } else { 0 };
        let expected = of('<', LESS) | of('=', EQUAL) | of('>', GREATER) | of('?', UNORDERED);
        assert_eq!(relations(how), Some(expected), "{}", how.name());
    }
}

#[test]
fn lower_and_higher_always_compare_unsigned() {
    assert!(is_signed(Modifier::Lt, ScalarType::S32));
    assert!(!is_signed(Modifier::Lo, ScalarType::S32));
    assert!(!is_signed(Modifier::Lt, ScalarType::U32));
    assert!(!is_signed(Modifier::Lt, ScalarType::B32));
}

#[test]
fn ftz_reads_subnormals_as_signed_zeros() {
    let single = |bits| Flushed::<f32>::from_bits(bits).0.to_bits();
    assert_eq!(single(0x007f_ffff), 0);
    assert_eq!(single(0x807f_ffff), 0x8000_0000);
    assert_eq!(single(0x0080_0000), 0x0080_0000);
    assert_eq!(single(f32::INFINITY.to_bits()), f32::INFINITY.to_bits());
    assert_eq!(Flushed::<f16>::from_bits(0x83ff).0.to_bits(), 0x8000);
    assert_eq!(Flushed::<f16>::from_bits(0x0400).0.to_bits(), 0x0400);
    assert_eq!(Flushed::<bf16>::from_bits(0x007f).0.to_bits(), 0);
}

#[test]
fn packed_halves_compare_separately() {
    assert_eq!(Low::<f16>::from_bits(0x4000_3c00).0, f16::from_f32(1.0));
    assert_eq!(High::<f16>::from_bits(0x4000_3c00).0, f16::from_f32(2.0));
}

#[test]
fn slct_takes_b_for_negative_numbers_and_nan() {
    for (c, first) in [(0, true), (1, true), (i32::MAX, true), (-1, false), (i32::MIN, false)] {
        assert_eq!(Slct::<i32>::apply(10, 20, c), if first { 10 } else { 20 });
        assert_eq!(SlctWide::<i32>::apply(10, 20, c), if first { 10 } else { 20 });
    }
    for (c, first) in [(0.0, true), (-0.0, true), (1e-40, true), (-1e-40, false), (f32::NAN, false)] {
        assert_eq!(Slct::<f32>::apply(10, 20, c), if first { 10 } else { 20 });
    }
    assert_eq!(Slct::<Flushed<f32>>::apply(10, 20, Flushed::from_bits(0x8000_0001)), 10);
}
