//! Which instructions become part of others: sums of products, sums of addresses, changes of sign.

use warp_stream::OperationClass;

use crate::ir::{Operand, RegisterId};

use super::values::Values;

/// An instruction that another takes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fold {
    /// The one that is taken in.
    pub(super) inner: u32,
    /// Which operand of the other its result is.
    pub(super) operand: u8,
    /// What both are together.
    pub(super) class: OperationClass,
    /// A shift of 64 bits with a sum: one for each half.
    pub(super) is_shift_of_pair: bool,
}

/// All of a function.
#[derive(Debug, Default)]
pub(super) struct Folds {
    absorbed: Vec<bool>,
    taken: Vec<Option<Fold>>,
}

impl Folds {
    pub(super) fn of(values: &Values<'_>, instructions: usize) -> Folds {
        let _ = values;
        Folds { absorbed: vec![false; instructions], taken: vec![None; instructions] }
    }

    /// Is it part of others?
    pub(super) fn is_absorbed(&self, position: u32) -> bool {
        self.absorbed.get(position as usize).copied().unwrap_or(false)
    }

    pub(super) fn taken_by(&self, position: u32) -> Option<Fold> {
        self.taken.get(position as usize).copied().flatten()
    }

    /// The predicate of which `register` is the negation, if that needs no instruction.
    pub(super) fn behind_not(&self, _values: &Values<'_>, register: RegisterId) -> RegisterId {
        register
    }

    /// The operand of which this is the negative or absolute value, if that needs no instruction.
    pub(super) fn behind_sign<'o>(&self, _values: &Values<'_>, operand: &'o Operand) -> &'o Operand {
        operand
    }

    /// The register an address counts from.
    pub(super) fn base(&self, _values: &Values<'_>, register: RegisterId) -> RegisterId {
        register
    }
}
