//! The syntax tree of a function: the shape of the text with nothing looked up yet.
//!
//! Everything borrows from the module's text; `at` is a byte offset into it.

use super::constant::Constant;

/// A piece of text and where it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<'a> {
    /// The characters.
    pub text: &'a str,
    /// Byte offset into the module.
    pub at: u32,
}

/// A name in operand position, with what hangs on it: `%r1`, `%tid.x`, `table+8`, `table[3]`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reference<'a> {
    /// The name.
    pub name: Word<'a>,
    /// `x` of `%v.x`, without the dot.
    pub selector: Option<&'a str>,
    /// `[n]`: elements from the start.
    pub index: Option<i64>,
    /// `+n` or `-n`: bytes.
    pub offset: Option<i64>,
}

/// An operand.
#[derive(Debug, Clone, PartialEq)]
pub struct Operand<'a> {
    /// What it is.
    pub kind: OperandKind<'a>,
    /// Where it begins.
    pub at: u32,
    /// It stands after a bar (`d|p`).
    pub after_bar: bool,
}

/// The shapes an operand can have.
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
    /// Guard: the predicate and whether it is negated.
    pub guard: Option<(Word<'a>, bool)>,
    /// Opcode with its modifiers, dots and all.
    pub opcode: Word<'a>,
    /// Operands in order.
    pub operands: Vec<Operand<'a>>,
}

/// One declared name.
#[derive(Debug, Clone, PartialEq)]
pub struct Declarator<'a> {
    /// The name.
    pub name: Word<'a>,
    /// `<n>`: stands for `name0` … `name(n-1)`.
    pub count: Option<u64>,
    /// `[n]` or `[]`, outermost first.
    pub dimensions: Vec<Option<u64>>,
    /// Text of the initialiser.
    pub initialiser: Option<Word<'a>>,
}

/// What stands before the names of a declaration.
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
    /// What comes first.
    pub specifiers: Specifiers<'a>,
    /// The names.
    pub declarators: Vec<Declarator<'a>>,
}

/// A parameter of a function or prototype; its name may be missing.
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
    /// Its numbers.
    pub values: Vec<u64>,
}

/// Results, parameters and properties: of a function, or of a `.callprototype`.
#[derive(Debug, Clone, PartialEq)]
pub struct Header<'a> {
    /// The name; `_` in prototypes.
    pub name: Word<'a>,
    /// Results.
    pub returns: Vec<Formal<'a>>,
    /// Parameters.
    pub parameters: Vec<Formal<'a>>,
    /// Performance directives, `.noreturn` among them.
    pub performance: Vec<Performance<'a>>,
}

/// A place of the program's source, as `.loc` gives it.
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
    /// `.loc`: a place of the source.
    Location {
        /// The place.
        at: SourcePlace,
        /// The call that was replaced by the function that the place is in, for inlined functions.
        inlined_at: Option<SourcePlace>,
    },
    /// `.callprototype`, named by the label before it.
    Prototype(Header<'a>),
    /// `.branchtargets`, named by the label before it.
    BranchTargets(Vec<Word<'a>>),
    /// `.calltargets`, named by the label before it.
    CallTargets(Vec<Word<'a>>),
}
