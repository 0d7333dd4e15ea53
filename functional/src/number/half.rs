//! Branch-free conversions between the half-precision formats and single precision, for vectorisation.

use super::{Format, NAN_16};

/// A 16-bit format whose numbers are exact in single precision.
pub(crate) trait HalfFormat: 'static {
    /// Fields of the format.
    const FORMAT: Format;
    /// Exact conversion to single precision. NaN keeps its payload.
    fn widen(bits: u16) -> f32;
    /// Nearest half, ties to even; NaN becomes canonical.
    fn narrow(x: f32) -> u16;
}

/// binary16.
pub(crate) struct F16;
/// bfloat16.
pub(crate) struct Bf16;

impl HalfFormat for F16 {
    const FORMAT: Format = Format::F16;

    #[inline(always)]
    fn widen(bits: u16) -> f32 {
        /// Factor 2^112 for the difference of the exponent biases.
        const SCALE: f32 = f32::from_bits((127 + 112) << 23);
        let magnitude = u32::from(bits & 0x7fff);
        let sign = u32::from(bits & 0x8000) << 16;
        // Read as a single, the magnitude is 2^112 times too small, even for subnormal halves.
        let finite = (f32::from_bits(magnitude << 13) * SCALE).to_bits();
        let special = (magnitude << 13) | 0x7f80_0000;
        f32::from_bits(sign | if magnitude >= 0x7c00 { special } else { finite })
    }

    #[inline(always)]
    fn narrow(x: f32) -> u16 {
        /// Smallest normal half, 2^-14, as a single.
        const NORMAL: u32 = (127 - 14) << 23;
        /// 2^16: from here on every half is infinite.
        const OVERFLOW: u32 = (127 + 16) << 23;
        /// 0.5, whose unit in the last place is 2^-24, the smallest subnormal half.
        const HALF: u32 = 126 << 23;
        let bits = x.to_bits();
        let magnitude = bits & 0x7fff_ffff;
        let sign = (bits >> 16) & 0x8000;
        let rebias = magnitude.wrapping_sub(NORMAL - (1 << 23));
        let normal = rebias.wrapping_add(0xfff + ((magnitude >> 13) & 1)) >> 13;
        // The addition rounds.
        let subnormal = (f32::from_bits(magnitude) + f32::from_bits(HALF)).to_bits().wrapping_sub(HALF);
        let finite = if magnitude < NORMAL { subnormal } else { normal };
        let number = sign | if magnitude >= OVERFLOW { 0x7c00 } else { finite };
        (if magnitude > 0x7f80_0000 { u32::from(NAN_16) } else { number }) as u16
    }
}

impl HalfFormat for Bf16 {
    const FORMAT: Format = Format::BF16;

    #[inline(always)]
    fn widen(bits: u16) -> f32 {
        f32::from_bits(u32::from(bits) << 16)
    }

    #[inline(always)]
    fn narrow(x: f32) -> u16 {
        let bits = x.to_bits();
        let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
        (if bits & 0x7fff_ffff > 0x7f80_0000 { u32::from(NAN_16) } else { rounded }) as u16
    }
}

/// Flushes a subnormal half to zero of the same sign (`.ftz`).
#[inline(always)]
pub(crate) fn flush<F: HalfFormat>(bits: u16) -> u16 {
    if bits & F::FORMAT.infinity() as u16 == 0 { bits & 0x8000 } else { bits }
}

/// Clamps to [+0, 1]; NaN gives +0 (`.sat`).
#[inline(always)]
pub(crate) fn saturate<F: HalfFormat>(bits: u16) -> u16 {
    let one = F::FORMAT.one() as u16;
    let is_nan = bits & 0x7fff > F::FORMAT.infinity() as u16;
    let clamped = if bits > one { one } else { bits };
    if is_nan || bits & 0x8000 != 0 { 0 } else { clamped }
}

/// Maps negative numbers and -0 to +0 and NaN to the canonical NaN (`.relu`).
#[inline(always)]
pub(crate) fn rectify<F: HalfFormat>(bits: u16) -> u16 {
    let positive = if bits & 0x8000 != 0 { 0 } else { bits };
    if bits & 0x7fff > F::FORMAT.infinity() as u16 { NAN_16 } else { positive }
}
