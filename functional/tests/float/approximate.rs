//! Approximate functions within the manual's error bounds, their special values, and what `.ftz` flushes.

use crate::machine::{Register, run};
use crate::oracle::flush;
use crate::values::{F32, F64, Random, columns};

const NAN: u32 = 0x7fff_ffff;

/// A function of one single.
struct Function {
    mnemonic: &'static str,
    /// The mathematical function.
    reference: fn(f64) -> f64,
    /// Is this result close enough to that of the reference, for this operand?
    close: fn(f64, f64, f64) -> bool,
}

/// Distance in units of the last place that a single near `exact` has.
fn ulps(result: f64, exact: f64) -> f64 {
    let exponent = exact.abs().log2().floor().max(-126.0);
    (result - exact).abs() / (exponent - 23.0).exp2()
}

fn within_1_ulp(_: f64, result: f64, exact: f64) -> bool {
    ulps(result, exact) <= 1.0
}

fn relative(result: f64, exact: f64, power: f64) -> bool {
    (result - exact).abs() <= exact.abs() * power.exp2() || ulps(result, exact) <= 0.5
}

/// The manual's bounds, and tighter ones where the implementation promises more.
const FUNCTIONS: [Function; 8] = [
    Function { mnemonic: "rcp.approx", reference: |a| 1.0 / a, close: within_1_ulp },
    Function { mnemonic: "sqrt.approx", reference: f64::sqrt, close: |_, d, e| relative(d, e, -23.0) },
    Function {
        mnemonic: "rsqrt.approx",
        reference: |a| 1.0 / a.sqrt(),
        close: |_, d, e| relative(d, e, -22.9),
    },
    Function { mnemonic: "sin.approx", reference: f64::sin, close: within_1_ulp },
    Function { mnemonic: "cos.approx", reference: f64::cos, close: within_1_ulp },
    Function { mnemonic: "ex2.approx", reference: f64::exp2, close: |_, d, e| ulps(d, e) <= 1.25 },
    Function {
        mnemonic: "lg2.approx",
        reference: f64::log2,
        close: |a, d, e| {
            if (0.5..2.0).contains(&a) { (d - e).abs() <= (-22f64).exp2() } else { relative(d, e, -22.0) }
        },
    },
    Function { mnemonic: "tanh.approx", reference: f64::tanh, close: |_, d, e| relative(d, e, -22.0) },
];

impl Function {
    fn check(&self, operands: Vec<u64>, ftz: bool) {
        let mnemonic = format!("{}{}.f32", self.mnemonic, if ftz { ".ftz" } else { "" });
        let results = run(&mnemonic, Register::B32, &[(Register::B32, operands.clone())]);
        for (bits, result) in operands.into_iter().zip(results) {
            let a = f32::from_bits(if ftz { flush(F32, bits) } else { bits } as u32);
            let d = f32::from_bits(result as u32);
            assert!(self.accepts(a, d, ftz), "{mnemonic} of {a:e} ({bits:#x}): {d:e} ({result:#x})");
        }
    }

    fn accepts(&self, a: f32, d: f32, ftz: bool) -> bool {
        let exact = (self.reference)(f64::from(a));
        if exact.is_nan() {
            return d.to_bits() == NAN;
        }
        if ftz && flush(F32, u64::from(d.to_bits())) != u64::from(d.to_bits()) {
            return false;
        }
        if exact.is_infinite() || exact == 0.0 {
            return f64::from(d).to_bits() == exact.to_bits();
        }
        // Results around the smallest normal number may be flushed, and those around the largest be infinite.
        let smallest = f64::from(f32::MIN_POSITIVE);
        if ftz && d == 0.0 {
            return exact.abs() < smallest * 1.000_000_2 && d.is_sign_negative() == (exact < 0.0);
        }
        if d.is_infinite() {
            return exact.abs() > f64::from(f32::MAX) && d.is_sign_negative() == (exact < 0.0);
        }
        (self.close)(f64::from(a), f64::from(d), exact)
    }
}

