//! Module with individually removable instructions, to find the accepted ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ptx_frontend::diagnostic::Problem;
use ptx_frontend::ir::Operand;
use ptx_frontend::isa::Requirement;
use ptx_frontend::resolve::ResolveError;
use ptx_frontend::{Error, Module};

use super::specimen::{SURROUNDINGS, Specimen};
use super::{Assembler, AssemblerError, UNREADABLE, head, shown};

/// Lines of a module after its header. Lines with tested instructions are removable.
#[derive(Debug, Default)]
pub(super) struct Text {
    lines: Vec<String>,
    /// Tested instructions by line position.
    pub(super) items: BTreeMap<usize, Item>,
}

/// Instruction under test.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// Group and name of the form, or position in a file.
    pub(super) form: String,
    /// Text of the instruction.
    pub(super) instruction: String,
}

/// Instructions by line position.
pub(super) type Positions = BTreeSet<usize>;

/// The assembler's errors by line position, or `None` if it refuses even the remaining lines.
pub(super) type Refusals = Option<BTreeMap<usize, String>>;

/// Syntax errors of the assembler by version and line position. The grammar does not depend on the target,
/// so these instructions are not tested again.
pub(super) type Unreadable = BTreeMap<((u8, u8), usize), String>;

/// Verdict of the front end on instructions in a module of one version and target.
#[derive(Debug, Default)]
pub(super) struct Judgement {
    /// Refused instructions.
    pub(super) refused: BTreeMap<usize, Refusal>,
    /// Requirements of the accepted instructions. One of several suffices.
    pub(super) needed: BTreeMap<usize, Vec<Requirement>>,
}

/// Refusal by the front end.
#[derive(Debug, Clone)]
pub(super) struct Refusal {
    /// Message.
    pub(super) message: String,
    /// Set if the front end knows the instruction but does not support it.
    pub(super) by_name: bool,
}

impl Text {
    /// Returns a text with a one-line kernel for each test instruction.
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

    /// Returns the lines of a file. Instructions alone on their lines are tested.
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
        // In a module of this version and target, the front end refuses nothing.
        for position in text.judgement(&Positions::new(), (9, 9), "999a").needed.into_keys() {
            let Some(line) = text.lines.get(position).filter(|line| line.trim_end().ends_with(';')) else {
                continue;
            };
            let form = format!("{}:{}", path.display(), position + 1);
            text.items.insert(position, Item { form, instruction: line.trim().to_owned() });
        }
        Ok(text)
    }

    /// Returns the positions of all tested instructions.
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
        // The assembler checks the header only if there is a kernel.
        text + ".visible .entry probe() { ret; }\n"
    }

    /// Returns the front end's verdict on these instructions. The front end reports errors in several
    /// rounds.
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

/// Returns alternative requirements of an instruction and its special registers.
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

/// Converts a line of the module, counted from 1, to a position in the text.
fn position(line: u32) -> Option<usize> {
    (line as usize).checked_sub(4)
}

impl Assembler {
    /// Returns the assembler's errors for instructions in a module of this version and target.
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

    /// Repeats the assembly without refused instructions, because not all errors are reported at once.
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
                // If no instruction is named, the halves are tested separately.
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
