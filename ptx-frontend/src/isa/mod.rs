//! Op table: the single definition of PTX instructions.
//!
//! Each group file contains a callback macro whose lines are instruction forms. A line gives the form's
//! name, spellings, execution unit, effect besides register writes, and section of the PTX manual (ISA 8.x
//! and 9.x). A spelling is a syntax with the first PTX ISA version and target (`sm_NN`) that support it.
//! Further spellings, after a `/`, have the operands of the first. Acceptance, decoding, disassembly,
//! dispatch, timing class and the printed support table all derive from these lines. Crate `functional`
//! expands the same macros into its dispatch, so a form without semantics does not compile.

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
pub use part::{PartSyntax, WordPart};
pub use release::{NEWEST_VERSION, first_version, is_version};
pub use requirement::{Architecture, Requirement, Target};
pub use special::SpecialRegister;
pub use syntax::{OperandSyntax, OperandType, SETS, Syntax, SyntaxError, Token, TokenSlot};
pub use types::{ScalarType, TypeClass};

use syntax::fit;

use serde::{Deserialize, Serialize};
use std::sync::OnceLock;
use warp_stream::Unit;

/// Effect of an instruction besides register writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Effect {
    /// None: results depend on the operands alone.
    Pure,
    /// Reads memory.
    Load,
    /// Writes memory.
    Store,
    /// Reads and writes memory atomically.
    Atomic,
    /// Orders memory accesses.
    Fence,
    /// Waits for or signals other warps of the CTA.
    Barrier,
    /// Exchanges values between the lanes of a warp.
    Convergent,
    /// May change the address of the next instruction.
    Branch,
    /// Calls a function.
    Call,
    /// Ends a function or thread.
    Exit,
    /// Reads a clock or another self-changing value.
    Volatile,
}

/// Implementation state of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// Implemented.
    Done,
    /// Not implemented yet.
    Missing(&'static str),
    /// Known but refused, for this reason.
    Refused(&'static str),
}

/// A spelling of a form.
#[derive(Debug, Clone, Copy)]
pub struct Spelling {
    /// Syntax as in the table; only a form's first spelling has operands.
    pub syntax: &'static str,
    /// Requirement on a module.
    pub requirement: Requirement,
}

/// A line of the op table.
#[derive(Debug, Clone, Copy)]
pub struct OpLine {
    /// Form.
    pub op: Op,
    /// Name of the form, unique in its group.
    pub name: &'static str,
    /// Group (file) of the form.
    pub group: &'static str,
    /// Result of the form, from the line's doc comment.
    pub doc: &'static str,
    /// Spellings; never empty.
    pub spellings: &'static [Spelling],
    /// Execution unit.
    pub unit: Unit,
    /// Effect besides register writes.
    pub effect: Effect,
    /// Section of the PTX manual.
    pub section: &'static str,
}

impl OpLine {
    /// Syntax, parsed once per process.
    pub fn parsed(&self) -> &'static Syntax {
        &parsed_table()[self.op.index()]
    }

    /// Requirement on a module to use the form with these modifiers and types; see
    /// [`OpLine::requirements`].
    pub fn requirement(&self, tokens: &[Option<Token>]) -> Requirement {
        self.requirements(tokens).next().unwrap_or(self.spellings[0].requirement)
    }

    /// Requirements on a module to use the form with these modifiers and types. If several spellings match,
    /// one requirement suffices.
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

    /// True if a module of this architecture may use the form with any modifiers and types.
    pub fn is_always_in(&self, module: Architecture) -> bool {
        let needs = self.parsed().spellings.iter().flatten().flat_map(|slot| &slot.needs);
        let spellings = self.spellings.iter().map(|spelling| spelling.requirement);
        spellings.chain(needs.map(|(_, needs)| *needs)).all(|needed| module.has(needed))
    }

    /// Syntaxes of all spellings.
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
        /// Forms of one group of the op table; see the line with the group's name.
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
            /// Index in the whole table.
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
    /// True if the unguarded form never continues at the next instruction.
    pub fn leaves(self) -> bool {
        matches!(self.line().effect, Effect::Branch | Effect::Exit)
    }

    /// Line of the form.
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
    fn op_table_lines_are_well_formed() {
        for line in table() {
            if let Err(error) = Syntax::parse(line.spellings) {
                panic!("{}: {error}", line.name);
            }
        }
    }

    #[test]
    fn op_names_are_unique_and_indices_ascend() {
        let mut seen = std::collections::HashSet::new();
        for (position, line) in table().enumerate() {
            assert_eq!(line.op.index(), position, "{}", line.name);
            assert!(seen.insert((line.group, line.name)), "{} twice", line.name);
        }
    }
}
