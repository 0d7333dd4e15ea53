//! Checks that the module's PTX version and target support an instruction.

use super::{Check, Result, ValidationError};
use crate::disassemble;
use crate::ir::Operand;
use crate::isa::{Float, Matrix, Modifier, Op, Parallel, Requirement, ScalarType, SpecialRegister, Target};

/// PTX version and target from which warp-wide instructions require a member mask (PTX manual, `vote` and
/// `shfl`).
const MASKS_NEEDED: ((u32, u32), u32) = ((6, 4), 70);

/// PTX version from which `wmma` requires `.aligned`.
const ALIGNED_NEEDED: (u32, u32) = (6, 3);

/// PTX version from which floating-point `wmma` must not have `.satfinite`.
const FLOATS_UNBOUNDED: (u32, u32) = (6, 5);

/// PTX version from which `mad.f32` requires a rounding (PTX manual, `mad`).
const ROUNDING_NEEDED: (u32, u32) = (3, 2);

/// First target whose `mad.f32` honours its rounding.
const FIRST_TO_ROUND: u32 = 20;

/// Requirement of 128-bit loads and stores at system scope.
const WIDE_AND_COHERENT: Requirement =
    Requirement { ptx: (8, 4), target: Target { number: 70, specific: false } };

/// Requirement of coordinate offsets and depth comparison for textures.
const OFFSETS_AND_DEPTH: Requirement =
    Requirement { ptx: (4, 3), target: Target { number: 20, specific: false } };

/// Requirement of the residency result of texture reads.
const RESIDENCE: Requirement = Requirement { ptx: (7, 1), target: Target { number: 60, specific: false } };

impl Check<'_> {
    /// Checks that the module's architecture has the instruction.
    pub(super) fn exists(&self) -> Result {
        let module = self.architecture;
        if !self.line.is_always_in(module) {
            let needed = self.line.requirements(&self.instruction.tokens);
            let of_one = needed.map(|needed| {
                self.needs(needed, || disassemble::opcode(self.instruction), self.line.section)
            });
            // The first error is reported, unless another requirement is met.
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

    /// Checks that the module's architecture has the optional operands of a texture instruction.
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

    /// Checks that the module may read the register.
    pub(super) fn special(&self, register: SpecialRegister) -> Result {
        self.needs(register.requirement(), || register.name().to_owned(), "10")
    }

    /// Checks that the module meets the requirement of `used`.
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
