//! Resolution errors of a syntactically correct function: names, forms, operands, sizes.

use crate::isa::ScalarType;
use crate::parse::grammar::SyntaxError;

/// An error and the byte offset of its cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At<E> {
    /// Offset in the module's text.
    pub at: u32,
    /// Error.
    pub error: E,
}

/// Reason for which a function or variable has no typed form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// Opcode that is not in the op table.
    #[error("unknown instruction `{opcode}`")]
    UnknownInstruction {
        /// Opcode with its modifiers, as written.
        opcode: String,
    },
    /// Existing PTX instruction that Voltsim does not support.
    #[error("instruction `{opcode}` is not supported: {reason}")]
    Unsupported {
        /// Opcode with its modifiers, as written.
        opcode: String,
        /// Cause.
        reason: &'static str,
    },
    /// Modifier that PTX lacks, or that is unknown here.
    #[error("unknown modifier `.{modifier}` of `{opcode}`")]
    UnknownModifier {
        /// Opcode as written.
        opcode: String,
        /// Unknown modifier.
        modifier: String,
        /// Closest forms of this opcode.
        forms: Vec<&'static str>,
    },
    /// Combination of known modifiers that no form has.
    #[error("no form of `{opcode}` has these modifiers")]
    NoForm {
        /// Opcode as written.
        opcode: String,
        /// Closest forms of this opcode.
        forms: Vec<&'static str>,
    },
    /// Number or kinds of operands that match no form.
    #[error("the operands of `{opcode}` match no form")]
    Operands {
        /// Opcode as written.
        opcode: String,
        /// Forms with these modifiers.
        forms: Vec<&'static str>,
    },
    /// Operand of the wrong kind.
    #[error("expected {expected}, found `{text}`")]
    WrongOperand {
        /// Operand as written.
        text: String,
        /// Expected kind of operand.
        expected: &'static str,
    },
    /// Constant that the operand's type cannot hold.
    #[error("expected a value of type .{}, found {found} constant", ty.name())]
    WrongConstant {
        /// Kind of constant: `an integer` or `a floating-point`.
        found: &'static str,
        /// Type of the operand.
        ty: ScalarType,
    },
    /// Undeclared name.
    #[error("`{name}` is not declared")]
    Undeclared {
        /// Name.
        name: String,
    },
    /// Name declared twice in a scope.
    #[error("`{name}` is declared twice")]
    DeclaredTwice {
        /// Name.
        name: String,
    },
    /// Label that is not in this function, or not in a scope around the branch.
    #[error("no label `{name}` in this function")]
    NoLabel {
        /// Label.
        name: String,
    },
    /// Label of the wrong kind.
    #[error("`{name}` is not the name of a {expected}")]
    NotADeclaration {
        /// Label.
        name: String,
        /// Expected kind: `.branchtargets`, `.calltargets` or `.callprototype`.
        expected: &'static str,
    },
    /// `.branchtargets`, `.calltargets` or `.callprototype` without a label.
    #[error("`{directive}` without a label before it")]
    Unnamed {
        /// Directive.
        directive: &'static str,
    },
    /// Part `%v.x` that does not exist.
    #[error("`{name}` has no part `.{selector}`")]
    NoSelector {
        /// Name.
        name: String,
        /// Part.
        selector: String,
    },
    /// `{` without `}`, or the reverse.
    #[error("`{mark}` without its partner")]
    Unbalanced {
        /// Unmatched brace.
        mark: char,
    },
    /// Unknown directive or specifier.
    #[error("unknown directive `{word}`")]
    UnknownDirective {
        /// Word as written.
        word: String,
    },
    /// Declaration without type or space.
    #[error("the declaration of `{name}` has no {missing}")]
    Incomplete {
        /// Name.
        name: String,
        /// Missing specifier.
        missing: &'static str,
    },
    /// Variable, parameter or register file beyond any machine.
    #[error("`{name}` is too large")]
    TooLarge {
        /// Name.
        name: String,
    },
    /// Alignment that is no power of two.
    #[error("alignment {align} of `{name}` is not a power of two")]
    BadAlignment {
        /// Name.
        name: String,
        /// Alignment.
        align: u64,
    },
    /// Declaration that its state space or type forbids.
    #[error("`{name}` {rule}")]
    Declaration {
        /// Name.
        name: String,
        /// Violated rule, phrased to follow the name.
        rule: &'static str,
    },
    /// Initialiser that does not fit its variable.
    #[error("initialiser of `{name}`: {reason}")]
    Initialiser {
        /// Variable.
        name: String,
        /// Cause.
        reason: String,
    },
}

/// Error in a module's variable declaration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VariableError {
    /// Syntax error.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// Resolution error.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
}

impl ResolveError {
    /// Advice to the user, if there is any.
    pub fn remedy(&self) -> Option<String> {
        match self {
            ResolveError::UnknownInstruction { .. } => {
                Some("`voltsim status isa` lists the supported instructions".to_owned())
            }
            ResolveError::UnknownModifier { forms, .. }
            | ResolveError::NoForm { forms, .. }
            | ResolveError::Operands { forms, .. } => Some(format!("known forms: {}", forms.join("; "))),
            _ => None,
        }
    }

    /// The error with its offset.
    pub(crate) fn at(self, at: u32) -> At<ResolveError> {
        At { at, error: self }
    }
}
