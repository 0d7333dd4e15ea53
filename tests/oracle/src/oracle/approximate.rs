//! Approximate functions (PTX manual 9.7.3.8, 9.7.3.13 to 9.7.3.22, 9.7.4.9, 9.7.4.10): special values and
//! the manual's error bounds.
//!
//! Exact values come from MPFR if available, otherwise from the host's double-precision functions
//! ([`reference`](super::reference)).

use ptx_frontend::isa::{Modifier, TypeClass};

use super::reference::Exact;
use super::{Answer, Judge, Unjudged};
use crate::format::{Float, Format, Round};
use crate::operands::mask;
use crate::variant::Variant;

/// Error bound of the manual.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// Units in the last place of the exact result.
    Ulp(f64),
    /// Binary exponent of the allowed relative error.
    Relative(f64),
    /// Binary exponent of the allowed absolute error.
    Absolute(f64),
    /// No bound: the operand is outside of the manual's range.
    Unbounded,
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Bound::Ulp(count) => write!(f, "{count} ulp"),
            Bound::Relative(power) => write!(f, "2^{power} relative"),
            Bound::Absolute(power) => write!(f, "2^{power} absolute"),
            Bound::Unbounded => write!(f, "anything"),
        }
    }
}

/// Range of numbers near an exact one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Near {
    /// Format of the result.
    pub format: Format,
    /// Exact result.
    pub exact: Exact,
    /// Error bound.
    pub bound: Bound,
    /// Flushes subnormal results to 0.
    pub ftz: bool,
    /// Set if the low half of the result's bits is 0.
    pub upper_half: bool,
}

impl Near {
    /// Returns whether a result is allowed.
    pub fn allows(&self, bits: u64) -> bool {
        let Near { format, exact: Exact { value: exact, .. }, .. } = *self;
        if exact.is_nan() {
            let upper = self.upper_half && bits == 0x7fff_ffff << 32;
            return bits == format.canonical_nan() || format == Format::F64 && (upper || format.is_nan(bits));
        }
        if self.upper_half && bits & mask(32) != 0 {
            return false;
        }
        if self.ftz && format.flush(bits) != bits || format.is_nan(bits) {
            return false;
        }
        let found = format.to_f64(bits);
        if exact.is_infinite() || exact == 0.0 {
            return found.to_bits() == exact.to_bits();
        }
        if self.bound == Bound::Unbounded {
            return true;
        }
        let same_sign = found.is_sign_negative() == (exact < 0.0);
        // Results around the smallest normal number may be flushed. Results around the largest may be
        // infinite.
        if self.ftz && found == 0.0 && exact.abs() < format.to_f64(1 << format.fraction()) * 1.000_000_2 {
            return same_sign;
        }
        if found.is_infinite() {
            return exact.abs() > format.to_f64(format.infinity() - 1) && same_sign;
        }
        self.exact.distance(found) <= self.allowed()
    }

    /// Returns the allowed difference, at least that of the nearest number.
    fn allowed(&self) -> f64 {
        let Exact { value, .. } = self.exact;
        let unit = ulp(self.format, value);
        let allowed = match self.bound {
            Bound::Ulp(count) => count * unit,
            Bound::Relative(power) => value.abs() * power.exp2(),
            Bound::Absolute(power) => power.exp2(),
            Bound::Unbounded => f64::INFINITY,
        };
        allowed.max(0.5 * unit)
    }

    /// Returns whether an error of the host's functions could change the verdict on these bits.
    pub fn is_close_call(&self, bits: u64) -> bool {
        let Exact { value, .. } = self.exact;
        let doubt = value.abs() * (-50f64).exp2();
        (self.exact.distance(self.format.to_f64(bits)) - self.allowed()).abs() <= doubt
    }
}

impl std::fmt::Display for Near {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:e} within {}", self.exact.value, self.bound)
    }
}

/// Returns the unit in the last place of numbers near `exact`.
pub fn ulp(format: Format, exact: f64) -> f64 {
    let exponent = (exact.to_bits() >> 52 & 0x7ff) as i64 - 1023;
    let unit = exponent.max(1 - format.bias()) - i64::from(format.fraction());
    // The smallest unit of double precision is subnormal.
    if unit < -1022 {
        f64::from_bits(1 << (unit + 1074))
    } else {
        f64::from_bits(((unit + 1023) as u64) << 52)
    }
}

/// Function of one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// 1 ÷ a.
    Rcp,
    /// √a.
    Sqrt,
    /// 1 ÷ √a.
    Rsqrt,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Binary logarithm.
    Lg2,
    /// Power of 2.
    Ex2,
    /// Hyperbolic tangent.
    Tanh,
}

impl Function {
    /// Returns the function of a mnemonic.
    pub fn of(mnemonic: &str) -> Option<Function> {
        Some(match mnemonic {
            "rcp" => Function::Rcp,
            "sqrt" => Function::Sqrt,
            "rsqrt" => Function::Rsqrt,
            "sin" => Function::Sin,
            "cos" => Function::Cos,
            "lg2" => Function::Lg2,
            "ex2" => Function::Ex2,
            "tanh" => Function::Tanh,
            _ => return None,
        })
    }

