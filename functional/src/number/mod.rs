//! Floating-point numbers of PTX, without the host's rounding modes: IEEE 754 in four formats with all
//! roundings.
//!
//! Hot paths round to nearest with the host's instructions. A directed rounding then corrects the result by
//! one unit in the last place ([`rounding`]). All other operations use integers ([`finite`]).

pub(crate) mod finite;
pub(crate) mod half;
pub(crate) mod rounding;

pub(crate) use finite::Finite;
pub(crate) use rounding::{Down, Nearest, Round, Rounding, Up, Zero};

/// NaN result of single-precision instructions (CUDA's `CUDART_NAN_F`; the manual leaves the value open).
pub(crate) const NAN_32: u32 = 0x7fff_ffff;
/// NaN of an invalid double-precision operation (CUDA's `CUDART_NAN`).
pub(crate) const NAN_64: u64 = 0xfff8_0000_0000_0000;
/// Canonical NaN of both half formats.
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

    /// Sign bit.
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

    /// Exponent of the smallest subnormal, of which every finite number is a multiple.
    pub(crate) const fn quantum(self) -> i32 {
        2 - (1 << (self.exponent - 1)) - self.fraction as i32
    }

    /// True for a NaN.
    pub(crate) const fn is_nan(self, bits: u64) -> bool {
        bits & !self.sign() > self.infinity()
    }

    /// True for a nonzero subnormal number.
    pub(crate) const fn is_subnormal(self, bits: u64) -> bool {
        bits & self.infinity() == 0 && bits & !self.sign() != 0
    }
}

/// Flushes a subnormal number to zero of the same sign (`.ftz`).
#[inline(always)]
pub(crate) fn flush(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits(if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits })
}

/// Flushes as ptxas code does when several instructions compute the result (`.ftz`). The result is zero
/// unless the exact result, rounded to 24 bits with unbounded exponent, is normal. `d` is the IEEE 754
/// result, and `excess` the sign of a magnitude minus the exact magnitude.
#[inline(always)]
pub(crate) fn flush_exact(d: f32, round: Round, excess: impl FnOnce(f64) -> f64) -> f32 {
    /// 2^-126 - 2^-151: half a unit of 24 bits below the smallest normal number.
    const HALF_BELOW: f64 = f64::from_bits(0x380f_ffff_f000_0000);
    /// 2^-126 - 2^-150: one unit below the smallest normal number.
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

/// Replaces any NaN by the canonical one. The code uses integers, because the compiler treats all
/// floating-point NaNs as equal and drops the replacement after a square root.
#[inline(always)]
pub(crate) fn canonical(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits(if bits & 0x7fff_ffff > 0x7f80_0000 { NAN_32 } else { bits })
}

/// Clamps to [+0, 1]; NaN gives +0 (`.sat`).
#[inline(always)]
pub(crate) fn saturate(x: f32) -> f32 {
    let low = if x > 0.0 { x } else { 0.0 };
    if low < 1.0 { low } else { 1.0 }
}

/// NaN result of a double-precision operation on `x`: the first NaN operand made quiet, else the NaN of an
/// invalid operation. The manual keeps payloads but does not say which of several.
pub(crate) fn propagate(x: &[f64]) -> f64 {
    const QUIET: u64 = 1 << 51;
    let bits = x.iter().find(|x| x.is_nan()).map_or(NAN_64, |nan| nan.to_bits() | QUIET);
    f64::from_bits(bits)
}
