//! Banks of the register file. Volta has two, for even and for odd registers. Each reads two registers per
//! cycle (Jia et al., "Dissecting the NVIDIA Volta GPU Architecture", section 3.6). An instruction with
//! three sources in one bank takes an extra cycle, which the vendor's assembler avoids.

use super::code::{Code, NodeKind, Words};
use super::interference::{Interference, alignment};

/// Registers that a bank reads per cycle.
const PORTS: u32 = 2;
/// Maximum loop depth that counts.
const DEEPEST: u32 = 8;

/// Instructions that may read more registers of a bank than it has ports.
#[derive(Debug, Default)]
pub(super) struct Banks {
    readers: Vec<Reader>,
    /// Readers of each representative register.
    of_word: Vec<Vec<u32>>,
    /// Known banks: of registers in pairs and quads, and of allocated registers.
    bank: Vec<Option<u8>>,
}

/// An instruction that may have a bank conflict.
#[derive(Debug)]
struct Reader {
    /// Representatives of the registers that it reads.
    words: Vec<u32>,
    /// Approximate execution count.
    weight: u64,
}

impl Banks {
    /// Analyses code after coalescing; `depths` is the loop depth of each block.
    pub(super) fn of(code: &Code, interference: &Interference, depths: &[u32]) -> Banks {
        let count = code.group_of.len();
        let mut banks = Banks { of_word: vec![Vec::new(); count], ..Banks::default() };
        banks.bank = (0..count as u32).map(|word| bank_in_group(code, word)).collect();
        for (nodes, depth) in code.blocks.iter().zip(depths) {
            for node in nodes.iter().filter(|node| node.kind == NodeKind::Machine) {
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

    /// Bank in which a single register costs fewer cycles, if any.
    pub(super) fn better(&self, words: Words) -> Option<u8> {
        if alignment(words.count) > 1 {
            return None;
        }
        let [even, odd] = [0, 1].map(|bank| self.cost(words.first, bank));
        (even != odd).then_some(u8::from(odd < even))
    }

    /// Records the allocation of a register.
    pub(super) fn place(&mut self, word: u32, place: usize) {
        self.bank[word as usize] = Some((place % 2) as u8);
    }

    /// Conflict cycles of the register's readers if it is in this bank.
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

/// Bank of a register within its group, for groups that start in the first bank.
fn bank_in_group(code: &Code, word: u32) -> Option<u8> {
    let group = code.groups[code.group_of[word as usize] as usize];
    (alignment(group.count) > 1).then_some(((word - group.first) % 2) as u8)
}
