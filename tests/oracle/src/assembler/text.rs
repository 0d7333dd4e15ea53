//! A module whose instructions can be taken out one by one, to ask the assembler which of them it accepts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ptx_frontend::Module;
use ptx_frontend::ir::Operand;
use ptx_frontend::isa::Requirement;

use super::{Assembler, AssemblerError, head, shown};
use crate::variant::Variant;

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
    /// What the op table says that a module needs; `None` where the table does not have it.
    pub(super) needed: Option<Requirement>,
}

/// What the assembler says against instructions, by position in the lines; `None` where it does not even take the rest.
pub(super) type Refusals = Option<BTreeMap<usize, String>>;

impl Text {
    /// A kernel for each instruction, each on one line.
    pub(super) fn of_variants<'a>(variants: impl Iterator<Item = (&'a Variant, bool)>) -> Text {
        let mut text = Text::default();
        for (number, (variant, known)) in variants.enumerate() {
            let line = variant.line;
            text.lines.push(kernel(&format!("k{number}"), variant));
            let item = Item {
                form: format!("{}/{}", line.group, line.name),
                instruction: variant.instruction(),
                needed: known.then(|| line.requirement(&variant.tokens)),
            };
            text.items.insert(number, item);
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
        let mut items = BTreeMap::new();
        // In a module of this version and target, our own front end refuses nothing.
        let newest = format!(".version 9.9\n.target sm_999a\n.address_size 64\n{}\n", lines.join("\n"));
        if let Ok(module) = Module::parse(newest, &path.display().to_string()) {
            for function in module.functions().filter_map(|name| module.function(name).ok()) {
                for instruction in &function.instructions {
                    let Some(position) = (instruction.place.line as usize).checked_sub(4) else { continue };
                    let Some(line) = lines.get(position).filter(|line| line.trim_end().ends_with(';')) else {
                        continue;
                    };
                    let specials = instruction.operands.iter().filter_map(|operand| match operand {
                        Operand::Special(register) => Some(register.requirement()),
                        _ => None,
                    });
                    let needed = instruction.op.line().requirement(&instruction.tokens);
                    let needed = specials.fold(needed, Requirement::and);
                    let item = items.entry(position).or_insert_with(|| Item {
                        form: format!("{}:{}", path.display(), position + 1),
                        instruction: line.trim().to_owned(),
                        needed: Some(needed),
                    });
                    item.needed = item.needed.map(|known| known.and(needed));
                }
            }
        }
        Ok(Text { lines, items })
    }

    /// The text with these instructions alone.
    pub(super) fn only(&self, positions: impl Iterator<Item = usize>) -> Text {
        let items: BTreeMap<_, _> =
            positions.filter_map(|position| Some((position, self.items.get(&position)?.clone()))).collect();
        let mut lines = self.lines.clone();
        for position in self.items.keys().filter(|position| !items.contains_key(*position)) {
            if let Some(line) = lines.get_mut(*position) {
                line.clear();
            }
        }
        Text { lines, items }
    }

    fn with(&self, open: &BTreeSet<usize>, version: (u8, u8), target: &str) -> String {
        let mut text = head(version, target);
        for (position, line) in self.lines.iter().enumerate() {
            if open.contains(&position) || !self.items.contains_key(&position) {
                text += line;
            }
            text.push('\n');
        }
        // It looks at the head only where there is a kernel.
        text + ".visible .entry probe() { ret; }\n"
    }
}

/// A kernel that does nothing but execute the instruction, on one line.
pub(super) fn kernel(name: &str, variant: &Variant) -> String {
    let registers: String = variant
        .places
        .iter()
        .filter(|place| place.constant.is_none())
        .map(|place| format!(" .reg .{} %{};", place.register.name(), place.syntax.name))
        .collect();
    format!(".visible .entry {name}() {{{registers} {}; ret; }}", variant.instruction())
}

impl Assembler {
    /// The instructions that it refuses in a module of this version and target, with its words.
    pub(super) fn refusals(
        &self,
        text: &Text,
        version: (u8, u8),
        target: &str,
    ) -> Result<Refusals, AssemblerError> {
        if !self.complaints(&text.with(&BTreeSet::new(), version, target), target)?.is_empty() {
            return Ok(None);
        }
        let mut refused = BTreeMap::new();
        self.refused(text, text.items.keys().copied().collect(), version, target, &mut refused)?;
        Ok(Some(refused))
    }

    /// It does not tell all at once: what it has named is left out, and it is asked again.
    fn refused(
        &self,
        text: &Text,
        mut open: BTreeSet<usize>,
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
