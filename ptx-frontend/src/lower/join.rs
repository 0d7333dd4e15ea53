//! Merging: accesses to shared memory at constant distances become one machine instruction, as in ptxas
//! 12.9 (`sm_70`). The rules are inferred from the machine code of small kernels:
//!
//! * Accesses are in one basic block, neither volatile nor atomic, with elements of 32 or 64 bits, possibly
//!   vectors.
//! * In 16 bytes aligned to 16, loads of three or more words become one of 128 bits, even if the fourth
//!   word is unused. Stores must cover all four words.
//! * In 8 bytes aligned to 8, both words become one access of 64 bits.
//! * Guards are equal. Between loads there is no store to shared memory, barrier or fence; between stores
//!   there is no other access to shared memory.
//!
//! Unlike ptxas, guarded stores merge regardless of their guard: ptxas merges before it converts short
//! branches to guards.

use rustc_hash::FxHashMap;
use warp_stream::{AccessKind, CacheOperator, MemorySpace, OperationClass};

use crate::ir::{AddressBase, Function, Guard, Operand};
use crate::isa::{Memory, Op, ScalarType};

use super::code::{Code, Node, NodeKind, Words};
use super::combine::Combinations;
use super::depend::{Dependences, Origin};
use super::known_bits::{AllKnownBits, SharedAddresses};
use super::values::{Constant, Values};

const WORD: u64 = 4;

/// Common properties of accesses that one machine instruction can make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Piece {
    origin: Origin,
    /// Start of the piece, relative to the origin.
    start: i64,
    /// Bytes.
    size: u64,
    guard: Option<Guard>,
    /// Bytes per element.
    element: u32,
    /// Elements of a store; 0 for loads, whose elements may differ.
    stored: usize,
    /// Number of preceding nodes in the block across which accesses do not merge.
    stretch: u32,
}

/// A candidate for merging.
#[derive(Debug, Clone, Copy)]
struct Member {
    node: u32,
    /// First word in the piece, and number of words.
    words: (u8, u8),
    /// Source that a store writes; zero if none.
    source: u8,
}

/// Accesses that merge.
#[derive(Debug)]
struct Joined {
    /// Total words.
    words: u8,
    /// Members, with first words relative to the first of the whole.
    members: Vec<Member>,
}

/// Merges accesses where possible.
pub(super) fn join(
    function: &Function,
    code: &mut Code,
    values: &Values<'_>,
    combinations: &Combinations,
    addresses: &SharedAddresses,
) {
    let mut known_bits = None;
    for block in 0..code.blocks.len() {
        if code.blocks[block].iter().filter(|node| can_be_joined(node)).nth(1).is_none() {
            continue;
        }
        let known_bits = known_bits.get_or_insert_with(|| AllKnownBits::of(function, addresses));
        let nodes = std::mem::take(&mut code.blocks[block]);
        let dependences = Dependences::of(&nodes, values, combinations);
        let mut finder = Finder {
            values,
            combinations,
            known_bits,
            pieces: Vec::new(),
            numbers: FxHashMap::default(),
            stretches: (0, 0),
            stored: None,
        };
        finder.find(&nodes, &dependences);
        let mut sequence = Sequence::new(&dependences);
        let mut joined = FxHashMap::default();
        for (piece, members) in finder.pieces {
            sequence.join(&piece, members, &mut joined);
        }
        code.blocks[block] = rebuilt(code, nodes, &sequence, &joined);
    }
}

fn can_be_joined(node: &Node) -> bool {
    use OperationClass::{Load, Store};
    let is_plain = node.memory.is_some_and(|memory| {
        memory.space == MemorySpace::Shared
            && matches!(memory.kind, AccessKind::Load | AccessKind::Store)
            && memory.cache == CacheOperator::Default
            && (node.class == Store || memory.width == node.destination.count.saturating_mul(WORD as u8))
    });
    is_plain
        && matches!(node.class, Load | Store)
        && node.kind == NodeKind::Machine
        && node.effect.is_some()
        && !node.guarded
        && !node.deferred
}

