//! Where the op table and the vendor's assembler disagree on which instructions there are, from which target and which
//! PTX version on.

use std::collections::btree_map::{BTreeMap, Entry};
use std::fmt;
use std::path::Path;

use ptx_frontend::isa::{Modifier, OpLine, Requirement, ScalarType, Target, Token};

use super::text::{Item, Refusals, Text, kernel};
use super::{Assembler, AssemblerError, VERSIONS, head};
use crate::random::Random;
use crate::variant::Variant;

/// How many altered instructions of a form are tried.
const ALTERED: usize = 60;

/// A disagreement on one instruction.
#[derive(Debug)]
pub struct Disagreement {
    /// Group and name of the form, or the place in a file.
    pub form: String,
    /// The instruction.
    pub instruction: String,
    /// What is held of it.
    pub kind: Kind,
}

/// What the two hold of an instruction.
#[derive(Debug, PartialEq, Eq)]
pub enum Kind {
    /// The table has it, the assembler has not; its message.
    OnlyOurs(String),
    /// The assembler has it, the table has not; our message.
    OnlyTheirs(String),
    /// The table has it from `ours` on, the assembler from `theirs` on.
    Target {
        /// First target in the table.
        ours: Target,
        /// First target that the assembler takes it for.
        theirs: String,
    },
    /// The assembler does not have it in the table's first version, or has it in the one before.
    Version {
        /// First version in the table.
        ours: (u8, u8),
        /// Does the assembler have it before?
        earlier: bool,
    },
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<28} {:<56} ", self.form, self.instruction)?;
        match &self.kind {
            Kind::OnlyOurs(message) => write!(f, "only ours: {message}"),
            Kind::OnlyTheirs(message) => write!(f, "only theirs: {message}"),
            Kind::Target { ours, theirs } => write!(f, "from {ours} here, from sm_{theirs} there"),
            Kind::Version { ours: (major, minor), earlier } => {
                let there = if *earlier { "earlier" } else { "later" };
                write!(f, "from PTX {major}.{minor} here, {there} there")
            }
        }
    }
}

impl Item {
    fn disagreement(&self, kind: Kind) -> Disagreement {
        Disagreement { form: self.form.clone(), instruction: self.instruction.clone(), kind }
    }
}

impl Assembler {
    /// The disagreements on one form: on every instruction that the table makes of it, and on altered ones. `None` for
    /// a form whose operands are not values.
    pub fn disagreements(
        &self,
        line: &'static OpLine,
        random: &mut Random,
    ) -> Result<Option<Vec<Disagreement>>, AssemblerError> {
        let Some(variants) = Variant::all(line, random) else { return Ok(None) };
        let text = Text::of_variants(variants.iter().map(|variant| (variant, true)));
        let mut found = self.on_text(&text)?;
        found.extend(self.on_altered(line, &variants, random)?);
        Ok(Some(found))
    }

    /// The disagreements on the instructions of a file that the front end takes.
    pub fn on_file(&self, path: &Path) -> Result<Vec<Disagreement>, AssemblerError> {
        self.on_text(&Text::of_file(path)?)
    }

    fn on_text(&self, text: &Text) -> Result<Vec<Disagreement>, AssemblerError> {
        let mut by_target: Vec<(String, Refusals)> = Vec::new();
        for target in self.targets.iter().map(ToString::to_string).chain(self.specific.iter().cloned()) {
            let refusals = self.refusals(text, self.version, &target)?;
            by_target.push((target, refusals));
        }
        let mut found = Vec::new();
        let mut agreed = Vec::new();
        for (position, item) in &text.items {
            let Some(needed) = item.needed else { continue };
            match self.target_disagreement(*position, needed, &by_target) {
                Some(kind) => found.push(item.disagreement(kind)),
                None => agreed.push((*position, needed)),
            }
        }
        agreed.sort_by_key(|(_, needed)| needed.target);
        for group in agreed.chunk_by(|(_, a), (_, b)| a.target == b.target) {
            found.extend(self.on_versions(text, group)?);
        }
        Ok(found)
    }

