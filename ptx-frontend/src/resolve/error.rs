//! What can be wrong with a function whose shape is right: names, forms, operands, sizes.

use crate::isa::ScalarType;
use crate::parse::grammar::SyntaxError;

/// An error and the byte offset of what causes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At<E> {
    /// Offset into the module's text.
    pub at: u32,
    /// What is wrong there.
    pub error: E,
}

/// Why a function or variable has no typed form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// The op table has no such opcode.
    #[error("unknown instruction `{opcode}`")]
    UnknownInstruction {
        /// As written, with its modifiers.
        opcode: String,
    },
    /// PTX has the instruction, and it does not run here.
    #[error("instruction `{opcode}` is not supported: {reason}")]
    Unsupported {
        /// As written, with its modifiers.
        opcode: String,
        /// Why not.
        reason: &'static str,
    },
    /// PTX has no such modifier, or none that is known here.
    #[error("unknown modifier `.{modifier}` of `{opcode}`")]
    UnknownModifier {
        /// As written.
        opcode: String,
        /// The modifier.
        modifier: String,
        /// The forms of this opcode that are closest.
        forms: Vec<&'static str>,
    },
    /// Each modifier is known, but no form has them together.
    #[error("no form of `{opcode}` has these modifiers")]
    NoForm {
        /// As written.
        opcode: String,
        /// The forms of this opcode that are closest.
        forms: Vec<&'static str>,
    },
    /// The number or kinds of the operands fit no form.
    #[error("the operands of `{opcode}` fit no form")]
    Operands {
        /// As written.
        opcode: String,
        /// The forms with these modifiers.
        forms: Vec<&'static str>,
    },
    /// An operand of the wrong kind.
    #[error("`{text}` where {expected} is needed")]
    WrongOperand {
        /// As written.
        text: String,
        /// What should stand there.
        expected: &'static str,
    },
    /// A constant that the operand's type cannot hold.
    #[error("{found} constant where a value of type .{} is needed", ty.name())]
    WrongConstant {
        /// `an integer` or `a floating-point`.
        found: &'static str,
        /// The operand's type.
        ty: ScalarType,
    },
    /// A name without declaration.
    #[error("`{name}` is not declared")]
    Undeclared {
        /// The name.
        name: String,
    },
    /// A name declared before in the same scope.
    #[error("`{name}` is declared twice")]
    DeclaredTwice {
        /// The name.
        name: String,
    },
    /// A label that does not stand in this function, or in no scope around the branch.
    #[error("no label `{name}` in this function")]
    NoLabel {
        /// The label.
        name: String,
    },
    /// A label that names nothing of the right kind.
    #[error("`{name}` is not the name of a {expected}")]
    NotADeclaration {
        /// The label.
        name: String,
        /// `.branchtargets`, `.calltargets` or `.callprototype`.
        expected: &'static str,
    },
    /// `.branchtargets`, `.calltargets`, `.callprototype` need a name.
    #[error("`{directive}` without a label before it")]
    Unnamed {
        /// The directive.
        directive: &'static str,
    },
    /// `%v.x` of something that has no such part.
    #[error("`{name}` has no part `.{selector}`")]
    NoSelector {
        /// The name.
        name: String,
        /// The part.
        selector: String,
    },
    /// `{` without `}` or the reverse.
    #[error("`{mark}` without its partner")]
    Unbalanced {
        /// Which brace.
        mark: char,
    },
    /// A directive or specifier that is not known.
    #[error("unknown directive `{word}`")]
    UnknownDirective {
        /// As written.
        word: String,
    },
    /// A declaration without type or space.
    #[error("the declaration of `{name}` has no {missing}")]
    Incomplete {
        /// The name.
        name: String,
        /// What it lacks.
        missing: &'static str,
    },
    /// A variable, parameter or register file beyond any machine.
    #[error("`{name}` is too large")]
    TooLarge {
        /// The name.
        name: String,
    },
    /// Alignment that is not a power of two.
    #[error("alignment {align} of `{name}` is not a power of two")]
    BadAlignment {
        /// The name.
        name: String,
        /// The alignment.
        align: u64,
    },
    /// A declaration that its state space or type does not allow.
    #[error("`{name}` {rule}")]
    Declaration {
        /// The name.
        name: String,
        /// The rule broken, to be read after the name.
        rule: &'static str,
    },
    /// An initialiser that does not fit its variable.
    #[error("initialiser of `{name}`: {reason}")]
    Initialiser {
        /// The variable.
        name: String,
        /// What is wrong.
        reason: String,
    },
}

/// An error of a module's variable: in its shape or in its meaning.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VariableError {
    /// The text has not the shape of a declaration.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// The declaration does not make sense.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
}

impl ResolveError {
    /// What the reader can do about it, if there is something to say.
    pub fn remedy(&self) -> Option<String> {
        match self {
            ResolveError::UnknownInstruction { .. } => {
                Some("`voltsim status isa` lists the instructions that are known".to_owned())
            }
            ResolveError::UnknownModifier { forms, .. }
            | ResolveError::NoForm { forms, .. }
            | ResolveError::Operands { forms, .. } => Some(format!("known forms: {}", forms.join("; "))),
            _ => None,
        }
    }

    /// The error at a place.
    pub(crate) fn at(self, at: u32) -> At<ResolveError> {
        At { at, error: self }
    }
}
