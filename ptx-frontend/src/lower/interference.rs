//! Interference of virtual registers, and coalescing of copies.

use super::code::{Code, Node, NodeKind, Words};
use super::live::{Live, LiveOut, RegisterClass};
use super::neighbours::Neighbours;

/// Pairs of virtual registers (or predicates) that are live at the same time with different values.
#[derive(Debug, Default)]
pub(super) struct Interference {
    neighbours: Vec<Neighbours>,
    /// Representative of each register.
    stands_for: Vec<u32>,
}

impl Interference {
    pub(super) fn of<K: RegisterClass>(code: &Code, live_out: &LiveOut, distance: usize) -> Interference {
        let count = K::count(code);
        let mut interference = Interference {
            neighbours: (0..count).map(|_| Neighbours::default()).collect(),
            stands_for: (0..count as u32).collect(),
        };
        let mut live = Live::new(count);
        for (block, nodes) in code.blocks.iter().enumerate() {
            interference.keep_sources::<K>(nodes, distance);
            live.reset(live_out.of_block(block));
            for node in nodes.iter().rev() {
                let source = |n: u32| match node.kind {
                    NodeKind::Copy => node.sources[0].iter().nth(n as usize),
                    _ => None,
                };
                let mut nth = 0;
                K::writes(node, |written| {
                    let same = source(nth);
                    nth += 1;
                    for other in live.iter().filter(|other| *other != written && Some(*other) != same) {
                        interference.part(written, other);
                    }
                });
                if !node.guarded {
                    K::writes(node, |written| live.clear(written));
                }
                K::reads(node, |read| live.set(read));
            }
        }
        interference
    }

    /// Keeps results apart from the sources of memory instructions shortly before, which may not have been
    /// read yet. A write to such a source would have to wait.
    fn keep_sources<K: RegisterClass>(&mut self, nodes: &[Node], distance: usize) {
        let mut recent: std::collections::VecDeque<Vec<u32>> = std::collections::VecDeque::new();
        for node in nodes.iter().filter(|node| node.kind == NodeKind::Machine) {
            K::writes(node, |written| {
                for other in recent.iter().flatten().filter(|other| **other != written) {
                    self.part(written, *other);
                }
            });
            let mut sources = Vec::new();
            if node.memory.is_some() {
                K::reads(node, |read| sources.push(read));
            }
            recent.push_back(sources);
            if recent.len() > distance {
                recent.pop_front();
            }
        }
    }

    /// Marks two registers as interfering.
    fn part(&mut self, a: u32, b: u32) {
        let count = self.neighbours.len();
        self.neighbours[a as usize].insert(b, count);
        self.neighbours[b as usize].insert(a, count);
    }

    /// Representative of a register.
    pub(super) fn root(&self, mut of: u32) -> u32 {
        while self.stands_for[of as usize] != of {
            of = self.stands_for[of as usize];
        }
        of
    }

    /// Registers that interfere with this one.
    pub(super) fn neighbours(&self, root: u32) -> impl Iterator<Item = u32> + '_ {
        self.neighbours[root as usize].iter()
    }

    fn meet(&self, a: u32, b: u32) -> bool {
        self.neighbours[a as usize].has(b)
    }

    /// Merges `a` into `b`.
    fn join(&mut self, a: u32, b: u32) {
        self.stands_for[a as usize] = b;
        for neighbour in std::mem::take(&mut self.neighbours[a as usize]).iter() {
            self.neighbours[neighbour as usize].remove(a);
            self.part(neighbour, b);
        }
    }
}

/// Groups of adjacent registers, some nested in others.
#[derive(Debug)]
pub(super) struct Groups {
    /// Containing group and offset of each group.
    within: Vec<(u32, u8)>,
}

/// Alignment of a group of `count` registers.
pub(super) fn alignment(count: u8) -> u8 {
    match count {
        0 | 1 => 1,
        2 => 2,
        _ => 4,
    }
}

impl Groups {
    /// Coalesces the two sides of copies where possible, in inner loops first.
    pub(super) fn coalesce(code: &Code, interference: &mut Interference, depth: &[u32]) -> Groups {
        let mut groups = Groups { within: (0..code.groups.len() as u32).map(|group| (group, 0)).collect() };
        let mut copies: Vec<(u32, Words, Words)> = Vec::new();
        for (block, nodes) in code.blocks.iter().enumerate() {
            let of_block = nodes.iter().filter(|node| node.kind == NodeKind::Copy && !node.guarded);
            copies.extend(of_block.map(|node| (depth[block], node.destination, node.sources[0])));
        }
        copies.sort_by_key(|(depth, _, _)| std::cmp::Reverse(*depth));
        for (_, to, from) in copies {
            if to.count == from.count && !groups.join(code, interference, to, from) {
                groups.join(code, interference, from, to);
            }
        }
        groups
    }

    fn root(&self, group: u32) -> (u32, u8) {
        let (mut group, mut offset) = (group, 0);
        while self.within[group as usize].0 != group {
            let (outer, more) = self.within[group as usize];
            offset += more;
            group = outer;
        }
        (group, offset)
    }

    /// True if the group is not part of another.
    pub(super) fn is_root(&self, group: u32) -> bool {
        self.within[group as usize].0 == group
    }

    /// Overlays the group of `inner` on that of `outer`, so that both use the same registers.
    fn join(&mut self, code: &Code, interference: &mut Interference, inner: Words, outer: Words) -> bool {
        let group_of = |words: Words| code.group_of[words.first as usize];
        let start = |words: Words| (words.first - code.groups[group_of(words) as usize].first) as u8;
        let (inner_root, inner_offset) = self.root(group_of(inner));
        let (outer_root, outer_offset) = self.root(group_of(outer));
        let inner_at = inner_offset + start(inner);
        let outer_at = outer_offset + start(outer);
        if inner_root == outer_root {
            return inner_at == outer_at;
        }
        let (small, large) = (code.groups[inner_root as usize], code.groups[outer_root as usize]);
        let Some(offset) = outer_at.checked_sub(inner_at) else { return false };
        if offset + small.count > large.count || !offset.is_multiple_of(alignment(small.count)) {
            return false;
        }
        let pairs: Vec<(u32, u32)> = small.iter().zip(large.first + u32::from(offset)..).collect();
        if pairs.iter().any(|(a, b)| interference.meet(*a, *b)) {
            return false;
        }
        for (a, b) in pairs {
            interference.join(a, b);
        }
        self.within[inner_root as usize] = (outer_root, offset);
        true
    }
}
