//! The typed intermediate form of a PTX function: what the parser makes, what the engine binds to its own ops.
//!
//! Instructions are a flat list; labels are instruction indices. Registers, variables and outside symbols are small
//! numbers into the function's own tables, so that a function stands alone and can be cached by content.

use std::cell::Cell;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::isa::{Modifier, Op, Part, ScalarType, SpecialRegister, Token};

/// Index into [`Function::registers`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RegisterId(pub u32);

/// Index into [`Function::variables`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct VariableId(pub u32);

/// Index into [`Function::externals`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ExternalId(pub u32);

/// Index into [`Function::instructions`]: the instruction a label stands before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct InstructionIndex(pub u32);

/// State space of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Space {
    /// Device memory.
    Global,
    /// Constant memory.
    Const,
    /// Per CTA.
    Shared,
    /// Per thread.
    Local,
    /// Parameters of kernels, functions and calls.
    Param,
}

/// Who sees a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Linkage {
    /// This module only.
    Internal,
    /// Other modules too.
    Visible,
    /// Defined in another module.
    Extern,
    /// Visible, and may be replaced by another definition.
    Weak,
    /// Visible, shared between modules, the largest wins.
    Common,
}

/// One initial value of a variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Initial {
    /// Bytes at an offset.
    Bytes {
        /// Bytes from the variable's start.
        offset: u64,
        /// The value, little endian.
        bytes: Vec<u8>,
    },
    /// Address of a variable or function (plus `addend`), or some bytes of it (`mask(sym)` operators).
    Address {
        /// Bytes from the variable's start.
        offset: u64,
        /// Name of the variable or function.
        symbol: String,
        /// Added to the address.
        addend: i64,
        /// Bytes stored.
        width: u32,
        /// Right shift applied to the address before it is cut to `width` bytes (0xFF00-style masks).
        shift: u32,
        /// Whether the generic address is meant (`generic(sym)`).
        generic: bool,
    },
    /// `addr_mode_0 = wrap`: a property of a texture, sampler or surface reference.
    Property {
        /// Its name.
        name: String,
        /// Its value: a number or a name.
        value: String,
    },
}

/// A variable of a module or function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variable {
    /// Name, unique within its table (variables of inner scopes get a suffix).
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
    /// Initial values; everything else is zero.
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
    /// Bytes from the start of the parameter block (kernels) or of the frame's parameter area (functions), where the
    /// parameters come first and the results after them.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
    /// Alignment in bytes.
    pub align: u32,
    /// Declared in `.reg` space.
    pub in_register: bool,
    /// First register of a function's own parameter in `.reg` space; prototypes have none.
    pub register: Option<RegisterId>,
}

impl Parameter {
    /// Elements: those of a vector or array, one of anything else.
    pub fn elements(&self) -> u32 {
        self.size.checked_div(self.ty.bytes()).unwrap_or(1).max(1)
    }

    /// Registers of a function's own parameter in `.reg` space, one for each element of a vector.
    pub fn registers(&self) -> impl Iterator<Item = RegisterId> + use<> {
        let count = self.elements();
        self.register.into_iter().flat_map(move |first| (first.0..first.0 + count).map(RegisterId))
    }
}

/// A name that the function uses and does not define.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct External {
    /// The name.
    pub name: String,
}

/// Guard predicate `@p` or `@!p`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Guard {
    /// The predicate.
    pub register: RegisterId,
    /// `@!p`.
    pub negated: bool,
}

/// What an address counts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AddressBase {
    /// A register's value.
    Register(RegisterId),
    /// A variable or parameter of this function.
    Variable(VariableId),
    /// A parameter of this function, by position.
    Parameter(u32),
    /// A return value of this function, by position.
    Return(u32),
    /// A variable of a module.
    External(ExternalId),
    /// Zero: the offset is the address.
    Absolute,
}

/// An operand.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Operand {
    /// An optional operand that was left out.
    Absent,
    /// `_`: the result is not wanted.
    Discard,
    /// A register.
    Register(RegisterId),
    /// `!p`.
    NegatedPredicate(RegisterId),
    /// `a.b2`, `-a`, `-a.b2`: a part of a word, or its negative, in a video instruction.
    Part {
        /// The word.
        #[serde(deserialize_with = "nested")]
        of: Box<Operand>,
        /// Which part; the whole word without.
        part: Option<Part>,
        /// The negative of it.
        minus: bool,
    },
    /// A constant, as the bits of the operand's type: IEEE bits of floats; integers cut to the type's width and
    /// extended to 64 bits, with their sign if the type is signed and with zeros if not; 0 or 1 for predicates.
    Immediate(u64),
    /// A special register.
    Special(SpecialRegister),
    /// `[base + offset]`, or the bare name of a variable where its address is meant (`mov`).
    Address {
        /// What it counts from.
        base: AddressBase,
        /// Bytes added.
        offset: i64,
    },
    /// `[a, b, {x, y}]`: a place of a texture or surface.
    Texel {
        /// The texture or surface: the address of its variable, or a register with its handle.
        #[serde(deserialize_with = "nested")]
        handle: Box<Operand>,
        /// The sampler, or [`Operand::Absent`].
        #[serde(deserialize_with = "nested")]
        sampler: Box<Operand>,
        /// Elements of the coordinate vector that mean something ([`crate::isa::Geometry`]).
        #[serde(deserialize_with = "nested")]
        coordinates: Vec<Operand>,
    },
    /// `{a, b, …}`.
    Vector(#[serde(deserialize_with = "nested")] Vec<Operand>),
    /// A label.
    Label(InstructionIndex),
    /// A function by name.
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

/// Operands in operands, at most: in a call's list a vector of parts.
const DEEPEST: u32 = 8;

thread_local! {
    /// Operands that are being read around the one that is read now.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Reads operands of an operand. More of them in one another than a text can have are an error and no endless recursion.
fn nested<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    let depth = DEPTH.get();
    if depth >= DEEPEST {
        return Err(D::Error::custom("operands in operands without end"));
    }
    DEPTH.set(depth + 1);
    let read = T::deserialize(deserializer);
    DEPTH.set(depth);
    read
}

/// Where something stands in the PTX text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Place {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

/// Where something stands in the program's source, by `.loc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct SourceLocation {
    /// Number of the `.file` directive.
    pub file: u32,
    /// Line, from 1; 0 when unknown.
    pub line: u32,
    /// Of code in an inlined function the number of the call that was replaced, from 1, in [`Function::inlined_at`]; 0 for
    /// other code.
    pub inlined: u32,
}

