//! Set index: which set of a cache a line belongs to.

use crate::message::LINE_BYTES;

crate::choice! {
    /// Mapping of lines to sets.
    pub enum SetHash {
        /// Consecutive lines map to consecutive sets.
        Linear = "linear",
        /// Address bits above the index are folded onto it by exclusive or.
        Xor = "xor",
        /// Fermi: bits 7 to 11 xor bits 13, 14, 15, 17, 19 of the address, below bit 12 (Nugteren
        /// et al., "A
        /// Detailed GPU Cache Model Based on Reuse Distance Theory").
        Fermi = "fermi",
    }
}

impl SetHash {
    /// The set of the line at an address, of so many sets.
    #[inline(never)]
    pub fn set(self, address: u64, sets: u32) -> u32 {
        let line = address / LINE_BYTES;
        let sets = u64::from(sets.max(1));
        let index = match self {
            SetHash::Linear => line,
            SetHash::Xor => {
                let bits = sets.next_power_of_two().trailing_zeros().max(1);
                let mut folded = 0;
                let mut rest = line;
                while rest != 0 {
                    folded ^= rest;
                    rest >>= bits;
                }
                folded
            }
            SetHash::Fermi => {
                let bit = |n: u32| address >> n & 1;
                let upper = bit(13) | bit(14) << 1 | bit(15) << 2 | bit(17) << 3 | bit(19) << 4;
                (line & 31 ^ upper) | bit(12) << 5
            }
        };
        (index % sets) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_consecutive_lines_as_there_are_sets_go_to_different_sets() {
        for (hash, sets) in
            [(SetHash::Linear, 4), (SetHash::Xor, 64), (SetHash::Fermi, 32), (SetHash::Fermi, 64)]
        {
            for start in [0, 5, 77] {
                let first = start * u64::from(sets);
                let mut seen: Vec<u32> =
                    (first..first + u64::from(sets)).map(|line| hash.set(line * LINE_BYTES, sets)).collect();
                seen.sort_unstable();
                assert_eq!(seen, (0..sets).collect::<Vec<_>>(), "{hash:?}");
            }
        }
    }

    #[test]
    fn lines_a_power_of_two_apart_go_to_one_set_unless_they_are_hashed() {
        let sets = |hash: SetHash| {
            let mut sets: Vec<u32> = (0..64).map(|line| hash.set(line * 64 * LINE_BYTES, 64)).collect();
            sets.sort_unstable();
            sets.dedup();
            sets.len()
        };
        assert_eq!((sets(SetHash::Linear), sets(SetHash::Xor)), (1, 64));
    }
}
