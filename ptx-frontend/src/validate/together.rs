//! Combinations of modifiers and operands that the op table's forms cannot express.

use super::{Check, Result, ValidationError};
use crate::ir::Operand;
use crate::isa::{Geometry, Modifier, OperandType, ScalarType};

impl Check<'_> {
    /// Checks the combination of the instruction's modifiers and operands.
    pub(super) fn together(&self) -> Result {
        match self.line.parsed().mnemonic {
            "ld" | "st" => self.priority(),
            "tex" | "tld4" => self.texture(),
            "mbarrier" => self.remote_arrival().and_then(|()| self.report()),
            "cp" => self.strength(),
            "vmad" => self.negations(),
            "bar" | "barrier" => self.whole_warps(),
            _ => Ok(()),
        }?;
        self.policy()
    }

    /// Checks that an L2 priority has a 256-bit vector.
    fn priority(&self) -> Result {
        let priorities = [Modifier::L2EvictNormal, Modifier::L2EvictFirst, Modifier::L2EvictLast];
        let element = self.instruction.last_type().map_or(0, |ty| ty.bits() as usize);
        if self.has_any(&priorities) && self.instruction.vector_length() * element != 256 {
            return Err(ValidationError::Together {
                what: "a priority in the L2 cache",
                rule: "only with 256-bit vectors",
            });
        }
        Ok(())
    }

    /// Checks texture operands against the geometry and the type of the coordinates.
    fn texture(&self) -> Result {
        let Some(geometry) = Geometry::among(&self.instruction.tokens) else { return Ok(()) };
        let is_given = |name: &str, ty: OperandType| {
            let mut places = self.line.parsed().operands.iter().zip(&self.instruction.operands);
            places.any(|(place, operand)| place.name == name && place.ty == ty && *operand != Operand::Absent)
        };
        let refused = |what, rule| Err(ValidationError::Together { what, rule });
        if geometry.cube && is_given("e", OperandType::Offsets) {
            return refused("offsets of coordinates", "not for cubes");
        }
        let integers = self.instruction.last_type() == Some(ScalarType::S32);
        let solid = geometry.dimensions == 3 && !geometry.cube;
        if is_given("f", OperandType::Fixed(ScalarType::F32)) && (integers || solid) {
            return refused("a depth to compare with", "not with integer coordinates or three dimensions");
        }
        if geometry.multisample && self.has_any(&[Modifier::Level, Modifier::Grad]) {
            return refused("a level", "not for multisample textures");
        }
        Ok(())
    }

    /// Checks that no state of another CTA's barrier is requested.
    fn remote_arrival(&self) -> Result {
        let arrives = self.has_any(&[Modifier::Arrive, Modifier::ArriveDrop]);
        let remote = self.has_any(&[Modifier::SharedCluster]);
        match self.instruction.operands.first() {
            Some(Operand::Register(_)) if arrives && remote => Err(ValidationError::Together {
                what: "the state of a barrier in .shared::cluster",
                rule: "not available; use `_`",
            }),
            _ => Ok(()),
        }
    }

    /// Checks that reports are requested only with the primary phase.
    fn report(&self) -> Result {
        let mut places = self.line.parsed().operands.iter().zip(&self.instruction.operands);
        let told = places.any(|(place, operand)| {
            place.optional && matches!(place.name, "q" | "d") && *operand != Operand::Absent
        });
        if told && !self.has_any(&[Modifier::PhasePrimary]) {
            return Err(ValidationError::Together {
                what: "results beside the phase's completion",
                rule: "only with .phase_type::primary",
            });
        }
        Ok(())
    }

    /// Checks that exactly the strong copies have a scope.
    fn strength(&self) -> Result {
        let scopes = [Modifier::Cta, Modifier::Cluster, Modifier::Gpu, Modifier::Sys];
        if self.has_any(&[Modifier::Relaxed]) != self.has_any(&scopes) {
            return Err(ValidationError::Together {
                what: "a scope",
                rule: "required with .relaxed and forbidden without",
            });
        }
        Ok(())
    }

    /// Checks that at most one of product and summand is negated, and neither if one is added.
    fn negations(&self) -> Result {
        let [_, a, b, c] = self.instruction.operands.as_slice() else { return Ok(()) };
        let is_negated = |operand: &Operand| matches!(operand, Operand::Part { minus: true, .. });
        let product = is_negated(a) != is_negated(b);
        let refused = |rule| Err(ValidationError::Together { what: "a negation", rule });
        if product && is_negated(c) {
            return refused("of the product or of the summand, not of both");
        }
        if (product || is_negated(c)) && self.has_any(&[Modifier::Po]) {
            return refused("not with .po");
        }
        Ok(())
    }

    /// Checks constant numbers of threads at a barrier.
    fn whole_warps(&self) -> Result {
        let mut places = self.line.parsed().operands.iter().zip(&self.instruction.operands);
        let threads = places.find(|(place, _)| place.name == "b").map(|(_, operand)| operand);
        match threads {
            Some(Operand::Immediate(count)) if !count.is_multiple_of(32) => Err(ValidationError::Together {
                what: "the number of threads at a barrier",
                rule: "only whole warps",
            }),
            _ => Ok(()),
        }
    }

    /// Checks that a cache policy is given exactly with its modifier.
    fn policy(&self) -> Result {
        let ty = OperandType::Fixed(ScalarType::B64);
        let mut places = self.line.parsed().operands.iter().zip(&self.instruction.operands);
        let Some((_, policy)) = places.find(|(place, _)| place.optional && place.ty == ty) else {
            return Ok(());
        };
        if self.has_any(&[Modifier::L2CacheHint]) == (*policy == Operand::Absent) {
            return Err(ValidationError::Together {
                what: "a cache policy",
                rule: "required with .L2::cache_hint and forbidden without",
            });
        }
        Ok(())
    }

    fn has_any(&self, modifiers: &[Modifier]) -> bool {
        modifiers.iter().any(|modifier| self.instruction.has(*modifier))
    }
}
