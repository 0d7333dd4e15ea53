//! Binary floating-point formats with correctly rounded operations, by `rustc_apfloat`.

use ptx_frontend::isa::{Modifier, ScalarType};
use rustc_apfloat::ieee::{BFloat, Double, Half, Quad, Single};
pub use rustc_apfloat::{Float, FloatConvert, Round};

/// IEEE 754 format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// binary16.
    F16,
    /// bfloat16.
    Bf16,
    /// binary32.
    F32,
    /// binary64.
    F64,
}

/// Evaluates an expression in which `$F` stands for the type of a format.
macro_rules! with_format {
    ($format:expr, $F:ident => $value:expr) => {
        match $format {
            Format::F16 => {
                type $F = Half;
                $value
            }
            Format::Bf16 => {
                type $F = BFloat;
                $value
            }
            Format::F32 => {
                type $F = Single;
                $value
            }
            Format::F64 => {
                type $F = Double;
                $value
            }
        }
    };
}

impl Format {
    /// Returns the format of a type or of a packed type's elements.
    pub fn of(ty: ScalarType) -> Option<Format> {
        Some(match ty {
            ScalarType::F16 | ScalarType::F16x2 => Format::F16,
            ScalarType::Bf16 | ScalarType::Bf16x2 => Format::Bf16,
            ScalarType::F32 | ScalarType::F32x2 => Format::F32,
            ScalarType::F64 => Format::F64,
            _ => return None,
        })
    }

    /// Exponent width in bits.
    pub fn exponent(self) -> u32 {
        match self {
            Format::F16 => 5,
            Format::Bf16 | Format::F32 => 8,
            Format::F64 => 11,
        }
    }

    /// Fraction width in bits.
    pub fn fraction(self) -> u32 {
        match self {
            Format::F16 => 10,
            Format::Bf16 => 7,
            Format::F32 => 23,
            Format::F64 => 52,
        }
    }

    /// Total width in bits.
    pub fn bits(self) -> u32 {
        1 + self.exponent() + self.fraction()
    }

    /// Returns the bits of -0.
    pub fn sign(self) -> u64 {
        1 << (self.bits() - 1)
    }

    /// Returns the bits of +∞.
    pub fn infinity(self) -> u64 {
        ((1 << self.exponent()) - 1) << self.fraction()
    }

    /// Returns the bits of 1.
    pub fn one(self) -> u64 {
        (self.bias() as u64) << self.fraction()
    }

    /// Returns the exponent bias.
    pub fn bias(self) -> i64 {
        (1 << (self.exponent() - 1)) - 1
    }

    /// Returns whether the value is NaN.
    pub fn is_nan(self, bits: u64) -> bool {
        bits & !self.sign() > self.infinity()
    }

    /// Returns whether the value is subnormal and nonzero.
    pub fn is_subnormal(self, bits: u64) -> bool {
        bits & self.infinity() == 0 && bits & !self.sign() != 0
    }

    /// Replaces a subnormal value by zero of the same sign.
    pub fn flush(self, bits: u64) -> u64 {
        if self.is_subnormal(bits) { bits & self.sign() } else { bits }
    }

    /// Replaces `bits` by zero of the same sign if `value`, rounded to the format's precision with
    /// unlimited exponent, is below the smallest normal number. `bits` must be the rounded `value`.
    pub fn flush_rounded(self, value: Quad, bits: u64, round: Round) -> u64 {
        const UP: u64 = 64;
        let magnitude = self.round(value.scalbn(UP as i32), round) & (self.sign() - 1);
        if magnitude < (1 + UP) << self.fraction() { bits & self.sign() } else { bits }
    }

    /// Returns the single NaN of half and single precision.
    pub fn canonical_nan(self) -> u64 {
        self.sign() - 1
    }

    /// Returns the NaN of an operation on `x`. In double precision, it is the first NaN operand, made
    /// quiet; otherwise, it is the host's NaN.
    pub fn nan(self, x: &[u64]) -> u64 {
        if self != Format::F64 {
            return self.canonical_nan();
        }
        x.iter().find(|x| self.is_nan(**x)).map_or(0xfff8 << 48, |x| x | 1 << 51)
    }

    /// Clamps to [0, 1], with NaN as 0 (`.sat`).
    pub fn saturate(self, bits: u64) -> u64 {
        if self.is_nan(bits) || bits & self.sign() != 0 { 0 } else { bits.min(self.one()) }
    }

    /// Clamps to at least 0 (`.relu`).
    pub fn rectify(self, bits: u64) -> u64 {
        match bits & self.sign() {
            _ if self.is_nan(bits) => self.canonical_nan(),
            0 => bits,
            _ => 0,
        }
    }

