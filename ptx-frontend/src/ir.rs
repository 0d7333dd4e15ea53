//! Typed intermediate form of a PTX function: output of the parser and input of the engine's binder.
//!
//! Instructions form a flat list, and labels are instruction indices. Registers, variables and outside
//! symbols are indices into the function's own tables, so a function is self-contained and can be cached by
//! content.

use std::cell::Cell;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::isa::{Modifier, Op, ScalarType, SpecialRegister, Token, WordPart};

/// Index into [`Function::registers`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RegisterId(pub u32);

/// Index into [`Function::variables`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct VariableId(pub u32);

/// Index into [`Function::externals`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ExternalId(pub u32);

/// Index into [`Function::instructions`]: the instruction after a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct InstructionIndex(pub u32);

/// State space of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Space {
    /// Device memory.
    Global,
    /// Constant memory.
    Const,
    /// Shared memory of a CTA.
    Shared,
    /// Local memory of a thread.
    Local,
    /// Parameters of kernels, functions and calls.
    Param,
}

/// Visibility of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Linkage {
    /// Visible in this module only.
    Internal,
    /// Visible in other modules.
    Visible,
    /// Defined in another module.
    Extern,
    /// Visible, and replaceable by another definition.
    Weak,
    /// Visible and shared between modules; the largest definition wins.
    Common,
}

/// One initial value of a variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Initial {
    /// Bytes at an offset.
    Bytes {
        /// Offset from the variable's start.
        offset: u64,
        /// Value, little endian.
        bytes: Vec<u8>,
    },
    /// Address of a variable or function plus `addend`, or some bytes of it (`mask(sym)` operators).
    Address {
        /// Offset from the variable's start.
        offset: u64,
        /// Name of the variable or function.
        symbol: String,
        /// Added to the address.
        addend: i64,
        /// Bytes stored.
        width: u32,
        /// Right shift of the address before its truncation to `width` bytes (0xFF00-style masks).
        shift: u32,
        /// True for the generic address (`generic(sym)`).
        generic: bool,
    },
    /// `addr_mode_0 = wrap`: a property of a texture, sampler or surface reference.
    Property {
        /// Name of the property.
        name: String,
        /// Value: a number or a name.
        value: String,
    },
}

/// A variable of a module or function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variable {
    /// Name, unique in its table (variables of inner scopes get a suffix).
    pub name: String,
    /// State space.
    pub space: Space,
    /// Linkage.
    pub linkage: Linkage,
    /// Element type.
    pub ty: ScalarType,
    /// Size in bytes; 0 for an array of unknown length (`extern .shared x[]`).
    pub size: u64,
    /// Alignment in bytes, a power of two.
    pub align: u32,
    /// Initial values; other bytes are zero.
    pub initial: Vec<Initial>,
    /// `.attribute(.managed)`: unified memory.
    pub managed: bool,
}

/// A parameter or return value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// Name.
    pub name: String,
    /// Element type.
    pub ty: ScalarType,
    /// Byte offset in the parameter block (kernels) or in the frame's parameter area (functions), in which
    /// the results follow the parameters.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
    /// Alignment in bytes.
    pub align: u32,
    /// True if declared in `.reg` space.
    pub in_register: bool,
    /// First register of a function's parameter in `.reg` space; `None` in prototypes.
    pub register: Option<RegisterId>,
}

impl Parameter {
    /// Number of elements of a vector or array; 1 otherwise.
    pub fn elements(&self) -> u32 {
        self.size.checked_div(self.ty.bytes()).unwrap_or(1).max(1)
    }

    /// Registers of a function's parameter in `.reg` space, one per vector element.
    pub fn registers(&self) -> impl Iterator<Item = RegisterId> + use<> {
        let count = self.elements();
        self.register.into_iter().flat_map(move |first| (first.0..first.0 + count).map(RegisterId))
    }
}

/// A name that the function uses but does not define.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct External {
    /// Name.
    pub name: String,
}

/// Guard predicate `@p` or `@!p`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Guard {
    /// Predicate register.
    pub register: RegisterId,
    /// True for `@!p`.
    pub negated: bool,
}

/// Base of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AddressBase {
    /// Value of a register.
    Register(RegisterId),
    /// A variable or parameter of this function.
    Variable(VariableId),
    /// A parameter of this function, by position.
    Parameter(u32),
    /// A return value of this function, by position.
    Return(u32),
    /// A variable of a module.
    External(ExternalId),
    /// Zero: the offset is the whole address.
    Absolute,
}

