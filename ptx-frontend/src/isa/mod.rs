//! The op table: the one place that knows which instructions PTX has.
//!
//! Each group file holds one callback macro whose lines are the instruction forms. A line gives the form's name,
//! its spellings, the execution unit, its effect beside writing registers, and the section of the PTX manual (ISA 8.x
//! and 9.x numbering). A spelling is a syntax with the first PTX ISA version and the first target (`sm_NN`) that have it;
//! further ones, behind a `/`, have the first one's operands. Acceptance, decoding, disassembly, dispatch, timing class
//! and the printed support table all follow from these lines: `functional` expands the same macros into its dispatch, so
//! a form without semantics does not compile.

mod absent;
mod fragment;
mod geometry;
mod modifier;
mod part;
pub mod release;
mod requirement;
mod special;
mod syntax;
mod types;

pub use absent::{ABSENT, Absent};
pub use fragment::{Fragment, MatrixRole, MatrixShape};
pub use geometry::Geometry;
pub use modifier::Modifier;
pub use part::{Part, PartSyntax};
pub use release::{NEWEST_VERSION, first_version, is_version};
pub use requirement::{Architecture, Requirement, Target};
pub use special::SpecialRegister;
pub use syntax::{OperandSyntax, OperandType, SETS, Slot, Syntax, SyntaxError, Token};
pub use types::{ScalarType, TypeClass};

use syntax::fit;

use serde::{Deserialize, Serialize};
use std::sync::OnceLock;
use warp_stream::Unit;

/// What an instruction does beside writing registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Effect {
    /// Nothing: its results depend on its operands alone.
    Pure,
    /// Reads memory.
    Load,
    /// Writes memory.
    Store,
    /// Reads and writes memory indivisibly.
    Atomic,
    /// Orders memory accesses.
    Fence,
    /// Waits for or signals other warps of the CTA.
    Barrier,
    /// Exchanges values between the lanes of a warp.
    Convergent,
    /// May change the next instruction's address.
    Branch,
    /// Enters a function.
    Call,
    /// Ends a function or thread.
    Exit,
    /// Reads a clock or another value that changes by itself.
    Volatile,
}

/// How far an instruction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It runs.
    Done,
    /// Nobody has written it yet.
    Missing(&'static str),
    /// It is known and answered with an error, for this reason.
    Refused(&'static str),
}

/// One of the ways to write a form.
#[derive(Debug, Clone, Copy)]
pub struct Spelling {
    /// The syntax, as in the table; operands only in a form's first.
    pub syntax: &'static str,
    /// What a module needs to use it.
    pub requirement: Requirement,
}

/// A line of the op table.
#[derive(Debug, Clone, Copy)]
pub struct OpLine {
    /// The form.
    pub op: Op,
    /// The form's name, unique within its group.
    pub name: &'static str,
    /// Group (file) it stands in.
    pub group: &'static str,
    /// What it computes, from the line's doc comment.
    pub doc: &'static str,
    /// How it is written; never empty.
    pub spellings: &'static [Spelling],
    /// Execution unit.
    pub unit: Unit,
    /// Effect beside register writes.
    pub effect: Effect,
    /// Section of the PTX manual.
    pub section: &'static str,
}

impl OpLine {
    /// The syntax, taken apart once per process.
    pub fn parsed(&self) -> &'static Syntax {
        &parsed_table()[self.op.index()]
    }

    /// What a module needs to use the form with these modifiers and types; see [`OpLine::requirements`].
    pub fn requirement(&self, tokens: &[Option<Token>]) -> Requirement {
        self.requirements(tokens).next().unwrap_or(self.spellings[0].requirement)
    }

    /// What a module needs to use the form with these modifiers and types. Where they fit several spellings, one of
    /// the requirements is enough.
    pub fn requirements(&self, tokens: &[Option<Token>]) -> impl Iterator<Item = Requirement> {
        let given: Vec<Token> = tokens.iter().flatten().copied().collect();
        self.parsed().spellings.iter().zip(self.spellings).filter_map(move |(slots, spelling)| {
            let filled = fit(slots, &given)?;
            let of_tokens = slots.iter().zip(filled).filter_map(|(slot, token)| {
                slot.needs.iter().find(|(known, _)| Some(*known) == token).map(|(_, needs)| *needs)
            });
            Some(of_tokens.fold(spelling.requirement, Requirement::and))
        })
    }

    /// May a module of this architecture use the form whatever its modifiers and types?
    pub fn is_always_in(&self, module: Architecture) -> bool {
        let needs = self.parsed().spellings.iter().flatten().flat_map(|slot| &slot.needs);
        let spellings = self.spellings.iter().map(|spelling| spelling.requirement);
        spellings.chain(needs.map(|(_, needs)| *needs)).all(|needed| module.has(needed))
    }

    /// The syntaxes of all spellings.
    pub fn syntaxes(&self) -> impl Iterator<Item = &'static str> {
        self.spellings.iter().map(|spelling| spelling.syntax)
    }
}