    /// Returns whether a < b. With `zeros`, -0 is below +0.
    pub fn is_less(self, a: u64, b: u64, zeros: bool) -> bool {
        fn less<F: Float>(a: u64, b: u64, zeros: bool) -> bool {
            let (a, b) = (F::from_bits(a.into()), F::from_bits(b.into()));
            a < b || (zeros && a.is_zero() && b.is_zero() && a.is_negative() && !b.is_negative())
        }
        with_format!(self, F => less::<F>(a, b, zeros))
    }

    /// Converts to quadruple precision, which is exact.
    pub fn quad(self, bits: u64) -> Quad {
        with_format!(self, F => <F as FloatConvert<Quad>>::convert(F::from_bits(bits.into()), &mut false).value)
    }

    /// Rounds a number to the format.
    pub fn round(self, value: Quad, round: Round) -> u64 {
        fn narrow<F: Float>(value: Quad, round: Round) -> u64
        where
            Quad: FloatConvert<F>,
        {
            let narrowed: F = value.convert_r(round, &mut false).value;
            narrowed.to_bits() as u64
        }
        with_format!(self, F => narrow::<F>(value, round))
    }

    /// Converts to double precision, which is exact.
    pub fn to_f64(self, bits: u64) -> f64 {
        match self {
            Format::F64 => f64::from_bits(bits),
            Format::F32 => f64::from(f32::from_bits(bits as u32)),
            _ => f64::from_bits(Format::F64.round(self.quad(bits), Round::NearestTiesToEven)),
        }
    }
}

/// Correctly rounded operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// a + b.
    Add,
    /// a - b.
    Sub,
    /// a × b.
    Mul,
    /// a × b + c.
    Fma,
    /// a ÷ b.
    Div,
    /// 1 ÷ a.
    Rcp,
    /// √a.
    Sqrt,
}

impl Operation {
    /// Returns the bits of the result. For a NaN, only its being a NaN is significant.
    pub fn apply(self, format: Format, x: &[u64], round: Round) -> u64 {
        with_format!(format, F => self.apply_in::<F>(x, round))
    }

    fn apply_in<F: Float + FloatConvert<Quad>>(self, x: &[u64], round: Round) -> u64 {
        let at = |i: usize| F::from_bits(u128::from(x[i]));
        let result = match self {
            Operation::Add => at(0).add_r(at(1), round).value,
            Operation::Sub => at(0).sub_r(at(1), round).value,
            Operation::Mul => at(0).mul_r(at(1), round).value,
            Operation::Fma => at(0).mul_add_r(at(1), at(2), round).value,
            Operation::Div => at(0).div_r(at(1), round).value,
            Operation::Rcp => F::from_u128(1).value.div_r(at(0), round).value,
            Operation::Sqrt => square_root(at(0), round),
        };
        result.to_bits() as u64
    }
}

/// Finds the root by bisection over the bits: the squares of its neighbours enclose the operand. Squares
/// and comparisons are exact in quadruple precision.
fn square_root<F: Float + FloatConvert<Quad>>(a: F, round: Round) -> F {
    if a.is_nan() || a.is_zero() || (a.is_infinite() && !a.is_negative()) {
        return a;
    }
    if a.is_negative() {
        return F::NAN;
    }
    let quad = |x: F| -> Quad { x.convert(&mut false).value };
    let square = |x: Quad| x.mul_r(x, Round::TowardZero).value;
    let a = quad(a);
    let (mut low, mut high) = (0u128, F::INFINITY.to_bits() - 1);
    while high - low > 1 {
        let middle = (low + high) / 2;
        // A root is neither subnormal nor above the square root of the largest number, so squares stay in
        // range.
        if square(quad(F::from_bits(middle))) <= a { low = middle } else { high = middle }
    }
    let (below, above) = (F::from_bits(low), F::from_bits(low + 1));
    let exact = square(quad(below)) == a;
    let half = Quad::from_bits(0x3ffe << 112);
    let sum = quad(below).add_r(quad(above), Round::TowardZero).value;
    let halfway = sum.mul_r(half, Round::TowardZero).value;
    let up = match round {
        Round::TowardPositive => !exact,
        // The root of a number in the format is never halfway between two others.
        Round::NearestTiesToEven => square(halfway) < a,
        _ => false,
    };
    if up { above } else { below }
}

/// Returns the rounding mode among modifiers, by default to nearest.
pub fn rounding(modifiers: impl Iterator<Item = Modifier>) -> Round {
    let named = |modifier| match modifier {
        Modifier::Rz | Modifier::Rzi => Some(Round::TowardZero),
        Modifier::Rm | Modifier::Rmi => Some(Round::TowardNegative),
        Modifier::Rp | Modifier::Rpi => Some(Round::TowardPositive),
        Modifier::Rna => Some(Round::NearestTiesToAway),
        _ => None,
    };
    modifiers.filter_map(named).next().unwrap_or(Round::NearestTiesToEven)
}