/// An operand.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Operand {
    /// Omitted optional operand.
    Absent,
    /// `_`: discarded result.
    Discard,
    /// A register.
    Register(RegisterId),
    /// `!p`.
    NegatedPredicate(RegisterId),
    /// `a.b2`, `-a`, `-a.b2`: a part of a word, or its negative, in a video instruction.
    Part {
        /// Word.
        #[serde(deserialize_with = "nested")]
        of: Box<Operand>,
        /// Part; `None` for the whole word.
        part: Option<WordPart>,
        /// True if negated.
        minus: bool,
    },
    /// Constant, as bits of the operand's type: IEEE bits of floats, 0 or 1 for predicates. Integers are
    /// truncated to the type's width and sign-extended or zero-extended to 64 bits.
    Immediate(u64),
    /// A special register.
    Special(SpecialRegister),
    /// `[base + offset]`, or the bare name of a variable as an address (`mov`).
    Address {
        /// Base.
        base: AddressBase,
        /// Offset in bytes.
        offset: i64,
    },
    /// `[a, b, {x, y}]`: a location in a texture or surface.
    Texel {
        /// Texture or surface: the address of its variable, or a register with its handle.
        #[serde(deserialize_with = "nested")]
        handle: Box<Operand>,
        /// Sampler, or [`Operand::Absent`].
        #[serde(deserialize_with = "nested")]
        sampler: Box<Operand>,
        /// Used elements of the coordinate vector ([`crate::isa::Geometry`]).
        #[serde(deserialize_with = "nested")]
        coordinates: Vec<Operand>,
    },
    /// `{a, b, …}`.
    Vector(#[serde(deserialize_with = "nested")] Vec<Operand>),
    /// Label.
    Label(InstructionIndex),
    /// Function by name.
    Function(ExternalId),
    /// Call arguments or results.
    Parameters(#[serde(deserialize_with = "nested")] Vec<Operand>),
    /// A `.branchtargets` list: labels in order.
    BranchTargets(Vec<InstructionIndex>),
    /// A `.calltargets` list: functions in order.
    CallTargets(Vec<ExternalId>),
    /// A `.callprototype`, index into [`Function::prototypes`].
    Prototype(u32),
}

/// Maximum nesting of operands: a call's list may contain a vector of parts.
const DEEPEST: u32 = 8;

thread_local! {
    /// Nesting depth of the operand being deserialized.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Deserializes nested operands; excessive nesting is an error instead of endless recursion.
fn nested<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    let depth = DEPTH.get();
    if depth >= DEEPEST {
        return Err(D::Error::custom("operands are nested too deeply"));
    }
    DEPTH.set(depth + 1);
    let read = T::deserialize(deserializer);
    DEPTH.set(depth);
    read
}

/// Position in the PTX text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct TextPosition {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

/// Position in the program's source, from `.loc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct SourceLocation {
    /// Number of the `.file` directive.
    pub file: u32,
    /// Line, from 1; 0 when unknown.
    pub line: u32,
    /// For code in an inlined function, the index (from 1) in [`Function::inlined_at`] of the replaced
    /// call; 0 for other code.
    pub inlined: u32,
}

/// An instruction.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Instruction {
    /// Form: a line of the op table.
    pub op: Op,
    /// Token in each modifier slot of the form's syntax.
    pub tokens: Vec<Option<Token>>,
    /// Guard.
    pub guard: Option<Guard>,
    /// Operands, one per operand of the form's syntax.
    pub operands: Vec<Operand>,
    /// Position in the PTX text.
    pub place: TextPosition,
    /// Position in the program's source.
    pub location: SourceLocation,
}

impl Instruction {
    /// True if the instruction has this modifier.
    pub fn has(&self, modifier: Modifier) -> bool {
        self.tokens.contains(&Some(Token::Modifier(modifier)))
    }

    /// True if its memory access is ordered with respect to other threads (PTX manual 8.4).
    pub fn is_ordered(&self) -> bool {
        let orders = |modifier| {
            matches!(
                modifier,
                Modifier::Relaxed
                    | Modifier::Acquire
                    | Modifier::Release
                    | Modifier::Volatile
                    | Modifier::Mmio
            )
        };
        self.modifiers().any(orders)
    }

    /// True if control may continue at the next instruction.
    pub fn falls_through(&self) -> bool {
        self.guard.is_some() || !self.op.leaves()
    }