/// An instruction.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Instruction {
    /// The form: a line of the op table.
    pub op: Op,
    /// What fills each modifier slot of the form's syntax.
    pub tokens: Vec<Option<Token>>,
    /// Guard.
    pub guard: Option<Guard>,
    /// Operands, one per operand of the form's syntax.
    pub operands: Vec<Operand>,
    /// Place in the PTX text.
    pub place: Place,
    /// Place in the program's source.
    pub location: SourceLocation,
}

impl Instruction {
    /// Does the instruction carry this modifier?
    pub fn has(&self, modifier: Modifier) -> bool {
        self.tokens.contains(&Some(Token::Modifier(modifier)))
    }

    /// Has what it does at an address an order with what others do there (manual section 8.4)?
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

    /// Can control go on to the next instruction?
    pub fn falls_through(&self) -> bool {
        self.guard.is_some() || !self.op.leaves()
    }

    /// The modifiers that are not types, in slot order.
    pub fn modifiers(&self) -> impl Iterator<Item = Modifier> + '_ {
        self.tokens.iter().filter_map(|token| match token {
            Some(Token::Modifier(modifier)) => Some(*modifier),
            _ => None,
        })
    }

    /// The type modifiers in order.
    pub fn types(&self) -> impl Iterator<Item = ScalarType> + '_ {
        self.tokens.iter().filter_map(|token| match token {
            Some(Token::Type(ty)) => Some(*ty),
            _ => None,
        })
    }

    /// The n-th type modifier, from 0.
    pub fn ty(&self, n: usize) -> Option<ScalarType> {
        self.types().nth(n)
    }

    /// The last type modifier: the instruction's own type.
    pub fn last_type(&self) -> Option<ScalarType> {
        self.types().last()
    }

    /// Elements by `.v2`, `.v4`, `.v8`; 1 without.
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

/// Types of a function's parameters and results (`.callprototype`, or of a declaration).
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
    /// `.maxntid`: the largest CTA.
    pub maximum_threads: Option<[u32; 3]>,
    /// `.reqntid`: the only CTA size.
    pub required_threads: Option<[u32; 3]>,
    /// `.minnctapersm`.
    pub minimum_ctas_per_sm: Option<u32>,
    /// `.maxnreg`.
    pub maximum_registers: Option<u32>,
    /// `.reqnctapercluster`: the only cluster size.
    pub required_cluster: Option<[u32; 3]>,
    /// `.maxclusterrank`: most CTAs of a cluster.
    pub maximum_cluster_ctas: Option<u32>,
    /// `.explicitcluster`: a launch says how large its clusters are, unless the kernel does.
    pub needs_clusters: bool,
    /// `.blocksareclusters`: a launch counts clusters where it would count CTAs.
    pub blocks_are_clusters: bool,
}

/// A kernel or device function.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Function {
    /// Name.
    pub name: String,
    /// A kernel (`.entry`), not a device function (`.func`).
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
    /// Variables declared inside the function: local, shared, param (for calls), and static global or constant ones.
    pub variables: Vec<Variable>,
    /// Names used and not defined here: module variables, functions, textures.
    pub externals: Vec<External>,
    /// `.callprototype` declarations.
    pub prototypes: Vec<Prototype>,
    /// The code. It ends with an instruction that does not fall through: where the text leaves it out, `ret` is added.
    pub instructions: Vec<Instruction>,
    /// Launch bounds.
    pub bounds: LaunchBounds,
    /// Calls that inlined functions have replaced. A call in an inlined function refers to an earlier one.
    pub inlined_at: Vec<SourceLocation>,
}

impl Function {
    /// A place of the source, the call that was replaced by the function that it is in, and so on to the function itself.
    pub fn callers(&self, location: SourceLocation) -> impl Iterator<Item = SourceLocation> + '_ {
        std::iter::successors(Some(location), |at| {
            let call = self.inlined_at.get((at.inlined as usize).checked_sub(1)?)?;
            // Data from elsewhere may refer to itself.
            (call.inlined < at.inlined).then_some(*call)
        })
    }
}

impl Function {
    /// Does the text have the instruction at this position? The addition of an operand's offset stands before its
    /// instruction, at the same place.
    pub fn has_text(&self, position: usize) -> bool {
        let place = |position: usize| self.instructions.get(position).map(|instruction| instruction.place);
        place(position) != place(position + 1)
    }
}
