//! `add`, `sub`, `mul`, `fma`, `mad`, `div`, `rcp`, `sqrt`: correctly rounded in every format and rounding.

use crate::machine::{Register, run};
use crate::oracle::{Operation, ROUNDINGS, expected, rectify, saturate};
use crate::values::{BF16, F16, F32, F64, Format, columns};

const RANDOM_ROWS: usize = 100_000;

/// Runs a form on columns and compares each row with what `expect` says.
fn check(mnemonic: &str, format: Format, columns: &[Vec<u64>], expect: impl Fn(&[u64]) -> u64) {
    let register = Register::of_bits(format.bits());
    let operands: Vec<_> = columns.iter().map(|column| (register, column.clone())).collect();
    let results = run(mnemonic, register, &operands);
    for (row, result) in results.into_iter().enumerate() {
        let x: Vec<u64> = columns.iter().map(|column| column[row]).collect();
        let wanted = expect(&x);
        assert!(result == wanted, "{mnemonic} of {x:#x?}: {result:#x}, not {wanted:#x}");
    }
}

/// A mnemonic in all its roundings.
fn check_roundings(name: &str, operation: Operation, format: Format, suffixes: &[&str]) {
    for (number, (modifier, round)) in ROUNDINGS.into_iter().enumerate() {
        for (place, suffix) in suffixes.iter().enumerate() {
            let seed = (number * 16 + place) as u64;
            let columns = columns(format, operation.operands(), RANDOM_ROWS / suffixes.len(), seed);
            let (ftz, sat) = (suffix.contains(".ftz"), suffix.contains(".sat"));
            let mnemonic = format!("{name}{modifier}{suffix}");
            check(&mnemonic, format, &columns, |x| {
                let d = expected(operation, format, round, ftz, x);
                if sat { saturate(format, d) } else { d }
            });
        }
    }
}

macro_rules! roundings {
    ($($test:ident: $name:literal $operation:ident $format:ident [$($suffix:literal)*];)*) => {
        $(#[test]
        fn $test() {
            check_roundings($name, Operation::$operation, $format, &[$($suffix),*]);
        })*
    };
}

roundings! {
    add_f32_is_rounded_once: "add" Add F32 [".f32" ".ftz.f32" ".sat.f32" ".ftz.sat.f32"];
    sub_f32_is_rounded_once: "sub" Sub F32 [".f32" ".ftz.f32" ".sat.f32" ".ftz.sat.f32"];
    mul_f32_is_rounded_once: "mul" Mul F32 [".f32" ".ftz.f32" ".sat.f32" ".ftz.sat.f32"];
    fma_f32_is_rounded_once: "fma" Fma F32 [".f32" ".ftz.f32" ".sat.f32" ".ftz.sat.f32"];
    mad_f32_is_rounded_once: "mad" Fma F32 [".f32" ".ftz.f32" ".sat.f32" ".ftz.sat.f32"];
    div_f32_is_rounded_once: "div" Div F32 [".f32" ".ftz.f32"];
    rcp_f32_is_rounded_once: "rcp" Rcp F32 [".f32" ".ftz.f32"];
    sqrt_f32_is_rounded_once: "sqrt" Sqrt F32 [".f32" ".ftz.f32"];
    add_f64_is_rounded_once: "add" Add F64 [".f64"];
    sub_f64_is_rounded_once: "sub" Sub F64 [".f64"];
    mul_f64_is_rounded_once: "mul" Mul F64 [".f64"];
    fma_f64_is_rounded_once: "fma" Fma F64 [".f64"];
    mad_f64_is_rounded_once: "mad" Fma F64 [".f64"];
    div_f64_is_rounded_once: "div" Div F64 [".f64"];
    rcp_f64_is_rounded_once: "rcp" Rcp F64 [".f64"];
    sqrt_f64_is_rounded_once: "sqrt" Sqrt F64 [".f64"];
}

#[test]
fn without_a_modifier_results_are_rounded_to_nearest() {
    let round = ROUNDINGS[0].1;
    for (mnemonic, operation, format) in [
        ("add.f32", Operation::Add, F32),
        ("sub.f32", Operation::Sub, F32),
        ("mul.f32", Operation::Mul, F32),
        ("mad.f32", Operation::Fma, F32),
        ("add.f64", Operation::Add, F64),
        ("sub.f64", Operation::Sub, F64),
        ("mul.f64", Operation::Mul, F64),
        ("mad.f64", Operation::Fma, F64),
    ] {
        let columns = columns(format, operation.operands(), 1000, 7);
        check(mnemonic, format, &columns, |x| expected(operation, format, round, false, x));
    }
}

/// Halves one at a time, and two at a time with the same columns below and, in another order, above.
fn check_half(name: &str, operation: Operation, format: Format, modifiers: &[&str]) {
    let round = ROUNDINGS[0].1;
    let ty = if format == F16 { "f16" } else { "bf16" };
    for (seed, modifier) in modifiers.iter().enumerate() {
        let columns = columns(format, operation.operands(), RANDOM_ROWS, seed as u64);
        let expect = |x: &[u64]| {
            let d = expected(operation, format, round, modifier.contains(".ftz"), x);
            if modifier.contains(".sat") {
                saturate(format, d)
            } else if modifier.contains(".relu") {
                rectify(format, d)
            } else {
                d
            }
        };
        check(&format!("{name}{modifier}.{ty}"), format, &columns, expect);
        let pairs: Vec<(Register, Vec<u64>)> = columns
            .iter()
            .map(|low| (Register::B32, low.iter().zip(low.iter().rev()).map(|(l, h)| h << 16 | l).collect()))
            .collect();
        let results = run(&format!("{name}{modifier}.{ty}x2"), Register::B32, &pairs);
        for (row, result) in results.into_iter().enumerate() {
            let halves = [0, 16].map(|shift| {
                let x: Vec<u64> = pairs.iter().map(|(_, column)| column[row] >> shift & 0xffff).collect();
                expect(&x)
            });
            assert_eq!(result, halves[1] << 16 | halves[0], "{name}{modifier}.{ty}x2, row {row}");
        }
    }
}

macro_rules! halves {
    ($($test:ident: $name:literal $operation:ident $format:ident [$($modifier:literal)*];)*) => {
        $(#[test]
        fn $test() {
            check_half($name, Operation::$operation, $format, &[$($modifier),*]);
        })*
    };
}

halves! {
    add_f16_is_rounded_once: "add" Add F16 ["" ".rn" ".ftz" ".sat" ".ftz.sat"];
    sub_f16_is_rounded_once: "sub" Sub F16 ["" ".rn" ".ftz" ".sat" ".ftz.sat"];
    mul_f16_is_rounded_once: "mul" Mul F16 ["" ".rn" ".ftz" ".sat" ".ftz.sat"];
    fma_f16_is_rounded_once: "fma" Fma F16 [".rn" ".rn.ftz" ".rn.sat" ".rn.ftz.sat" ".rn.relu" ".rn.ftz.relu"];
    add_bf16_is_rounded_once: "add" Add BF16 ["" ".rn"];
    sub_bf16_is_rounded_once: "sub" Sub BF16 ["" ".rn"];
    mul_bf16_is_rounded_once: "mul" Mul BF16 ["" ".rn"];
    fma_bf16_is_rounded_once: "fma" Fma BF16 [".rn" ".rn.relu"];
}
