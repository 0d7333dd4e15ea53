//! Test instructions for an assembler: spellings of a form, each with valid operands.

use ptx_frontend::isa::{
    Fragment, Geometry, Modifier, OpLine, OperandSyntax, OperandType, ScalarType, Token, TokenSlot,
};

use crate::random::Random;
use crate::variant::{Variant, operand_type};

/// Limit of spellings per form. If there are more, each token occurs at least once.
const SPELLINGS: usize = 400;

/// Number of altered spellings per form.
const ALTERED: usize = 60;

/// Declarations that the test kernels refer to.
pub(super) const SURROUNDINGS: &str = ".const .align 32 .b8 constants[64];";

/// Instruction and the registers that it uses.
#[derive(Debug)]
pub(super) struct Specimen {
    /// Form of the instruction.
    pub(super) line: &'static OpLine,
    /// Text of the instruction.
    pub(super) instruction: String,
    declarations: String,
}

impl Specimen {
    /// Returns spellings of a form, and as many with a token replaced, added or removed. Omits forms with
    /// labels or functions.
    pub(super) fn all(line: &'static OpLine, random: &mut Random) -> Vec<Specimen> {
        let names = |place: &OperandSyntax| {
            use OperandType as T;
            matches!(place.ty, T::Label | T::Function | T::Parameters | T::Declaration | T::Variable)
        };
        if line.parsed().operands.iter().any(names) {
            return Vec::new();
        }
        let (spellings, mut specimens) = match Variant::all(line, random) {
            Some(variants) => {
                let specimens = variants.iter().map(Specimen::of_variant).collect();
                (variants.into_iter().map(|variant| variant.tokens).collect(), specimens)
            }
            None => {
                let spellings = line.parsed().spellings.iter();
                let spellings: Vec<_> = spellings.flat_map(|slots| fillings(slots, random)).collect();
                let specimens = spellings.iter().filter_map(|tokens| Specimen::new(line, tokens, random));
                let specimens: Vec<Specimen> = specimens.collect();
                (spellings, specimens)
            }
        };
        for _ in 0..ALTERED {
            let altered = altered(&spellings, random);
            specimens.extend(altered.and_then(|tokens| Specimen::new(line, &tokens, random)));
        }
        let mut seen = std::collections::HashSet::new();
        specimens
            .retain(|specimen| seen.insert((specimen.instruction.clone(), specimen.declarations.clone())));
        specimens
    }

    /// Creates an instruction with these tokens. Returns `None` if they do not determine the operands.
    fn new(line: &'static OpLine, tokens: &[Option<Token>], random: &mut Random) -> Option<Specimen> {
        if Variant::fits(line) {
            return Variant::new(line, tokens.to_vec(), random).as_ref().map(Specimen::of_variant);
        }
        let mut writer = Writer {
            line,
            tokens,
            random,
            text: Variant::opcode_of(line, tokens),
            declarations: String::new(),
        };
        let mut first = true;
        for place in &line.parsed().operands {
            if place.optional && !writer.is_there(place) {
                continue;
            }
            writer.text.push_str(match (first, place.after_bar) {
                (true, _) => " ",
                (_, true) => "|",
                (_, false) => ", ",
            });
            first = false;
            let operand = writer.operand(place)?;
            writer.text.push_str(&operand);
        }
        let Writer { text, declarations, .. } = writer;
        Some(Specimen { line, instruction: text, declarations })
    }

    fn of_variant(variant: &Variant) -> Specimen {
        let places = variant.places.iter().filter(|place| place.constant.is_none());
        let declarations =
            places.map(|place| format!(" .reg .{} %{};", place.register.name(), place.syntax.name));
        Specimen {
            line: variant.line,
            instruction: variant.instruction(),
            declarations: declarations.collect(),
        }
    }

    /// Returns a one-line kernel with only this instruction.
    pub(super) fn kernel(&self, name: &str) -> String {
        let Specimen { instruction, declarations, .. } = self;
        format!(
            ".visible .entry {name}(.param .align 32 .b8 parameter[64]) {{{declarations} {instruction}; ret; }}"
        )
    }
}

/// Writer of the operands of one instruction.
struct Writer<'a> {
    line: &'static OpLine,
    tokens: &'a [Option<Token>],
    random: &'a mut Random,
    text: String,
    declarations: String,
}

