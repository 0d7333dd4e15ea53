//! `min`, `max`, `abs`, `neg`, `copysign`, `testp`.

use rustc_apfloat::Float;
use rustc_apfloat::ieee::{BFloat, Double, Half, Single};

use crate::machine::{Register, run};
use crate::oracle::{canonical_nan, flush, nan};
use crate::values::{BF16, F16, F32, F64, Format, columns};

const RANDOM_ROWS: usize = 100_000;

fn type_name(format: Format) -> String {
    if format == BF16 { "bf16".to_owned() } else { format!("f{}", format.bits()) }
}

/// Runs a form on columns and compares each row with what `expect` says; halves also in pairs.
fn check(mnemonic: &str, format: Format, columns: &[Vec<u64>], expect: impl Fn(&[u64]) -> u64) {
    let register = Register::of_bits(format.bits());
    let operands: Vec<_> = columns.iter().map(|column| (register, column.clone())).collect();
    let name = format!("{mnemonic}.{}", type_name(format));
    let wanted: Vec<u64> = (0..columns[0].len())
        .map(|row| expect(&columns.iter().map(|column| column[row]).collect::<Vec<_>>()))
        .collect();
    for (row, result) in run(&name, register, &operands).into_iter().enumerate() {
        let x: Vec<u64> = columns.iter().map(|column| column[row]).collect();
        assert!(result == wanted[row], "{name} of {x:#x?}: {result:#x}, not {:#x}", wanted[row]);
    }
    if format.bits() == 16 {
        let pair =
            |column: &Vec<u64>| column.iter().zip(column.iter().rev()).map(|(l, h)| h << 16 | l).collect();
        let pairs: Vec<_> = columns.iter().map(|column| (Register::B32, pair(column))).collect();
        assert_eq!(run(&format!("{name}x2"), Register::B32, &pairs), pair(&wanted), "{name}x2");
    }
}

/// Is a < b, -0 being smaller than +0?
fn is_less(format: Format, a: u64, b: u64) -> bool {
    fn less<F: Float>(a: u64, b: u64) -> bool {
        let (a, b) = (F::from_bits(u128::from(a)), F::from_bits(u128::from(b)));
        a < b || (a.is_zero() && b.is_zero() && a.is_negative() && !b.is_negative())
    }
    match format {
        F16 => less::<Half>(a, b),
        BF16 => less::<BFloat>(a, b),
        F32 => less::<Single>(a, b),
        _ => less::<Double>(a, b),
    }
}

/// The manual's definition of `min` and `max` with their modifiers.
fn extremum(format: Format, max: bool, modifiers: &str, x: &[u64]) -> u64 {
    let [mut a, mut b] = [0, 1].map(|i| if modifiers.contains(".ftz") { flush(format, x[i]) } else { x[i] });
    let xorsign = (a ^ b) & format.sign();
    if modifiers.contains(".abs") {
        (a, b) = (a & !format.sign(), b & !format.sign());
    }
    let chosen = match (format.is_nan(a), format.is_nan(b)) {
        (true, true) => return nan(format, x),
        (false, false) if is_less(format, a, b) != max => a,
        (false, false) => b,
        _ if modifiers.contains(".NaN") => return canonical_nan(format),
        (true, false) => b,
        (false, true) => a,
    };
    if modifiers.contains(".xorsign") { chosen & !format.sign() | xorsign } else { chosen }
}

fn check_extrema(format: Format, modifiers: &[&str]) {
    for (max, name) in [(false, "min"), (true, "max")] {
        for modifier in modifiers {
            let columns = columns(format, 2, RANDOM_ROWS / modifiers.len(), 21);
            check(&format!("{name}{modifier}"), format, &columns, |x| extremum(format, max, modifier, x));
        }
    }
}

const ALL_MODIFIERS: [&str; 8] = [
    "",
    ".ftz",
    ".NaN",
    ".ftz.NaN",
    ".xorsign.abs",
    ".ftz.xorsign.abs",
    ".NaN.xorsign.abs",
    ".ftz.NaN.xorsign.abs",
];

#[test]
fn the_extremum_of_singles_is_a_number_if_one_is() {
    check_extrema(F32, &ALL_MODIFIERS);
}

#[test]
fn the_extremum_of_doubles_is_a_number_if_one_is() {
    check_extrema(F64, &[""]);
}

#[test]
fn the_extremum_of_halves_is_a_number_if_one_is() {
    check_extrema(F16, &ALL_MODIFIERS);
    check_extrema(BF16, &["", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"]);
}

#[test]
fn abs_and_neg_change_the_sign_bit_alone() {
    for format in [F32, F64, F16, BF16] {
        let columns = if format.bits() == 16 {
            vec![(0..1 << 16).collect()]
        } else {
            columns(format, 1, RANDOM_ROWS, 4)
        };
        check("abs", format, &columns, |x| x[0] & !format.sign());
        check("neg", format, &columns, |x| x[0] ^ format.sign());
        if [F32, F16].contains(&format) {
            check("abs.ftz", format, &columns, |x| flush(format, x[0]) & !format.sign());
            check("neg.ftz", format, &columns, |x| flush(format, x[0]) ^ format.sign());
        }
    }
}

#[test]
fn copysign_takes_the_sign_of_its_first_operand() {
    for format in [F32, F64] {
        let columns = columns(format, 2, RANDOM_ROWS, 6);
        check("copysign", format, &columns, |x| x[0] & format.sign() | x[1] & !format.sign());
    }
}

#[test]
fn testp_tells_kinds_of_numbers_apart() {
    fn holds<F: Float>(property: &str, bits: u64) -> bool {
        let a = F::from_bits(u128::from(bits));
        match property {
            "finite" => a.is_finite(),
            "infinite" => a.is_infinite(),
            "number" => !a.is_nan(),
            "notanumber" => a.is_nan(),
            "normal" => a.is_finite() && !a.is_denormal(),
            _ => a.is_denormal(),
        }
    }
    for format in [F32, F64] {
        let column = columns(format, 1, 10_000, 8).remove(0);
        for property in ["finite", "infinite", "number", "notanumber", "normal", "subnormal"] {
            let mnemonic = format!("testp.{property}.{}", type_name(format));
            let operands = [(Register::of_bits(format.bits()), column.clone())];
            let results = run(&mnemonic, Register::Predicate, &operands);
            for (bits, result) in column.iter().zip(results) {
                let wanted = if format == F32 {
                    holds::<Single>(property, *bits)
                } else {
                    holds::<Double>(property, *bits)
                };
                assert_eq!(result, u64::from(wanted), "{mnemonic} of {bits:#x}");
            }
        }
    }
}
