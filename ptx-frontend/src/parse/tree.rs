//! Syntax tree of a function, before any lookup of names.
//!
//! All text is borrowed from the module; `at` is a byte offset in it.

use super::constant::Constant;

/// A piece of text and its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<'a> {
    /// Characters.
    pub text: &'a str,
    /// Byte offset in the module.
    pub at: u32,
}

/// A name in operand position, with its suffixes: `%r1`, `%tid.x`, `table+8`, `table[3]`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reference<'a> {
    /// Name.
    pub name: Word<'a>,
    /// `x` of `%v.x`, without the dot.
    pub selector: Option<&'a str>,
    /// `[n]`: index of an element.
    pub index: Option<i64>,
    /// `+n` or `-n`: offset in bytes.
    pub offset: Option<i64>,
}

/// An operand.
#[derive(Debug, Clone, PartialEq)]
pub struct Operand<'a> {
    /// Kind.
    pub kind: OperandKind<'a>,
    /// Position.
    pub at: u32,
    /// True after a bar (`d|p`).
    pub after_bar: bool,
}

/// Kind of an operand.
#[derive(Debug, Clone, PartialEq)]
pub enum OperandKind<'a> {
    /// A name.
    Reference(Reference<'a>),
    /// `!name`.
    Negated(Reference<'a>),
    /// `-a`, of a name.
    Minus(Reference<'a>),
    /// A constant expression.
    Constant(Constant),
    /// `[…]`.
    Address(Vec<Operand<'a>>),
    /// `{…}`.
    Vector(Vec<Operand<'a>>),
    /// `(…)`.
    Parameters(Vec<Operand<'a>>),
}

/// An instruction.
#[derive(Debug, Clone, PartialEq)]
pub struct Instruction<'a> {
    /// Guard: predicate, and whether it is negated.
    pub guard: Option<(Word<'a>, bool)>,
    /// Opcode with its modifiers, including dots.
    pub opcode: Word<'a>,
    /// Operands in order.
    pub operands: Vec<Operand<'a>>,
}

/// A declared name.
#[derive(Debug, Clone, PartialEq)]
pub struct Declarator<'a> {
    /// Name.
    pub name: Word<'a>,
    /// `<n>`: declares `name0` … `name(n-1)`.
    pub count: Option<u64>,
    /// `[n]` or `[]`, outermost first.
    pub dimensions: Vec<Option<u64>>,
    /// Text of the initialiser.
    pub initialiser: Option<Word<'a>>,
}

/// Specifiers before the names of a declaration.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Specifiers<'a> {
    /// Dotted words in order: linkage, space, vector length, type, `.ptr` and its space.
    pub words: Vec<Word<'a>>,
    /// `.align`.
    pub align: Option<u64>,
    /// Words of `.attribute(…)`.
    pub attributes: Vec<Word<'a>>,
}

/// A declaration of registers or variables.
#[derive(Debug, Clone, PartialEq)]
pub struct Declaration<'a> {
    /// Specifiers.
    pub specifiers: Specifiers<'a>,
    /// Declared names.
    pub declarators: Vec<Declarator<'a>>,
}

/// Parameter of a function or prototype, possibly unnamed.
#[derive(Debug, Clone, PartialEq)]
pub struct Formal<'a> {
    /// Space and type.
    pub specifiers: Specifiers<'a>,
    /// Name and size.
    pub declarator: Option<Declarator<'a>>,
}

/// A performance directive: `.maxntid 256, 1, 1`.
#[derive(Debug, Clone, PartialEq)]
pub struct Performance<'a> {
    /// The directive, with its dot.
    pub name: Word<'a>,
    /// Numbers.
    pub values: Vec<u64>,
}

/// Results, parameters and properties of a function or of a `.callprototype`.
#[derive(Debug, Clone, PartialEq)]
pub struct Header<'a> {
    /// Name; `_` in prototypes.
    pub name: Word<'a>,
    /// Results.
    pub returns: Vec<Formal<'a>>,
    /// Parameters.
    pub parameters: Vec<Formal<'a>>,
    /// Performance directives, including `.noreturn`.
    pub performance: Vec<Performance<'a>>,
}

/// A position in the program's source, from `.loc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SourcePlace {
    /// Number of the `.file` directive.
    pub file: u32,
    /// Line.
    pub line: u32,
    /// Column.
    pub column: u32,
}

/// A statement. Scopes are marks in the flat list.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement<'a> {
    /// `{`.
    Open,
    /// `}`.
    Close(u32),
    /// `name:`.
    Label(Word<'a>),
    /// An instruction.
    Instruction(Instruction<'a>),
    /// A declaration.
    Declaration(Declaration<'a>),
    /// `.loc`: a position in the source.
    Location {
        /// Position.
        at: SourcePlace,
        /// For inlined functions, the replaced call that contains the position.
        inlined_at: Option<SourcePlace>,
    },
    /// `.callprototype`, named by the preceding label.
    Prototype(Header<'a>),
    /// `.branchtargets`, named by the preceding label.
    BranchTargets(Vec<Word<'a>>),
    /// `.calltargets`, named by the preceding label.
    CallTargets(Vec<Word<'a>>),
}
