//! Syntax notation of the op table, close to the manual's.
//!
//! `add{<round>}{.ftz}{.sat}.f32 d, a, b` means: mnemonic `add`; an optional modifier of the named set
//! `round`; optional `.ftz`; optional `.sat`; the type `.f32`; three operands.
//!
//! * `.x`: required token; `(.x|.y)`: one of these; `<set>`: one of a named set ([`SETS`]); `{…}` makes any
//!   of them optional. `.x@7.4:80`: requires PTX 7.4 and `sm_80`.
//! * `<m64k16>` is the set of shapes `.m64nNk16` for all N; `<m64k32_integer>` is limited to N valid for
//!   integers.
//! * Commas separate operands. Names that start with `d`, `p` or `q` are written, all others are read.
//!   `name:type` sets the type; the default is the instruction's last type. Types are scalar types and
//!   the following. `T1`, `T2` … is the n-th type of the instruction, and `wide` has twice the width of
//!   the last type. A `vector` has one or more elements by `.v2 .v4 .v8`, a `quad` four elements of the
//!   last type. A `results` has elements of the first type by `.v2 .v4`. A `fragment` is a lane's
//!   registers of a matrix, by shape and types. The others are `label`, `function`, `params`,
//!   `targets`, `prototype`, `variable`.
//! * `[a:texture]`, `[a:surface]` and `[a:tensor]` are a handle and coordinates. `offsets` and `gradient`
//!   belong to a texture's, `pixel_offsets` to a tensor's. `scale` and `selector` are those of a matrix's
//!   scales.
//! * `[a]` is a memory address. `d|p:pred` is a second result after a bar. `{, c}` is optional, and so is
//!   `{|p:pred}`.
//! * `a.part` may select a byte or half of a word; `a.pick2`, `d.mask2`, `a.pick4` and `d.mask4` select
//!   several ([`PartSyntax`]). `-a` may be negated.
//! * `!c:pred` is a predicate that may be negated. `_` may replace any result.

use serde::{Deserialize, Serialize};

use super::modifier::Modifier;
use super::part::PartSyntax;
use super::types::ScalarType;
use super::{Requirement, Spelling};

/// Named sets of modifiers and types, shared by several forms.
pub const SETS: &[(&str, &str)] = &[
    ("round", ".rn|.rz|.rm|.rp"),
    ("to_whole", ".rni|.rzi|.rmi|.rpi"),
    ("word", ".u32|.s32"),
    ("integer", ".u16|.u32|.u64|.s16|.s32|.s64"),
    ("whole", ".u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64"),
    ("bits", ".b16|.b32|.b64"),
    ("number", ".b8|.b16|.b32|.b64|.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64|.f32|.f64"),
    ("data", "<number>|.b128@8.3:70"),
    ("vector", ".v2|.v4|.v8"),
    ("scope", ".cta@5.0:60|.cluster@7.8:90|.gpu@5.0:60|.sys@5.0:60"),
    (
        "space",
        ".const|.global|.local|.param|.param::entry@8.3:20|.param::func@8.3:20|.shared|.shared::cta@7.8:30|.shared::cluster@7.8:90",
    ),
    ("shared_cta", ".shared|.shared::cta@7.8:30"),
    ("shared_any", ".shared|.shared::cta@7.8:30|.shared::cluster@7.8:90"),
    ("shared_remote", ".shared|.shared::cta@7.8:30|.shared::cluster@8.0:90"),
    ("barrier_layout", ".layout::v0@9.3:90|.layout::v1@9.3:90"),
    ("phase_type", ".phase_type::primary@9.3:90|.phase_type::conditional@9.3:90"),
    ("l2_priority", ".L2::evict_last|.L2::evict_normal|.L2::evict_first|.L2::evict_unchanged"),
    ("l2_secondary", ".L2::evict_first|.L2::evict_unchanged"),
    ("cache_load", ".ca|.cg|.cs|.lu|.cv"),
    ("cache_store", ".wb|.cg|.cs|.wt"),
    (
        "l1_evict",
        ".L1::evict_normal@7.4:70|.L1::evict_unchanged@7.4:70|.L1::evict_first@7.4:70|.L1::evict_last@7.4:70|.L1::no_allocate@7.4:70",
    ),
    ("l2_evict", ".L2::evict_normal|.L2::evict_first|.L2::evict_last"),
    ("l2_prefetch", ".L2::64B@7.4:75|.L2::128B@7.4:75|.L2::256B@7.4:80"),
    ("order", ".eq|.ne|.lt|.le|.gt|.ge"),
    ("compare_float", ".eq|.ne|.lt|.le|.gt|.ge|.equ|.neu|.ltu|.leu|.gtu|.geu|.num|.nan"),
    ("boolean", ".and|.or|.xor"),
    ("wmma_shape", ".m16n16k16|.m8n32k16@6.1:70|.m32n8k16@6.1:70"),
    ("bulk_operation", ".and|.or|.xor|.add|.inc|.dec|.min|.max"),
    ("narrow_float", ".e4m3|.e5m2|.e3m2|.e2m3|.e2m1"),
    ("sparse", ".sp|.sp::ordered_metadata@8.5:80"),
    ("matrix_space", ".global|.shared|.shared::cta@7.8:30"),
    ("atomic_order", ".relaxed@6.0:70|.acquire@6.0:70|.release@6.0:70|.acq_rel@6.0:70"),
    ("atomic_space", ".global|.shared|.shared::cta@7.8:30|.shared::cluster@7.8:90"),
    ("proxy_space", ".global|.shared::cta|.shared::cluster"),
    ("geometry", ".1d|.2d|.3d|.a1d|.a2d|.cube|.acube|.2dms|.a2dms"),
    ("tensor_geometry", ".1d|.2d|.3d|.4d|.5d"),
    ("image_geometry", ".3d|.4d|.5d"),
    ("cta_group", ".cta_group::1@8.6:100a|.cta_group::2@8.6:100a"),
    ("tensormap_space", ".global|.shared::cta"),
    ("surface_geometry", ".1d|.2d|.3d|.a1d|.a2d"),
    ("surface_clamp", ".trap|.clamp|.zero"),
];