/// Every `step`-th single, in batches.
fn singles(step: usize) -> impl Iterator<Item = Vec<u64>> {
    const BATCH: usize = 1 << 22;
    let count = (1usize << 32).div_ceil(step);
    (0..count.div_ceil(BATCH)).map(move |batch| {
        let end = count.min((batch + 1) * BATCH);
        (batch * BATCH..end).map(|number| (number * step) as u64).collect()
    })
}

macro_rules! functions {
    ($($test:ident $exhaustive:ident = $number:literal;)*) => {
        $(#[test]
        fn $test() {
            for ftz in [false, true] {
                // tanh has no .ftz.
                if !(ftz && FUNCTIONS[$number].mnemonic.starts_with("tanh")) {
                    FUNCTIONS[$number].check(columns(F32, 1, 100_000, 3).remove(0), ftz);
                    for operands in singles(40_961) {
                        FUNCTIONS[$number].check(operands, ftz);
                    }
                }
            }
        }

        #[test]
        #[ignore = "takes minutes: every single"]
        fn $exhaustive() {
            for operands in singles(1) {
                FUNCTIONS[$number].check(operands, false);
            }
        })*
    };
}

functions! {
    rcp_is_close rcp_is_close_everywhere = 0;
    sqrt_is_close sqrt_is_close_everywhere = 1;
    rsqrt_is_close rsqrt_is_close_everywhere = 2;
    sin_is_close sin_is_close_everywhere = 3;
    cos_is_close cos_is_close_everywhere = 4;
    ex2_is_close ex2_is_close_everywhere = 5;
    lg2_is_close lg2_is_close_everywhere = 6;
    tanh_is_close tanh_is_close_everywhere = 7;
}

#[test]
fn special_values_are_those_of_the_manual() {
    const INFINITY: u64 = 0x7f80_0000;
    const MINUS: u64 = 0x8000_0000;
    const ONE: u64 = 0x3f80_0000;
    const NONE: u64 = NAN as u64;
    let operands = vec![MINUS | INFINITY, MINUS, 0, INFINITY, 0x7f80_0001];
    let table = [
        ("rcp.approx.f32", [MINUS, MINUS | INFINITY, INFINITY, 0, NONE]),
        ("sqrt.approx.f32", [NONE, MINUS, 0, INFINITY, NONE]),
        ("rsqrt.approx.f32", [NONE, MINUS | INFINITY, INFINITY, 0, NONE]),
        ("sin.approx.f32", [NONE, MINUS, 0, NONE, NONE]),
        ("cos.approx.f32", [NONE, ONE, ONE, NONE, NONE]),
        ("lg2.approx.f32", [NONE, MINUS | INFINITY, MINUS | INFINITY, INFINITY, NONE]),
        ("ex2.approx.f32", [0, ONE, ONE, INFINITY, NONE]),
        ("tanh.approx.f32", [MINUS | ONE, MINUS, 0, ONE, NONE]),
    ];
    for (mnemonic, wanted) in table {
        let results = run(mnemonic, Register::B32, &[(Register::B32, operands.clone())]);
        assert_eq!(results, wanted, "{mnemonic}");
    }
}

#[test]
fn approximate_quotients_are_within_2_ulp() {
    const LARGEST: f32 = 8.507_059e37;
    let pairs = columns(F32, 2, 200_000, 11);
    let operands: Vec<_> = pairs.iter().map(|column| (Register::B32, column.clone())).collect();
    for mnemonic in ["div.approx.f32", "div.full.f32", "div.approx.ftz.f32", "div.full.ftz.f32"] {
        let ftz = mnemonic.contains(".ftz");
        let results = run(mnemonic, Register::B32, &operands);
        for (row, result) in results.into_iter().enumerate() {
            let [a, b] = [0, 1].map(|column| {
                let bits = pairs[column][row];
                f32::from_bits(if ftz { flush(F32, bits) } else { bits } as u32)
            });
            let d = f32::from_bits(result as u32);
            let far = mnemonic.contains("approx") && b.abs() > LARGEST && b.is_finite();
            let exact = match (far, a.is_infinite()) {
                (true, true) => f64::NAN,
                (true, false) if !a.is_nan() => 0f64.copysign(f64::from(a) * f64::from(b)),
                _ => f64::from(a) / f64::from(b),
            };
            let division =
                Function { mnemonic: "", reference: |exact| exact, close: |_, d, e| ulps(d, e) <= 2.0 };
            let near = if exact == 0.0 || exact.is_nan() || exact.is_infinite() {
                let wanted = if exact.is_nan() { NAN } else { (exact as f32).to_bits() };
                d.to_bits() == wanted
            } else {
                let flushed = ftz && d == 0.0 && exact.abs() < f64::from(f32::MIN_POSITIVE) * 1.000_001;
                let overflowed = d.is_infinite() && exact.abs() > f64::from(f32::MAX);
                (flushed || overflowed || (division.close)(0.0, f64::from(d), exact))
                    && d.is_sign_negative() == (exact < 0.0)
            };
            assert!(near, "{mnemonic} of {a:e}, {b:e}: {d:e}, not {exact:e}");
        }
    }
}

