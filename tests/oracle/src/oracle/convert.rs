//! Conversion between integers and IEEE 754 formats (PTX manual 9.7.9.20), via quadruple precision, which
//! represents every value exactly.

use ptx_frontend::isa::{Modifier, ScalarType};
use rustc_apfloat::ieee::Quad;

use super::{Judge, Unjudged, integer, narrow, one, range, wrapped};
use crate::format::{Float, Format, Round, rounding};
use crate::operands::mask;
use crate::variant::Variant;

pub(super) fn judge(variant: &Variant) -> Result<Judge, Unjudged> {
    match variant.line.name {
        "integer_to_integer" | "float_to_integer" | "integer_to_float" | "float_to_float" => {
            Conversion::of(variant).map(|conversion| one(move |x| conversion.result(x[0])))
        }
        _ => narrow::judge(variant),
    }
}

/// Conversion of one number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Conversion {
    to: ScalarType,
    from: ScalarType,
    /// Width of the result's register in bits.
    register: u32,
    round: Round,
    integral: bool,
    ftz: bool,
    sat: bool,
    relu: bool,
}

impl Conversion {
    fn of(variant: &Variant) -> Result<Conversion, Unjudged> {
        let (to, from) = match variant.types().as_slice() {
            [to, from] => (*to, *from),
            _ => return Err(Unjudged::Unknown),
        };
        let integral = variant
            .modifiers()
            .any(|m| matches!(m, Modifier::Rni | Modifier::Rzi | Modifier::Rmi | Modifier::Rpi));
        let named = |m| {
            matches!(m, Modifier::Rn | Modifier::Rz | Modifier::Rm | Modifier::Rp | Modifier::Rna) || integral
        };
        let conversion = Conversion {
            to,
            from,
            register: variant.results().next().map_or(64, |d| d.register.bits()),
            round: rounding(variant.modifiers()),
            integral,
            ftz: variant.has(Modifier::Ftz),
            sat: variant.has(Modifier::Sat),
            relu: variant.has(Modifier::Relu),
        };
        let rounded = variant.modifiers().any(named);
        if conversion.is_in_manual(rounded) { Ok(conversion) } else { Err(Unjudged::NotInManual) }
    }

    fn is_in_manual(&self, rounded: bool) -> bool {
        let (to, from) = (Format::of(self.to), Format::of(self.from));
        let single = [to, from].contains(&Some(Format::F32));
        if (self.ftz && !single) || (self.relu && self.sat) {
            return false;
        }
        let (Some(to), Some(from)) = (to, from) else {
            // Between integers, `.sat` is allowed only if clamping can occur.
            let range = |ty: ScalarType| range(ty.bits(), ty.is_signed());
            let ((least, most), (lowest, highest)) = (range(self.to), range(self.from));
            let between_integers = to.is_none() && from.is_none();
            return !(between_integers && self.sat && least <= lowest && highest <= most);
        };
        let half = matches!(to, Format::F16 | Format::Bf16);
        let narrows = to.bits() < from.bits() || (to != from && to.bits() == from.bits());
        match (self.integral, rounded) {
            _ if self.relu && !half => false,
            _ if self.round == Round::NearestTiesToAway => false,
            (true, _) => to == from && !self.relu,
            (false, true) => narrows,
            (false, false) => !narrows,
        }
    }

    fn result(&self, register: u64) -> u64 {
        let bits = register & mask(self.from.bits());
        let from = Format::of(self.from);
        // ptxas also generates code that flushes subnormal half-precision results.
        let flushes = self.ftz && from == Some(Format::F32) && self.to != ScalarType::F16;
        let bits = if flushes { Format::F32.flush(bits) } else { bits };
        let value = match from {
            Some(format) => format.quad(bits),
            None => Quad::from_i128(integer(bits, self.from)).value,
        };
        match Format::of(self.to) {
            Some(to) => self.as_float(bits, value, to),
            None => wrapped(integer(self.as_integer(bits, value), self.to), self.register),
        }
    }

    fn as_integer(&self, bits: u64, value: Quad) -> u64 {
        let width = self.to.bits();
        let from = Format::of(self.from);
        if from.is_none() && !self.sat {
            return wrapped(value.to_i128(128).value, width);
        }
        if from.is_some_and(|format| format.is_nan(bits)) {
            return if from != Some(Format::F64) && width < 64 { 0 } else { 1 << (width - 1) };
        }
        let (width, round) = (width as usize, self.round);
        match self.to.is_signed() {
            true => value.to_i128_r(width, round, &mut false).value as u64,
            false => value.to_u128_r(width, round, &mut false).value as u64,
        }
    }

    fn as_float(&self, source: u64, value: Quad, to: Format) -> u64 {
        if value.is_nan() {
            // The payload survives only in double precision.
            let payload = Format::of(self.from).map_or(0, |format| {
                (source & mask(format.fraction())) << (52 - format.fraction())
                    | (source & format.sign()) << (64 - format.bits())
            });
            return match to {
                _ if self.sat => 0,
                Format::F64 => payload | 0x7ff8 << 48,
                _ => to.canonical_nan(),
            };
        }
        let value = if self.integral { value.round_to_integral(self.round).value } else { value };
        let bits = to.round(value, self.round);
        let bits =
            if self.ftz && to == Format::F32 { to.flush_rounded(value, bits, self.round) } else { bits };
        match (self.sat, self.relu) {
            (true, _) => to.saturate(bits),
            (_, true) => to.rectify(bits),
            _ => bits,
        }
    }
}