/// A dotted token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Token {
    /// A type specifier.
    Type(ScalarType),
    /// Any other modifier.
    Modifier(Modifier),
}

impl Token {
    /// Token with the spelling `text` (no dot), if PTX has it.
    pub fn from_name(text: &str) -> Option<Token> {
        ScalarType::from_name(text)
            .map(Token::Type)
            .or_else(|| Modifier::from_name(text).map(Token::Modifier))
    }
}

/// Position in the chain of modifiers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenSlot {
    /// Tokens that fit.
    pub choices: Vec<Token>,
    /// Additional requirements of some tokens, beyond those of the spelling.
    pub needs: Vec<(Token, Requirement)>,
    /// True if optional.
    pub optional: bool,
}

/// Derivation of an operand's type from the instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperandType {
    /// The n-th type modifier as written, from 0.
    Type(usize),
    /// The last type modifier.
    LastType,
    /// Unsigned or signed of twice the last type's width.
    Wide,
    /// This type, independent of modifiers.
    Fixed(ScalarType),
    /// Elements of the last type: the number in `.v2 .v4 .v8`, else one.
    Vector,
    /// Four elements of the last type.
    Quad,
    /// Elements of the first type: the number in `.v2 .v4 .v8`.
    Results,
    /// Registers of a fragment ([`super::Fragment`]).
    Fragment,
    /// Texture, optional sampler, and coordinates of the last type ([`super::Geometry`]).
    Texture,
    /// Surface and integer coordinates.
    Surface,
    /// Tensor map and integer coordinates.
    Tensor,
    /// Integer offsets of a texture's coordinates.
    Offsets,
    /// 16-bit offsets of a pixel's coordinates, one per spatial dimension of a tensor.
    PixelOffsets,
    /// Derivatives of a texture's coordinates.
    Gradient,
    /// A register with scales of a matrix, optionally in braces.
    Scale,
    /// Selector of a scale register's bytes and lanes.
    Selector,
    /// A label of the function.
    Label,
    /// A function, by name or through a register.
    Function,
    /// A parenthesised list of call arguments or results.
    Parameters,
    /// The name of a `.branchtargets` or `.calltargets` list or `.callprototype`.
    Declaration,
    /// A variable's name.
    Variable,
}

impl OperandType {
    /// True for a vector whose elements each have the operand's type.
    pub fn has_elements(self) -> bool {
        matches!(
            self,
            OperandType::Vector
                | OperandType::Quad
                | OperandType::Results
                | OperandType::Fragment
                | OperandType::Offsets
                | OperandType::Gradient
                | OperandType::PixelOffsets
                | OperandType::Scale
                | OperandType::Selector
        )
    }
}

