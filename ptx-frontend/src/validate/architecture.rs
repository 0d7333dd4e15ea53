//! May a module of this PTX version and target use the instruction?

use super::{Check, Result, ValidationError};
use crate::disassemble;
use crate::isa::{Modifier, Op, Parallel, Requirement, ScalarType, SpecialRegister, Target};

/// From this PTX version on, targets from `sm_70` on have warp-wide instructions with a mask of members only (manual
/// sections of `vote` and `shfl`).
const MASKS_NEEDED: ((u32, u32), u32) = ((6, 4), 70);

/// From this PTX version on, `wmma` says `.aligned`.
const ALIGNED_NEEDED: (u32, u32) = (6, 3);

/// What a module needs for loads and stores of 128 bits that the whole system sees.
const WIDE_AND_COHERENT: Requirement =
    Requirement { ptx: (8, 4), target: Target { number: 70, specific: false } };

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
