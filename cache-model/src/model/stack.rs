//! Reuse stack: the order of last accesses to lines, from which LRU distances follow.
//!
//! Each access gets the next position, and a bit marks the positions of live lines. The distance of
//! a line is the number of marked positions above its own (Bennett and Kruskal's algorithm). Words
//! of 64 positions are the leaves of a Fenwick tree over blocks of words. An access takes
//! O(log N).

/// Positions per word.
const WORD: u32 = 64;
/// Words per block.
const BLOCK: u32 = 16;
/// Positions of an empty stack.
const SMALLEST: u32 = WORD * BLOCK;
/// Blocks that a distance counts word by word rather than through the tree.
const NEAR: u32 = 1;

/// Position of a line that is not in the stack.
pub const ABSENT: u32 = u32::MAX;

/// A reuse stack.
#[derive(Debug, Clone, Default)]
pub struct ReuseStack {
    /// A bit per position; set for the last access of a line.
    bits: Vec<u64>,
    /// Fenwick tree of set bits per block.
    tree: Vec<u32>,
    /// Line of each position.
    owners: Vec<u32>,
    /// Next free position.
    next: u32,
    /// Lines in the stack.
    live: u32,
}

impl ReuseStack {
    /// Lines in the stack.
    pub fn lines(&self) -> u32 {
        self.live
    }

    /// Number of distinct lines accessed after the line at a position.
    #[inline]
    pub fn distance(&self, position: u32) -> u32 {
        let word = position / WORD;
        let end = self.next.div_ceil(WORD);
        let above = (self.bits[word as usize] >> (position % WORD) >> 1).count_ones();
        if end - word <= NEAR * BLOCK {
            return above + ones(&self.bits[word as usize + 1..end as usize]);
        }
        let block_end = (word / BLOCK + 1) * BLOCK;
        let in_block = above + ones(&self.bits[word as usize + 1..block_end as usize]);
        in_block + self.live - self.ones_through(word / BLOCK)
    }

    /// Moves a line to the top; `position` is its place, or [`ABSENT`]. The stack may renumber its
    /// lines; `moved` receives each line with its place.
    #[inline]
    pub fn touch(&mut self, line: u32, position: u32, mut moved: impl FnMut(u32, u32)) {
        if position != ABSENT {
            if position + 1 == self.next {
                return;
            }
            self.bits[(position / WORD) as usize] &= !(1 << (position % WORD));
            self.add(position / WORD / BLOCK, u32::MAX);
            self.live -= 1;
        }
        if self.next as usize == self.owners.len() {
            self.renumber(&mut moved);
        }
        let place = self.next;
        self.next += 1;
        self.live += 1;
        self.bits[(place / WORD) as usize] |= 1 << (place % WORD);
        self.owners[place as usize] = line;
        self.add(place / WORD / BLOCK, 1);
        moved(line, place);
    }

    /// Adds to a block's count; `u32::MAX` subtracts one.
    #[inline]
    fn add(&mut self, block: u32, count: u32) {
        let mut node = block as usize + 1;
        while let Some(sum) = self.tree.get_mut(node) {
            *sum = sum.wrapping_add(count);
            node += node & node.wrapping_neg();
        }
    }

    /// Lines in the blocks up to this one.
    #[inline]
    fn ones_through(&self, block: u32) -> u32 {
        let mut node = block as usize + 1;
        let mut sum: u32 = 0;
        while node > 0 {
            sum = sum.wrapping_add(self.tree[node]);
            node &= node - 1;
        }
        sum
    }

    /// Gives the lines the lowest positions, in order, and makes room for as many again.
    #[cold]
    fn renumber(&mut self, moved: &mut impl FnMut(u32, u32)) {
        let mut owners = Vec::with_capacity(self.live as usize);
        for (word, bits) in self.bits.iter().enumerate() {
            let mut rest = *bits;
            while rest != 0 {
                let place = word as u32 * WORD + rest.trailing_zeros();
                rest &= rest - 1;
                owners.push(self.owners[place as usize]);
            }
        }
        for (place, owner) in owners.iter().enumerate() {
            moved(*owner, place as u32);
        }
        let positions = (2 * self.live).next_multiple_of(SMALLEST).max(SMALLEST);
        owners.resize(positions as usize, 0);
        self.owners = owners;
        self.next = self.live;
        self.bits.clear();
        self.bits.resize((positions / WORD) as usize, 0);
        self.tree.clear();
        self.tree.resize((positions / WORD / BLOCK) as usize + 1, 0);
        for place in 0..self.live {
            self.bits[(place / WORD) as usize] |= 1 << (place % WORD);
        }
        for block in 0..positions / SMALLEST {
            let words = (block * BLOCK) as usize..((block + 1) * BLOCK) as usize;
            let count = ones(&self.bits[words]);
            self.add(block, count);
        }
    }
}

/// Set bits of words.
#[inline]
fn ones(words: &[u64]) -> u32 {
    words.iter().map(|word| word.count_ones()).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn distance_equals_depth_in_a_list(lines in prop::collection::vec(0_u32..3000, 1..6000)) {
            let mut stack = ReuseStack::default();
            let mut positions = vec![ABSENT; 3000];
            let mut list: Vec<u32> = Vec::new();
            for line in lines {
                let depth = list.iter().rev().position(|other| *other == line);
                let position = positions[line as usize];
                prop_assert_eq!(
                    depth.map(|depth| depth as u32),
                    (position != ABSENT).then(|| stack.distance(position))
                );
                list.retain(|other| *other != line);
                list.push(line);
                stack.touch(line, position, |line, place| positions[line as usize] = place);
            }
            prop_assert_eq!(stack.lines() as usize, list.len());
        }
    }
}
