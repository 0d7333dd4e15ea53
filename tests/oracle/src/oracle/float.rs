//! Floating-point arithmetic (PTX manual 9.7.3 to 9.7.5), by `rustc_apfloat`.

use ptx_frontend::isa::{Modifier, ScalarType, TypeClass};
use rustc_apfloat::ieee::Quad;

use super::{Answer, Judge, Unjudged, approximate, halves, one};
use crate::format::{Float, Format, Operation, Round, rounding};
use crate::operands::mask;
use crate::variant::Variant;

pub(super) fn judge(variant: &Variant) -> Result<Judge, Unjudged> {
    let types = variant.types();
    let ty = *types.last().ok_or(Unjudged::Unknown)?;
    let format = Format::of(ty).ok_or(Unjudged::Unknown)?;
    let mnemonic = variant.line.parsed().mnemonic;
    if has_any(variant, &[Modifier::Approx, Modifier::Full]) {
        return approximate::judge(variant);
    }
    if format == Format::Bf16 && types.len() == 1 && has_any(variant, &[Modifier::Ftz, Modifier::Sat]) {
        return Err(Unjudged::NotInManual);
    }
    if variant.has(Modifier::Relu) && variant.has(Modifier::Sat) {
        return Err(Unjudged::NotInManual);
    }
    // These instructions require a rounding mode since sm_20.
    let rounded = [Modifier::Rn, Modifier::Rz, Modifier::Rm, Modifier::Rp, Modifier::Approx, Modifier::Full];
    if matches!(mnemonic, "mad" | "div" | "rcp" | "sqrt") && !has_any(variant, &rounded) {
        return Err(Unjudged::NotInManual);
    }
    Ok(match mnemonic {
        "abs" | "neg" => return sign(variant, format, ty),
        "min" | "max" => extremum(variant, format, ty)?,
        "copysign" => one(move |x| x[0] & format.sign() | x[1] & !format.sign() & mask(format.bits())),
        "testp" => testp(variant, format),
        _ => {
            let operation = operation(mnemonic).ok_or(Unjudged::Unknown)?;
            match types.as_slice() {
                [_, half] => mixed(variant, operation, *half)?,
                _ => arithmetic(variant, operation, format, ty),
            }
        }
    })
}

fn has_any(variant: &Variant, modifiers: &[Modifier]) -> bool {
    modifiers.iter().any(|modifier| variant.has(*modifier))
}

fn operation(mnemonic: &str) -> Option<Operation> {
    Some(match mnemonic {
        "add" => Operation::Add,
        "sub" => Operation::Sub,
        "mul" => Operation::Mul,
        "fma" | "mad" => Operation::Fma,
        "div" => Operation::Div,
        "rcp" => Operation::Rcp,
        "sqrt" => Operation::Sqrt,
        _ => return None,
    })
}

/// Operation with flushing, rounding and NaN rules; `.sat` and `.relu` apply afterwards.
#[derive(Debug, Clone, Copy)]
struct Arithmetic {
    operation: Operation,
    format: Format,
    round: Round,
    ftz: bool,
    sat: bool,
    relu: bool,
    oob: bool,
}

impl Arithmetic {
    fn of(variant: &Variant, operation: Operation, format: Format) -> Arithmetic {
        Arithmetic {
            operation,
            format,
            round: rounding(variant.modifiers()),
            ftz: variant.has(Modifier::Ftz),
            sat: variant.has(Modifier::Sat),
            relu: variant.has(Modifier::Relu),
            oob: variant.has(Modifier::Oob),
        }
    }

    /// Quotients and reciprocals take several machine instructions, which flush their result after rounding
    /// to 24 bits.
    fn flush(self, format: Format, x: &[u64], bits: u64) -> u64 {
        let one = || format.round(Quad::from_i128(1).value, Round::NearestTiesToEven);
        let quotient = match (self.operation, x) {
            (Operation::Div, [a, b]) => [*a, *b],
            (Operation::Rcp, [a]) => [one(), *a],
            _ => return format.flush(bits),
        };
        let [a, b] = quotient.map(|x| format.quad(x));
        format.flush_rounded((a / b).value, bits, self.round)
    }

    fn result(self, x: &[u64]) -> u64 {
        let Arithmetic { format, ftz, .. } = self;
        let x: Vec<u64> = x.iter().map(|x| x & mask(format.bits())).collect();
        if self.oob && x.contains(&mask(format.bits())) {
            return 0;
        }
        let flushed: Vec<u64> = x.iter().map(|&x| if ftz { format.flush(x) } else { x }).collect();
        let bits = self.operation.apply(format, &flushed, self.round);
        let bits = match (format.is_nan(bits), ftz) {
            (true, _) => format.nan(&x),
            (_, true) => self.flush(format, &flushed, bits),
            _ => bits,
        };
        match (self.sat, self.relu) {
            (true, _) => format.saturate(bits),
            (_, true) => format.rectify(bits),
            _ => bits,
        }
    }
}