impl Writer<'_> {
    fn has(&self, modifier: Modifier) -> bool {
        self.tokens.contains(&Some(Token::Modifier(modifier)))
    }

    /// Decides whether an optional operand is present.
    fn is_there(&mut self, place: &OperandSyntax) -> bool {
        match place.ty {
            OperandType::Fixed(ScalarType::B64) => self.has(Modifier::L2CacheHint) != self.random.one_in(20),
            _ => self.random.one_in(2),
        }
    }

    fn operand(&mut self, place: &OperandSyntax) -> Option<String> {
        let types = types(self.tokens);
        let geometry = Geometry::among(self.tokens);
        Some(match place.ty {
            OperandType::Vector => match self.vector_length() {
                1 => self.register(place.name, *types.last()?),
                length => self.vector(place.name, length, *types.last()?),
            },
            OperandType::Quad => self.vector(place.name, 4, *types.last()?),
            OperandType::Results => self.vector(place.name, self.vector_length(), *types.first()?),
            OperandType::Fragment => {
                let fragment = Fragment::of(self.line.parsed().mnemonic, place.name, self.tokens)?;
                self.vector(place.name, fragment.registers as usize, fragment.register_type())
            }
            OperandType::Texture | OperandType::Surface => {
                let coordinate = match place.ty {
                    OperandType::Texture => *types.last()?,
                    _ => ScalarType::S32,
                };
                let mut elements: Vec<String> = Vec::new();
                for (number, ty) in geometry?.types(coordinate).enumerate() {
                    elements.push(self.register(&format!("{}{number}", place.name), ty));
                }
                let padding = elements.last()?.clone();
                elements.resize(elements.len().next_power_of_two(), padding);
                let handle = self.register(place.name, ScalarType::B64);
                format!("[{handle}, {{{}}}]", elements.join(", "))
            }
            OperandType::Tensor => {
                let several = self.has(Modifier::Gather4) || self.has(Modifier::Scatter4);
                let length = if several { 5 } else { geometry?.dimensions };
                let coordinates = self.vector(&format!("{}c", place.name), length, ScalarType::S32);
                let handle = self.register(place.name, ScalarType::B64);
                format!("[{handle}, {coordinates}]")
            }
            OperandType::Offsets => {
                self.vector(place.name, geometry?.dimensions.next_power_of_two(), ScalarType::S32)
            }
            OperandType::Gradient => {
                self.vector(place.name, geometry?.dimensions.next_power_of_two(), ScalarType::F32)
            }
            OperandType::PixelOffsets => {
                self.vector(place.name, geometry?.dimensions.checked_sub(2)?.max(1), ScalarType::U16)
            }
            OperandType::Scale => self.register(place.name, ScalarType::B32),
            OperandType::Selector => "{0, 0}".to_owned(),
            _ if place.address => self.address(place.name),
            _ if self.line.name.starts_with("mbarrier")
                && place.written
                && self.has(Modifier::SharedCluster) =>
            {
                "_".to_owned()
            }
            _ => {
                let ty = operand_type(place, &types)?;
                let value = match constant(self.line, place.name, self.tokens) {
                    Some(constant) => constant.to_string(),
                    None => self.register(place.name, ty),
                };
                let negated = place.negatable && self.random.one_in(2);
                if negated { format!("!{value}") } else { value }
            }
        })
    }

    /// Returns an address in the state space of the first space modifier.
    fn address(&mut self, name: &str) -> String {
        if self.has(Modifier::Const) {
            "[constants]".to_owned()
        } else if self.has(Modifier::Param) || self.has(Modifier::ParamEntry) {
            "[parameter]".to_owned()
        } else if self.has(Modifier::ParamFunc) {
            self.declarations.push_str(" .param .align 32 .b8 argument[64];");
            "[argument]".to_owned()
        } else {
            format!("[{}]", self.register(name, ScalarType::B64))
        }
    }

    fn vector_length(&self) -> usize {
        [(Modifier::V2, 2), (Modifier::V4, 4), (Modifier::V8, 8)]
            .into_iter()
            .find(|(modifier, _)| self.has(*modifier))
            .map_or(1, |(_, length)| length)
    }

    fn vector(&mut self, name: &str, length: usize, ty: ScalarType) -> String {
        let elements: Vec<String> =
            (0..length).map(|number| self.register(&format!("{name}{number}"), ty)).collect();
        format!("{{{}}}", elements.join(", "))
    }

    fn register(&mut self, name: &str, ty: ScalarType) -> String {
        let register = match (ty, ty.bits()) {
            (ScalarType::F32 | ScalarType::F64 | ScalarType::Pred, _) => ty.name(),
            (ScalarType::E2m1x2 | ScalarType::E4m3 | ScalarType::E5m2, _) => "b8",
            // This instruction takes no wider register, unlike other stores.
            (_, 8) if self.line.name == "st_async_release" => "b8",
            (_, 0..=16) => "b16",
            (_, 17..=32) => "b32",
            (_, 33..=64) => "b64",
            _ => "b128",
        };
        self.declarations.push_str(&format!(" .reg .{register} %{name};"));
        format!("%{name}")
    }
}

