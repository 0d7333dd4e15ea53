//! May a module of this PTX version and target use the instruction?

use super::{Check, Result, ValidationError};
use crate::disassemble;
use crate::isa::{Op, Parallel, Requirement, SpecialRegister};

/// From this PTX version on, targets from `sm_70` on have warp-wide instructions with a mask of members only (manual
/// sections of `vote` and `shfl`).
const MASKS_NEEDED: ((u32, u32), u32) = ((6, 4), 70);

impl Check<'_> {
    /// Has the module's architecture got the instruction?
    pub(super) fn exists(&self) -> Result {
        let module = self.architecture;
        if !self.line.is_always_in(module) {
            let needed = self.line.requirement(&self.instruction.tokens);
            self.needs(needed, || disassemble::opcode(self.instruction), self.line.section)?;
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
        Ok(())
    }

    /// May the module read the register?
    pub(super) fn special(&self, register: SpecialRegister) -> Result {
        self.needs(register.requirement(), || register.name().to_owned(), "10")
    }

    /// An error if the module has not got what `used` needs.
    fn needs(&self, needed: Requirement, used: impl FnOnce() -> String, section: &'static str) -> Result {
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
