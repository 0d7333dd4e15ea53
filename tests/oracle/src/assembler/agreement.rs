//! Differences between the front end and the vendor's assembler in supported instructions, first targets
//! and first PTX versions.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use ptx_frontend::isa::{OpLine, Requirement, Target};

use super::specimen::Specimen;
use super::text::{Item, Judgement, Positions, Text, Unreadable};
use super::{Assembler, AssemblerError, VERSIONS};
use crate::random::Random;

/// Number of instructions in one module.
const MODULE: usize = 2000;

/// Disagreement about one instruction.
#[derive(Debug)]
pub struct Disagreement {
    /// Group and name of the form, or position in a file.
    pub form: String,
    /// Instruction.
    pub instruction: String,
    /// Kind of disagreement.
    pub kind: Kind,
}

/// Kind of disagreement about an instruction.
#[derive(Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only the front end accepts it. Holds the assembler's message.
    OnlyOurs(String),
    /// Only the assembler accepts it. Holds the front end's message.
    OnlyTheirs(String),
    /// The targets differ.
    Target {
        /// First target of the front end.
        ours: String,
        /// First target of the assembler.
        theirs: String,
    },
    /// The versions differ.
    Version {
        /// First version in the op table.
        ours: (u8, u8),
        /// Set if the assembler supports it earlier.
        earlier: bool,
    },
}

/// Result of a comparison.
#[derive(Debug, Default)]
pub struct Comparison {
    /// Number of instructions compared.
    pub instructions: usize,
    /// Number of instructions that both support.
    pub common: usize,
    /// Number of instructions that the assembler supports and the front end refuses by name.
    pub by_name: usize,
    /// Disagreements.
    pub disagreements: Vec<Disagreement>,
}

