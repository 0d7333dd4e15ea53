//! Floating-point numbers as PTX has them, without the host's rounding modes: IEEE 754 in four formats, exact in all
//! roundings.
//!
//! The hot paths round to nearest with the host's own instructions and, for a directed rounding, correct the result
//! by one unit in the last place ([`rounding`]); everything else goes through integers ([`finite`]).

pub(crate) mod finite;
pub(crate) mod half;
pub(crate) mod rounding;

pub(crate) use finite::Finite;
pub(crate) use rounding::{Down, Nearest, Round, Rounding, Up, Zero};

/// What single-precision instructions return for any NaN (CUDA's `CUDART_NAN_F`; the manual leaves it open).
pub(crate) const NAN_32: u32 = 0x7fff_ffff;
/// The NaN of an invalid double-precision operation (CUDA's `CUDART_NAN`).
pub(crate) const NAN_64: u64 = 0xfff8_0000_0000_0000;
/// The canonical NaN of both half formats.
pub(crate) const NAN_16: u16 = 0x7fff;

/// A binary interchange format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    /// Bits of the exponent field.
    pub(crate) exponent: u32,
    /// Bits of the fraction field.
    pub(crate) fraction: u32,
}

impl Format {
    /// binary16.
    pub(crate) const F16: Format = Format { exponent: 5, fraction: 10 };
    /// bfloat16.
    pub(crate) const BF16: Format = Format { exponent: 8, fraction: 7 };
    /// binary32.
    pub(crate) const F32: Format = Format { exponent: 8, fraction: 23 };
    /// binary64.
    pub(crate) const F64: Format = Format { exponent: 11, fraction: 52 };

    /// The sign bit.
    pub(crate) const fn sign(self) -> u64 {
        1 << (self.exponent + self.fraction)
    }

    /// +∞: all ones in the exponent field.
    pub(crate) const fn infinity(self) -> u64 {
        ((1 << self.exponent) - 1) << self.fraction
    }

    /// 1.0.
    pub(crate) const fn one(self) -> u64 {
        ((1 << (self.exponent - 1)) - 1) << self.fraction
    }

    /// The exponent of the smallest subnormal: every finite number is a multiple of 2 to this power.
    pub(crate) const fn quantum(self) -> i32 {
        2 - (1 << (self.exponent - 1)) - self.fraction as i32
    }

    /// Are these bits a NaN?
    pub(crate) const fn is_nan(self, bits: u64) -> bool {
        bits & !self.sign() > self.infinity()
    }

    /// Are these bits a subnormal number (not a zero)?
    pub(crate) const fn is_subnormal(self, bits: u64) -> bool {
        bits & self.infinity() == 0 && bits & !self.sign() != 0
    }
}

/// Zero of the same sign for a subnormal number, anything else as it is (`.ftz`).
#[inline(always)]
pub(crate) fn flush(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits(if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits })
}

/// A result as machine code of ptxas flushes it (`.ftz`) where several instructions compute it: zero of the same sign
/// unless the exact result, rounded to 24 bits whatever its exponent, is a normal number. `d` is the result rounded as
/// IEEE 754 rounds subnormal numbers, `excess` the sign of a magnitude less that of the exact result.
#[inline(always)]
pub(crate) fn flush_exact(d: f32, round: Round, excess: impl FnOnce(f64) -> f64) -> f32 {
    /// 2^-126 - 2^-151: half a unit of 24 bits below the smallest normal number.
    const HALF_BELOW: f64 = f64::from_bits(0x380f_ffff_f000_0000);
    /// 2^-126 - 2^-150: a unit below.
    const UNIT_BELOW: f64 = f64::from_bits(0x380f_ffff_e000_0000);
    if d.abs() != f32::MIN_POSITIVE {
        return flush(d);
    }
    // The tie goes to the smallest normal number, which is even.
    let is_tiny = match round {
        Round::Nearest | Round::NearestAway => excess(HALF_BELOW) > 0.0,
        _ => excess(UNIT_BELOW) >= 0.0,
    };
    if is_tiny { 0_f32.copysign(d) } else { d }
}

/// The canonical NaN for any NaN. Test and choice are made on integers: to the compiler one floating-point NaN is as
/// good as another, and it would leave the choice out behind a square root.
#[inline(always)]
pub(crate) fn canonical(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits(if bits & 0x7fff_ffff > 0x7f80_0000 { NAN_32 } else { bits })
}

/// Clamped to [+0, 1], NaN to +0 (`.sat`).
#[inline(always)]
pub(crate) fn saturate(x: f32) -> f32 {
    let low = if x > 0.0 { x } else { 0.0 };
    if low < 1.0 { low } else { 1.0 }
}

/// The NaN that a double-precision operation on `x` returns: the first operand that is a NaN, made quiet, else the
/// NaN of an invalid operation. (The manual says that payloads are kept and not which of several.)
pub(crate) fn propagate(x: &[f64]) -> f64 {
    const QUIET: u64 = 1 << 51;
    let bits = x.iter().find(|x| x.is_nan()).map_or(NAN_64, |nan| nan.to_bits() | QUIET);
    f64::from_bits(bits)
}
