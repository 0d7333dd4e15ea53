//! Patterns of addresses that a block has already found: later accesses from the same row test a bit instead
//! of comparing all lanes.
//!
//! A fact belongs to a row of addresses and a width of elements. A stack slot of compiled code holds the
//! fact's bits and the address of each half's first lane. A write to the row ends the fact.

use super::emitter::stack;
use super::rows::Unit;

/// Half `h` accesses consecutive elements: bit `h`.
pub(super) const STRIDED: u32 = 1;
/// Half `h` accesses one element: bit `2 + h`.
pub(super) const UNIFORM: u32 = 4;
/// All lanes access consecutive elements.
pub(super) const ALL_STRIDED: u32 = 16;
/// All lanes access one element.
pub(super) const ALL_UNIFORM: u32 = 32;

/// Facts that a block keeps at once.
pub(super) const MOST: usize = 4;
/// Bytes of a fact: bits, and the address of each half's first lane.
const BYTES: i32 = 24;

/// Stack slot of a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fact(usize);

impl Fact {
    /// Place of the bits, in bytes from the stack pointer.
    pub(super) fn bits(self) -> i32 {
        stack::FACTS + self.0 as i32 * BYTES
    }

    /// Place of the address of a half's first lane.
    pub(super) fn address(self, half: usize) -> i32 {
        self.bits() + 8 + half as i32 * 8
    }
}

/// Subject of a fact: row of addresses, its units, and bytes per element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Subject {
    pub(super) row: u32,
    pub(super) units: u32,
    pub(super) width: u32,
}

impl Subject {
    fn has(self, unit: Unit) -> bool {
        (0..self.units).any(|part| Unit::of(self.row, part) == unit)
    }
}

/// Facts that hold at a place in the code.
#[derive(Debug, Default)]
pub(super) struct Facts {
    known: [Option<Subject>; MOST],
    next: usize,
}

impl Facts {
    /// The fact about a subject.
    pub(super) fn find(&self, subject: Subject) -> Option<Fact> {
        self.known.iter().position(|known| *known == Some(subject)).map(Fact)
    }

    /// A slot for a new fact, which may take the place of the oldest.
    pub(super) fn add(&mut self, subject: Subject) -> Fact {
        let slot = self.next;
        self.next = (self.next + 1) % MOST;
        self.known[slot] = Some(subject);
        Fact(slot)
    }

    /// A unit gets another value.
    pub(super) fn changed(&mut self, unit: Unit) {
        for known in &mut self.known {
            if known.is_some_and(|subject| subject.has(unit)) {
                *known = None;
            }
        }
    }

    /// Nothing is known.
    pub(super) fn forget(&mut self) {
        *self = Facts::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUBJECT: Subject = Subject { row: 256, units: 4, width: 4 };

    #[test]
    fn write_to_any_unit_of_the_row_ends_a_fact() {
        for part in 0..4 {
            let mut facts = Facts::default();
            facts.add(SUBJECT);
            facts.changed(Unit::Frame(512));
            assert!(facts.find(SUBJECT).is_some());
            facts.changed(Unit::Frame(256 + part * 64));
            assert!(facts.find(SUBJECT).is_none(), "unit {part}");
        }
    }

    #[test]
    fn width_is_part_of_a_fact() {
        let mut facts = Facts::default();
        facts.add(SUBJECT);
        assert_eq!(facts.find(Subject { width: 8, ..SUBJECT }), None);
    }

    #[test]
    fn oldest_fact_leaves_first() {
        let mut facts = Facts::default();
        let subject = |number: u32| Subject { row: number * 512, ..SUBJECT };
        (0..=MOST as u32).for_each(|number| {
            facts.add(subject(number));
        });
        assert!(facts.find(subject(0)).is_none() && facts.find(subject(1)).is_some());
    }
}
