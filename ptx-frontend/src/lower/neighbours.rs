//! Neighbours of a register in the interference graph. Large sets, as in long blocks with many live values,
//! are bit sets, which take less memory than a table and are faster.

use rustc_hash::FxHashSet;

use super::live::Bits;

/// Registers per table entry: with fewer, bits take less memory.
const SPARSE: usize = 64;

/// A set of registers.
#[derive(Debug)]
pub(super) enum Neighbours {
    Few(FxHashSet<u32>),
    Many(Bits),
}

impl Default for Neighbours {
    fn default() -> Neighbours {
        Neighbours::Few(FxHashSet::default())
    }
}

impl Neighbours {
    /// Adds a register, out of `count`.
    pub(super) fn insert(&mut self, register: u32, count: usize) {
        match self {
            Neighbours::Many(bits) => bits.set(register),
            Neighbours::Few(table) => {
                table.insert(register);
                if table.len() * SPARSE > count {
                    let mut bits = Bits::new(count);
                    table.iter().for_each(|register| bits.set(*register));
                    *self = Neighbours::Many(bits);
                }
            }
        }
    }

    pub(super) fn remove(&mut self, register: u32) {
        match self {
            Neighbours::Many(bits) => bits.clear(register),
            Neighbours::Few(table) => {
                table.remove(&register);
            }
        }
    }

    pub(super) fn has(&self, register: u32) -> bool {
        match self {
            Neighbours::Many(bits) => bits.has(register),
            Neighbours::Few(table) => table.contains(&register),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let (table, bits) = match self {
            Neighbours::Few(table) => (Some(table), None),
            Neighbours::Many(bits) => (None, Some(bits)),
        };
        table.into_iter().flatten().copied().chain(bits.into_iter().flat_map(Bits::iter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversion_to_bits_keeps_the_members() {
        let mut neighbours = Neighbours::default();
        let count = 10 * SPARSE;
        for register in (0..30).rev() {
            neighbours.insert(20 * register, count);
            neighbours.insert(20 * register, count);
            let expected: Vec<u32> = (register..30).map(|register| 20 * register).collect();
            let mut found: Vec<u32> = neighbours.iter().collect();
            found.sort_unstable();
            assert_eq!(found, expected);
        }
        assert!(matches!(neighbours, Neighbours::Many(_)));
        neighbours.remove(40);
        assert!(neighbours.has(20) && !neighbours.has(40) && !neighbours.has(21));
    }
}