/// Upper words of doubles with all kinds of lower words.
fn doubles() -> Vec<u64> {
    let mut random = Random::new(9);
    let mut values = columns(F64, 1, 100_000, 9).remove(0);
    for value in values.clone() {
        values.push((value & !0xffff_ffff) | (random.next() >> 32));
    }
    values
}

#[test]
fn gross_approximations_in_double_precision_look_at_upper_words_only() {
    const MINUS: u64 = 1 << 63;
    const INFINITY: u64 = 0x7ff << 52;
    const NONE: u64 = 0x7fff_ffff << 32;
    let subnormal = 1 << 50;
    let operands =
        vec![MINUS | INFINITY, MINUS | subnormal, MINUS, 0, subnormal, INFINITY, INFINITY | 1 << 40];
    let table = [
        ("rcp.approx.ftz.f64", [MINUS, MINUS | INFINITY, MINUS | INFINITY, INFINITY, INFINITY, 0, NONE]),
        ("rsqrt.approx.ftz.f64", [NONE, MINUS | INFINITY, MINUS | INFINITY, INFINITY, INFINITY, 0, NONE]),
    ];
    for (mnemonic, wanted) in table {
        let results = run(mnemonic, Register::B64, &[(Register::B64, operands.clone())]);
        assert_eq!(results, wanted, "{mnemonic}");
        let operands = doubles();
        let results = run(mnemonic, Register::B64, &[(Register::B64, operands.clone())]);
        for (bits, result) in operands.into_iter().zip(results) {
            let a = f64::from_bits(bits & !0xffff_ffff);
            let exact = if mnemonic.starts_with("rcp") { 1.0 / a } else { 1.0 / a.sqrt() };
            let d = f64::from_bits(result);
            assert_eq!(result & 0xffff_ffff, 0, "{mnemonic} of {a:e}");
            if exact.is_normal() && a.is_normal() {
                assert!((d / exact - 1.0).abs() <= (-20f64).exp2(), "{mnemonic} of {a:e}: {d:e}");
            }
        }
    }
}

#[test]
fn rsqrt_f64_is_nearly_exact() {
    let operands = doubles();
    let results = run("rsqrt.approx.f64", Register::B64, &[(Register::B64, operands.clone())]);
    for (bits, result) in operands.into_iter().zip(results) {
        let (a, d) = (f64::from_bits(bits), f64::from_bits(result));
        if a.is_nan() {
            assert_eq!(result, bits | 1 << 51);
        } else if a < 0.0 {
            assert_eq!(result, 0xfff8 << 48);
        } else if a == 0.0 {
            assert_eq!(d, f64::INFINITY.copysign(a));
        } else if a == f64::INFINITY {
            assert_eq!(result, 0);
        } else {
            // a·d² = (1 + error)², its distance from 1 computed without loss.
            let (up, down) = if a < (-900f64).exp2() { (108f64.exp2(), (-54f64).exp2()) } else { (1.0, 1.0) };
            let (a, d) = (a * up, d * down);
            let square = d * d;
            let rest = d.mul_add(d, -square);
            let product = a.mul_add(square, -1.0) + a * rest;
            assert!(product.abs() <= 4.0 * f64::EPSILON, "rsqrt of {a:e}: {d:e}");
        }
    }
}
