//! Physical registers.

use warp_stream::Registers;

use super::code::{Code, Words};

/// Which physical register each virtual one is.
#[derive(Debug, Default)]
pub(super) struct Allocation {
    /// By virtual register.
    places: Vec<u16>,
    predicates: Vec<u8>,
    /// Registers needed.
    pub(super) registers: u32,
}

impl Allocation {
    pub(super) fn of(code: &Code) -> Allocation {
        let count = code.group_of.len();
        Allocation {
            places: (0..count).map(|n| n as u16).collect(),
            predicates: (0..code.predicates).map(|n| (n % 32) as u8).collect(),
            registers: count.min(255) as u32,
        }
    }

    pub(super) fn registers_of(&self, words: Words) -> Registers {
        match self.places.get(words.first as usize) {
            Some(first) if words.count > 0 => Registers { first: *first, count: words.count },
            _ => Registers::NONE,
        }
    }

    pub(super) fn predicate(&self, predicate: u32) -> u8 {
        self.predicates.get(predicate as usize).copied().unwrap_or(0)
    }
}
