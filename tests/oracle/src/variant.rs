//! Combinations of types and modifiers of a form in the op table.

use ptx_frontend::isa::{
    Modifier, OpLine, OperandSyntax, OperandType, PartSyntax, ScalarType, Token, TokenSlot, WordPart,
};

use crate::kernel::Carry;
use crate::operands::{edge, mask};
use crate::random::Random;

/// Number of choices of parts, signs and constants per combination of modifiers.
const CHOICES: usize = 3;

/// Operand of a variant.
#[derive(Debug, Clone)]
pub struct VariantOperand {
    /// Syntax in the op table.
    pub syntax: &'static OperandSyntax,
    /// Type of the value.
    pub ty: ScalarType,
    /// Type of the register.
    pub register: ScalarType,
    /// Selected part of a word.
    pub part: Option<WordPart>,
    /// Set if the operand carries `!` or `-`.
    pub negated: bool,
    /// Value of an operand that must be a constant.
    pub constant: Option<u64>,
    /// Value of an operand that is a constant in every row, although it could be a register.
    pub immediate: Option<u64>,
}

/// Combination of a form's types, modifiers and operands.
#[derive(Debug, Clone)]
pub struct Variant {
    /// Form.
    pub line: &'static OpLine,
    /// Token of each slot.
    pub tokens: Vec<Option<Token>>,
    /// Operands that are present.
    pub places: Vec<VariantOperand>,
    /// Context in the kernel.
    pub setting: Setting,
}

/// Context of an instruction in its kernel, because engines execute these differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// All lanes execute the instruction.
    Plain,
    /// The instruction has a guard, which is false in every third row.
    Guarded,
    /// The destination is the register of the first operand.
    InPlace,
}

impl Variant {
    /// Returns all variants of a form, or `None` if it has operands other than values (addresses, labels,
    /// fragments).
    pub fn all(line: &'static OpLine, random: &mut Random) -> Option<Vec<Variant>> {
        let syntax = line.parsed();
        if !Variant::fits(line) {
            return None;
        }
        let mut variants: Vec<Variant> = Vec::new();
        // Spellings for different targets may be equal.
        let mut seen = std::collections::HashSet::new();
        for tokens in syntax.spellings.iter().flat_map(|slots| combinations(slots)) {
            for _ in 0..choices_of(line) {
                let Some(variant) = Variant::new(line, tokens.clone(), random) else { continue };
                // 128-bit words are moved in halves by the forms that split and join them.
                if variant.places.iter().any(|place| place.register == ScalarType::B128) {
                    continue;
                }
                if seen.insert(variant.text()) {
                    variants.push(variant);
                }
            }
        }
        Some(variants)
    }

    /// Returns whether the form's operands are values and it writes one.
    pub(crate) fn fits(line: &OpLine) -> bool {
        let is_value = |place: &OperandSyntax| {
            let value = matches!(
                place.ty,
                OperandType::Type(_) | OperandType::LastType | OperandType::Wide | OperandType::Fixed(_)
            );
            value && !place.address
        };
        let operands = &line.parsed().operands;
        operands.iter().all(is_value) && operands.iter().any(|place| place.written)
    }

    pub(crate) fn new(
        line: &'static OpLine,
        tokens: Vec<Option<Token>>,
        random: &mut Random,
    ) -> Option<Variant> {
        let mut variant = Variant { line, tokens, places: Vec::new(), setting: Setting::Plain };
        let boolean = [Modifier::And, Modifier::Or, Modifier::Xor].iter().any(|m| variant.has(*m));
        let second = [Modifier::Add, Modifier::Min, Modifier::Max].iter().any(|m| variant.has(*m));
        for syntax in &line.parsed().operands {
            let merged = variant.places.first().is_some_and(|d| d.part.is_some());
            let present = match (syntax.optional, syntax.negatable, syntax.after_bar) {
                (false, ..) => true,
                (true, true, _) => boolean,
                (true, _, true) => random.one_in(2),
                (true, false, false) => second || merged,
            };
            if !present {
                continue;
            }
            let ty = operand_type(syntax, &variant.types())?;
            // A result that is combined with c has the whole word as its destination.
            let part = syntax.part.filter(|_| !(syntax.written && second && !is_masked(syntax)));
            variant.places.push(VariantOperand {
                syntax,
                ty,
                register: variant.register(ty, random),
                part: part.and_then(|part| choose_part(part, random)),
                negated: (syntax.negatable || syntax.minus) && random.one_in(2),
                constant: (syntax.name == "e" && line.parsed().mnemonic == "lop3")
                    .then(|| random.next() & 0xff),
                immediate: None,
            });
        }
        variant.setting = variant.choose_setting(random);
        variant.choose_immediate(random);
        Some(variant)
    }

