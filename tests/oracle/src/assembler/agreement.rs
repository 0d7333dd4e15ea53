//! Where the op table and the vendor's assembler disagree on which instructions there are, and from which target on.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use ptx_frontend::isa::{Modifier, OpLine, ScalarType, Token};

use super::{Assembler, AssemblerError, Complaints, head};
use crate::random::Random;
use crate::variant::Variant;

/// How many altered instructions of a form are tried.
const ALTERED: usize = 60;

/// A disagreement on one instruction.
#[derive(Debug)]
pub struct Disagreement {
    /// Group and name of the form.
    pub form: String,
    /// The instruction.
    pub instruction: String,
    /// What is held of it.
    pub kind: Kind,
}

/// What the two hold of an instruction.
#[derive(Debug, PartialEq, Eq)]
pub enum Kind {
    /// The table has it, no target of the assembler does; its message at the newest.
    OnlyOurs(String),
    /// The assembler has it, the table does not; our message.
    OnlyTheirs(String),
    /// The table has it from `ours` on, the assembler from `theirs` on.
    Target {
        /// First target in the table.
        ours: u32,
        /// First target that the assembler takes it for.
        theirs: String,
    },
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<28} {:<56} ", self.form, self.instruction)?;
        match &self.kind {
            Kind::OnlyOurs(message) => write!(f, "only ours: {message}"),
            Kind::OnlyTheirs(message) => write!(f, "only theirs: {message}"),
            Kind::Target { ours, theirs } => write!(f, "from sm_{ours} here, from sm_{theirs} there"),
        }
    }
}

/// A module with an instruction a kernel, each on a line of its own.
struct Module {
    text: String,
    /// Instruction by line, counted from 1.
    lines: BTreeMap<usize, usize>,
}

impl Module {
    fn of(variants: &[(usize, &Variant)], version: (u8, u8), target: &str) -> Module {
        let mut text = head(version, target);
        let mut lines = BTreeMap::new();
        for (number, variant) in variants {
            text += &kernel(&format!("k{number}"), variant);
            lines.insert(text.lines().count(), *number);
        }
        Module { text, lines }
    }
}

