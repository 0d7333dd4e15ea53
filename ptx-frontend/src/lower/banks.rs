//! Banks of the register file. Volta has two, even registers and odd ones, and each reads two registers a cycle (Jia et
//! al., "Dissecting the NVIDIA Volta GPU Architecture", section 3.6): an instruction with three sources in one of them takes
//! a cycle more, which the vendor's assembler avoids.

use super::code::{Code, Kind, Words};
use super::interference::{Interference, alignment};

/// Registers that a bank reads a cycle.
const PORTS: u32 = 2;
/// Loops within each other that make a difference.
const DEEPEST: u32 = 8;

/// Which instructions read more registers than one bank has ports.
#[derive(Debug, Default)]
pub(super) struct Banks {
    readers: Vec<Reader>,
    /// For each register that stands for others, its readers.
    of_word: Vec<Vec<u32>>,
    /// Banks that are known: of registers in pairs and quads, and of those that have been placed.
    bank: Vec<Option<u8>>,
}

/// An instruction that may meet itself in a bank.
#[derive(Debug)]
struct Reader {
    /// What stands for the registers that it reads.
    words: Vec<u32>,
    /// How often it is executed, roughly.
    weight: u64,
}

impl Banks {
    /// Of code whose copies have been made one; `depths` has how many loops each block lies in.
    pub(super) fn of(code: &Code, interference: &Interference, depths: &[u32]) -> Banks {
        let count = code.group_of.len();
        let mut banks = Banks { of_word: vec![Vec::new(); count], ..Banks::default() };
        banks.bank = (0..count as u32).map(|word| bank_in_group(code, word)).collect();
        for (nodes, depth) in code.blocks.iter().zip(depths) {
            for node in nodes.iter().filter(|node| node.kind == Kind::Machine) {
                let words: Vec<u32> = node.reads().map(|word| interference.root(word)).collect();
                if words.len() <= PORTS as usize {
                    continue;
                }
                for word in &words {
                    banks.of_word[*word as usize].push(banks.readers.len() as u32);
                }
                banks.readers.push(Reader { words, weight: 1 << (3 * depth.min(&DEEPEST)) });
            }
        }
        banks
    }

    /// The bank in which a single register costs fewer cycles, if there is one.
    pub(super) fn better(&self, words: Words) -> Option<u8> {
        if alignment(words.count) > 1 {
            return None;
        }
        let [even, odd] = [0, 1].map(|bank| self.cost(words.first, bank));
        (even != odd).then_some(u8::from(odd < even))
    }

    /// The register has been placed.
    pub(super) fn place(&mut self, word: u32, place: usize) {
        self.bank[word as usize] = Some((place % 2) as u8);
    }

    /// Cycles that readers of the register wait if it is in this bank.
    fn cost(&self, word: u32, bank: u8) -> u64 {
        let readers = self.of_word[word as usize].iter().map(|reader| &self.readers[*reader as usize]);
        readers
            .map(|reader| {
                let mut reads = [0u32; 2];
                for read in &reader.words {
                    match self.bank[*read as usize] {
                        _ if *read == word => reads[usize::from(bank)] += 1,
                        Some(known) => reads[usize::from(known)] += 1,
                        None => {}
                    }
                }
                let cycles = reads[0].max(reads[1]).div_ceil(PORTS);
                u64::from(cycles.saturating_sub(1)) * reader.weight
            })
            .sum()
    }
}

/// The bank of a register in a group that begins in the first bank wherever it is.
fn bank_in_group(code: &Code, word: u32) -> Option<u8> {
    let group = code.groups[code.group_of[word as usize] as usize];
    (alignment(group.count) > 1).then_some(((word - group.first) % 2) as u8)
}