/// Applies an element function to packed types.
fn of_elements(format: Format, ty: ScalarType, of: impl Fn(&[u64]) -> u64 + Send + Sync + 'static) -> Judge {
    match ty.class() {
        TypeClass::Packed => one(halves(format.bits(), of)),
        _ => one(of),
    }
}

fn arithmetic(variant: &Variant, operation: Operation, format: Format, ty: ScalarType) -> Judge {
    let how = Arithmetic::of(variant, operation, format);
    of_elements(format, ty, move |x| how.result(x))
}

/// Computes in single precision, with all operands but the last in a shorter format.
fn mixed(variant: &Variant, operation: Operation, half: ScalarType) -> Result<Judge, Unjudged> {
    let how = Arithmetic::of(variant, operation, Format::F32);
    let half = Format::of(half).ok_or(Unjudged::Unknown)?;
    Ok(one(move |x| {
        let (c, factors) = x.split_last().unwrap_or((&0, &[]));
        let widen = |x: &u64| Format::F32.round(half.quad(x & mask(16)), Round::NearestTiesToEven);
        let operands: Vec<u64> = factors.iter().map(widen).chain([*c]).collect();
        how.result(&operands)
    }))
}

/// A NaN stays a NaN with unspecified bits.
fn sign(variant: &Variant, format: Format, ty: ScalarType) -> Result<Judge, Unjudged> {
    let ftz = variant.has(Modifier::Ftz);
    let abs = variant.line.parsed().mnemonic == "abs";
    let of = move |x: u64| {
        let x = if ftz { format.flush(x) } else { x };
        if abs { x & !format.sign() } else { x ^ format.sign() }
    };
    if ty.class() == TypeClass::Packed {
        let width = format.bits();
        return Ok(Box::new(move |x| {
            let elements = [0, width].map(|shift| x[0] >> shift & mask(width));
            let [low, high] = elements.map(of);
            match elements.iter().any(|x| format.is_nan(*x)) {
                true => vec![Answer::PairWithNan { format, low, high }],
                false => vec![Answer::Bits(high << width | low)],
            }
        }));
    }
    Ok(Box::new(move |x| {
        let x = x[0] & mask(format.bits());
        vec![if format.is_nan(x) { Answer::Nan(format) } else { Answer::Bits(of(x)) }]
    }))
}

fn extremum(variant: &Variant, format: Format, ty: ScalarType) -> Result<Judge, Unjudged> {
    let [ftz, nan, xorsign, abs] = [Modifier::Ftz, Modifier::Nan, Modifier::Xorsign, Modifier::AbsFlag]
        .map(|modifier| variant.has(modifier));
    let three = variant.inputs().count() == 3;
    if !three && xorsign != abs {
        return Err(Unjudged::NotInManual);
    }
    let max = variant.line.parsed().mnemonic == "max";
    Ok(of_elements(format, ty, move |x| {
        let all: Vec<u64> = x
            .iter()
            .map(|x| x & mask(format.bits()))
            .map(|x| if ftz { format.flush(x) } else { x })
            .collect();
        let magnitudes = all.iter().map(|x| if abs { x & !format.sign() } else { *x });
        let (not_numbers, numbers): (Vec<u64>, Vec<u64>) = magnitudes.partition(|x| format.is_nan(*x));
        if numbers.is_empty() || (nan && !not_numbers.is_empty()) {
            return if nan { format.canonical_nan() } else { format.nan(&all) };
        }
        let better = |a: u64, b: u64| if format.is_less(b, a, true) == max { a } else { b };
        let chosen = numbers.into_iter().reduce(better).unwrap_or(0);
        match xorsign {
            true => chosen & !format.sign() | (all[0] ^ all[1]) & format.sign(),
            false => chosen,
        }
    }))
}

fn testp(variant: &Variant, format: Format) -> Judge {
    let property = variant.modifiers().next();
    one(move |x| {
        let a = format.quad(x[0]);
        let subnormal = format.is_subnormal(x[0] & mask(format.bits()));
        u64::from(match property {
            Some(Modifier::Finite) => a.is_finite(),
            Some(Modifier::Infinite) => a.is_infinite(),
            Some(Modifier::Number) => !a.is_nan(),
            Some(Modifier::Notanumber) => a.is_nan(),
            // Zero counts as normal.
            Some(Modifier::Normal) => a.is_finite() && !subnormal,
            _ => subnormal,
        })
    })
}
