//! Instruction scheduling within basic blocks: long latencies first, as long as registers last.

use std::cmp::Reverse;

use warp_stream::{MemorySpace, OperationClass};

use crate::analyse::ControlFlow;

use super::bottom_up;
use super::code::{Code, Node, NodeKind};
use super::combine::Combinations;
use super::depend::Dependences;
use super::live::{Live, OfWords, RegisterClass as _, live_out};
use super::values::Values;

/// Registers that values may take, and nodes that may come before their turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Room {
    /// With so many registers in use, nodes that end values come before nodes that make new ones.
    pub(super) registers: usize,
    pub(super) ahead: Ahead,
}

/// Nodes that hide latency may come before others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ahead {
    /// Any node of the block.
    Anything,
    /// Nodes so many places ahead in the block's order of few registers ([`bottom_up::ranks`]).
    Within(u32),
}

/// Orders the nodes of all blocks.
pub(super) fn schedule(
    code: &mut Code,
    flow: &ControlFlow,
    values: &Values<'_>,
    combinations: &Combinations,
    room: Room,
) {
    let live_out = live_out::<OfWords>(code, flow);
    let mut wanted = Live::new(OfWords::count(code));
    for block in 0..code.blocks.len() {
        let nodes = std::mem::take(&mut code.blocks[block]);
        wanted.reset(live_out.of_block(block));
        let order = Scheduler::new(&nodes, values, combinations, &wanted, room).run();
        let mut places: Vec<Option<Node>> = nodes.into_iter().map(Some).collect();
        code.blocks[block] = order.iter().filter_map(|at| places[*at as usize].take()).collect();
    }
}

/// Approximate latency in cycles: measured for arithmetic, a first guess for memory.
fn latency(node: &Node) -> u32 {
    use OperationClass as C;
    match node.kind {
        NodeKind::Machine => {}
        NodeKind::Copy | NodeKind::Absorbed => return 0,
    }
    match node.class {
        C::Load | C::Atomic | C::Texture | C::Surface => match node.memory.map(|memory| memory.space) {
            Some(MemorySpace::Shared) => 24,
            Some(MemorySpace::Constant) => 40,
            _ => 200,
        },
        C::LoadConstant => 40,
        C::SpecialFunction | C::Conversion | C::SpecialRegister | C::Shuffle | C::BitSearch => 22,
        C::PopulationCount | C::WideConversion => 22,
        C::Fp64 | C::Fp64Compare => 8,
        C::Tensor | C::TensorInteger => 10,
        C::Integer | C::Fp32 | C::Move => 4,
        _ => 5,
    }
}

/// The node that ends the block.
fn terminator(nodes: &[Node]) -> Option<u32> {
    let last = nodes.len().checked_sub(1)?;
    let ends = matches!(nodes[last].class, OperationClass::Branch | OperationClass::Exit);
    (ends && nodes[last].effect.is_some()).then_some(last as u32)
}

struct Scheduler<'n> {
    nodes: &'n [Node],
    dependences: Dependences,
    /// Minimum cycles from the start of each node to the end of the block.
    height: Vec<u32>,
    /// Cycle in which each node can issue.
    ready_at: Vec<u32>,
    /// Nodes without outstanding dependences.
    ready: Vec<u32>,
    /// Unplaced nodes without a machine instruction, which are placed with a node that depends on them.
    idle: Vec<bool>,
    earlier: Vec<Vec<u32>>,
    order: Vec<u32>,
    /// Remaining reads of each register in the block.
    reads_left: rustc_hash::FxHashMap<u32, u32>,
    live: rustc_hash::FxHashSet<u32>,
    live_out: &'n Live,
    room: usize,
    ranks: Option<Ranks>,
}

/// The block's order of few registers.
struct Ranks {
    /// By node: its place in the order.
    of: Vec<u32>,
    /// By place: the node.
    nodes: Vec<u32>,
    /// By node.
    is_placed: Vec<bool>,
    /// Nodes at the start of the order that are all placed.
    placed: usize,
    /// Places behind these from which a node may come before its turn.
    window: u32,
}

impl Ranks {
    fn new(of: Vec<u32>, window: u32) -> Ranks {
        let mut nodes = vec![0; of.len()];
        for (node, place) in (0..).zip(&of) {
            nodes[*place as usize] = node;
        }
        let is_placed = vec![false; of.len()];
        Ranks { of, nodes, is_placed, placed: 0, window }
    }

    fn place(&mut self, at: u32) {
        self.is_placed[at as usize] = true;
        while self.nodes.get(self.placed).is_some_and(|node| self.is_placed[*node as usize]) {
            self.placed += 1;
        }
    }

    /// May the node come before its turn?
    fn allows(&self, at: u32) -> bool {
        self.of[at as usize] < self.placed as u32 + self.window
    }
}

