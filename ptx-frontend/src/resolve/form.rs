//! Selection of an instruction's line in the op table, by its modifiers and operands.

use super::error::ResolveError;
use crate::isa::{
    Absent, Fragment, OpLine, OperandSyntax, OperandType, ScalarType, Support, Token, forms_of,
};
use crate::parse::tree::{Operand, OperandKind};

/// Forms whose modifier slots fit an opcode, with the tokens in the slots.
pub(super) type Candidates = Vec<(&'static OpLine, Vec<Option<Token>>)>;

/// Maximum spellings shown with an error.
const MOST_SHOWN: usize = 8;

/// Candidate forms of `opcode` (with modifiers, as written), in table order; never empty.
pub(super) fn candidates(opcode: &str) -> Result<Candidates, ResolveError> {
    let shown = || opcode.split_whitespace().collect::<String>();
    let mut words = opcode.split('.').map(str::trim);
    let mnemonic = words.next().unwrap_or("");
    let words: Vec<&str> = words.collect();
    let forms = forms_of(mnemonic);
    let tokens: Vec<Token> = words.iter().filter_map(|word| Token::from_name(word)).collect();
    let candidates: Candidates = match tokens.len() == words.len() {
        true => forms.iter().filter_map(|form| Some((*form, form.parsed().fit(&tokens)?))).collect(),
        false => Vec::new(),
    };
    if !candidates.is_empty() {
        return Ok(candidates);
    }
    if let Some(Support::Missing(reason) | Support::Refused(reason)) =
        Absent::of(mnemonic, &words).map(|absent| absent.state)
    {
        return Err(ResolveError::Unsupported { opcode: shown(), reason });
    }
    if forms.is_empty() {
        return Err(ResolveError::UnknownInstruction { opcode: shown() });
    }
    let forms = closest(forms, &tokens);
    Err(match words.iter().find(|word| Token::from_name(word).is_none()) {
        Some(word) => ResolveError::UnknownModifier { opcode: shown(), modifier: (*word).to_owned(), forms },
        None => ResolveError::NoForm { opcode: shown(), forms },
    })
}

/// The few spellings with the most matching tokens.
fn closest(forms: &[&'static OpLine], tokens: &[Token]) -> Vec<&'static str> {
    let spellings = forms.iter().flat_map(|form| form.syntaxes().zip(&form.parsed().spellings));
    let mut ranked: Vec<(usize, &'static str)> = spellings
        .map(|(syntax, slots)| {
            let known = tokens.iter().filter(|token| slots.iter().any(|slot| slot.choices.contains(token)));
            (known.count(), syntax)
        })
        .collect();
    let most = ranked.iter().map(|(known, _)| *known).max().unwrap_or(0);
    ranked.retain(|(known, _)| *known == most);
    ranked.into_iter().map(|(_, syntax)| syntax).take(MOST_SHOWN).collect()
}

/// Operand for each position of the form; `None` if the operands do not fit. An optional position is filled
/// if enough operands remain and the operand has its shape.
pub(super) fn assign(places: &[OperandSyntax], given: &[Operand<'_>]) -> Option<Vec<Option<usize>>> {
    let mut needed = places.iter().filter(|place| !place.optional).count();
    let mut next = 0;
    let mut assignment = Vec::with_capacity(places.len());
    for place in places {
        let operand = given.get(next).filter(|operand| shape_fits(place, operand));
        let taken = if place.optional { operand.is_some() && given.len() - next > needed } else { true };
        if !place.optional {
            operand?;
            needed -= 1;
        }
        assignment.push(taken.then_some(next));
        next += usize::from(taken);
    }
    (next == given.len()).then_some(assignment)
}

fn shape_fits(place: &OperandSyntax, operand: &Operand<'_>) -> bool {
    if place.after_bar != operand.after_bar {
        return false;
    }
    let name = matches!(operand.kind, OperandKind::Reference(_));
    match place.ty {
        OperandType::Label | OperandType::Declaration | OperandType::Function | OperandType::Variable => name,
        OperandType::Parameters => matches!(operand.kind, OperandKind::Parameters(_)),
        OperandType::Texture | OperandType::Surface | OperandType::Tensor => {
            matches!(operand.kind, OperandKind::Address(_))
        }
        OperandType::Offsets | OperandType::PixelOffsets | OperandType::Selector => {
            matches!(operand.kind, OperandKind::Vector(_))
        }
        _ if place.address => match &operand.kind {
            OperandKind::Address(_) => true,
            OperandKind::Reference(reference) => reference.index.is_some(),
            _ => false,
        },
        _ => match &operand.kind {
            OperandKind::Reference(_) => true,
            OperandKind::Vector(_) => !matches!(place.ty, OperandType::Fixed(_)),
            OperandKind::Negated(_) => place.negatable,
            OperandKind::Minus(_) => place.minus,
            OperandKind::Constant(_) => !place.written,
            // Parentheses around a constant.
            OperandKind::Parameters(inner) => {
                matches!(inner.as_slice(), [one] if matches!(one.kind, OperandKind::Constant(_)))
            }
            OperandKind::Address(_) => false,
        },
    }
}

/// Type of the value in a position, given the instruction's tokens.
pub fn operand_type(place: &OperandSyntax, tokens: &[Option<Token>]) -> Option<ScalarType> {
    let mut types = tokens.iter().filter_map(|token| match token {
        Some(Token::Type(ty)) => Some(*ty),
        _ => None,
    });
    match place.ty {
        OperandType::Type(n) => types.nth(n),
        OperandType::LastType | OperandType::Vector | OperandType::Quad => types.next_back(),
        OperandType::Results => types.next(),
        OperandType::Offsets => Some(ScalarType::S32),
        OperandType::Gradient => Some(ScalarType::F32),
        OperandType::PixelOffsets | OperandType::Selector => Some(ScalarType::U16),
        OperandType::Scale => Some(ScalarType::B32),
        OperandType::Wide => types.next_back().and_then(twice_as_wide),
        OperandType::Fixed(ty) => Some(ty),
        OperandType::Fragment => {
            Fragment::of("", place.name, tokens).map(|fragment| fragment.register_type())
        }
        _ => None,
    }
}

fn twice_as_wide(ty: ScalarType) -> Option<ScalarType> {
    Some(match ty {
        ScalarType::U8 => ScalarType::U16,
        ScalarType::U16 => ScalarType::U32,
        ScalarType::U32 => ScalarType::U64,
        ScalarType::S8 => ScalarType::S16,
        ScalarType::S16 => ScalarType::S32,
        ScalarType::S32 => ScalarType::S64,
        _ => return None,
    })
}
