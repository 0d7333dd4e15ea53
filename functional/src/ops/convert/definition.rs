//! Definition of `cvt` for any two types: decode exactly, round once, clamp, extend to the register.

use ptx_frontend::isa::{ScalarType, TypeClass};

use crate::engine::op::{Flow, Op};
use crate::engine::warp_context::WarpContext;
use crate::number::{Finite, Format, NAN_16, NAN_32, Round};

/// A conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Conversion {
    /// Result type.
    pub(super) to: ScalarType,
    /// Operand type.
    pub(super) from: ScalarType,
    /// Rounding of inexact results.
    pub(super) round: Round,
    /// True if a float result is an integral value.
    pub(super) integral: bool,
    /// True if subnormal single operands and results become zero.
    pub(super) ftz: bool,
    /// True to clamp integers to the result type and floats to [0, 1].
    pub(super) sat: bool,
    /// True if negative results become 0.
    pub(super) relu: bool,
    /// True if infinite results become the largest number.
    pub(super) satfinite: bool,
    /// Width of the operand's register in bits.
    pub(super) source_bits: u32,
    /// Width of the result's register in bits.
    pub(super) result_bits: u32,
}

/// Value of a register's bits.
pub(super) enum Value {
    Number(Finite),
    Infinite {
        negative: bool,
    },
    /// NaN with its payload, as the fraction of a double.
    Nan {
        negative: bool,
        payload: u64,
    },
}

impl Value {
    /// Decodes the bits of a number.
    pub(super) fn decode(bits: u64, format: Format) -> Value {
        let negative = bits & format.sign() != 0;
        match Finite::decode(bits, format) {
            Some(number) => Value::Number(number),
            None if format.is_nan(bits) => {
                let fraction = bits & ((1 << format.fraction) - 1);
                Value::Nan { negative, payload: fraction << (52 - format.fraction) }
            }
            None => Value::Infinite { negative },
        }
    }

    /// True for negative numbers and -0.
    pub(super) fn is_below_zero(&self) -> bool {
        match self {
            Value::Number(number) => number.negative,
            Value::Infinite { negative } => *negative,
            Value::Nan { .. } => false,
        }
    }
}

/// Format of a floating-point type.
fn format(ty: ScalarType) -> Option<Format> {
    Some(match ty {
        ScalarType::F16 => Format::F16,
        ScalarType::Bf16 => Format::BF16,
        ScalarType::F32 => Format::F32,
        ScalarType::F64 => Format::F64,
        _ => return None,
    })
}

impl Conversion {
    /// Conversion to `to` from `from`, rounded to nearest, in registers as wide as the types.
    pub(super) fn new(to: ScalarType, from: ScalarType) -> Conversion {
        Conversion {
            to,
            from,
            round: Round::Nearest,
            integral: false,
            ftz: false,
            sat: false,
            relu: false,
            satfinite: false,
            source_bits: from.bits(),
            result_bits: to.bits(),
        }
    }

    /// True if operand values have the layout of their register. Narrow values in a 32-bit row are
    /// zero-extended, so only 64-bit rows differ.
    pub(super) fn fits_source(&self) -> bool {
        (self.source_bits > 32) == (self.from.bits() > 32)
    }

    /// True if result values have the layout of their register, including sign extension.
    pub(super) fn fits_result(&self) -> bool {
        (self.result_bits > 32) == (self.to.bits() > 32)
            && (!self.to.is_signed() || self.result_bits == self.to.bits())
    }

    /// Encodes the conversion in an op's immediate.
    pub(super) fn encode(self) -> u64 {
        let flags = [self.integral, self.ftz, self.sat, self.relu, self.satfinite];
        let flags = flags.iter().enumerate().fold(0, |all, (i, &flag)| all | u8::from(flag) << i);
        u64::from_le_bytes([
            self.to as u8,
            self.from as u8,
            self.round as u8,
            flags,
            self.source_bits as u8,
            self.result_bits as u8,
            0,
            0,
        ])
    }

    /// Decodes an op's immediate.
    fn decode(immediate: u64) -> Conversion {
        let [to, from, round, flags, source_bits, result_bits, ..] = immediate.to_le_bytes();
        let ty = |code: u8| ScalarType::ALL.get(usize::from(code)).copied().unwrap_or(ScalarType::B32);
        let flag = |i: u8| flags >> i & 1 != 0;
        Conversion {
            to: ty(to),
            from: ty(from),
            round: Round::ALL.get(usize::from(round)).copied().unwrap_or(Round::Nearest),
            integral: flag(0),
            ftz: flag(1),
            sat: flag(2),
            relu: flag(3),
            satfinite: flag(4),
            source_bits: u32::from(source_bits),
            result_bits: u32::from(result_bits),
        }
    }

    /// Result register for an operand register.
    fn convert(self, register: u64) -> u64 {
        let width = self.from.bits();
        let bits = if width < 64 { register & ((1 << width) - 1) } else { register };
        let value = self.value(bits);
        match format(self.to) {
            Some(to) => self.to_float(value, to),
            None => self.to_integer(value),
        }
    }