/// A kernel that does nothing but execute the instruction, on one line.
fn kernel(name: &str, variant: &Variant) -> String {
    let registers: String = variant
        .places
        .iter()
        .filter(|place| place.constant.is_none())
        .map(|place| format!(" .reg .{} %{};", place.register.name(), place.syntax.name))
        .collect();
    format!(".visible .entry {name}() {{{registers} {}; ret; }}\n", variant.instruction())
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
        let mut found = self.on_own(line, &variants)?;
        found.extend(self.on_altered(line, &variants, random)?);
        Ok(Some(found))
    }

    /// The disagreements on a file that the front end takes: lines that the assembler does not. A target older than all
    /// of the assembler's is replaced by its oldest.
    pub fn on_file(&self, path: &Path) -> Result<Vec<Disagreement>, AssemblerError> {
        let file = |source| AssemblerError::File { path: path.to_owned(), source };
        let text = std::fs::read_to_string(path).map_err(file)?;
        let named = text.lines().find_map(|line| line.trim().strip_prefix(".target sm_"));
        let named = named.map_or("", |rest| rest.split([',', ' ']).next().unwrap_or_default());
        let oldest = self.targets.first().copied().unwrap_or(0);
        let target = match named.parse::<u32>() {
            Ok(number) if number < oldest => oldest.to_string(),
            _ => named.to_owned(),
        };
        let complaints = self.complaints(&text, &target)?;
        let shown = |(line, message): (usize, String)| Disagreement {
            form: format!("{}:{line}", path.display()),
            instruction: text.lines().nth(line.wrapping_sub(1)).unwrap_or_default().trim().to_owned(),
            kind: Kind::OnlyOurs(message),
        };
        Ok(complaints.into_iter().map(shown).collect())
    }

    fn on_own(&self, line: &OpLine, variants: &[Variant]) -> Result<Vec<Disagreement>, AssemblerError> {
        let mut open: Vec<(usize, &Variant)> = variants.iter().enumerate().collect();
        let mut found = Vec::new();
        let lowest = self.targets.first().copied().unwrap_or(0);
        let ours = line.minimum_sm.max(lowest);
        let plain = self.targets.iter().map(ToString::to_string);
        let mut refusals = BTreeMap::new();
        for target in plain.chain(self.specific.iter().cloned()) {
            refusals = self.refused(&open, &target)?;
            let (refused, taken): (Vec<_>, Vec<_>) =
                open.into_iter().partition(|(number, _)| refusals.contains_key(number));
            open = refused;
            let agreed = target == ours.to_string();
            for (_, variant) in taken.iter().filter(|_| !agreed) {
                let kind = Kind::Target { ours: line.minimum_sm, theirs: target.clone() };
                found.push(disagreement(line, variant, kind));
            }
        }
        for (number, variant) in open {
            let message = refusals.remove(&number).unwrap_or_default();
            found.push(disagreement(line, variant, Kind::OnlyOurs(message)));
        }
        Ok(found)
    }

    fn on_altered(
        &self,
        line: &'static OpLine,
        variants: &[Variant],
        random: &mut Random,
    ) -> Result<Vec<Disagreement>, AssemblerError> {
        let altered: Vec<_> = (0..ALTERED).filter_map(|_| altered(line, variants, random)).collect();
        let newest = self.targets.last().map_or_else(String::new, ToString::to_string);
        let mut refused_here = BTreeMap::new();
        for (number, variant) in altered.iter().enumerate() {
            if let Some(message) = refusal_here(variant, self.version, &newest) {
                refused_here.insert(number, message);
            }
        }
        let asked: Vec<_> =
            altered.iter().enumerate().filter(|(number, _)| refused_here.contains_key(number)).collect();
        let refused_there = self.refused(&asked, &newest)?;
        let taken = asked.into_iter().filter(|(number, _)| !refused_there.contains_key(number));
        Ok(taken
            .map(|(number, variant)| {
                let message = refused_here.remove(&number).unwrap_or_default();
                disagreement(line, variant, Kind::OnlyTheirs(message))
            })
            .collect())
    }

    /// The instructions that the assembler refuses for a target, with its words. It does not tell all at once.
    fn refused(
        &self,
        variants: &[(usize, &Variant)],
        target: &str,
    ) -> Result<BTreeMap<usize, String>, AssemblerError> {
        let mut refused = BTreeMap::new();
        let mut open = variants.to_vec();
        while !open.is_empty() {
            let module = Module::of(&open, self.version, target);
            let complaints = self.complaints(&module.text, target)?;
            if complaints.is_empty() {
                break;
            }
            let named: Complaints = complaints
                .iter()
                .filter_map(|(line, message)| Some((*module.lines.get(line)?, message.clone())))
                .collect();
            if named.is_empty() {
                // It names no instruction: each is asked alone.
                match open.as_slice() {
                    [(number, _)] => {
                        let message = complaints.into_values().next().unwrap_or_default();
                        refused.insert(*number, message);
                    }
                    several => {
                        let (first, second) = several.split_at(several.len() / 2);
                        refused.extend(self.refused(first, target)?);
                        refused.extend(self.refused(second, target)?);
                    }
                }
                break;
            }
            open.retain(|(number, _)| !named.contains_key(number));
            refused.extend(named);
        }
        Ok(refused)
    }
}

fn disagreement(line: &OpLine, variant: &Variant, kind: Kind) -> Disagreement {
    Disagreement { form: format!("{}/{}", line.group, line.name), instruction: variant.instruction(), kind }
}

/// Why the front end does not take an instruction, if so.
fn refusal_here(variant: &Variant, version: (u8, u8), target: &str) -> Option<String> {
    let text = head(version, target) + &kernel("k", variant);
    let function = ptx_frontend::Module::parse(text, "k").and_then(|module| module.function("k"));
    function.err().map(|error| error.to_string().lines().next().unwrap_or_default().to_owned())
}

/// One of the instructions with a token exchanged, added or left out.
fn altered(line: &'static OpLine, variants: &[Variant], random: &mut Random) -> Option<Variant> {
    let mut tokens = random.pick(variants)?.tokens.clone();
    let place = random.below(tokens.len().max(1) as u64) as usize;
    let token = match random.below(3) {
        0 => Token::Type(*random.pick(ScalarType::ALL)?),
        _ => Token::Modifier(*random.pick(Modifier::ALL)?),
    };
    match random.below(4) {
        0 => tokens.insert(place, Some(token)),
        1 => *tokens.get_mut(place)? = None,
        _ => *tokens.get_mut(place)? = Some(token),
    }
    Variant::new(line, tokens, random)
}
