//! Dependences between the nodes of a basic block.

use warp_stream::{AccessKind, CacheOperator, MemorySpace, OperationClass};

use crate::analyse::writes;
use crate::ir::{AddressBase, Instruction, Operand};
use crate::isa::{Effect, Integer, Memory, Modifier, Op, SpecialRegister};

use super::access::bytes;
use super::code::{Node, NodeKind};
use super::combine::Combinations;
use super::values::Values;

/// For each node of a block, the later nodes that depend on it.
#[derive(Debug)]
pub(super) struct Dependences {
    pub(super) after: Vec<Vec<u32>>,
    /// Number of nodes that each node depends on.
    pub(super) before: Vec<u32>,
    /// Address of each memory access, as far as the code tells: origin and distance.
    pub(super) places: Vec<Option<(Origin, i64)>>,
}

/// Last writer and later readers of a value.
#[derive(Debug, Default, Clone)]
struct Trail {
    writer: Option<u32>,
    readers: Vec<u32>,
}

/// Origin of an address: base, number of its definition in the block, and added variable.
pub(super) type Origin = (AddressBase, u32, Option<u32>);

/// Carry flag, as a pseudo-register.
const CARRY: u32 = u32::MAX;

/// A memory access, with its address as far as the code tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct AccessedRange {
    node: u32,
    space: MemorySpace,
    base: Option<Origin>,
    from: i64,
    to: i64,
    writes: bool,
    /// True if the access keeps its order with every other access.
    ordered: bool,
}

struct Builder<'a> {
    values: &'a Values<'a>,
    combinations: &'a Combinations,
    dependences: Dependences,
    words: rustc_hash::FxHashMap<u32, Trail>,
    predicates: rustc_hash::FxHashMap<u32, Trail>,
    registers: rustc_hash::FxHashMap<u32, Trail>,
    accesses: Vec<AccessedRange>,
    /// Last node that no node may pass.
    wall: Option<u32>,
    /// Last node that no memory access may pass.
    fence: Option<u32>,
    /// Last instruction at which lanes or threads meet. Such instructions keep their order, because other
    /// lanes reach theirs in that order.
    meeting: Option<u32>,
    /// Number of writes of each register in this block.
    versions: rustc_hash::FxHashMap<u32, u32>,
}

impl Dependences {
    pub(super) fn of(nodes: &[Node], values: &Values<'_>, combinations: &Combinations) -> Dependences {
        let mut builder = Builder {
            values,
            combinations,
            dependences: Dependences {
                after: vec![Vec::new(); nodes.len()],
                before: vec![0; nodes.len()],
                places: vec![None; nodes.len()],
            },
            words: Default::default(),
            predicates: Default::default(),
            registers: Default::default(),
            accesses: Vec::new(),
            wall: None,
            fence: None,
            meeting: None,
            versions: Default::default(),
        };
        for (at, node) in nodes.iter().enumerate() {
            builder.node(at as u32, node);
        }
        builder.dependences
    }
}

