//! A module whose instructions can be taken out one by one, to ask the assembler and the front end which of them they
//! accept.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ptx_frontend::diagnostic::Problem;
use ptx_frontend::ir::Operand;
use ptx_frontend::isa::Requirement;
use ptx_frontend::resolve::ResolveError;
use ptx_frontend::{Error, Module};

use super::specimen::{SURROUNDINGS, Specimen};
use super::{Assembler, AssemblerError, UNREADABLE, head, shown};

/// Lines of a module behind its head. Lines with an instruction to be judged may be left out.
#[derive(Debug, Default)]
pub(super) struct Text {
    lines: Vec<String>,
    /// By position in the lines.
    pub(super) items: BTreeMap<usize, Item>,
}

/// An instruction to be judged.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// Group and name of its form, or its place in a file.
    pub(super) form: String,
    /// Its text.
    pub(super) instruction: String,
}

/// Instructions by position in the lines.
pub(super) type Positions = BTreeSet<usize>;

/// What the assembler says against instructions, by position in the lines; `None` where it does not even take the rest.
pub(super) type Refusals = Option<BTreeMap<usize, String>>;

/// What is no PTX at all to the assembler in a version, by position in the lines. Its grammar is one for all targets, so
/// that nothing of it is asked about again.
pub(super) type Unreadable = BTreeMap<((u8, u8), usize), String>;

/// What the front end holds of instructions in a module of one version and target.
#[derive(Debug, Default)]
pub(super) struct Judgement {
    /// Those that it refuses.
    pub(super) refused: BTreeMap<usize, Refusal>,
    /// What a module needs for the others; one of several is enough.
    pub(super) needed: BTreeMap<usize, Vec<Requirement>>,
}

/// Why the front end refuses an instruction.
#[derive(Debug, Clone)]
pub(super) struct Refusal {
    /// Its words.
    pub(super) message: String,
    /// It knows the instruction and does not have it.
    pub(super) by_name: bool,
}

impl Text {
    /// A kernel for each specimen, each on one line.
    pub(super) fn of_specimens(specimens: &[Specimen]) -> Text {
        let mut text = Text { lines: vec![SURROUNDINGS.to_owned()], items: BTreeMap::new() };
        for (number, specimen) in specimens.iter().enumerate() {
            let item = Item {
                form: format!("{}/{}", specimen.line.group, specimen.line.name),
                instruction: specimen.instruction.clone(),
            };
            text.items.insert(text.lines.len(), item);
            text.lines.push(specimen.kernel(&format!("k{number}")));
        }
        text
    }

    /// A file's lines; the instructions are those that stand alone on theirs.
    pub(super) fn of_file(path: &Path) -> Result<Text, AssemblerError> {
        let file = |source| AssemblerError::File { path: path.to_owned(), source };
        let written = std::fs::read_to_string(path).map_err(file)?;
        let is_head = |line: &str| {
            let line = line.trim_start();
            [".version", ".target", ".address_size"].iter().any(|directive| line.starts_with(directive))
        };
        let lines: Vec<String> =
            written.lines().map(|line| if is_head(line) { String::new() } else { line.to_owned() }).collect();
        let mut text = Text { lines, items: BTreeMap::new() };
        // In a module of this version and target, our own front end refuses nothing.
        for position in text.judgement(&Positions::new(), (9, 9), "999a").needed.into_keys() {
            let Some(line) = text.lines.get(position).filter(|line| line.trim_end().ends_with(';')) else {
                continue;
            };
            let form = format!("{}:{}", path.display(), position + 1);
            text.items.insert(position, Item { form, instruction: line.trim().to_owned() });
        }
        Ok(text)
    }

    /// All instructions to be judged.
    pub(super) fn positions(&self) -> Positions {
        self.items.keys().copied().collect()
    }

    fn with(&self, open: &Positions, version: (u8, u8), target: &str) -> String {
        let mut text = head(version, target);
        for (position, line) in self.lines.iter().enumerate() {
            if open.contains(&position) || !self.items.contains_key(&position) {
                text += line;
            }
            text.push('\n');
        }
        // The assembler looks at the head only where there is a kernel.
        text + ".visible .entry probe() { ret; }\n"
    }