    /// Returns the register type for a value. Conversions also take wider registers, except for bfloats.
    fn register(&self, ty: ScalarType, random: &mut Random) -> ScalarType {
        let line = self.line;
        let of_bfloats = line.group == "convert" && self.types().contains(&ScalarType::Bf16);
        let own = match ty.bits() {
            1 => ScalarType::Pred,
            8 if ty == ScalarType::E2m1x2 || of_bfloats => return ScalarType::B8,
            0..=16 => ScalarType::B16,
            17..=32 => ScalarType::B32,
            33..=64 => ScalarType::B64,
            _ => ScalarType::B128,
        };
        let between_scalars = line.group == "convert" && line.name.contains("_to_");
        let scalar = ty.is_integer() || ty.is_float();
        let only_operand = line.parsed().operands.len() == 2;
        if of_bfloats || !(between_scalars && scalar && only_operand) || random.one_in(2) {
            return own;
        }
        let wider = [ScalarType::B16, ScalarType::B32, ScalarType::B64];
        let wide_enough: Vec<_> =
            wider.into_iter().filter(|register| register.bits() >= own.bits()).collect();
        random.pick(&wide_enough).copied().unwrap_or(own)
    }

    fn choose_setting(&self, random: &mut Random) -> Setting {
        let carry = Carry::of(self);
        let register = |name| self.place(name).map(|place| place.register);
        let guardable = !carry.read && !carry.written && register("d") != Some(ScalarType::B8);
        match random.below(4) {
            0 if guardable => Setting::Guarded,
            1 if register("d").is_some() && register("d") == register("a") => Setting::InPlace,
            _ => Setting::Plain,
        }
    }

    /// With probability 1/6, makes an operand a constant if the grammar has constants for its type.
    fn choose_immediate(&mut self, random: &mut Random) {
        let in_place = self.setting == Setting::InPlace;
        let fits = |place: &&mut VariantOperand| {
            let number = place.ty.is_integer() || matches!(place.ty, ScalarType::F32 | ScalarType::F64);
            let read = !place.syntax.written && place.constant.is_none();
            read && number && place.part.is_none() && !(in_place && place.syntax.name == "a")
        };
        if matches!(self.line.group, "convert" | "video") || !random.one_in(6) {
            return;
        }
        let mut places: Vec<&mut VariantOperand> = self.places.iter_mut().filter(fits).collect();
        // At least one operand differs between rows.
        if places.len() > 1 {
            let chosen = random.below(places.len() as u64) as usize;
            let place = &mut places[chosen];
            place.immediate = Some(edge(place.ty, random) & mask(place.ty.bits()));
        }
    }

    /// Returns the types among the tokens.
    pub fn types(&self) -> Vec<ScalarType> {
        let types = self.tokens.iter().filter_map(|token| match token {
            Some(Token::Type(ty)) => Some(*ty),
            _ => None,
        });
        types.collect()
    }

    /// Returns whether a modifier is present.
    pub fn has(&self, modifier: Modifier) -> bool {
        self.tokens.contains(&Some(Token::Modifier(modifier)))
    }

