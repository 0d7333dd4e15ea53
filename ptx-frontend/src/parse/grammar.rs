//! Pest grammar, and conversion of its output to a syntax tree.

use pest::Parser;
use pest::error::{ErrorVariant, InputLocation};
use pest::iterators::Pair;

use super::constant::{Constant, ConstantError, Item, evaluate, literal};
use super::tree::{
    Declaration, Declarator, Formal, Header, Instruction, Operand, OperandKind, Performance, Reference,
    SourcePlace, Specifiers, Statement, Word,
};
use crate::source::narrow;

// The derive macro generates a public enum without documentation of its variants.
#[allow(missing_docs)]
mod generated {
    /// Parser that pest generates from the grammar file.
    #[derive(pest_derive::Parser)]
    #[grammar = "parse/ptx.pest"]
    pub(super) struct Ptx;
}
use generated::{Ptx, Rule};

/// Maximum nesting of parentheses, brackets and braces.
pub const DEEPEST: u32 = 64;

/// Syntax error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxError {
    /// Unexpected text.
    #[error("expected {expected}")]
    Unexpected {
        /// Position.
        at: u32,
        /// Text that the grammar would accept.
        expected: String,
    },
    /// Nesting beyond [`DEEPEST`].
    #[error("braces, brackets and parentheses nested more than {DEEPEST} deep")]
    TooDeep {
        /// Position at which the limit is exceeded.
        at: u32,
    },
    /// Constant without a value.
    #[error("{error}")]
    Constant {
        /// Position of the constant.
        at: u32,
        /// Cause.
        error: ConstantError,
    },
}

impl SyntaxError {
    /// Byte offset of the error.
    pub fn at(&self) -> u32 {
        match self {
            SyntaxError::Unexpected { at, .. }
            | SyntaxError::TooDeep { at }
            | SyntaxError::Constant { at, .. } => *at,
        }
    }
}

type Result<T> = std::result::Result<T, SyntaxError>;

/// Parses a function's body: the text between its braces, without comments ([`super::comment`]), from byte
/// `base` of the module.
pub fn body(text: &str, base: u32) -> Result<Vec<Statement<'_>>> {
    let reader = Reader { base };
    let pair = reader.parse(Rule::body, text)?;
    let mut statements = Vec::new();
    for pair in pair.into_inner() {
        statements.extend(reader.statement(pair)?);
    }
    Ok(statements)
}

/// Parses a function header up to its body.
pub fn header(text: &str, base: u32) -> Result<Header<'_>> {
    let reader = Reader { base };
    reader.header(reader.parse(Rule::header, text)?)
}

/// Parses a variable's declaration up to its first initialiser.
pub fn variable_head(text: &str, base: u32) -> Result<Declaration<'_>> {
    let reader = Reader { base };
    reader.declaration(reader.parse(Rule::variable_head, text)?)
}

/// Parses the names that follow an initialiser and a comma.
pub fn variable_next(text: &str, base: u32) -> Result<Vec<Declarator<'_>>> {
    let reader = Reader { base };
    Ok(reader.declaration(reader.parse(Rule::variable_next, text)?)?.declarators)
}

/// A value of an initialiser.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Initial<'a> {
    /// A number.
    Constant(Constant),
    /// An address, or some bytes of one.
    Address {
        /// Mask of the bytes in `0xFF00(…)`.
        mask: Option<u64>,
        /// Variable or function.
        name: Word<'a>,
        /// True for `generic(name)`.
        generic: bool,
        /// Bytes added.
        offset: i64,
    },
}

/// Parses a value of an initialiser.
pub fn initial(text: &str, base: u32) -> Result<Initial<'_>> {
    let reader = Reader { base };
    reader.initial(reader.parse(Rule::initial, text)?)
}

struct Reader {
    /// Offset of the parsed text in the module.
    base: u32,
}