    /// Compares the targets that take an instruction with what the table says.
    fn target_disagreement(
        &self,
        position: usize,
        needed: Requirement,
        by_target: &[(String, Refusals)],
    ) -> Option<Kind> {
        let judged = || by_target.iter().filter_map(|(target, refusals)| Some((target, refusals.as_ref()?)));
        let taken = |refusals: &BTreeMap<usize, String>| !refusals.contains_key(&position);
        let first = judged().find(|(_, refusals)| taken(refusals)).map(|(target, _)| target.clone());
        let Some(theirs) = first else {
            return judged().next_back().map(|(_, refusals)| Kind::OnlyOurs(refusals[&position].clone()));
        };
        let disagrees = |(target, refusals): (&String, _)| {
            let Some(target) = Target::from_name(target) else { return false };
            let (here, there) = (target.has(needed.target), taken(refusals));
            // Some features of a target with a letter are gone in later ones.
            here != there && !(target.specific && here && target.number > needed.target.number)
        };
        judged().any(disagrees).then_some(Kind::Target { ours: needed.target, theirs })
    }

    /// Compares the PTX versions of instructions that need the same target, in modules for that target.
    fn on_versions(
        &self,
        text: &Text,
        group: &[(usize, Requirement)],
    ) -> Result<Vec<Disagreement>, AssemblerError> {
        let Some((_, Requirement { target: needed, .. })) = group.first() else { return Ok(Vec::new()) };
        let names = self.targets.iter().map(ToString::to_string).chain(self.specific.iter().cloned());
        let target = names.into_iter().find(|name| Target::from_name(name).is_some_and(|t| t.has(*needed)));
        let Some(target) = target else { return Ok(Vec::new()) };
        let text = text.only(group.iter().map(|(position, _)| *position));
        let mut known: BTreeMap<(u8, u8), Refusals> = BTreeMap::new();
        let mut found = Vec::new();
        for (position, needed) in group {
            let own = VERSIONS.iter().position(|version| *version == needed.ptx);
            let before = own.and_then(|own| VERSIONS.get(own + 1)).copied();
            let mut taken_in = |version| -> Result<Option<bool>, AssemblerError> {
                let refusals = match known.entry(version) {
                    Entry::Occupied(entry) => entry.into_mut(),
                    Entry::Vacant(entry) => entry.insert(self.refusals(&text, version, &target)?),
                };
                Ok(refusals.as_ref().map(|refusals| !refusals.contains_key(position)))
            };
            let earlier = match before {
                Some(before) => taken_in(before)? == Some(true),
                None => false,
            };
            let later = needed.ptx <= self.version && taken_in(needed.ptx)? == Some(false);
            if let (true, Some(item)) = (earlier || later, text.items.get(position)) {
                found.push(item.disagreement(Kind::Version { ours: needed.ptx, earlier }));
            }
        }
        Ok(found)
    }

    fn on_altered(
        &self,
        line: &'static OpLine,
        variants: &[Variant],
        random: &mut Random,
    ) -> Result<Vec<Disagreement>, AssemblerError> {
        let newest = self.targets.last().map_or_else(String::new, ToString::to_string);
        let altered = (0..ALTERED).filter_map(|_| altered(line, variants, random));
        let refused_here: Vec<(Variant, String)> = altered
            .filter_map(|variant| {
                let message = refusal_here(&variant, self.version, &newest)?;
                Some((variant, message))
            })
            .collect();
        let text = Text::of_variants(refused_here.iter().map(|(variant, _)| (variant, false)));
        let refused_there = self.refusals(&text, self.version, &newest)?.unwrap_or_default();
        let taken = text.items.iter().filter(|(position, _)| !refused_there.contains_key(*position));
        Ok(taken
            .filter_map(|(position, item)| {
                let (_, message) = refused_here.get(*position)?;
                Some(item.disagreement(Kind::OnlyTheirs(message.clone())))
            })
            .collect())
    }
}

/// Why the front end does not take an instruction, if so.
fn refusal_here(variant: &Variant, version: (u8, u8), target: &str) -> Option<String> {
    let text = head(version, target) + &kernel("k", variant);
    let function = ptx_frontend::Module::parse(text, "k").and_then(|module| module.function("k"));
    function.err().map(|error| error.to_string().lines().next().unwrap_or_default().to_owned())
}

/// Tokens that the assembler takes anywhere and ignores.
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

/// One of the instructions with a token exchanged, added or left out.
fn altered(line: &'static OpLine, variants: &[Variant], random: &mut Random) -> Option<Variant> {
    let mut tokens = random.pick(variants)?.tokens.clone();
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
    Variant::new(line, tokens, random)
}