    /// Modifiers that are not types, in slot order.
    pub fn modifiers(&self) -> impl Iterator<Item = Modifier> + '_ {
        self.tokens.iter().filter_map(|token| match token {
            Some(Token::Modifier(modifier)) => Some(*modifier),
            _ => None,
        })
    }

    /// Type modifiers in order.
    pub fn types(&self) -> impl Iterator<Item = ScalarType> + '_ {
        self.tokens.iter().filter_map(|token| match token {
            Some(Token::Type(ty)) => Some(*ty),
            _ => None,
        })
    }

    /// Type modifier `n`, from 0.
    pub fn ty(&self, n: usize) -> Option<ScalarType> {
        self.types().nth(n)
    }

    /// Last type modifier: the instruction's own type.
    pub fn last_type(&self) -> Option<ScalarType> {
        self.types().last()
    }

    /// Number of elements in `.v2`, `.v4`, `.v8`; else 1.
    pub fn vector_length(&self) -> usize {
        self.modifiers()
            .find_map(|modifier| match modifier {
                Modifier::V2 => Some(2),
                Modifier::V4 => Some(4),
                Modifier::V8 => Some(8),
                _ => None,
            })
            .unwrap_or(1)
    }
}

/// Parameters and results of a function (`.callprototype`, or a declaration).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Prototype {
    /// Results.
    pub returns: Vec<Parameter>,
    /// Parameters.
    pub parameters: Vec<Parameter>,
}

/// Launch bounds a kernel declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LaunchBounds {
    /// `.maxntid`: maximum CTA size.
    pub maximum_threads: Option<[u32; 3]>,
    /// `.reqntid`: required CTA size.
    pub required_threads: Option<[u32; 3]>,
    /// `.minnctapersm`.
    pub minimum_ctas_per_sm: Option<u32>,
    /// `.maxnreg`.
    pub maximum_registers: Option<u32>,
    /// `.reqnctapercluster`: required cluster size.
    pub required_cluster: Option<[u32; 3]>,
    /// `.maxclusterrank`: maximum CTAs per cluster.
    pub maximum_cluster_ctas: Option<u32>,
    /// `.explicitcluster`: the launch must set a cluster size, unless the kernel does.
    pub needs_clusters: bool,
    /// `.blocksareclusters`: the launch counts its grid in clusters.
    pub blocks_are_clusters: bool,
}

/// A kernel or device function.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Function {
    /// Name.
    pub name: String,
    /// True for a kernel (`.entry`), false for a device function (`.func`).
    pub is_kernel: bool,
    /// `.noreturn`.
    pub no_return: bool,
    /// Results (device functions).
    pub returns: Vec<Parameter>,
    /// Parameters.
    pub parameters: Vec<Parameter>,
    /// Bytes of the parameter block or area.
    pub parameter_bytes: u32,
    /// Type of each register.
    pub registers: Vec<ScalarType>,
    /// Name of each register, for messages.
    pub register_names: Vec<String>,
    /// Variables declared in the function: local, shared, param (for calls), and static global or constant
    /// ones.
    pub variables: Vec<Variable>,
    /// Names that the function uses but does not define: module variables, functions, textures.
    pub externals: Vec<External>,
    /// `.callprototype` declarations.
    pub prototypes: Vec<Prototype>,
    /// Code. The last instruction does not fall through: a missing `ret` is added.
    pub instructions: Vec<Instruction>,
    /// Launch bounds.
    pub bounds: LaunchBounds,
    /// Calls replaced by inlining. A call in an inlined function refers to an earlier one.
    pub inlined_at: Vec<SourceLocation>,
}

impl Function {
    /// A position in the source, followed by the replaced call that contains it, and so on up to the
    /// function itself.
    pub fn callers(&self, location: SourceLocation) -> impl Iterator<Item = SourceLocation> + '_ {
        std::iter::successors(Some(location), |at| {
            let call = self.inlined_at.get((at.inlined as usize).checked_sub(1)?)?;
            // Untrusted data may contain cycles.
            (call.inlined < at.inlined).then_some(*call)
        })
    }
}

impl Function {
    /// True if the instruction at this position is in the text. The addition of an operand's offset
    /// precedes its instruction, with the same position.
    pub fn has_text(&self, position: usize) -> bool {
        let place = |position: usize| self.instructions.get(position).map(|instruction| instruction.place);
        place(position) != place(position + 1)
    }
}