/// An operand of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperandSyntax {
    /// Letter of the operand in the manual.
    pub name: &'static str,
    /// Type.
    pub ty: OperandType,
    /// True if written, false if read.
    pub written: bool,
    /// True for an address in square brackets.
    pub address: bool,
    /// True if optional.
    pub optional: bool,
    /// True for a predicate that may carry `!`.
    pub negatable: bool,
    /// True for a value that may carry `-`.
    pub minus: bool,
    /// Selectable parts of a word.
    pub part: Option<PartSyntax>,
    /// True after a bar, false after a comma.
    pub after_bar: bool,
}

/// Parsed syntax of a form.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Syntax {
    /// First word of the opcode.
    pub mnemonic: &'static str,
    /// Modifier slots in the manual's order, per spelling.
    pub spellings: Vec<Vec<TokenSlot>>,
    /// Operands in order.
    pub operands: Vec<OperandSyntax>,
}

/// Malformed line of the op table (found by a test, never by a user).
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("op table: `{line}`: {reason}")]
pub struct SyntaxError {
    /// Syntax string.
    pub line: &'static str,
    /// Cause.
    pub reason: String,
}

impl Syntax {
    /// Parses the spellings of a form.
    pub fn parse(spellings: &[Spelling]) -> Result<Syntax, SyntaxError> {
        let mut syntax = Syntax::default();
        for (position, spelling) in spellings.iter().enumerate() {
            let fail = |reason: String| SyntaxError { line: spelling.syntax, reason };
            let (head, operands) = spelling.syntax.split_once(' ').unwrap_or((spelling.syntax, ""));
            let end = head.find(['.', '{', '(', '<']).unwrap_or(head.len());
            if position == 0 {
                syntax.mnemonic = &head[..end];
                syntax.operands = parse_operands(operands).map_err(fail)?;
            } else if syntax.mnemonic != &head[..end] || !operands.is_empty() {
                return Err(fail("mnemonic or operands differ from the first spelling".to_owned()));
            }
            syntax.spellings.push(slots(&head[end..]).map_err(fail)?);
        }
        Ok(syntax)
    }

    /// Fits the dotted tokens of an instruction into the slots of the first matching spelling. Any order is
    /// allowed, as in the vendor's assembler, but types keep their order. Returns one entry per slot;
    /// `None` if no spelling matches.
    pub fn fit(&self, tokens: &[Token]) -> Option<Vec<Option<Token>>> {
        self.spelling(tokens).map(|(_, filled)| filled)
    }

    /// [`Syntax::fit`] with the index of the spelling.
    pub fn spelling(&self, tokens: &[Token]) -> Option<(usize, Vec<Option<Token>>)> {
        let fitting = |(position, slots): (_, &Vec<TokenSlot>)| Some((position, fit(slots, tokens)?));
        self.spellings.iter().enumerate().find_map(fitting)
    }
}

fn slots(mut text: &'static str) -> Result<Vec<TokenSlot>, String> {
    let mut slots = Vec::new();
    while !text.is_empty() {
        let (slot, after) = next_slot(text)?;
        slots.push(slot);
        text = after;
    }
    Ok(slots)
}

/// Fits tokens into the slots of one spelling.
pub(super) fn fit(slots: &[TokenSlot], tokens: &[Token]) -> Option<Vec<Option<Token>>> {
    let mut filled: Vec<Option<Token>> = vec![None; slots.len()];
    let mut next_type = 0;
    for token in tokens {
        let is_type = matches!(token, Token::Type(_));
        let from = if is_type { next_type } else { 0 };
        let slot = (from..slots.len()).find(|&i| filled[i].is_none() && slots[i].choices.contains(token))?;
        filled[slot] = Some(*token);
        if is_type {
            next_type = slot + 1;
        }
    }
    let complete = filled.iter().zip(slots).all(|(token, slot)| token.is_some() || slot.optional);
    complete.then_some(filled)
}

fn next_slot(text: &'static str) -> Result<(TokenSlot, &'static str), String> {
    let (body, optional, after) = match text.as_bytes()[0] {
        b'{' => {
            let end = text.find('}').ok_or("`{` is not closed")?;
            (&text[1..end], true, &text[end + 1..])
        }
        b'(' => {
            let end = text.find(')').ok_or("`(` is not closed")?;
            (&text[1..end], false, &text[end + 1..])
        }
        b'<' => {
            let end = text.find('>').ok_or("`<` is not closed")?;
            (&text[..=end], false, &text[end + 1..])
        }
        b'.' => {
            let end = text[1..].find(['.', '{', '(', '<']).map_or(text.len(), |i| i + 1);
            (&text[..end], false, &text[end..])
        }
        other => return Err(format!("expected a modifier, found `{}`", other as char)),
    };
    let mut slot = TokenSlot { choices: Vec::new(), needs: Vec::new(), optional };
    for part in body.trim_matches(['(', ')']).split('|') {
        push_choices(part, &mut slot)?;
    }
    Ok((slot, after))
}

