//! Volta (`sm_70`), whose expansions are those of [`super::super::expansion`].

use warp_stream::OperationClass::{Branch, Move, Nothing};

use super::super::combine::Shape;
use super::{Machine, Registers};

pub(super) const MACHINE: Machine = Machine {
    name: "sm_70",
    since: 70,
    instruction_bytes: 16,
    control_word_before: None,
    // The second one is a `SHFL` that no lane executes.
    prologue: &[Move, Nothing],
    // `BMOV` and `BSSY`.
    reconvergence: &[Move, Branch],
    registers: Registers { most: 255, hidden: 2, all_warps: 32, unit: 8 },
    three_sources: true,
    wide_sum: Shape::One,
    expansion: |_, _| None,
};