macro_rules! define_group {
    ($group:ident $enum_name:ident [
        $(
            $(#[doc = $doc:literal])+ $name:ident : $($syntax:literal, $ptx:literal, $target:literal)/+,
            $unit:ident, $effect:ident, $section:literal;
        )*
    ]) => {
        /// The forms of one group of the op table; see the line of the same name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[allow(non_camel_case_types)]
        pub enum $enum_name { $($(#[doc = $doc])+ $name,)* }

        impl $enum_name {
            const LINES: &'static [OpLine] = &[$(OpLine {
                op: Op::$enum_name($enum_name::$name),
                name: stringify!($name),
                group: stringify!($group),
                doc: concat!($($doc, "\n"),+),
                spellings: &[$(Spelling {
                    syntax: $syntax,
                    requirement: Requirement::written(stringify!($ptx), stringify!($target)),
                }),+],
                unit: Unit::$unit,
                effect: Effect::$effect,
                section: $section,
            },)*];
        }
    };
}

macro_rules! define_groups {
    ($($(#[$doc:meta])* $module:ident $enum_name:ident $table:ident;)*) => {
        $(#[macro_use] mod $module;)*
        $($table! { define_group $module $enum_name })*

        /// An instruction form: a line of the op table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Op { $($(#[$doc])* $enum_name($enum_name),)* }

        const GROUPS: &[&[OpLine]] = &[$($enum_name::LINES,)*];

        impl Op {
            /// Position in the whole table.
            pub fn index(self) -> usize {
                let mut base = 0;
                $(
                    if let Op::$enum_name(op) = self {
                        return base + op as usize;
                    }
                    base += $enum_name::LINES.len();
                )*
                base
            }
        }
    };
}

define_groups! {
    /// Integer arithmetic (manual section 9.7.1).
    integer Integer integer_ops;
    /// Floating-point arithmetic (9.7.3 to 9.7.5).
    float Float float_ops;
    /// Comparison and selection (9.7.6, 9.7.7).
    compare Compare compare_ops;
    /// Logic and shift (9.7.8).
    logic Logic logic_ops;
    /// Data movement and conversion (9.7.9).
    memory Memory memory_ops;
    /// Conversion between types (`cvt`).
    convert Convert convert_ops;
    /// Control flow (9.7.12).
    control Control control_ops;
    /// Barriers, fences, votes, warp-wide exchange (9.7.13).
    parallel Parallel parallel_ops;
    /// Atomics (9.7.13).
    atomic Atomic atomic_ops;
    /// Video instructions, scalar and SIMD (9.7.18).
    video Video video_ops;
    /// Matrix multiplication by a warp (9.7.14).
    matrix Matrix matrix_ops;
    /// Textures and surfaces (9.7.10, 9.7.11).
    texture Texture texture_ops;
}

/// All lines, group by group.
pub fn table() -> impl Iterator<Item = &'static OpLine> {
    GROUPS.iter().flat_map(|group| group.iter())
}

impl Op {
    /// Without a guard, does the form always go elsewhere than to the next instruction?
    pub fn leaves(self) -> bool {
        matches!(self.line().effect, Effect::Branch | Effect::Exit)
    }

    /// The form's line.
    pub fn line(self) -> &'static OpLine {
        static LINES: OnceLock<Vec<&'static OpLine>> = OnceLock::new();
        LINES.get_or_init(|| table().collect())[self.index()]
    }
}

fn parsed_table() -> &'static [Syntax] {
    static PARSED: OnceLock<Vec<Syntax>> = OnceLock::new();
    PARSED.get_or_init(|| table().map(|line| Syntax::parse(line.spellings).unwrap_or_default()).collect())
}

/// All forms of a mnemonic (the opcode's first word), in table order.
pub fn forms_of(mnemonic: &str) -> &'static [&'static OpLine] {
    static BY_MNEMONIC: OnceLock<std::collections::HashMap<&'static str, Vec<&'static OpLine>>> =
        OnceLock::new();
    let map = BY_MNEMONIC.get_or_init(|| {
        let mut map: std::collections::HashMap<_, Vec<_>> = std::collections::HashMap::new();
        for line in table() {
            map.entry(line.parsed().mnemonic).or_default().push(line);
        }
        map
    });
    map.get(mnemonic).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_well_formed() {
        for line in table() {
            if let Err(error) = Syntax::parse(line.spellings) {
                panic!("{}: {error}", line.name);
            }
        }
    }

    #[test]
    fn names_are_unique_and_indices_count_up() {
        let mut seen = std::collections::HashSet::new();
        for (position, line) in table().enumerate() {
            assert_eq!(line.op.index(), position, "{}", line.name);
            assert!(seen.insert((line.group, line.name)), "{} twice", line.name);
        }
    }
}