/// Search for merge candidates in a block.
struct Finder<'a> {
    values: &'a Values<'a>,
    combinations: &'a Combinations,
    known_bits: &'a AllKnownBits<'a>,
    /// Candidates in the order of their first access in the code.
    pieces: Vec<(Piece, Vec<Member>)>,
    numbers: FxHashMap<Piece, usize>,
    /// Numbers of the current stretch for loads and for stores.
    stretches: (u32, u32),
    /// Piece of the preceding access to shared memory, if that was a store.
    stored: Option<Piece>,
}

impl Finder<'_> {
    fn find(&mut self, nodes: &[Node], dependences: &Dependences) {
        for (at, node) in nodes.iter().enumerate() {
            let place = dependences.places[at].filter(|_| can_be_joined(node));
            let found = place.and_then(|place| self.piece(node, place));
            self.part(node, found.map(|(piece, _)| piece));
            let Some((mut piece, member)) = found else { continue };
            let (of_loads, of_stores) = self.stretches;
            piece.stretch = if piece.stored > 0 { of_stores } else { of_loads };
            let number = *self.numbers.entry(piece).or_insert_with(|| {
                self.pieces.push((piece, Vec::new()));
                self.pieces.len() - 1
            });
            self.pieces[number].1.push(Member { node: at as u32, ..member });
        }
    }

    /// Starts a new stretch if accesses after this node cannot merge with earlier ones.
    fn part(&mut self, node: &Node, piece: Option<Piece>) {
        use OperationClass::{Barrier, Branch, Fence, WarpBarrier};
        let orders = matches!(node.class, Barrier | Branch | Fence | WarpBarrier);
        let is_near = |space| matches!(space, MemorySpace::Shared | MemorySpace::Generic);
        let access = node.memory.filter(|memory| is_near(memory.space)).map(|memory| memory.kind);
        if orders || access.is_some_and(|kind| kind != AccessKind::Load) {
            self.stretches.0 += 1;
        }
        if orders || access.is_some() {
            let stored = piece.filter(|piece| piece.stored > 0);
            if stored.is_none() || stored != self.stored {
                self.stretches.1 += 1;
            }
            self.stored = stored;
        }
    }

    /// Piece of an access, without its stretch.
    fn piece(&self, node: &Node, (origin, offset): (Origin, i64)) -> Option<(Piece, Member)> {
        let i = self.values.instruction(node.effect?)?;
        let (stores, address) = match i.op {
            Op::Memory(Memory::ld) => (false, i.operands.get(1)?),
            Op::Memory(Memory::st) => (true, i.operands.first()?),
            _ => return None,
        };
        let Operand::Address { base, offset: named } = *address else { return None };
        let element = i.last_type().map_or(0, ScalarType::bytes);
        let known = self.known_bits.address(base).plus_number(named);
        let (size, at) = [16, 8].into_iter().find_map(|size| Some((size, known.modulo(size)?)))?;
        let bytes = u64::from(node.memory?.width);
        if !matches!(element, 4 | 8) || at % WORD != 0 || at + bytes > size {
            return None;
        }
        let words = ((at / WORD) as u8, (bytes / WORD) as u8);
        let source = u8::from(self.has_address(base));
        let data = node.sources[usize::from(source)];
        if stores && !data.is_none() && data.count != words.1 {
            return None;
        }
        let start = offset.wrapping_sub(at as i64);
        let stored = if stores { i.vector_length() } else { 0 };
        let piece = Piece { origin, start, size, guard: i.guard, element, stored, stretch: 0 };
        Some((piece, Member { node: 0, words, source }))
    }

    /// True if the machine instruction reads its address from registers.
    fn has_address(&self, base: AddressBase) -> bool {
        let AddressBase::Register(register) = base else { return false };
        let named = Operand::Register(self.combinations.base(self.values, register).named);
        !matches!(self.values.constant(&named), Some(Constant::Bits(_) | Constant::Address(_)))
    }
}

