//! Validation errors of a function with correct names and forms.

use crate::ir::{InstructionIndex, Space};
use crate::isa::{ScalarType, Target};

/// An error and its instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// Instruction.
    pub instruction: InstructionIndex,
    /// Error.
    pub error: ValidationError,
}

/// Reason for which an instruction is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValidationError {
    /// Register of the wrong type.
    #[error("{what} is .{}, but the instruction takes .{}", found.name(), needed.name())]
    Type {
        /// Operand.
        what: String,
        /// Type of the operand.
        found: ScalarType,
        /// Required type.
        needed: ScalarType,
    },
    /// Guard that is no predicate.
    #[error("the guard `{name}` is .{}, not .pred", found.name())]
    Guard {
        /// Register.
        name: String,
        /// Type of the register.
        found: ScalarType,
    },
    /// Vector of the wrong length, or a missing vector.
    #[error("the operand has {found} elements, but the instruction takes {needed}")]
    VectorLength {
        /// Number of elements.
        found: usize,
        /// Required number.
        needed: usize,
    },
    /// Coordinates of the wrong type for the geometry.
    #[error("coordinates into {what} are .{}", needed.name())]
    Coordinates {
        /// Object that the coordinates address.
        what: &'static str,
        /// Required type.
        needed: ScalarType,
    },
    /// Fragment without braces.
    #[error("the registers of a matrix must be in braces")]
    NotAFragment,
    /// Vector access beyond the maximum width.
    #[error("the vector has {bits} bits; the limit is {most}")]
    VectorWidth {
        /// Total bits.
        bits: usize,
        /// The limit.
        most: usize,
    },
    /// Parts of a `mov` that do not add up to the whole.
    #[error("the braces hold {parts} bits, but the value has {whole} bits")]
    Packing {
        /// Bits in braces.
        parts: u32,
        /// Bits of the other side.
        whole: u32,
    },
    /// `_` as a source.
    #[error("`_` cannot be read")]
    DiscardRead,
    /// Constant out of range.
    #[error("{what} is {value}; must be {least} to {most}")]
    Range {
        /// Meaning of the constant.
        what: &'static str,
        /// Value of the constant.
        value: u64,
        /// Minimum.
        least: u64,
        /// Maximum.
        most: u64,
    },
    /// Register instead of a required constant.
    #[error("{what} must be a constant")]
    NotConstant {
        /// Meaning of the constant.
        what: &'static str,
    },
    /// Register that cannot hold an address.
    #[error("`{name}` is .{}; an address must be a 32-bit or 64-bit integer", found.name())]
    AddressRegister {
        /// Register.
        name: String,
        /// Type of the register.
        found: ScalarType,
    },
    /// Variable outside of the instruction's space.
    #[error("`{name}` is in {} space, but the instruction accesses {} space", space_name(*found), space_name(*needed))]
    Space {
        /// Variable.
        name: String,
        /// Space of the variable.
        found: Space,
        /// Space of the instruction.
        needed: Space,
    },
    /// Store to read-only memory.
    #[error("{what} cannot be written by a kernel")]
    ReadOnly {
        /// Kind of memory.
        what: &'static str,
    },
    /// Call with the wrong number of arguments or results.
    #[error("{given} {what} in the call of `{function}`, which has {declared}")]
    Call {
        /// Callee.
        function: String,
        /// `arguments` or `results`.
        what: &'static str,
        /// Number given.
        given: usize,
        /// Number declared.
        declared: usize,
    },
    /// Value that does not match the callee's declaration.
    #[error("{what} {number} in the call of `{function}` is {given}, but the declaration has {declared}")]
    Passed {
        /// `argument` or `result`.
        what: &'static str,
        /// Position in the list, from 1.
        number: usize,
        /// Callee.
        function: String,
        /// Operand.
        given: String,
        /// Parameter.
        declared: String,
    },
    /// Type that the platform's calling convention lacks.
    #[error(
        "the call of `{function}` passes a .{}; predicates and typed integers of 8 and 16 bits are passed only \
         in a module with a function of several results", ty.name()
    )]
    Convention {
        /// Callee.
        function: String,
        /// Type.
        ty: ScalarType,
    },
    /// Instruction or register that the module's target lacks.
    #[error(
        "`{used}` requires .target {needed} or later, but the module targets {found} (PTX manual, {section})"
    )]
    Target {
        /// Opcode with its modifiers, or special register.
        used: String,
        /// First target that supports it.
        needed: Target,
        /// Target of the module.
        found: Target,
        /// Section of the manual.
        section: &'static str,
    },
    /// Instruction or register that the module's PTX version lacks.
    #[error(
        "`{used}` requires .version {}.{} or later, but the module has {}.{} (PTX manual, {section})",
        needed.0, needed.1, found.0, found.1
    )]
    Version {
        /// Opcode with its modifiers, or special register.
        used: String,
        /// First version that supports it.
        needed: (u8, u8),
        /// Version of the module.
        found: (u32, u32),
        /// Section of the manual.
        section: &'static str,
    },
    /// Modifiers and operands that exclude each other.
    #[error("{what}: {rule}")]
    Together {
        /// Construct that is present or missing.
        what: &'static str,
        /// Condition for it.
        rule: &'static str,
    },
    /// Warp-wide instruction without a member mask, from before Volta.
    #[error("`{opcode}` without .sync does not exist for sm_70 and later from PTX 6.4 on")]
    Unmasked {
        /// Opcode with its modifiers.
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