    /// Returns the modifiers among the tokens, without dots.
    pub fn modifiers(&self) -> impl Iterator<Item = Modifier> + '_ {
        self.tokens.iter().filter_map(|token| match token {
            Some(Token::Modifier(modifier)) => Some(*modifier),
            _ => None,
        })
    }

    /// Returns the operands that are read from registers, in order.
    pub fn inputs(&self) -> impl Iterator<Item = &VariantOperand> {
        self.places.iter().filter(|place| !place.syntax.written && place.constant.is_none())
    }

    /// Returns the operands that are written, in order.
    pub fn results(&self) -> impl Iterator<Item = &VariantOperand> {
        self.places.iter().filter(|place| place.syntax.written)
    }

    /// Returns the operand with this name in the manual.
    pub fn place(&self, name: &str) -> Option<&VariantOperand> {
        self.places.iter().find(|place| place.syntax.name == name)
    }

    /// Returns the opcode with its modifiers.
    pub fn opcode(&self) -> String {
        Variant::opcode_of(self.line, &self.tokens)
    }

    /// Returns the opcode of a form with these modifiers.
    pub(crate) fn opcode_of(line: &OpLine, tokens: &[Option<Token>]) -> String {
        let mut text = line.parsed().mnemonic.to_owned();
        for token in tokens.iter().flatten() {
            text.push('.');
            text.push_str(match token {
                Token::Type(ty) => ty.name(),
                Token::Modifier(modifier) => modifier.name(),
            });
        }
        text
    }

    /// Returns the name of an operand's register.
    pub fn register_name(&self, place: &VariantOperand) -> &'static str {
        let in_place = self.setting == Setting::InPlace && place.syntax.name == "d";
        if in_place { "a" } else { place.syntax.name }
    }

    /// Returns the instruction. Registers are named `%` and the operand's letter.
    pub fn instruction(&self) -> String {
        let mut text = self.opcode();
        for (number, place) in self.places.iter().enumerate() {
            text.push_str(match (number, place.syntax.after_bar) {
                (0, _) => " ",
                (_, true) => "|",
                (_, false) => ", ",
            });
            if place.negated {
                text.push(if place.syntax.negatable { '!' } else { '-' });
            }
            text.push_str(&match place.constant.or(place.immediate) {
                Some(constant) if place.ty == ScalarType::F32 => format!("0f{constant:08x}"),
                Some(constant) if place.ty == ScalarType::F64 => format!("0d{constant:016x}"),
                Some(constant) => format!("{constant:#x}"),
                None => format!("%{}", self.register_name(place)),
            });
            if let Some(part) = place.part {
                text.push_str(&format!(".{}", part.name()));
            }
        }
        text
    }

    /// Returns the instruction with its register widths, unique for each variant of a form.
    pub fn text(&self) -> String {
        let wider = self.places.iter().filter(|place| place.register.bits() > place.ty.bits().max(16));
        let notes: Vec<String> = wider
            .filter(|place| place.register != ScalarType::Pred)
            .map(|place| format!("{}:{}", place.syntax.name, place.register.name()))
            .collect();
        let guard = if self.setting == Setting::Guarded { "@%guard " } else { "" };
        let instruction = self.instruction();
        match notes.is_empty() {
            true => format!("{guard}{instruction}"),
            false => format!("{guard}{instruction} ({})", notes.join(" ")),
        }
    }
}

/// Returns the value type of an operand in an instruction with these types.
pub(crate) fn operand_type(place: &OperandSyntax, types: &[ScalarType]) -> Option<ScalarType> {
    match place.ty {
        OperandType::Type(n) => types.get(n).copied(),
        OperandType::LastType => types.last().copied(),
        OperandType::Fixed(ty) => Some(ty),
        OperandType::Wide => match types.last()? {
            ScalarType::U16 => Some(ScalarType::U32),
            ScalarType::U32 => Some(ScalarType::U64),
            ScalarType::S16 => Some(ScalarType::S32),
            ScalarType::S32 => Some(ScalarType::S64),
            _ => None,
        },
        _ => None,
    }
}

/// Returns all combinations of tokens for the slots.
pub(crate) fn combinations(slots: &[TokenSlot]) -> Vec<Vec<Option<Token>>> {
    let mut combinations: Vec<Vec<Option<Token>>> = vec![vec![]];
    for slot in slots {
        let choices = slot.choices.iter().map(|token| Some(*token));
        let choices: Vec<_> = slot.optional.then_some(None).into_iter().chain(choices).collect();
        combinations = combinations
            .iter()
            .flat_map(|begun| choices.iter().map(|choice| [begun.as_slice(), &[*choice]].concat()))
            .collect();
    }
    combinations
}

fn is_masked(syntax: &OperandSyntax) -> bool {
    matches!(syntax.part, Some(PartSyntax::Mask(_)))
}

/// Returns the number of trials per combination of modifiers.
fn choices_of(line: &OpLine) -> usize {
    let syntax = line.parsed();
    let free = |place: &OperandSyntax| {
        place.part.is_some() || place.minus || place.negatable || (place.optional && place.after_bar)
    };
    match syntax.mnemonic {
        "lop3" => 16,
        "cvt" => CHOICES,
        _ if syntax.operands.iter().any(free) => CHOICES,
        _ => 1,
    }
}

/// Returns a random valid part, or none.
fn choose_part(syntax: PartSyntax, random: &mut Random) -> Option<WordPart> {
    if random.one_in(4) {
        return None;
    }
    let text = match syntax {
        PartSyntax::Piece => random.pick(&["b0", "b1", "b2", "b3", "h0", "h1"])?.to_string(),
        PartSyntax::Mask(places) => {
            let kind = if places == 2 { 'h' } else { 'b' };
            let mask = 1 + random.below((1 << places) - 1);
            let digits = (0..places).rev().filter(|place| mask >> place & 1 == 1);
            std::iter::once(kind).chain(digits.map(|digit| char::from(b'0' + digit))).collect()
        }
        PartSyntax::Pick(places) => {
            let kind = if places == 2 { 'h' } else { 'b' };
            let digits = (0..places).map(|_| char::from(b'0' + random.below(2 * u64::from(places)) as u8));
            std::iter::once(kind).chain(digits.collect::<Vec<_>>()).collect::<String>()
        }
    };
    WordPart::from_name(&text).filter(|part| part.fits(syntax))
}