/// Words of a piece that one machine instruction accesses for the wanted ones; `None` if not worthwhile.
fn accessed(piece: &Piece, wanted: u8) -> Option<std::ops::Range<u8>> {
    let stores = piece.stored > 0;
    match wanted {
        0b1111 => Some(0..4),
        _ if !stores && piece.size == 16 && wanted.count_ones() > 2 => Some(0..4),
        _ if wanted & 0b0011 == 0b0011 && (stores || wanted == 0b0011) => Some(0..2),
        _ if wanted & 0b1100 == 0b1100 && (stores || wanted == 0b1100) => Some(2..4),
        _ => None,
    }
}

/// Members to merge, with disjoint words, and the words of the whole.
fn chosen(piece: &Piece, members: &[Member]) -> Option<(Vec<Member>, std::ops::Range<u8>)> {
    let mask = |member: &Member| ((1_u8 << member.words.1) - 1) << member.words.0;
    let mut wanted = 0;
    let mut apart = members.to_vec();
    apart.retain(|member| {
        let is_new = wanted & mask(member) == 0;
        wanted |= mask(member);
        is_new
    });
    let words = accessed(piece, wanted)?;
    apart.retain(|member| words.contains(&member.words.0) && member.words.0 + member.words.1 <= words.end);
    (apart.len() > 1).then_some((apart, words))
}

/// Nodes of a block in an order that respects their dependences.
struct Sequence {
    /// Dependences of each node.
    before: Vec<Vec<u32>>,
    /// Node into which each node merged, or the node itself.
    part_of: Vec<u32>,
    order: Vec<u32>,
    /// Rank of each node in the order.
    rank: Vec<u32>,
}

impl Sequence {
    fn new(dependences: &Dependences) -> Sequence {
        let nodes = dependences.after.len() as u32;
        let mut before = vec![Vec::new(); nodes as usize];
        for (from, after) in dependences.after.iter().enumerate() {
            for to in after {
                before[*to as usize].push(from as u32);
            }
        }
        let all: Vec<u32> = (0..nodes).collect();
        Sequence { before, part_of: all.clone(), order: all.clone(), rank: all }
    }

    /// Merges as many accesses of a piece as one machine instruction can make, repeatedly.
    fn join(&mut self, piece: &Piece, mut members: Vec<Member>, joined: &mut FxHashMap<u32, Joined>) {
        while let [first, ..] = members[..] {
            let can_go =
                |other: &Member| other.node == first.node || self.waits(&[first.node, other.node]).is_some();
            let possible: Vec<Member> = members.iter().copied().filter(can_go).collect();
            let chosen = chosen(piece, &possible).filter(|(chosen, _)| chosen[0].node == first.node);
            match chosen {
                Some((mut together, words)) if self.put_together(&together) => {
                    members.retain(|member| together.iter().all(|other| other.node != member.node));
                    together.iter_mut().for_each(|member| member.words.0 -= words.start);
                    joined.insert(first.node, Joined { words: words.len() as u8, members: together });
                }
                _ => {
                    members.remove(0);
                }
            }
        }
    }

    /// Dependences of the nodes on nodes after the first of them; `None` if they depend on each other and
    /// cannot merge.
    fn waits(&self, nodes: &[u32]) -> Option<Vec<u32>> {
        let from = self.rank[*nodes.first()? as usize];
        let mut found = nodes.to_vec();
        let mut seen = 0;
        while let Some(node) = found.get(seen) {
            seen += 1;
            for before in &self.before[*node as usize] {
                let before = self.part_of[*before as usize];
                if nodes.contains(&before) {
                    return None;
                }
                if self.rank[before as usize] > from && !found.contains(&before) {
                    found.push(before);
                }
            }
        }
        found.drain(..nodes.len());
        Some(found)
    }