impl<'n> Scheduler<'n> {
    fn new(
        nodes: &'n [Node],
        values: &Values<'_>,
        combinations: &Combinations,
        live_out: &'n Live,
        room: Room,
    ) -> Scheduler<'n> {
        let dependences = Dependences::of(nodes, values, combinations);
        let mut height = vec![0; nodes.len()];
        let mut earlier = vec![Vec::new(); nodes.len()];
        for at in (0..nodes.len()).rev() {
            let behind = dependences.after[at].iter().map(|after| height[*after as usize]).max().unwrap_or(0);
            height[at] = behind + latency(&nodes[at]);
            for after in &dependences.after[at] {
                if nodes[at].kind != NodeKind::Machine {
                    earlier[*after as usize].push(at as u32);
                }
            }
        }
        let mut reads_left: rustc_hash::FxHashMap<u32, u32> = Default::default();
        let mut live: rustc_hash::FxHashSet<u32> = live_out.iter().collect();
        for node in nodes.iter().rev() {
            node.destination.iter().for_each(|word| {
                live.remove(&word);
            });
            for word in node.reads() {
                live.insert(word);
                *reads_left.entry(word).or_default() += 1;
            }
        }
        let ready_at = vec![0; nodes.len()];
        let ranks = match room.ahead {
            Ahead::Anything => None,
            Ahead::Within(window) => {
                let of = bottom_up::ranks(nodes, &dependences, live_out, terminator(nodes));
                Some(Ranks::new(of, window))
            }
        };
        let idle = vec![false; nodes.len()];
        let order = Vec::with_capacity(nodes.len());
        Scheduler {
            nodes,
            dependences,
            height,
            ready_at,
            ready: Vec::new(),
            idle,
            earlier,
            order,
            reads_left,
            live,
            live_out,
            room: room.registers,
            ranks,
        }
    }

    fn run(mut self) -> Vec<u32> {
        let last = terminator(self.nodes);
        for at in 0..self.nodes.len() as u32 {
            if self.dependences.before[at as usize] == 0 {
                self.release(at);
            }
        }
        let mut cycle = 0;
        while let Some(chosen) = self.choose(cycle, last) {
            self.ready.retain(|at| *at != chosen);
            cycle = cycle.max(self.ready_at[chosen as usize]);
            self.place(chosen);
            self.finish(chosen, cycle + latency(&self.nodes[chosen as usize]));
            cycle += 1;
        }
        // Nodes on which nothing in the block depends precede its end.
        let terminator = self.order.pop_if(|at| Some(*at) == last);
        for at in 0..self.nodes.len() as u32 {
            if self.idle[at as usize] {
                self.place(at);
            }
        }
        self.order.extend(terminator);
        self.order
    }

    /// Marks a node as ready.
    fn release(&mut self, at: u32) {
        if self.nodes[at as usize].kind == NodeKind::Machine {
            self.ready.push(at);
        } else {
            self.idle[at as usize] = true;
            let ready_at = self.ready_at[at as usize];
            self.finish(at, ready_at);
        }
    }

    fn finish(&mut self, at: u32, result_at: u32) {
        for after in std::mem::take(&mut self.dependences.after[at as usize]) {
            let ready_at = &mut self.ready_at[after as usize];
            *ready_at = (*ready_at).max(result_at);
            let before = &mut self.dependences.before[after as usize];
            *before -= 1;
            if *before == 0 {
                self.release(after);
            }
        }
    }

    /// Appends a node to the order, after the nodes that must accompany it.
    fn place(&mut self, at: u32) {
        let mut first: Vec<u32> = std::mem::take(&mut self.earlier[at as usize]);
        first.sort_unstable();
        for earlier in first {
            if self.idle[earlier as usize] {
                self.place(earlier);
            }
        }
        self.idle[at as usize] = false;
        self.order.push(at);
        if let Some(ranks) = &mut self.ranks {
            ranks.place(at);
        }
        let node = &self.nodes[at as usize];
        for word in node.reads() {
            let left = self.reads_left.entry(word).or_default();
            *left = left.saturating_sub(1);
            if *left == 0 && !self.live_out.has(word) {
                self.live.remove(&word);
            }
        }
        self.live.extend(node.destination.iter());
    }

    /// Registers that the node defines, minus those that it frees.
    fn growth(&self, at: u32) -> i32 {
        let node = &self.nodes[at as usize];
        let ends = |word: &u32| self.reads_left.get(word) == Some(&1) && !self.live_out.has(*word);
        let freed = node.reads().filter(ends).count() as i32;
        let taken = node.destination.iter().filter(|word| !self.live.contains(word)).count() as i32;
        taken - freed
    }

    fn choose(&self, cycle: u32, last: Option<u32>) -> Option<u32> {
        let candidates = self.ready.iter().copied().filter(|at| Some(*at) != last);
        let crowded = self.live.len() >= self.room;
        let waits = |at: u32| self.ready_at[at as usize].saturating_sub(cycle);
        let height = |at: u32| Reverse(self.height[at as usize]);
        let chosen = match &self.ranks {
            None => candidates.min_by_key(|at| {
                let growth = if crowded { self.growth(*at) } else { 0 };
                (growth, waits(*at), height(*at), *at)
            }),
            Some(ranks) if crowded => candidates.min_by_key(|at| ranks.of[*at as usize]),
            Some(ranks) => candidates
                .min_by_key(|at| (!ranks.allows(*at), waits(*at), height(*at), ranks.of[*at as usize])),
        };
        chosen.or_else(|| self.ready.first().copied())
    }
}
