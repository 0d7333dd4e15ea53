//! What can be wrong with a function whose names and forms are right.

use crate::ir::{InstructionIndex, Space};
use crate::isa::{ScalarType, Target};

/// An error and the instruction that has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// The instruction.
    pub instruction: InstructionIndex,
    /// What is wrong.
    pub error: ValidationError,
}

/// Why an instruction cannot run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValidationError {
    /// A register of the wrong type.
    #[error("{what} is .{}, but the instruction takes .{} there", found.name(), needed.name())]
    Type {
        /// The operand.
        what: String,
        /// Its type.
        found: ScalarType,
        /// The type of the place.
        needed: ScalarType,
    },
    /// A guard that is no predicate.
    #[error("the guard `{name}` is .{}, not .pred", found.name())]
    Guard {
        /// The register.
        name: String,
        /// Its type.
        found: ScalarType,
    },
    /// `{…}` of the wrong length, or none where one is needed.
    #[error("{found} elements where the instruction takes {needed}")]
    VectorLength {
        /// Elements given.
        found: usize,
        /// Elements needed.
        needed: usize,
    },
    /// Coordinates of a type that the geometry does not have.
    #[error("coordinates into {what} are .{}", needed.name())]
    Coordinates {
        /// What they lead to.
        what: &'static str,
        /// Their type.
        needed: ScalarType,
    },
    /// A fragment without braces.
    #[error("the registers of a matrix stand in braces")]
    NotAFragment,
    /// A vector access wider than memory can do at once.
    #[error("a vector of {bits} bits; {most} are the most")]
    VectorWidth {
        /// Bits of all elements.
        bits: usize,
        /// The limit.
        most: usize,
    },
    /// The parts of a `mov` do not add up to the whole.
    #[error("{parts} bits in braces do not make a value of {whole} bits")]
    Packing {
        /// Bits in braces.
        parts: u32,
        /// Bits of the other side.
        whole: u32,
    },
    /// `_` where a value is read.
    #[error("`_` where a value is read")]
    DiscardRead,
    /// A constant out of its range.
    #[error("{what} is {value}; it must be {least} to {most}")]
    Range {
        /// The constant's meaning.
        what: &'static str,
        /// Its value.
        value: u64,
        /// Smallest allowed.
        least: u64,
        /// Largest allowed.
        most: u64,
    },
    /// A register where the form needs a constant.
    #[error("{what} must be a constant")]
    NotConstant {
        /// What.
        what: &'static str,
    },
    /// A register that cannot hold an address.
    #[error("`{name}` is .{}; an address is 32 or 64 bits of integer", found.name())]
    AddressRegister {
        /// The register.
        name: String,
        /// Its type.
        found: ScalarType,
    },
    /// The instruction's space is not the variable's.
    #[error("`{name}` is in {} space, but the instruction accesses {} space", space_name(*found), space_name(*needed))]
    Space {
        /// The variable.
        name: String,
        /// Where it is.
        found: Space,
        /// What the instruction accesses.
        needed: Space,
    },
    /// A store into memory that kernels only read.
    #[error("{what} cannot be written by a kernel")]
    ReadOnly {
        /// What.
        what: &'static str,
    },
    /// A call with the wrong number of arguments or results.
    #[error("{given} {what} in the call of `{function}`, which has {declared}")]
    Call {
        /// The called function.
        function: String,
        /// `arguments` or `results`.
        what: &'static str,
        /// Given.
        given: usize,
        /// Declared.
        declared: usize,
    },
    /// A value of a call that the declaration of the called function does not take.
    #[error("{what} {number} in the call of `{function}` is {given}, but the declaration has {declared}")]
    Passed {
        /// `argument` or `result`.
        what: &'static str,
        /// Position in the list, from 1.
        number: usize,
        /// The called function.
        function: String,
        /// The operand.
        given: String,
        /// The parameter.
        declared: String,
    },
    /// A call that passes a type that the platform's calling convention has not.
    #[error(
        "the call of `{function}` passes a .{}; predicates and typed integers of 8 and 16 bits are passed only \
         in a module with a function of several results", ty.name()
    )]
    Convention {
        /// The called function.
        function: String,
        /// The type.
        ty: ScalarType,
    },
    /// The module's target has not got the instruction or register.
    #[error(
        "`{used}` needs .target {needed} or later, and this module is for {found} (PTX manual, {section})"
    )]
    Target {
        /// The opcode with its modifiers, or the special register.
        used: String,
        /// First target that has it.
        needed: Target,
        /// The module's.
        found: Target,
        /// Where the manual says so.
        section: &'static str,
    },
    /// The module's PTX version has not got the instruction or register.
    #[error(
        "`{used}` needs .version {}.{} or later, and this module is of {}.{} (PTX manual, {section})",
        needed.0, needed.1, found.0, found.1
    )]
    Version {
        /// The opcode with its modifiers, or the special register.
        used: String,
        /// First version that has it.
        needed: (u8, u8),
        /// The module's.
        found: (u32, u32),
        /// Where the manual says so.
        section: &'static str,
    },
    /// Modifiers and operands that do not go together.
    #[error("{what}: {rule}")]
    Together {
        /// What stands there or is missing.
        what: &'static str,
        /// When it may.
        rule: &'static str,
    },
    /// A warp-wide instruction of the time when warps ran in lockstep.
    #[error("`{opcode}` without .sync does not exist for sm_70 and later from PTX 6.4 on")]
    Unmasked {
        /// The opcode with its modifiers.
        opcode: String,
    },
}

fn space_name(space: Space) -> &'static str {
    match space {
        Space::Global => ".global",
        Space::Const => ".const",
        Space::Shared => ".shared",
        Space::Local => ".local",
        Space::Param => ".param",
    }
}