impl Builder<'_> {
    fn edge(&mut self, from: u32, to: u32) {
        let after = &mut self.dependences.after[from as usize];
        if from != to && after.last() != Some(&to) && !after.contains(&to) {
            after.push(to);
            self.dependences.before[to as usize] += 1;
        }
    }

    fn node(&mut self, at: u32, node: &Node) {
        if let Some(wall) = self.wall {
            self.edge(wall, at);
        }
        if at == 0 && node.class == OperationClass::Branch {
            // Reconvergence precedes everything else.
            self.wall = Some(at);
        }
        let guarded = node.guarded && node.kind == NodeKind::Machine;
        let read: Vec<u32> =
            node.reads().chain(guarded.then(|| node.destination.iter()).into_iter().flatten()).collect();
        let written: Vec<u32> = node.destination.iter().collect();
        self.values(|builder| &mut builder.words, at, &read, &written);
        let predicates_read = node.predicates_read.clone();
        let predicates_written = node.predicates_written.clone();
        self.values(|builder| &mut builder.predicates, at, &predicates_read, &predicates_written);
        for effect in node.effects() {
            self.effect(at, node, effect);
        }
        use OperationClass::{Barrier, Fence, Nothing, WarpBarrier};
        if matches!(node.class, Barrier | WarpBarrier | Fence | Nothing) && node.kind == NodeKind::Machine {
            self.fence(at);
        }
    }

    fn values(
        &mut self,
        trails: impl Fn(&mut Self) -> &mut rustc_hash::FxHashMap<u32, Trail>,
        at: u32,
        read: &[u32],
        written: &[u32],
    ) {
        let mut edges = Vec::new();
        for value in read {
            let trail = trails(self).entry(*value).or_default();
            edges.extend(trail.writer);
            trail.readers.push(at);
        }
        for value in written {
            let trail = trails(self).entry(*value).or_default();
            edges.extend(trail.writer);
            edges.append(&mut trail.readers);
            trail.writer = Some(at);
        }
        for from in edges {
            self.edge(from, at);
        }
    }

    /// Adds the order in which PTX instructions take effect.
    fn effect(&mut self, at: u32, node: &Node, effect: u32) {
        if self.values.is_gone(effect) {
            return;
        }
        let Some(i) = self.values.instruction(effect) else { return };
        let mut read: Vec<u32> = self.values.reads(i).iter().map(|register| register.0).collect();
        let mut written: Vec<u32> = writes(i).iter().map(|register| register.0).collect();
        if uses_carry(i.op) {
            read.push(CARRY);
            written.push(CARRY);
        }
        if i.guard.is_some() {
            read.extend(&written);
        }
        self.values(|builder| &mut builder.registers, at, &read, &written);
        let reads_clock = i
            .operands
            .iter()
            .any(|operand| matches!(operand, Operand::Special(special) if changes(*special)));
        if reads_clock
            || matches!(i.op.line().effect, Effect::Call | Effect::Volatile)
            || matches!(i.op, Op::Control(_))
            || accesses_more_than_a_place(i.op)
        {
            self.wall(at);
        }
        if matches!(i.op, Op::Parallel(_))
            && let Some(earlier) = self.meeting.replace(at)
        {
            self.edge(earlier, at);
        }
        if orders_accesses(i) {
            self.fence(at);
        } else if node.memory.is_some()
            || matches!(i.op.line().effect, Effect::Load | Effect::Store | Effect::Atomic)
        {
            self.access(at, node, effect);
        }
        for register in written {
            *self.versions.entry(register).or_default() += 1;
        }
    }

    fn wall(&mut self, at: u32) {
        for earlier in self.wall.unwrap_or(0)..at {
            self.edge(earlier, at);
        }
        self.wall = Some(at);
    }

    fn fence(&mut self, at: u32) {
        for access in std::mem::take(&mut self.accesses) {
            self.edge(access.node, at);
        }
        if let Some(fence) = self.fence.replace(at) {
            self.edge(fence, at);
        }
    }

    fn access(&mut self, at: u32, node: &Node, effect: u32) {
        if let Some(fence) = self.fence {
            self.edge(fence, at);
        }
        let Some(memory) = node.memory else { return };
        if memory.space == MemorySpace::Constant {
            return;
        }
        let (base, offset) = self.address(effect);
        self.dependences.places[at as usize] = base.map(|base| (base, offset));
        // A merged access also moves bytes of others.
        let own = self.values.instruction(effect).filter(|_| !node.joined.is_empty()).map(bytes);
        let place = AccessedRange {
            node: at,
            space: memory.space,
            base,
            from: offset,
            to: offset + i64::from(own.unwrap_or(memory.width)),
            writes: memory.kind != AccessKind::Load,
            ordered: memory.cache == CacheOperator::Coherent
                || matches!(memory.kind, AccessKind::Atomic | AccessKind::Reduction),
        };
        if memory.cache == CacheOperator::ReadOnly {
            return;
        }
        let conflicting: Vec<u32> = self
            .accesses
            .iter()
            .filter(|earlier| conflict(earlier, &place))
            .map(|earlier| earlier.node)
            .collect();
        for earlier in conflicting {
            self.edge(earlier, at);
        }
        self.accesses.push(place);
    }

    /// Origin and distance of an instruction's address.
    fn address(&self, effect: u32) -> (Option<Origin>, i64) {
        let address = self.values.instruction(effect).and_then(|i| {
            i.operands.iter().find_map(|operand| match operand {
                Operand::Address { base, offset } => Some((*base, *offset)),
                _ => None,
            })
        });
        match address {
            Some((AddressBase::Register(register), offset)) => {
                let base = self.combinations.base(self.values, register);
                let version = self.versions.get(&base.register.0).copied().unwrap_or(0);
                let is_known = base.place != Some(u32::MAX);
                let origin = (AddressBase::Register(base.register), version, base.place);
                (is_known.then_some(origin), offset.wrapping_add(base.offset))
            }
            Some((base, offset)) => (Some((base, 0, None)), offset),
            None => (None, 0),
        }
    }
}

/// True if two accesses may touch the same byte, so that their order matters.
fn conflict(a: &AccessedRange, b: &AccessedRange) -> bool {
    if a.ordered && b.ordered {
        return true;
    }
    if !a.writes && !b.writes && !a.ordered && !b.ordered {
        return false;
    }
    let generic = a.space == MemorySpace::Generic || b.space == MemorySpace::Generic;
    if a.space != b.space && !generic {
        return false;
    }
    let apart = a.base.is_some() && a.base == b.base && (a.to <= b.from || b.to <= a.from);
    !apart || a.ordered || b.ordered
}

/// True for accesses to two locations, or to a barrier in memory at which others wait.
fn accesses_more_than_a_place(op: Op) -> bool {
    let accesses = matches!(op.line().effect, Effect::Load | Effect::Store | Effect::Atomic);
    match op {
        Op::Memory(Memory::ld | Memory::ld_nc | Memory::ldu | Memory::st) => false,
        Op::Memory(_) | Op::Parallel(_) => accesses,
        _ => false,
    }
}

/// True if the op reads or writes the carry flag.
fn uses_carry(op: Op) -> bool {
    use Integer as I;
    matches!(op, Op::Integer(I::add_cc | I::addc | I::sub_cc | I::subc | I::mad_cc | I::madc))
}

/// True if the instruction orders other memory accesses.
fn orders_accesses(i: &Instruction) -> bool {
    let is_barrier = matches!(i.op, Op::Parallel(_)) && i.op.line().effect == Effect::Atomic;
    is_barrier || i.modifiers().any(|m| matches!(m, Modifier::Acquire | Modifier::Release | Modifier::AcqRel))
}

/// True for a special register that changes by itself.
fn changes(special: SpecialRegister) -> bool {
    use SpecialRegister as S;
    matches!(
        special,
        S::Clock | S::ClockHi | S::Clock64 | S::Globaltimer | S::GlobaltimerLo | S::GlobaltimerHi
    )
}