/// Returns the constant for an operand that cannot be a register.
fn constant(line: &OpLine, place: &str, tokens: &[Option<Token>]) -> Option<u32> {
    let wide = tokens.contains(&Some(Token::Modifier(Modifier::Cg)));
    match (line.name, place) {
        ("applypriority" | "discard" | "fence_proxy_tensormap_acquire", "b") => Some(128),
        ("tensormap_cp_fenceproxy", "c") => Some(128),
        ("setmaxnreg", "a") => Some(64),
        ("st_bulk", "c") => Some(0),
        ("pmevent" | "pmevent_mask" | "cp_async_wait_group" | "cp_async_bulk_wait_group", "a") => Some(1),
        ("wgmma_wait_group", "a") => Some(1),
        ("tensormap_replace_stride" | "tensormap_replace_dimension" | "tensormap_replace_property", "b") => {
            Some(1)
        }
        (name, "c") if name.starts_with("cp_async") && !name.contains("bulk") => {
            Some(if wide { 16 } else { 4 })
        }
        (name, "m" | "n") if name.starts_with("wgmma") => Some(1),
        (name, "u" | "v" | "f") if name.starts_with("wgmma") => Some(0),
        (name, "f") if name.starts_with("mma_sp") => Some(0),
        _ => None,
    }
}

fn types(tokens: &[Option<Token>]) -> Vec<ScalarType> {
    let types = tokens.iter().filter_map(|token| match token {
        Some(Token::Type(ty)) => Some(*ty),
        _ => None,
    });
    types.collect()
}

/// Returns tokens for the slots: all combinations, or a subset in which each token occurs and most others
/// are absent.
fn fillings(slots: &[TokenSlot], random: &mut Random) -> Vec<Vec<Option<Token>>> {
    let all: usize = slots.iter().map(|slot| slot.choices.len() + usize::from(slot.optional)).product();
    if all <= SPELLINGS {
        return crate::variant::combinations(slots);
    }
    let sparse = |random: &mut Random| -> Vec<Option<Token>> {
        let token = |slot: &TokenSlot| if slot.optional { None } else { random.pick(&slot.choices).copied() };
        slots.iter().map(token).collect()
    };
    let mut fillings = Vec::with_capacity(SPELLINGS);
    for (place, slot) in slots.iter().enumerate() {
        for choice in &slot.choices {
            let mut filling = sparse(random);
            filling[place] = Some(*choice);
            fillings.push(filling);
        }
    }
    while fillings.len() < SPELLINGS {
        let mut filling = sparse(random);
        for _ in 0..2 + random.below(2) {
            let place = random.below(slots.len() as u64) as usize;
            filling[place] = random.pick(&slots[place].choices).copied();
        }
        fillings.push(filling);
    }
    fillings
}

/// Returns a spelling with a token replaced, added or removed.
fn altered(spellings: &[Vec<Option<Token>>], random: &mut Random) -> Option<Vec<Option<Token>>> {
    let mut tokens = random.pick(spellings)?.clone();
    let place = random.below(tokens.len().max(1) as u64) as usize;
    let token = match random.below(3) {
        0 => Token::Type(*random.pick(ScalarType::ALL)?),
        _ => Token::Modifier(*random.pick(Modifier::ALL)?),
    };
    if is_ignored(token) || tokens.contains(&Some(token)) {
        return None;
    }
    match random.below(4) {
        0 => tokens.insert(place, Some(token)),
        1 => *tokens.get_mut(place)? = None,
        _ => *tokens.get_mut(place)? = Some(token),
    }
    Some(tokens)
}

/// Returns whether the assembler ignores a token in any position.
fn is_ignored(token: Token) -> bool {
    use ScalarType as T;
    match token {
        Token::Type(ty) => matches!(ty, T::Pred | T::Texref | T::Samplerref | T::Surfref),
        Token::Modifier(modifier) => {
            matches!(
                modifier.name(),
                "finite"
                    | "infinite"
                    | "number"
                    | "notanumber"
                    | "normal"
                    | "subnormal"
                    | "b6x16_p32"
                    | "b4x16_p64"
                    | "b8x16"
                    | "global_address"
                    | "global_dim"
                    | "global_stride"
                    | "box_dim"
                    | "element_stride"
                    | "rank"
                    | "elemtype"
                    | "interleave_layout"
                    | "swizzle_mode"
                    | "swizzle_atomicity"
                    | "fill_mode"
            )
        }
    }
}