    /// What the front end holds of these instructions. It does not tell all at once, either.
    pub(super) fn judgement(&self, asked: &Positions, version: (u8, u8), target: &str) -> Judgement {
        let mut open = asked.clone();
        let mut judgement = Judgement::default();
        loop {
            judgement.needed.clear();
            let Ok(module) = Module::parse(self.with(&open, version, target), "agree") else {
                return judgement;
            };
            let mut refused = BTreeMap::new();
            for name in module.functions() {
                match module.function(name) {
                    Ok(function) => {
                        for instruction in &function.instructions {
                            let needs = needs(instruction);
                            if let Some(position) = position(instruction.place.line) {
                                judgement.needed.entry(position).or_default().extend(needs);
                            }
                        }
                    }
                    Err(error) => refused.extend(refusals(&error)),
                }
            }
            let known = open.len();
            open.retain(|position| !refused.contains_key(position));
            judgement.refused.extend(refused);
            if open.len() == known {
                return judgement;
            }
        }
    }
}

/// What a module needs to have an instruction and its special registers, one of several.
fn needs(instruction: &ptx_frontend::ir::Instruction) -> Vec<Requirement> {
    let specials = instruction.operands.iter().filter_map(|operand| match operand {
        Operand::Special(register) => Some(register.requirement()),
        _ => None,
    });
    let specials: Vec<Requirement> = specials.collect();
    let alternatives = instruction.op.line().requirements(&instruction.tokens);
    alternatives.map(|needed| specials.iter().fold(needed, |needed, special| needed.and(*special))).collect()
}

fn refusals(error: &Error) -> Vec<(usize, Refusal)> {
    let Error::Invalid { problems, .. } = error else { return Vec::new() };
    let refusal = |problem: &Problem| Refusal {
        message: problem.to_string(),
        by_name: matches!(problem, Problem::Resolve(ResolveError::Unsupported { .. })),
    };
    let placed =
        problems.iter().filter_map(|found| Some((position(found.place.line)?, refusal(&found.problem))));
    placed.collect()
}

/// The position in a text of a line of its module, counted from 1.
fn position(line: u32) -> Option<usize> {
    (line as usize).checked_sub(4)
}

impl Assembler {
    /// Those of the instructions that it refuses in a module of this version and target, with its words.
    pub(super) fn refusals(
        &self,
        text: &Text,
        asked: &Positions,
        version: (u8, u8),
        target: &str,
        unreadable: &mut Unreadable,
    ) -> Result<Refusals, AssemblerError> {
        if !self.complaints(&text.with(&Positions::new(), version, target), target)?.is_empty() {
            return Ok(None);
        }
        let known = |position: &usize| Some((*position, unreadable.get(&(version, *position))?.clone()));
        let mut refused: BTreeMap<usize, String> = asked.iter().filter_map(known).collect();
        let open = asked.iter().copied().filter(|position| !refused.contains_key(position)).collect();
        self.refused(text, open, version, target, &mut refused)?;
        let unread = refused.iter().filter(|(_, message)| message.starts_with(UNREADABLE));
        unreadable.extend(unread.map(|(position, message)| ((version, *position), message.clone())));
        Ok(Some(refused))
    }

    /// It does not tell all at once: what it has named is left out, and it is asked again.
    fn refused(
        &self,
        text: &Text,
        mut open: Positions,
        version: (u8, u8),
        target: &str,
        refused: &mut BTreeMap<usize, String>,
    ) -> Result<(), AssemblerError> {
        while !open.is_empty() {
            let complaints = self.complaints(&text.with(&open, version, target), target)?;
            if complaints.is_empty() {
                return Ok(());
            }
            let position = |line: usize| line.checked_sub(4).filter(|position| open.contains(position));
            let named: BTreeMap<usize, String> = complaints
                .iter()
                .filter_map(|(line, message)| Some((position(*line)?, message.clone())))
                .collect();
            if named.is_empty() {
                // It names no instruction: halves are asked alone.
                let all: Vec<usize> = open.into_iter().collect();
                let [only] = all.as_slice() else {
                    let (first, second) = all.split_at(all.len() / 2);
                    for half in [first, second] {
                        self.refused(text, half.iter().copied().collect(), version, target, refused)?;
                    }
                    return Ok(());
                };
                refused.insert(*only, shown(&complaints));
                return Ok(());
            }
            open.retain(|position| !named.contains_key(position));
            refused.extend(named);
        }
        Ok(())
    }
}
