//! May a module of this PTX version and target use the instruction?

use super::{Check, Result, ValidationError};
use crate::disassemble;
use crate::isa::{Op, Parallel};

/// From this PTX version on, targets from `sm_70` on have warp-wide instructions with a mask of members only (manual
/// sections of `vote` and `shfl`).
const MASKS_NEEDED: ((u32, u32), u32) = ((6, 4), 70);

impl Check<'_> {
    pub(super) fn architecture(&self) -> Result {
        let module = self.surroundings.architecture();
        if !self.line.is_always_in(module) {
            let needed = self.line.requirement(&self.instruction.tokens);
            if let (false, Some(found)) = (module.has_target(needed), module.target) {
                return Err(ValidationError::Target {
                    opcode: disassemble::opcode(self.instruction),
                    needed: needed.target,
                    found,
                    section: self.line.section,
                });
            }
            if let (false, Some(found)) = (module.has_version(needed), module.ptx) {
                return Err(ValidationError::Version {
                    opcode: disassemble::opcode(self.instruction),
                    needed: needed.ptx,
                    found,
                    section: self.line.section,
                });
            }
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
}