impl Reader {
    fn parse<'a>(&self, rule: Rule, text: &'a str) -> Result<Pair<'a, Rule>> {
        self.check_depth(text)?;
        let mut pairs = Ptx::parse(rule, text).map_err(|error| self.syntax_error(&error))?;
        pairs.next().ok_or_else(|| SyntaxError::Unexpected { at: self.base, expected: "text".to_owned() })
    }

    /// Limits the nesting before the parser runs, because its stack grows with nesting.
    fn check_depth(&self, text: &str) -> Result<()> {
        let mut depth = 0u32;
        for (at, byte) in text.bytes().enumerate() {
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                _ => continue,
            }
            if depth > DEEPEST {
                return Err(SyntaxError::TooDeep { at: self.base.saturating_add(narrow(at)) });
            }
        }
        Ok(())
    }

    fn syntax_error(&self, error: &pest::error::Error<Rule>) -> SyntaxError {
        let at = match error.location {
            InputLocation::Pos(at) | InputLocation::Span((at, _)) => at,
        };
        let expected = match &error.variant {
            ErrorVariant::ParsingError { positives, .. } => expectation(positives),
            ErrorVariant::CustomError { message } => message.clone(),
        };
        SyntaxError::Unexpected { at: self.base.saturating_add(narrow(at)), expected }
    }

    fn at(&self, pair: &Pair<'_, Rule>) -> u32 {
        self.base.saturating_add(narrow(pair.as_span().start()))
    }

    fn word<'a>(&self, pair: &Pair<'a, Rule>) -> Word<'a> {
        Word { text: pair.as_str(), at: self.at(pair) }
    }

    fn statement<'a>(&self, pair: Pair<'a, Rule>) -> Result<Option<Statement<'a>>> {
        Ok(Some(match pair.as_rule() {
            Rule::open => Statement::Open,
            Rule::close => Statement::Close(self.at(&pair)),
            Rule::label => match pair.into_inner().next() {
                Some(name) => Statement::Label(self.word(&name)),
                None => return Ok(None),
            },
            Rule::instruction => Statement::Instruction(self.instruction(pair)?),
            Rule::declaration => Statement::Declaration(self.declaration(pair)?),
            Rule::location => {
                let inlined = pair.clone().into_inner().find(|part| part.as_rule() == Rule::inlined_at);
                Statement::Location { at: source_place(pair), inlined_at: inlined.map(source_place) }
            }
            Rule::prototype => Statement::Prototype(self.header(pair)?),
            Rule::branch_targets => {
                Statement::BranchTargets(pair.into_inner().map(|name| self.word(&name)).collect())
            }
            Rule::call_targets => {
                Statement::CallTargets(pair.into_inner().map(|name| self.word(&name)).collect())
            }
            // `.file`, `.pragma`, `.section`, and the end produce no code.
            _ => return Ok(None),
        }))
    }

    fn instruction<'a>(&self, pair: Pair<'a, Rule>) -> Result<Instruction<'a>> {
        let mut guard = None;
        let mut opcode = self.word(&pair);
        let mut operands = Vec::new();
        for pair in pair.into_inner() {
            match pair.as_rule() {
                Rule::guard => {
                    let mut negated = false;
                    for part in pair.into_inner() {
                        match part.as_rule() {
                            Rule::negation => negated = true,
                            _ => guard = Some((self.word(&part), negated)),
                        }
                    }
                }
                Rule::opcode => opcode = self.word(&pair),
                _ => operands.push(self.operand(pair)?),
            }
        }
        Ok(Instruction { guard, opcode, operands })
    }

    fn operands<'a>(&self, pair: Pair<'a, Rule>) -> Result<Vec<Operand<'a>>> {
        pair.into_inner().map(|inner| self.operand(inner)).collect()
    }

    fn operand<'a>(&self, pair: Pair<'a, Rule>) -> Result<Operand<'a>> {
        let at = self.at(&pair);
        let after_bar = pair.as_rule() == Rule::bar;
        let kind = match pair.as_rule() {
            Rule::expression => OperandKind::Constant(self.expression(pair)?),
            Rule::vector => OperandKind::Vector(self.operands(pair)?),
            Rule::address => OperandKind::Address(self.operands(pair)?),
            Rule::parameters => OperandKind::Parameters(self.operands(pair)?),
            Rule::negated => OperandKind::Negated(self.inner_reference(pair)?),
            Rule::minus => OperandKind::Minus(self.inner_reference(pair)?),
            Rule::bar => OperandKind::Reference(self.inner_reference(pair)?),
            _ => OperandKind::Reference(self.reference(pair)?),
        };
        Ok(Operand { kind, at, after_bar })
    }

    fn inner_reference<'a>(&self, pair: Pair<'a, Rule>) -> Result<Reference<'a>> {
        let whole = self.word(&pair);
        match pair.into_inner().next() {
            Some(inner) => self.reference(inner),
            None => Ok(Reference { name: whole, selector: None, index: None, offset: None }),
        }
    }

    fn reference<'a>(&self, pair: Pair<'a, Rule>) -> Result<Reference<'a>> {
        let mut reference = Reference { name: self.word(&pair), selector: None, index: None, offset: None };
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::selector => reference.selector = part.as_str().get(1..),
                Rule::index => {
                    for expression in part.into_inner() {
                        reference.index = Some(self.integer_expression(expression)?);
                    }
                }
                Rule::offset => reference.offset = Some(self.offset(part)?),
                _ => reference.name = self.word(&part),
            }
        }
        Ok(reference)
    }

    /// `+ a - b`: value of the expression with a preceding zero.
    fn offset(&self, pair: Pair<'_, Rule>) -> Result<i64> {
        let at = self.at(&pair);
        let mut items = vec![Item::Value(Constant::Signed(0))];
        self.items(pair, &mut items)?;
        integer(at, value_of(at, &items)?)
    }

    fn integer_expression(&self, pair: Pair<'_, Rule>) -> Result<i64> {
        let at = self.at(&pair);
        integer(at, self.expression(pair)?)
    }

    fn expression(&self, pair: Pair<'_, Rule>) -> Result<Constant> {
        let at = self.at(&pair);
        let mut items = Vec::new();
        self.items(pair, &mut items)?;
        match items.as_slice() {
            [Item::Value(value)] => Ok(*value),
            items => value_of(at, items),
        }
    }

    fn items<'a>(&self, pair: Pair<'a, Rule>, items: &mut Vec<Item<'a>>) -> Result<()> {
        for part in pair.into_inner() {
            items.push(match part.as_rule() {
                Rule::unary => Item::Unary(part.as_str()),
                Rule::operator => Item::Operator(part.as_str()),
                Rule::warp_size => Item::Value(Constant::Signed(32)),
                Rule::expression => Item::Value(self.expression(part)?),
                _ => Item::Value(self.number(&part)?),
            });
        }
        Ok(())
    }

    fn number(&self, pair: &Pair<'_, Rule>) -> Result<Constant> {
        literal(pair.as_str()).map_err(|error| SyntaxError::Constant { at: self.at(pair), error })
    }

    fn natural(&self, pair: Pair<'_, Rule>) -> Result<u64> {
        let at = self.at(&pair);
        let value = match pair.as_rule() {
            Rule::number => self.number(&pair)?,
            _ => self.expression(pair)?,
        };
        let value = value.integer_bits().filter(|bits| *bits <= i64::MAX.cast_unsigned());
        value.ok_or(SyntaxError::Constant { at, error: ConstantError::TooLarge })
    }

    fn specifier<'a>(&self, pair: Pair<'a, Rule>, specifiers: &mut Specifiers<'a>) -> Result<()> {
        match pair.as_rule() {
            Rule::alignment => {
                for number in pair.into_inner() {
                    specifiers.align = Some(self.natural(number)?);
                }
            }
            Rule::attribute => {
                let words = pair.into_inner().filter(|part| part.as_rule() == Rule::word);
                specifiers.attributes.extend(words.map(|word| self.word(&word)));
            }
            _ => specifiers.words.push(self.word(&pair)),
        }
        Ok(())
    }

    fn declaration<'a>(&self, pair: Pair<'a, Rule>) -> Result<Declaration<'a>> {
        let mut declaration = Declaration { specifiers: Specifiers::default(), declarators: Vec::new() };
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::EOI => {}
                Rule::declarator => declaration.declarators.push(self.declarator(part)?),
                _ => self.specifier(part, &mut declaration.specifiers)?,
            }
        }
        Ok(declaration)
    }

    fn declarator<'a>(&self, pair: Pair<'a, Rule>) -> Result<Declarator<'a>> {
        let mut declarator =
            Declarator { name: self.word(&pair), count: None, dimensions: Vec::new(), initialiser: None };
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::count => {
                    for number in part.into_inner() {
                        declarator.count = Some(self.natural(number)?);
                    }
                }
                Rule::dimension => {
                    let size = part.into_inner().next().map(|size| self.natural(size)).transpose()?;
                    declarator.dimensions.push(size);
                }
                Rule::initialiser => declarator.initialiser = Some(self.word(&part)),
                _ => declarator.name = self.word(&part),
            }
        }
        Ok(declarator)
    }

    fn header<'a>(&self, pair: Pair<'a, Rule>) -> Result<Header<'a>> {
        let mut header = Header {
            name: self.word(&pair),
            returns: Vec::new(),
            parameters: Vec::new(),
            performance: Vec::new(),
        };
        let mut named = false;
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::name => {
                    header.name = self.word(&part);
                    named = true;
                }
                Rule::formals if named => header.parameters = self.formals(part)?,
                Rule::formals => header.returns = self.formals(part)?,
                Rule::performance => header.performance.extend(self.performance(part)?),
                _ => {}
            }
        }
        Ok(header)
    }

    fn formals<'a>(&self, pair: Pair<'a, Rule>) -> Result<Vec<Formal<'a>>> {
        pair.into_inner().map(|formal| self.formal(formal)).collect()
    }

    fn formal<'a>(&self, pair: Pair<'a, Rule>) -> Result<Formal<'a>> {
        let mut formal = Formal { specifiers: Specifiers::default(), declarator: None };
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::declarator => formal.declarator = Some(self.declarator(part)?),
                _ => self.specifier(part, &mut formal.specifiers)?,
            }
        }
        Ok(formal)
    }

    fn performance<'a>(&self, pair: Pair<'a, Rule>) -> Result<Option<Performance<'a>>> {
        let mut name = None;
        let mut values = Vec::new();
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::word => name = Some(self.word(&part)),
                Rule::number => values.push(self.natural(part)?),
                _ => {}
            }
        }
        Ok(name.map(|name| Performance { name, values }))
    }

    fn initial<'a>(&self, pair: Pair<'a, Rule>) -> Result<Initial<'a>> {
        let whole = self.word(&pair);
        let Some(pair) = pair.into_inner().next() else {
            return Err(SyntaxError::Unexpected { at: whole.at, expected: "a value".to_owned() });
        };
        if pair.as_rule() == Rule::expression {
            return self.expression(pair).map(Initial::Constant);
        }
        let (mut mask, mut name, mut generic, mut offset) = (None, whole, false, 0);
        let mut parts: Vec<_> = pair.into_inner().collect();
        if let Some(inner) = parts.iter().position(|part| part.as_rule() == Rule::generic) {
            generic = true;
            let inner = parts.remove(inner);
            parts.extend(inner.into_inner());
        }
        for part in parts {
            match part.as_rule() {
                Rule::number => mask = self.number(&part)?.integer_bits(),
                Rule::offset => offset = self.offset(part)?,
                _ => name = self.word(&part),
            }
        }
        Ok(Initial::Address { mask, name, generic, offset })
    }
}

