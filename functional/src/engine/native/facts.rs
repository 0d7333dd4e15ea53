//! Patterns of addresses that a block has already found. Later accesses from the same row test a bit instead
//! of comparing all lanes and checking the range.
//!
//! A fact belongs to a row of addresses and a width of elements. A stack slot of compiled code holds the
//! fact's bits, the address of each half's first lane, and the host's addresses. A write to the row ends the
//! fact.

use super::emitter::stack;
use super::rows::Unit;

/// Half `h` accesses consecutive elements: bit `h`.
pub(super) const STRIDED: u32 = 1;
/// Half `h` accesses one element: bit `2 + h`.
pub(super) const UNIFORM: u32 = 4;
/// Both halves access consecutive elements, and all offsets of the group are accessible.
pub(super) const STRIDED_GROUP: u32 = 16;
/// Both halves access one element each, and all offsets of the group are accessible.
pub(super) const UNIFORM_GROUP: u32 = 32;
/// All lanes access one place.
pub(super) const ALL_UNIFORM: u32 = 64;

/// Facts that a block keeps at once.
pub(super) const MOST: usize = 4;
/// Bytes of a fact: bits, the address of each half's first lane, and the host's addresses.
pub(super) const BYTES: i32 = 40;

/// Largest distance of an offset in a group.
const FARTHEST: i64 = 1 << 29;

/// Offsets of a block's accesses from one row of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Group {
    /// Lowest offset.
    pub(super) first: i64,
    /// Highest offset.
    pub(super) last: i64,
    /// Number of accesses.
    pub(super) count: u32,
}

impl Group {
    /// A group without any access.
    pub(super) const EMPTY: Group = Group { first: i64::MAX, last: i64::MIN, count: 0 };

    /// Adds an access of `bytes` bytes, unless its offset does not fit.
    pub(super) fn add(&mut self, offset: i64, bytes: u32) {
        if offset.abs() < FARTHEST && offset.rem_euclid(i64::from(bytes)) == 0 {
            self.first = self.first.min(offset);
            self.last = self.last.max(offset);
            self.count += 1;
        }
    }

    /// True if the check of the group covers an access.
    pub(super) fn covers(&self, offset: i64, bytes: u32) -> bool {
        (self.first..=self.last).contains(&offset) && offset.rem_euclid(i64::from(bytes)) == 0
    }
}

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

    /// Place of the host's address of a half's first lane, if the group is accessible.
    pub(super) fn host(self, half: usize) -> i32 {
        self.bits() + 24 + half as i32 * 8
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
    known: [Option<(Subject, Group)>; MOST],
    next: usize,
}

impl Facts {
    /// The fact about a subject, and the offsets that it covers.
    pub(super) fn find(&self, subject: Subject) -> Option<(Fact, Group)> {
        let found = |known: &Option<(Subject, Group)>| known.is_some_and(|(other, _)| other == subject);
        let slot = self.known.iter().position(found)?;
        self.known[slot].map(|(_, group)| (Fact(slot), group))
    }

    /// A slot for a new fact, which may take the place of the oldest.
    pub(super) fn add(&mut self, subject: Subject, group: Group) -> Fact {
        let slot = self.next;
        self.next = (self.next + 1) % MOST;
        self.known[slot] = Some((subject, group));
        Fact(slot)
    }

    /// A unit gets another value.
    pub(super) fn changed(&mut self, unit: Unit) {
        for known in &mut self.known {
            if known.is_some_and(|(subject, _)| subject.has(unit)) {
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
            facts.add(SUBJECT, Group::EMPTY);
            facts.changed(Unit::Frame(512));
            assert!(facts.find(SUBJECT).is_some());
            facts.changed(Unit::Frame(256 + part * 64));
            assert!(facts.find(SUBJECT).is_none(), "unit {part}");
        }
    }

    #[test]
    fn width_is_part_of_a_fact() {
        let mut facts = Facts::default();
        facts.add(SUBJECT, Group::EMPTY);
        assert_eq!(facts.find(Subject { width: 8, ..SUBJECT }), None);
    }

    #[test]
    fn oldest_fact_leaves_first() {
        let mut facts = Facts::default();
        let subject = |number: u32| Subject { row: number * 512, ..SUBJECT };
        (0..=MOST as u32).for_each(|number| {
            facts.add(subject(number), Group::EMPTY);
        });
        assert!(facts.find(subject(0)).is_none() && facts.find(subject(1)).is_some());
    }

    #[test]
    fn group_covers_aligned_offsets_between_its_accesses() {
        let mut group = Group::EMPTY;
        for offset in [8, -4, 6, 1 << 31] {
            group.add(offset, 4);
        }
        assert_eq!((group.first, group.last, group.count), (-4, 8, 2));
        assert!(group.covers(4, 4) && !group.covers(5, 4) && !group.covers(12, 4) && !group.covers(-8, 4));
    }
}