impl Comparison {
    /// Adds the results of another comparison.
    pub fn add(&mut self, other: Comparison) {
        self.instructions += other.instructions;
        self.common += other.common;
        self.by_name += other.by_name;
        self.disagreements.extend(other.disagreements);
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |is: fn(&Kind) -> bool| self.disagreements.iter().filter(|found| is(&found.kind)).count();
        write!(
            f,
            "{} instructions, {} of both, {} refused by name; disagreements: only ours {}, only theirs {}, target {}, \
             version {}",
            self.instructions,
            self.common,
            self.by_name,
            count(|kind| matches!(kind, Kind::OnlyOurs(_))),
            count(|kind| matches!(kind, Kind::OnlyTheirs(_))),
            count(|kind| matches!(kind, Kind::Target { .. })),
            count(|kind| matches!(kind, Kind::Version { .. }))
        )
    }
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<28} {:<56} ", self.form, self.instruction)?;
        match &self.kind {
            Kind::OnlyOurs(message) => write!(f, "accepted only by the front end: {message}"),
            Kind::OnlyTheirs(message) => write!(f, "only theirs: {message}"),
            Kind::Target { ours, theirs } => write!(f, "from sm_{ours} here, from sm_{theirs} there"),
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

/// Instructions with the requirement to compare.
type TestedInstructions = Vec<(usize, Requirement)>;

/// Verdicts of both on a module's instructions for one target.
struct ModuleVerdicts {
    target: String,
    ours: Judgement,
    theirs: BTreeMap<usize, String>,
}

/// Comparison of one instruction.
enum Verdict {
    /// Neither supports it.
    None,
    /// Both support it, as far as tested.
    Common,
    /// Only the assembler supports it, and the front end refuses it by name.
    ByName,
    /// The verdicts differ.
    Disagreement(Kind),
}

impl ModuleVerdicts {
    fn taken_here(&self, position: usize) -> bool {
        self.ours.needed.contains_key(&position)
    }

    fn taken_there(&self, position: usize) -> bool {
        !self.theirs.contains_key(&position)
    }
}

impl Assembler {
    /// Compares spellings of the forms, and altered spellings.
    pub fn on_forms(
        &self,
        lines: impl Iterator<Item = &'static OpLine>,
    ) -> Result<Comparison, AssemblerError> {
        let specimens: Vec<Specimen> =
            lines.flat_map(|line| Specimen::all(line, &mut Random::new(0, line.name))).collect();
        let mut comparison = Comparison::default();
        for part in specimens.chunks(MODULE) {
            comparison.add(self.on_text(&Text::of_specimens(part))?);
        }
        Ok(comparison)
    }

    /// Compares the instructions of a file that the front end accepts.
    pub fn on_file(&self, path: &Path) -> Result<Comparison, AssemblerError> {
        self.on_text(&Text::of_file(path)?)
    }

    fn names(&self) -> impl Iterator<Item = String> + '_ {
        self.targets.iter().map(ToString::to_string).chain(self.specific.iter().cloned())
    }

    fn on_text(&self, text: &Text) -> Result<Comparison, AssemblerError> {
        let all = text.positions();
        let mut judged = Vec::new();
        let mut unreadable = Unreadable::new();
        for target in self.names() {
            if let Some(theirs) = self.refusals(text, &all, self.version, &target, &mut unreadable)? {
                let ours = text.judgement(&all, self.version, &target);
                judged.push(ModuleVerdicts { target, ours, theirs });
            }
        }
        let mut comparison = Comparison { instructions: all.len(), ..Comparison::default() };
        let mut common = Vec::new();
        for (position, item) in &text.items {
            match verdict(*position, &judged) {
                Verdict::None => {}
                Verdict::Common => common.push(*position),
                Verdict::ByName => comparison.by_name += 1,
                Verdict::Disagreement(kind) => comparison.disagreements.push(item.disagreement(kind)),
            }
        }
        comparison.common = common.len();
        comparison.disagreements.extend(self.on_versions(text, &common, &judged, &mut unreadable)?);
        Ok(comparison)
    }

    /// Compares the PTX versions of instructions that both support. Tests each version in the table and its
    /// predecessor, in modules for the first target.
    fn on_versions(
        &self,
        text: &Text,
        common: &[usize],
        judged: &[ModuleVerdicts],
        unreadable: &mut Unreadable,
    ) -> Result<Vec<Disagreement>, AssemblerError> {
        // Instructions to test for each version and target, with the table's first version of each.
        let mut questions: BTreeMap<((u8, u8), String), TestedInstructions> = BTreeMap::new();
        for position in common {
            let needed = judged.iter().find_map(|judged| judged.ours.needed.get(position));
            for needed in needed.into_iter().flatten() {
                let has = |name: &String| Target::from_name(name).is_some_and(|t| t.has(needed.target));
                let Some(target) = self.names().find(has) else { continue };
                let own = VERSIONS.iter().position(|version| *version == needed.ptx);
                let before = own.and_then(|own| VERSIONS.get(own + 1)).copied();
                let versions = [Some(needed.ptx), before].into_iter().flatten();
                for version in versions.filter(|version| *version <= self.version) {
                    questions.entry((version, target.clone())).or_default().push((*position, *needed));
                }
            }
        }
        let mut found = BTreeMap::new();
        for ((version, target), asked) in &questions {
            let positions: Positions = asked.iter().map(|(position, _)| *position).collect();
            let Some(theirs) = self.refusals(text, &positions, *version, target, unreadable)? else {
                continue;
            };
            let ours = text.judgement(&positions, *version, target);
            let judged = ModuleVerdicts { target: target.clone(), ours, theirs };
            for (position, needed) in asked {
                let (here, there) = (judged.taken_here(*position), judged.taken_there(*position));
                if here != there {
                    found.insert(*position, Kind::Version { ours: needed.ptx, earlier: there });
                }
            }
        }
        let item = |(position, kind)| Some(text.items.get(&position)?.disagreement(kind));
        Ok(found.into_iter().filter_map(item).collect())
    }
}

/// Compares the targets that support an instruction.
fn verdict(position: usize, judged: &[ModuleVerdicts]) -> Verdict {
    let first =
        |taken: fn(&ModuleVerdicts, usize) -> bool| judged.iter().find(|judged| taken(judged, position));
    let (ours, theirs) = (first(ModuleVerdicts::taken_here), first(ModuleVerdicts::taken_there));
    let (ours, theirs) = match (ours, theirs) {
        (None, None) => return Verdict::None,
        (Some(ours), Some(theirs)) => (ours, theirs),
        (Some(_), None) => {
            let message = judged.iter().rev().find_map(|judged| judged.theirs.get(&position));
            return Verdict::Disagreement(Kind::OnlyOurs(message.cloned().unwrap_or_default()));
        }
        (None, Some(theirs)) => {
            let refusal = theirs.ours.refused.get(&position);
            if refusal.is_some_and(|refusal| refusal.by_name) {
                return Verdict::ByName;
            }
            let message = refusal.map(|refusal| refusal.message.clone()).unwrap_or_default();
            return Verdict::Disagreement(Kind::OnlyTheirs(message));
        }
    };
    let disagrees = |judged: &ModuleVerdicts| {
        let (here, there) = (judged.taken_here(position), judged.taken_there(position));
        // Some features of an architecture-specific target are absent from later targets.
        let is_gone = here && Target::from_name(&judged.target).is_some_and(|target| target.specific);
        here != there && !is_gone
    };
    if judged.iter().any(disagrees) {
        return Verdict::Disagreement(Kind::Target {
            ours: ours.target.clone(),
            theirs: theirs.target.clone(),
        });
    }
    Verdict::Common
}
