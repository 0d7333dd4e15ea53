//! May a module of this PTX version and target use the instruction?

use super::{Check, Result, ValidationError};
use crate::disassemble;
use crate::ir::Operand;
use crate::isa::{Float, Matrix, Modifier, Op, Parallel, Requirement, ScalarType, SpecialRegister, Target};

/// From this PTX version on, targets from `sm_70` on have warp-wide instructions with a mask of members only (manual
/// sections of `vote` and `shfl`).
const MASKS_NEEDED: ((u32, u32), u32) = ((6, 4), 70);

/// From this PTX version on, `wmma` says `.aligned`.
const ALIGNED_NEEDED: (u32, u32) = (6, 3);

/// From this PTX version on, `wmma` of floating-point numbers has no `.satfinite`.
const FLOATS_UNBOUNDED: (u32, u32) = (6, 5);

/// From this PTX version on, `mad.f32` says how it is rounded (manual section of `mad`).
const ROUNDING_NEEDED: (u32, u32) = (3, 2);

/// First target whose `mad.f32` is rounded as it says.
const FIRST_TO_ROUND: u32 = 20;

/// What a module needs for loads and stores of 128 bits that the whole system sees.
const WIDE_AND_COHERENT: Requirement =
    Requirement { ptx: (8, 4), target: Target { number: 70, specific: false } };

/// What a module needs for offsets of a texture's coordinates, and for a depth to compare with.
const OFFSETS_AND_DEPTH: Requirement =
    Requirement { ptx: (4, 3), target: Target { number: 20, specific: false } };

/// What a module needs to learn whether a texture's element is in memory.
const RESIDENCE: Requirement = Requirement { ptx: (7, 1), target: Target { number: 60, specific: false } };

impl Check<'_> {
    /// Has the module's architecture got the instruction?
    pub(super) fn exists(&self) -> Result {
        let module = self.architecture;
        if !self.line.is_always_in(module) {
            let needed = self.line.requirements(&self.instruction.tokens);
            let of_one = needed.map(|needed| {
                self.needs(needed, || disassemble::opcode(self.instruction), self.line.section)
            });
            // The first says what is missing, unless another is met.
            of_one.reduce(|first, other| if other.is_ok() { other } else { first }).unwrap_or(Ok(()))?;
        }
        let coherent = self.instruction.has(Modifier::Sys);
        let of_128_bits = self.instruction.last_type() == Some(ScalarType::B128);
        if coherent && of_128_bits && matches!(self.line.parsed().mnemonic, "ld" | "st") {
            self.needs(WIDE_AND_COHERENT, || disassemble::opcode(self.instruction), self.line.section)?;
        }
        self.texture_operands()?;
        let (version, number) = MASKS_NEEDED;
        let has_ended = module.ptx.is_some_and(|ptx| ptx >= version)
            && module.target.is_some_and(|target| target.number >= number);
        let unmasked = matches!(
            self.instruction.op,
            Op::Parallel(Parallel::vote_unmasked | Parallel::vote_ballot_unmasked | Parallel::shfl_unmasked)
        );
        if unmasked && has_ended {
            return Err(ValidationError::Unmasked { opcode: disassemble::opcode(self.instruction) });
        }
        let unaligned = self.line.parsed().mnemonic == "wmma" && !self.instruction.has(Modifier::Aligned);
        if unaligned && module.ptx.is_some_and(|ptx| ptx >= ALIGNED_NEEDED) {
            return Err(ValidationError::Together {
                what: "`wmma` without .aligned",
                rule: "only before PTX 6.3",
            });
        }
        let bounded =
            self.instruction.op == Op::Matrix(Matrix::wmma_mma) && self.instruction.has(Modifier::Satfinite);
        if bounded && module.ptx.is_some_and(|ptx| ptx >= FLOATS_UNBOUNDED) {
            return Err(ValidationError::Together {
                what: "`wmma` of floating-point numbers with .satfinite",
                rule: "only before PTX 6.5",
            });
        }
        let roundings = [Modifier::Rn, Modifier::Rz, Modifier::Rm, Modifier::Rp];
        let unrounded = self.instruction.op == Op::Float(Float::mad)
            && !roundings.iter().any(|rounding| self.instruction.has(*rounding));
        let rounds = module.target.is_none_or(|target| target.number >= FIRST_TO_ROUND);
        if unrounded && rounds && module.ptx.is_some_and(|ptx| ptx >= ROUNDING_NEEDED) {
            return Err(ValidationError::Together {
                what: "`mad.f32` without a rounding",
                rule: "only before PTX 3.2 or for sm_1x",
            });
        }
        Ok(())
    }

    /// Has the module's architecture got the operands of a texture instruction that may be left out?
    fn texture_operands(&self) -> Result {
        if !matches!(self.line.parsed().mnemonic, "tex" | "tld4") {
            return Ok(());
        }
        let places = self.line.parsed().operands.iter().zip(&self.instruction.operands);
        for (place, _) in places.filter(|(place, operand)| place.optional && **operand != Operand::Absent) {
            let needed = if place.name == "p" { RESIDENCE } else { OFFSETS_AND_DEPTH };
            self.needs(needed, || disassemble::opcode(self.instruction), self.line.section)?;
        }
        Ok(())
    }

    /// May the module read the register?
    pub(super) fn special(&self, register: SpecialRegister) -> Result {
        self.needs(register.requirement(), || register.name().to_owned(), "10")
    }

    /// An error if the module has not got what `used` needs.
    pub(super) fn needs(
        &self,
        needed: Requirement,
        used: impl FnOnce() -> String,
        section: &'static str,
    ) -> Result {
        let module = self.architecture;
        match (module.target, module.ptx) {
            (Some(found), _) if !module.has_target(needed) => {
                Err(ValidationError::Target { used: used(), needed: needed.target, found, section })
            }
            (_, Some(found)) if !module.has_version(needed) => {
                Err(ValidationError::Version { used: used(), needed: needed.ptx, found, section })
            }
            _ => Ok(()),
        }
    }
}