fn value_of(at: u32, items: &[Item<'_>]) -> Result<Constant> {
    evaluate(items).map_err(|error| SyntaxError::Constant { at, error })
}

fn integer(at: u32, value: Constant) -> Result<i64> {
    let bits = value.integer_bits().map(u64::cast_signed);
    bits.ok_or(SyntaxError::Constant { at, error: ConstantError::NotForFloats })
}

/// Text that the grammar would accept, in the manual's words, without duplicates.
fn expectation(rules: &[Rule]) -> String {
    let mut words: Vec<&str> = rules.iter().map(|rule| rule_name(*rule)).collect();
    words.sort_unstable();
    words.dedup();
    match words.as_slice() {
        [] => "something else".to_owned(),
        [word] => (*word).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

fn rule_name(rule: Rule) -> &'static str {
    match rule {
        Rule::EOI => "the end",
        Rule::open => "`{`",
        Rule::close => "`}`",
        Rule::label => "a label",
        Rule::instruction | Rule::opcode => "an instruction",
        Rule::guard => "a guard",
        Rule::name | Rule::reference => "a name",
        Rule::number | Rule::warp_size | Rule::expression | Rule::unary => "a number",
        Rule::operator | Rule::offset | Rule::index => "an operator",
        Rule::vector => "`{`",
        Rule::address => "`[`",
        Rule::parameters | Rule::formals => "`(`",
        Rule::bar => "`|`",
        Rule::negated | Rule::negation => "`!`",
        Rule::selector => "`.x`",
        Rule::word => "a dotted word",
        Rule::string => "a string",
        Rule::alignment | Rule::attribute | Rule::formal => "a specifier",
        Rule::declarator => "a declared name",
        Rule::count | Rule::dimension => "a size",
        Rule::initialiser | Rule::initial | Rule::address_of | Rule::generic => "an initial value",
        Rule::performance => "a performance directive",
        Rule::location
        | Rule::file
        | Rule::pragma
        | Rule::section
        | Rule::prototype
        | Rule::branch_targets
        | Rule::call_targets
        | Rule::declaration => "a directive",
        _ => "something else",
    }
}
/// The first three numbers of a directive: file, line and column.
fn source_place(pair: Pair<'_, Rule>) -> SourcePlace {
    let mut numbers = pair.into_inner().map(|number| number.as_str().parse().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    SourcePlace { file: next(), line: next(), column: next() }
}
