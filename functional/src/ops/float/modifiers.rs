//! Modifiers of a floating-point instruction, encoded in an op's immediate.

use ptx_frontend::ir::Instruction;
use ptx_frontend::isa::Modifier;

use crate::number::half::{self, HalfFormat};
use crate::number::{self, Round};

/// A set of modifiers, and a rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Modifiers(u64);

impl Modifiers {
    pub(crate) const FTZ: u64 = 1;
    pub(crate) const SAT: u64 = 2;
    pub(crate) const RELU: u64 = 4;
    pub(crate) const NAN: u64 = 8;
    pub(crate) const ABS: u64 = 16;
    pub(crate) const XORSIGN: u64 = 32;
    pub(crate) const SATFINITE: u64 = 64;
    const ROUND: u32 = 8;

    /// No modifier.
    pub(crate) const NONE: Modifiers = Modifiers(0);

    /// Modifiers of an instruction; `.rn` without a rounding modifier.
    pub(crate) fn of(i: &Instruction) -> Modifiers {
        i.modifiers().fold(Modifiers(0), |Modifiers(set), modifier| {
            Modifiers(
                set | match modifier {
                    Modifier::Ftz => Modifiers::FTZ,
                    Modifier::Sat => Modifiers::SAT,
                    Modifier::Relu => Modifiers::RELU,
                    Modifier::Nan => Modifiers::NAN,
                    Modifier::AbsFlag => Modifiers::ABS,
                    Modifier::Xorsign => Modifiers::XORSIGN,
                    Modifier::Satfinite => Modifiers::SATFINITE,
                    Modifier::Rna => (Round::NearestAway as u64) << Modifiers::ROUND,
                    Modifier::Rz => (Round::Zero as u64) << Modifiers::ROUND,
                    Modifier::Rm => (Round::Down as u64) << Modifiers::ROUND,
                    Modifier::Rp => (Round::Up as u64) << Modifiers::ROUND,
                    _ => 0,
                },
            )
        })
    }

    /// Encodes the modifiers in an op's immediate.
    pub(crate) fn encode(self) -> u64 {
        self.0
    }

    /// Decodes an op's immediate.
    #[inline(always)]
    pub(crate) fn decode(immediate: u64) -> Modifiers {
        Modifiers(immediate)
    }

    /// True if any of `modifiers` is set.
    #[inline(always)]
    pub(crate) fn has(self, modifiers: u64) -> bool {
        self.0 & modifiers != 0
    }

    /// Rounding.
    pub(crate) fn round(self) -> Round {
        Round::ALL.get((self.0 >> Modifiers::ROUND) as usize).copied().unwrap_or(Round::Nearest)
    }

    /// Applies the modifiers to an operand.
    #[inline(always)]
    pub(crate) fn operand(self, x: f32) -> f32 {
        if self.has(Modifiers::FTZ) { number::flush(x) } else { x }
    }

    /// Applies the modifiers to a result.
    #[inline(always)]
    pub(crate) fn result(self, d: f32) -> f32 {
        let d = if self.has(Modifiers::FTZ) { number::flush(d) } else { d };
        if self.has(Modifiers::SAT) { number::saturate(d) } else { number::canonical(d) }
    }

    /// Applies the modifiers to an operand.
    #[inline(always)]
    pub(crate) fn half_operand<F: HalfFormat>(self, x: u16) -> u16 {
        if self.has(Modifiers::FTZ) { half::flush::<F>(x) } else { x }
    }

    /// Applies the modifiers to a result.
    #[inline(always)]
    pub(crate) fn half_result<F: HalfFormat>(self, d: u16) -> u16 {
        let d = if self.has(Modifiers::FTZ) { half::flush::<F>(d) } else { d };
        let d = if self.has(Modifiers::SAT) { half::saturate::<F>(d) } else { d };
        if self.has(Modifiers::RELU) { half::rectify::<F>(d) } else { d }
    }
}