fn push_choices(part: &'static str, slot: &mut TokenSlot) -> Result<(), String> {
    if let Some(set) = part.strip_prefix('<') {
        let name = set.trim_end_matches('>');
        if let Some(k) = name.strip_prefix("m64k") {
            slot.choices.extend(warpgroup_shapes(k));
            return Ok(());
        }
        let (_, members) =
            SETS.iter().find(|(known, _)| *known == name).ok_or_else(|| format!("no set `{name}`"))?;
        for member in members.split('|') {
            push_choices(member, slot)?;
        }
        return Ok(());
    }
    let name = part.strip_prefix('.').ok_or_else(|| format!("`{part}` has no dot"))?;
    let (name, needs) = name.split_once('@').map_or((name, None), |(name, needs)| (name, Some(needs)));
    let token = Token::from_name(name).ok_or_else(|| format!("unknown token `.{name}`"))?;
    slot.choices.push(token);
    if let Some(needs) = needs {
        let (ptx, target) = needs.split_once(':').ok_or_else(|| format!("`@{needs}` has no target"))?;
        slot.needs.push((token, Requirement::written(ptx, target)));
    }
    Ok(())
}

/// Shapes of warpgroup products for this K; `K_integer` selects those of integers.
fn warpgroup_shapes(k: &str) -> impl Iterator<Item = Token> + '_ {
    let (k, is_integer) = k.strip_suffix("_integer").map_or((k, false), |k| (k, true));
    Modifier::ALL.iter().filter_map(move |modifier| {
        let (n, found) = modifier.name().strip_prefix("m64n")?.split_once('k')?;
        let n: u32 = n.parse().ok()?;
        // Integers have larger steps from 32 on (PTX manual 9.7.15.2).
        let fits = found == k && (!is_integer || n <= 32 || n.is_multiple_of(16));
        fits.then_some(Token::Modifier(*modifier))
    })
}

fn parse_operands(text: &'static str) -> Result<Vec<OperandSyntax>, String> {
    let mut operands = Vec::new();
    let mut rest = text.trim();
    let mut first = true;
    while !rest.is_empty() {
        let (body, optional, after) = if let Some(inner) = rest.strip_prefix('{') {
            let end = inner.find('}').ok_or("`{` is not closed")?;
            (inner[..end].trim(), true, inner[end + 1..].trim_start())
        } else {
            let from = usize::from(!first);
            let end = rest[from..].find([',', '|', '{']).map_or(rest.len(), |i| i + from);
            (rest[..end].trim(), false, rest[end..].trim_start())
        };
        let after_bar = body.starts_with('|');
        let body = body.trim_start_matches(['|', ',']).trim();
        operands.push(operand(body, optional, after_bar)?);
        rest = after;
        first = false;
    }
    Ok(operands)
}

fn operand(text: &'static str, optional: bool, after_bar: bool) -> Result<OperandSyntax, String> {
    let address = text.starts_with('[');
    let inner = text.trim_matches(['[', ']']);
    let negatable = inner.starts_with('!');
    let minus = inner.starts_with('-');
    let (name, ty) = match inner.trim_start_matches(['!', '-']).split_once(':') {
        Some((name, ty)) => (name, operand_type(ty)?),
        None => (inner.trim_start_matches(['!', '-']), OperandType::LastType),
    };
    let (name, part) = match name.split_once('.') {
        Some((name, part)) => {
            let known = PartSyntax::from_name(part).ok_or_else(|| format!("unknown parts `{part}`"))?;
            (name, Some(known))
        }
        None => (name, None),
    };
    if name.is_empty() {
        return Err("an operand without a name".to_owned());
    }
    let written = !address && name.starts_with(['d', 'p', 'q']);
    Ok(OperandSyntax { name, ty, written, address, optional, negatable, minus, part, after_bar })
}

