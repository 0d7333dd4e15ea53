//! The combinations of types and modifiers that the op table has for a form.

use ptx_frontend::isa::{
    Modifier, OpLine, OperandSyntax, OperandType, Part, PartSyntax, ScalarType, Slot, Token,
};

use crate::kernel::Carry;
use crate::operands::{edge, mask};
use crate::random::Random;

/// Choices of parts, signs and constants per combination of modifiers, where a form has such choices.
const CHOICES: usize = 3;

/// One operand of a variant.
#[derive(Debug, Clone)]
pub struct Place {
    /// What the table says of it.
    pub syntax: &'static OperandSyntax,
    /// Type of its value.
    pub ty: ScalarType,
    /// Type of its register.
    pub register: ScalarType,
    /// The parts of a word that it names.
    pub part: Option<Part>,
    /// It carries `!` or `-`.
    pub negated: bool,
    /// It can be no register, and is this constant.
    pub constant: Option<u64>,
    /// It could be a register, but is this constant in every row.
    pub immediate: Option<u64>,
}

/// One combination of a form's types, modifiers, operands.
#[derive(Debug, Clone)]
pub struct Variant {
    /// The form.
    pub line: &'static OpLine,
    /// A token for each slot.
    pub tokens: Vec<Option<Token>>,
    /// The operands that are there.
    pub places: Vec<Place>,
    /// It stands in a kernel in this way.
    pub setting: Setting,
}

/// How an instruction stands in its kernel: engines have other paths for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// All lanes execute it.
    Plain,
    /// It has a guard, which does not hold in every third row.
    Guarded,
    /// Its result goes to the register of its first operand.
    InPlace,
}

impl Variant {
    /// All of a form, or `None` for one with other operands than values (addresses, labels, fragments).
    pub fn all(line: &'static OpLine, random: &mut Random) -> Option<Vec<Variant>> {
        let syntax = line.parsed();
        if !Variant::fits(line) {
            return None;
        }
        let mut variants: Vec<Variant> = Vec::new();
        // Spellings for different targets may be the same.
        let mut seen = std::collections::HashSet::new();
        for tokens in syntax.spellings.iter().flat_map(|slots| combinations(slots)) {
            for _ in 0..choices_of(line) {
                let Some(variant) = Variant::new(line, tokens.clone(), random) else { continue };
                // Words of 128 bits are moved in halves by the forms that make and take them apart.
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

    /// Are the form's operands values, and does it write one?
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
            // A result that is combined with c goes to the whole word.
            let part = syntax.part.filter(|_| !(syntax.written && second && !is_masked(syntax)));
            variant.places.push(Place {
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

    /// A register for a value; conversions take wider ones, too, but for those of bfloats.
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

    /// Makes an operand a constant, one time in six, where the grammar has constants for its type.
    fn choose_immediate(&mut self, random: &mut Random) {
        let in_place = self.setting == Setting::InPlace;
        let fits = |place: &&mut Place| {
            let number = place.ty.is_integer() || matches!(place.ty, ScalarType::F32 | ScalarType::F64);
            let read = !place.syntax.written && place.constant.is_none();
            read && number && place.part.is_none() && !(in_place && place.syntax.name == "a")
        };
        if matches!(self.line.group, "convert" | "video") || !random.one_in(6) {
            return;
        }
        let mut places: Vec<&mut Place> = self.places.iter_mut().filter(fits).collect();
        // At least one operand differs between rows.
        if places.len() > 1 {
            let chosen = random.below(places.len() as u64) as usize;
            let place = &mut places[chosen];
            place.immediate = Some(edge(place.ty, random) & mask(place.ty.bits()));
        }
    }

    /// The types among the tokens.
    pub fn types(&self) -> Vec<ScalarType> {
        let types = self.tokens.iter().filter_map(|token| match token {
            Some(Token::Type(ty)) => Some(*ty),
            _ => None,
        });
        types.collect()
    }

    /// Is the modifier there?
    pub fn has(&self, modifier: Modifier) -> bool {
        self.tokens.contains(&Some(Token::Modifier(modifier)))
    }

    /// The modifiers among the tokens, without their dots.
    pub fn modifiers(&self) -> impl Iterator<Item = Modifier> + '_ {
        self.tokens.iter().filter_map(|token| match token {
            Some(Token::Modifier(modifier)) => Some(*modifier),
            _ => None,
        })
    }

    /// Operands that are read from registers, in order.
    pub fn inputs(&self) -> impl Iterator<Item = &Place> {
        self.places.iter().filter(|place| !place.syntax.written && place.constant.is_none())
    }

    /// Operands that are written, in order.
    pub fn results(&self) -> impl Iterator<Item = &Place> {
        self.places.iter().filter(|place| place.syntax.written)
    }

    /// The operand that the manual calls so.
    pub fn place(&self, name: &str) -> Option<&Place> {
        self.places.iter().find(|place| place.syntax.name == name)
    }

    /// The opcode with its modifiers.
    pub fn opcode(&self) -> String {
        Variant::opcode_of(self.line, &self.tokens)
    }

    /// The opcode of a form with these modifiers.
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

    /// Name of the register that a place stands for.
    pub fn register_name(&self, place: &Place) -> &'static str {
        let in_place = self.setting == Setting::InPlace && place.syntax.name == "d";
        if in_place { "a" } else { place.syntax.name }
    }

    /// The instruction, registers being called `%` and the operand's letter.
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

    /// The instruction with the widths of its registers: distinct for each variant of a form.
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

/// Type of the value in a place of an instruction with these types.
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

/// All ways to fill the slots.
pub(crate) fn combinations(slots: &[Slot]) -> Vec<Vec<Option<Token>>> {
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

/// How often a combination of modifiers is tried.
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

/// A part that may stand there, or none.
fn choose_part(syntax: PartSyntax, random: &mut Random) -> Option<Part> {
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
    Part::from_name(&text).filter(|part| part.fits(syntax))
}
