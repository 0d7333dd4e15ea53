//! What the manual says an instruction gives, by `rustc_apfloat`.

use rustc_apfloat::ieee::{BFloat, Double, Half, Quad, Single};
use rustc_apfloat::{Float, FloatConvert, Round, Status};

use crate::values::{BF16, F16, F32, F64, Format};

/// The rounding modifiers and what they mean.
pub const ROUNDINGS: [(&str, Round); 4] = [
    (".rn", Round::NearestTiesToEven),
    (".rz", Round::TowardZero),
    (".rm", Round::TowardNegative),
    (".rp", Round::TowardPositive),
];

/// An operation, its mnemonic and how many operands it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Add,
    Sub,
    Mul,
    Fma,
    Div,
    Rcp,
    Sqrt,
}

impl Operation {
    pub fn operands(self) -> usize {
        match self {
            Operation::Rcp | Operation::Sqrt => 1,
            Operation::Fma => 3,
            _ => 2,
        }
    }

    /// The result's bits, NaN as they come.
    pub fn apply(self, format: Format, x: &[u64], round: Round) -> u64 {
        match format {
            F16 => self.apply_in::<Half>(x, round),
            BF16 => self.apply_in::<BFloat>(x, round),
            F32 => self.apply_in::<Single>(x, round),
            _ => self.apply_in::<Double>(x, round),
        }
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

/// The number whose neighbours' squares say that it is the root: found by bisection over the bits, squares and
/// comparisons being exact in quadruple precision.
fn square_root<F: Float + FloatConvert<Quad>>(a: F, round: Round) -> F {
    if a.is_nan() || a.is_zero() || (a.is_infinite() && !a.is_negative()) {
        return a;
    }
    if a.is_negative() {
        return F::NAN;
    }
    let quad = |x: F| -> Quad { x.convert(&mut false).value };
    let square = |x: Quad| {
        let product = x.mul_r(x, Round::TowardZero);
        assert_eq!(product.status, Status::OK, "the square is exact");
        product.value
    };
    let a = quad(a);
    let (mut low, mut high) = (0u128, F::INFINITY.to_bits() - 1);
    while high - low > 1 {
        let middle = (low + high) / 2;
        // A root is never subnormal and never above the square root of the largest number: squares stay in range.
        if square(quad(F::from_bits(middle))) <= a { low = middle } else { high = middle }
    }
    let (below, above) = (F::from_bits(low), F::from_bits(low + 1));
    let exact = square(quad(below)) == a;
    let half = Quad::from_bits(0x3ffe << 112);
    let halfway =
        quad(below).add_r(quad(above), Round::TowardZero).value.mul_r(half, Round::TowardZero).value;
    let up = match round {
        Round::TowardPositive => !exact,
        // The root of a number in the format is never halfway between two others.
        Round::NearestTiesToEven => square(halfway) < a,
        _ => false,
    };
    if up { above } else { below }
}

/// Zero of the same sign for a subnormal number.
pub fn flush(format: Format, bits: u64) -> u64 {
    if format.is_subnormal(bits) { bits & format.sign() } else { bits }
}

/// Clamped to [0, 1], NaN to 0.
pub fn saturate(format: Format, bits: u64) -> u64 {
    if format.is_nan(bits) || bits & format.sign() != 0 { 0 } else { bits.min(format.one()) }
}

/// Below zero becomes 0.
pub fn rectify(format: Format, bits: u64) -> u64 {
    if format.is_nan(bits) {
        canonical_nan(format)
    } else if bits & format.sign() != 0 {
        0
    } else {
        bits
    }
}

/// The one NaN of single and half precision.
pub fn canonical_nan(format: Format) -> u64 {
    format.sign() - 1
}

/// The NaN that an operation on `x` gives.
pub fn nan(format: Format, x: &[u64]) -> u64 {
    if format != F64 {
        return canonical_nan(format);
    }
    x.iter().find(|x| format.is_nan(**x)).map_or(0xfff8 << 48, |x| x | 1 << 51)
}

/// An operation with rounding, flushing, and the treatment of NaN; `.sat` and `.relu` come on top.
pub fn expected(operation: Operation, format: Format, round: Round, ftz: bool, x: &[u64]) -> u64 {
    let flushed: Vec<u64> = x.iter().map(|&x| if ftz { flush(format, x) } else { x }).collect();
    let bits = operation.apply(format, &flushed, round);
    if format.is_nan(bits) {
        nan(format, x)
    } else if ftz {
        flush(format, bits)
    } else {
        bits
    }
}