fn operand_type(text: &str) -> Result<OperandType, String> {
    Ok(match text {
        "wide" => OperandType::Wide,
        "vector" => OperandType::Vector,
        "quad" => OperandType::Quad,
        "results" => OperandType::Results,
        "fragment" => OperandType::Fragment,
        "texture" => OperandType::Texture,
        "surface" => OperandType::Surface,
        "tensor" => OperandType::Tensor,
        "offsets" => OperandType::Offsets,
        "pixel_offsets" => OperandType::PixelOffsets,
        "gradient" => OperandType::Gradient,
        "scale" => OperandType::Scale,
        "selector" => OperandType::Selector,
        "label" => OperandType::Label,
        "function" => OperandType::Function,
        "params" => OperandType::Parameters,
        "targets" | "prototype" => OperandType::Declaration,
        "variable" => OperandType::Variable,
        _ => match text.strip_prefix('T').and_then(|n| n.parse::<usize>().ok()) {
            Some(n) if n > 0 => OperandType::Type(n - 1),
            _ => OperandType::Fixed(
                ScalarType::from_name(text).ok_or_else(|| format!("unknown operand type `{text}`"))?,
            ),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(syntaxes: &[&'static str]) -> Result<Syntax, SyntaxError> {
        let requirement = Requirement::written("1.0", "10");
        Syntax::parse(&syntaxes.iter().map(|syntax| Spelling { syntax, requirement }).collect::<Vec<_>>())
    }

    #[test]
    fn forms_parse_into_mnemonic_slots_and_operands() {
        let syntax =
            parse(&["setp<compare_float>{.ftz}(.f32|.f64) p:pred{|q:pred}, a, b{, !c:pred}"]).unwrap();
        assert_eq!(syntax.mnemonic, "setp");
        let [slots] = syntax.spellings.as_slice() else { panic!("one spelling") };
        assert_eq!(slots.len(), 3);
        assert!(slots[1].optional && !slots[2].optional);
        let names: Vec<_> =
            syntax.operands.iter().map(|o| (o.name, o.optional, o.after_bar, o.negatable)).collect();
        assert_eq!(
            names,
            [
                ("p", false, false, false),
                ("q", true, true, false),
                ("a", false, false, false),
                ("b", false, false, false),
                ("c", true, false, true)
            ]
        );
    }

    #[test]
    fn modifiers_fit_in_any_order_but_types_do_not() {
        let syntax = parse(&["cvt{<round>}{.sat}(.f32|.s32)(.f32|.s32) d:T1, a:T2"]).unwrap();
        let f32 = Token::Type(ScalarType::F32);
        let s32 = Token::Type(ScalarType::S32);
        let sat = Token::Modifier(Modifier::Sat);
        let rn = Token::Modifier(Modifier::Rn);
        assert_eq!(syntax.fit(&[sat, rn, f32, s32]), Some(vec![Some(rn), Some(sat), Some(f32), Some(s32)]));
        assert_eq!(syntax.fit(&[f32]), None);
        let halves = parse(&["cvt.f16x2.bf16x2 d:T1, a:T2"]).unwrap();
        let (f16x2, bf16x2) = (Token::Type(ScalarType::F16x2), Token::Type(ScalarType::Bf16x2));
        assert_eq!(halves.fit(&[f16x2, bf16x2]), Some(vec![Some(f16x2), Some(bf16x2)]));
        assert_eq!(halves.fit(&[bf16x2, f16x2]), None);
        assert_eq!(syntax.fit(&[f32, s32, Token::Modifier(Modifier::Ftz)]), None);
    }

    #[test]
    fn first_matching_spelling_wins() {
        let syntax = parse(&["add{.ftz}.f16 d, a, b", "add.bf16"]).unwrap();
        let (ftz, f16, bf16) =
            (Token::Modifier(Modifier::Ftz), Token::Type(ScalarType::F16), Token::Type(ScalarType::Bf16));
        assert_eq!(syntax.spelling(&[f16]), Some((0, vec![None, Some(f16)])));
        assert_eq!(syntax.spelling(&[bf16]), Some((1, vec![Some(bf16)])));
        assert_eq!(syntax.spelling(&[ftz, bf16]), None);
        assert!(parse(&["add.f16 d, a, b", "sub.f16"]).is_err());
    }

    #[test]
    fn tokens_may_have_own_requirements() {
        let syntax = parse(&["ld{.mmio@8.2:70}<word> d, [a]"]).unwrap();
        let mmio = Token::Modifier(Modifier::Mmio);
        assert_eq!(syntax.spellings[0][0].choices, [mmio]);
        assert_eq!(syntax.spellings[0][0].needs, [(mmio, Requirement::written("8.2", "70"))]);
    }
}