    /// Value of the operand's bits.
    fn value(self, bits: u64) -> Value {
        let Some(format) = format(self.from) else {
            let negative = self.from.is_signed() && bits >> (self.from.bits() - 1) & 1 != 0;
            let extended = if negative { bits | u64::MAX << (self.from.bits() - 1) } else { bits };
            let magnitude = if negative { extended.wrapping_neg() } else { bits };
            return Value::Number(Finite::integer(negative, magnitude));
        };
        // ptxas code can produce halves of subnormal magnitude.
        let flushes = self.ftz && format == Format::F32 && self.to != ScalarType::F16;
        let flushed = flushes && format.is_subnormal(bits);
        Value::decode(if flushed { bits & format.sign() } else { bits }, format)
    }

    /// Integer result in its register.
    fn to_integer(self, value: Value) -> u64 {
        let width = self.to.bits();
        let signed = self.to.class() == TypeClass::Signed;
        let smallest = if signed { -1i128 << (width - 1) } else { 0 };
        let largest = if signed { (1i128 << (width - 1)) - 1 } else { (1i128 << width) - 1 };
        let clamps = self.sat || format(self.from).is_some();
        let integer = match value {
            Value::Nan { .. } if self.from != ScalarType::F64 && width < 64 => 0,
            Value::Nan { .. } => 1 << (width - 1),
            Value::Infinite { negative } => {
                if negative {
                    smallest
                } else {
                    largest
                }
            }
            Value::Number(number) => {
                let integer = self.integral_value(number);
                if clamps { integer.clamp(smallest, largest) } else { integer }
            }
        };
        let bits = integer as u64;
        let register = |width: u32| if width < 64 { (1 << width) - 1 } else { u64::MAX };
        let narrow = bits & register(width);
        if signed && narrow >> (width - 1) != 0 {
            (narrow | !register(width)) & register(self.result_bits)
        } else {
            narrow
        }
    }

    /// The number rounded to an integer; any out-of-range integer for numbers far outside of all types.
    fn integral_value(self, number: Finite) -> i128 {
        let magnitude = if number.exponent > 64 && number.significand != 0 {
            i128::MAX
        } else {
            number.round_to(0, self.round) as i128
        };
        if number.negative { -magnitude } else { magnitude }
    }

    /// Float result in its register.
    fn to_float(self, value: Value, to: Format) -> u64 {
        let bits = match value {
            Value::Nan { .. } if self.sat => return 0,
            Value::Nan { negative, payload } => return self.nan(negative, payload),
            Value::Infinite { negative } => to.infinity() | if negative { to.sign() } else { 0 },
            Value::Number(number) if self.integral && number.exponent < 0 => {
                let integral = number.round_to(0, self.round);
                Finite { exponent: 0, significand: integral, ..number }.encode(to, self.round)
            }
            Value::Number(number) => number.encode(to, self.round),
        };
        let infinite = bits & !to.sign() == to.infinity();
        let bits = if self.satfinite && infinite { bits - 1 } else { bits };
        let negative = bits & to.sign() != 0;
        let smallest = u64::from(f32::MIN_POSITIVE.to_bits());
        // True if the number, rounded to 24 bits with unbounded exponent, is below the smallest normal.
        let is_tiny = match value {
            Value::Number(number) if bits & !to.sign() == smallest => {
                number.round_to(-150, self.round) < 1 << 24
            }
            _ => to.is_subnormal(bits),
        };
        if self.ftz && to == Format::F32 && is_tiny {
            return if negative && (self.sat || self.relu) { 0 } else { bits & to.sign() };
        }
        match (self.sat, self.relu) {
            (true, _) => {
                if negative {
                    0
                } else {
                    bits.min(to.one())
                }
            }
            (_, true) if negative => 0,
            _ => bits,
        }
    }

    /// NaN of the result type: with its payload in double precision, else canonical.
    fn nan(self, negative: bool, payload: u64) -> u64 {
        match self.to {
            ScalarType::F64 => {
                let sign = if negative { Format::F64.sign() } else { 0 };
                sign | Format::F64.infinity() | 1 << 51 | payload
            }
            ScalarType::F32 => u64::from(NAN_32),
            _ => u64::from(NAN_16),
        }
    }
}

/// Warp-wide function of every conversion, as encoded in the op's immediate.
///
/// # Safety
/// As for [`crate::engine::op::Run`]: `a` and `d` name rows of the registers' widths.
pub(super) unsafe fn convert_lanes(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let conversion = Conversion::decode(op.immediate);
    let mut lanes = w.mask;
    while lanes != 0 {
        let lane = lanes.trailing_zeros() as usize;
        lanes &= lanes - 1;
        // SAFETY: the binder recorded the widths of the rows.
        unsafe {
            let a = if conversion.source_bits > 32 {
                w.read_lane::<u64>(op.a, lane)
            } else {
                u64::from(w.read_lane::<u32>(op.a, lane))
            };
            let d = conversion.convert(a);
            if conversion.result_bits > 32 {
                w.write_lane::<u64>(op.d, lane, d);
            } else {
                w.write_lane::<u32>(op.d, lane, d as u32);
            }
        }
    }
    Flow::Next
}