    /// Merges the accesses into the first one, after all their dependences. Returns false if one depends on
    /// another.
    fn put_together(&mut self, members: &[Member]) -> bool {
        let nodes: Vec<u32> = members.iter().map(|member| member.node).collect();
        let (Some(waits), [leader, others @ ..]) = (self.waits(&nodes), &nodes[..]) else { return false };
        let last = nodes.iter().map(|node| self.rank[*node as usize]).max().unwrap_or(0);
        let range = self.rank[*leader as usize] as usize..last as usize + 1;
        let stretch = self.order[range.clone()].iter().copied().filter(|node| !nodes.contains(node));
        let (first, rest): (Vec<u32>, Vec<u32>) = stretch.partition(|node| waits.contains(node));
        // The others keep their positions, from which nothing is made.
        let order = first.into_iter().chain(nodes.iter().copied()).chain(rest);
        for (place, node) in range.zip(order) {
            self.order[place] = node;
            self.rank[node as usize] = place as u32;
        }
        for other in others {
            self.part_of[*other as usize] = *leader;
            let more = std::mem::take(&mut self.before[*other as usize]);
            self.before[*leader as usize].extend(more);
        }
        true
    }
}

/// Nodes in their new order, each merged one with the nodes that assemble or split its data.
fn rebuilt(
    code: &mut Code,
    nodes: Vec<Node>,
    sequence: &Sequence,
    joined: &FxHashMap<u32, Joined>,
) -> Vec<Node> {
    let mut nodes: Vec<Option<Node>> = nodes.into_iter().map(Some).collect();
    let mut all = Vec::with_capacity(nodes.len());
    for at in &sequence.order {
        if let Some(joined) = joined.get(at) {
            let of_members = joined.members.iter().filter_map(|member| nodes[member.node as usize].take());
            whole(code, joined, of_members.collect(), &mut all);
        } else if sequence.part_of[*at as usize] == *at {
            all.extend(nodes[*at as usize].take());
        }
    }
    all
}

/// Makes one node of several.
fn whole(code: &mut Code, joined: &Joined, nodes: Vec<Node>, all: &mut Vec<Node>) {
    let Some(mut whole) = nodes.first().cloned() else { return };
    let stores = whole.class == OperationClass::Store;
    let source = |member: &Member, node: &Node| node.sources[usize::from(member.source)];
    let pairs = || joined.members.iter().zip(&nodes);
    let is_zero = stores && pairs().all(|(member, node)| source(member, node).is_none());
    let data = if is_zero { Words::NONE } else { code.group(joined.words) };
    let moves = pairs().filter(|_| !is_zero).map(|(member, node)| {
        let part = data.part(member.words.0, member.words.1);
        match stores {
            true => moved(node, part, source(member, node)),
            false => moved(node, node.destination, part),
        }
    });
    let moves: Vec<Node> = moves.flatten().collect();
    whole.joined = nodes.iter().skip(1).flat_map(Node::effects).collect();
    if let Some(memory) = &mut whole.memory {
        memory.width = joined.words * WORD as u8;
    }
    if stores {
        if let Some(member) = joined.members.first() {
            whole.sources[usize::from(member.source)] = data;
        }
        all.extend(moves);
        all.push(whole);
    } else {
        whole.destination = data;
        all.push(whole);
        all.extend(moves);
    }
}

/// Nodes that move a value for an access: a copy, or a `MOV` of zero for each word.
fn moved(access: &Node, to: Words, from: Words) -> Vec<Node> {
    let mut node = Node::new(OperationClass::Move, access.line);
    node.predicates_read.clone_from(&access.predicates_read);
    if from.is_none() {
        return (0..to.count).map(|n| Node { destination: to.part(n, 1), ..node.clone() }).collect();
    }
    (node.kind, node.destination, node.sources[0]) = (NodeKind::Copy, to, from);
    vec![node]
}