    /// Returns the manual's error bound for an operand.
    pub fn bound(self, format: Format, a: f64) -> Bound {
        let turns = a.abs() / std::f64::consts::TAU;
        match (self, format) {
            (Function::Rcp | Function::Rsqrt, Format::F64) => Bound::Relative(-20.0),
            (Function::Rcp, _) => Bound::Ulp(1.0),
            (Function::Sqrt, _) => Bound::Relative(-23.0),
            (Function::Rsqrt, _) => Bound::Relative(-22.9),
            (Function::Sin | Function::Cos, _) if turns <= 1.0 => Bound::Absolute(-20.5),
            (Function::Sin | Function::Cos, _) if turns <= 50.0 => Bound::Absolute(-14.7),
            (Function::Sin | Function::Cos, _) => Bound::Unbounded,
            (Function::Lg2, _) if (0.5..=2.0).contains(&a) => Bound::Absolute(-22.0),
            (Function::Lg2, _) => Bound::Relative(-22.0),
            (Function::Ex2, Format::F16) => Bound::Relative(-9.9),
            (Function::Ex2, Format::Bf16) => Bound::Relative(-7.0),
            (Function::Ex2, _) => Bound::Ulp(2.0),
            (Function::Tanh, Format::F16) => Bound::Absolute(-10.987),
            (Function::Tanh, Format::Bf16) => Bound::Absolute(-8.0),
            (Function::Tanh, _) => Bound::Relative(-11.0),
        }
    }

    /// Returns the allowed results for an operand.
    pub fn near(self, format: Format, x: u64, ftz: bool) -> Near {
        self.near_by(Exact::of, format, x, ftz)
    }

    /// Returns the allowed results by the host's functions, which are faster.
    pub fn near_by_host(self, format: Format, x: u64, ftz: bool) -> Near {
        self.near_by(Exact::by_host, format, x, ftz)
    }

    fn near_by(self, exact: fn(Function, f64) -> Exact, format: Format, x: u64, ftz: bool) -> Near {
        let upper_half = format == Format::F64;
        let x = if upper_half { x & !mask(32) } else { x & mask(format.bits()) };
        let a = format.to_f64(if ftz { format.flush(x) } else { x });
        Near { format, exact: exact(self, a), bound: self.bound(format, a), ftz, upper_half }
    }
}

pub(super) fn judge(variant: &Variant) -> Result<Judge, Unjudged> {
    let ty = *variant.types().last().ok_or(Unjudged::Unknown)?;
    let format = Format::of(ty).ok_or(Unjudged::Unknown)?;
    let ftz = variant.has(Modifier::Ftz);
    let mnemonic = variant.line.parsed().mnemonic;
    if mnemonic == "div" {
        return Ok(quotient(variant));
    }
    if variant.line.name == "rsqrt_approx_double" {
        return Ok(Box::new(|x| vec![reciprocal_root(x[0])]));
    }
    let function = Function::of(mnemonic).ok_or(Unjudged::Unknown)?;
    let near = move |x: u64| function.near(format, x, ftz);
    if ty.class() == TypeClass::Packed {
        let width = format.bits();
        return Ok(Box::new(move |x| vec![Answer::NearPair(near(x[0]), near(x[0] >> width))]));
    }
    Ok(Box::new(move |x| vec![Answer::Near(near(x[0]))]))
}

/// `div.approx` multiplies by a reciprocal that is 0 for divisors above 2^126.
fn quotient(variant: &Variant) -> Judge {
    const LARGEST: f64 = f64::from_bits((1023 + 126) << 52);
    let ftz = variant.has(Modifier::Ftz);
    let full = variant.has(Modifier::Full);
    let format = Format::F32;
    Box::new(move |x| {
        let [a, b] =
            [x[0], x[1]].map(|x| x & mask(32)).map(|x| format.to_f64(if ftz { format.flush(x) } else { x }));
        let far = !full && b.abs() > LARGEST && b.is_finite();
        let b = if far { f64::INFINITY.copysign(b) } else { b };
        let exact = Exact { value: a / b, rest: 0.0 };
        vec![Answer::Near(Near { format, exact, bound: Bound::Ulp(2.0), ftz, upper_half: false })]
    })
}

/// Checks `rsqrt.approx.f64`. The manual gives no bound; this test requires 2^-51, with a·d² in quadruple
/// precision.
fn reciprocal_root(a: u64) -> Answer {
    let format = Format::F64;
    let value = f64::from_bits(a);
    if format.is_nan(a) || value <= 0.0 || value.is_infinite() {
        let exact = Exact::by_host(Function::Rsqrt, value);
        let near = Near { format, exact, bound: Bound::Relative(0.0), ftz: false, upper_half: false };
        return Answer::Near(near);
    }
    Answer::ReciprocalRoot { of: a }
}

/// Returns whether d is within 2^-51 of 1 ÷ √a.
pub(super) fn is_reciprocal_root(d: u64, a: u64) -> bool {
    let [d, a] = [d, a].map(|bits| Format::F64.quad(bits));
    let nearest = Round::NearestTiesToEven;
    let product = d.mul_r(d, nearest).value.mul_r(a, nearest).value;
    let error = Format::F64.round(product.sub_r(Format::F64.quad(Format::F64.one()), nearest).value, nearest);
    f64::from_bits(error).abs() <= 2.0 * (-51f64).exp2()
}
