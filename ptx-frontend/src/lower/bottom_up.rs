//! An order of a block's nodes that keeps few registers in use.
//!
//! The pass builds the order from the end of the block backwards. A node is ready when all nodes
//! that depend on it are placed. Placing a node ends the live ranges of its results and opens the
//! live ranges of its operands. Each step places the node that opens the fewest registers, so all
//! users of a loaded value stand beside its load.
//!
//! A store opens the live range of a sum. A sum whose store comes late in this order starts after the
//! others, and the values that they share stay live in between. A second order therefore places
//! stores first, and the block takes the order that needs fewer registers.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use super::code::{Node, NodeKind};
use super::depend::Dependences;
use super::live::Live;

/// Depth of producers that the cost of a node includes.
const LOOKAHEAD: u32 = 3;
/// A register that so many accesses use as their address stays live in the whole block.
const BASE_USERS: u32 = 4;
/// Ready nodes that one step compares: the latest ones of the block.
const COMPARED: usize = 128;
/// Registers up to which the first order suffices: all warps of an SM stay resident.
const ENOUGH: usize = 29;

/// Turn of the nodes that access memory and have no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stores {
    /// As any other node.
    InTurn,
    /// Before other ready nodes, so that all stored values are live at the end.
    First,
}

/// For each node, its place in an order of few registers. `last` ends the block.
pub(super) fn ranks(
    nodes: &[Node],
    dependences: &Dependences,
    live_out: &Live,
    last: Option<u32>,
) -> Vec<u32> {
    let mut ranks = vec![0; nodes.len()];
    let facts = Facts::of(nodes, dependences);
    let order = |stores| BottomUp::new(nodes, &facts, dependences, live_out).run(last, stores);
    let mut best = order(Stores::InTurn);
    let peak = facts.peak(&best, live_out);
    if peak > ENOUGH {
        let other = order(Stores::First);
        if facts.peak(&other, live_out) < peak {
            best = other;
        }
    }
    for (rank, at) in best.iter().rev().enumerate() {
        ranks[*at as usize] = rank as u32;
    }
    ranks
}

/// The block's registers and dependences, which no step changes. Registers are numbered within the block.
struct Facts {
    /// By node: registers read and registers written.
    reads: Vec<Vec<u32>>,
    writes: Vec<Vec<u32>>,
    /// By node: the nodes that it depends on.
    before: Vec<Vec<u32>>,
    /// By node: nodes on the longest path to the end of the block.
    height: Vec<u32>,
    /// By register: its number in the function.
    numbers: Vec<u32>,
    /// By register: the nodes that read it.
    readers: Vec<Vec<u32>>,
    /// By register: the node that writes it, if one node of the block does.
    producer: Vec<Option<u32>>,
}

impl Facts {
    fn of(nodes: &[Node], dependences: &Dependences) -> Facts {
        let mut locals: FxHashMap<u32, u32> = FxHashMap::default();
        let mut numbers: Vec<u32> = Vec::new();
        let mut local = |word: u32| {
            *locals.entry(word).or_insert_with(|| {
                numbers.push(word);
                numbers.len() as u32 - 1
            })
        };
        let mut reads = Vec::with_capacity(nodes.len());
        let mut writes: Vec<Vec<u32>> = Vec::with_capacity(nodes.len());
        for node in nodes {
            // A guarded node keeps the destination's value.
            let kept = node.guarded.then(|| node.destination.iter());
            let mut read: Vec<u32> = node.reads().chain(kept.into_iter().flatten()).map(&mut local).collect();
            read.sort_unstable();
            read.dedup();
            reads.push(read);
            writes.push(node.destination.iter().map(&mut local).collect());
        }
        let mut facts = Facts {
            before: vec![Vec::new(); nodes.len()],
            height: vec![0; nodes.len()],
            readers: vec![Vec::new(); numbers.len()],
            producer: vec![None; numbers.len()],
            reads,
            writes,
            numbers,
        };
        facts.relate(dependences);
        facts
    }

    fn relate(&mut self, dependences: &Dependences) {
        let mut is_written = vec![false; self.numbers.len()];
        for at in 0..self.reads.len() {
            self.reads[at].iter().for_each(|word| self.readers[*word as usize].push(at as u32));
            for word in self.writes[at].iter().map(|word| *word as usize) {
                let is_first = !std::mem::replace(&mut is_written[word], true);
                self.producer[word] = is_first.then_some(at as u32);
            }
            dependences.after[at].iter().for_each(|after| self.before[*after as usize].push(at as u32));
        }
        for at in (0..self.reads.len()).rev() {
            let behind = dependences.after[at].iter().map(|after| self.height[*after as usize] + 1).max();
            self.height[at] = behind.unwrap_or(0);
        }
    }

    /// Most registers that are live at once in an order, the last node first.
    fn peak(&self, order: &[u32], live_out: &Live) -> usize {
        let mut is_live: Vec<bool> = self.numbers.iter().map(|word| live_out.has(*word)).collect();
        let mut live = is_live.iter().filter(|is_live| **is_live).count();
        let mut most = live;
        for at in order {
            for word in &self.writes[*at as usize] {
                live -= usize::from(std::mem::replace(&mut is_live[*word as usize], false));
            }
            for word in &self.reads[*at as usize] {
                live += usize::from(!std::mem::replace(&mut is_live[*word as usize], true));
            }
            most = most.max(live);
        }
        most
    }

    /// By register: true if the register is live in the whole block, whatever the order. The value
    /// comes from another block, or is the address of many accesses.
    fn is_lasting(&self, nodes: &[Node]) -> Vec<bool> {
        let accesses = |at: &&u32| nodes[**at as usize].memory.is_some();
        let of_word = |(readers, producer): (&Vec<u32>, &Option<u32>)| {
            let users = readers.iter().filter(accesses).count() as u32;
            !readers.is_empty() && (producer.is_none() || users >= BASE_USERS)
        };
        self.readers.iter().zip(&self.producer).map(of_word).collect()
    }
}

struct BottomUp<'n> {
    nodes: &'n [Node],
    facts: &'n Facts,
    /// By register.
    is_live: Vec<bool>,
    /// By node: nodes that depend on it and are not placed.
    waiting: Vec<u32>,
    is_placed: Vec<bool>,
    /// By node: the step in which its result became live.
    opened: Vec<u32>,
    /// In ascending order.
    ready: Vec<u32>,
    /// Last node first.
    order: Vec<u32>,
}

impl<'n> BottomUp<'n> {
    fn new(nodes: &'n [Node], facts: &'n Facts, dependences: &Dependences, live_out: &Live) -> BottomUp<'n> {
        let lasting = facts.is_lasting(nodes);
        let is_live = facts.numbers.iter().zip(lasting).map(|(word, lasts)| lasts || live_out.has(*word));
        BottomUp {
            nodes,
            facts,
            is_live: is_live.collect(),
            waiting: dependences.after.iter().map(|after| after.len() as u32).collect(),
            is_placed: vec![false; nodes.len()],
            opened: vec![0; nodes.len()],
            ready: Vec::new(),
            order: Vec::with_capacity(nodes.len()),
        }
    }

    fn run(mut self, last: Option<u32>, stores: Stores) -> Vec<u32> {
        self.ready = (0..self.nodes.len() as u32).filter(|at| self.waiting[*at as usize] == 0).collect();
        if let Some(last) = last.filter(|last| self.waiting[*last as usize] == 0) {
            self.place(last);
        }
        while let Some(chosen) = self.choose(stores) {
            self.place(chosen);
        }
        self.order
    }

    fn choose(&self, stores: Stores) -> Option<u32> {
        if stores == Stores::First
            && let Some(store) = self.ready.iter().rev().find(|at| self.is_store(**at))
        {
            return Some(*store);
        }
        // A node without a machine instruction takes effect with the next machine instruction.
        let absorbed = self.ready.iter().rev().find(|at| self.nodes[**at as usize].kind != NodeKind::Machine);
        let latest = self.ready.iter().rev().take(COMPARED);
        absorbed.or_else(|| latest.min_by_key(|at| self.key(**at))).copied()
    }

    fn is_store(&self, at: u32) -> bool {
        self.nodes[at as usize].memory.is_some() && self.facts.writes[at as usize].is_empty()
    }

    /// The node with the least key is placed first: few registers; then values whose other users
    /// are near; then the value that was opened last.
    fn key(&self, at: u32) -> (i32, u32, Reverse<u32>, Reverse<u32>) {
        let opened = Reverse(self.opened[at as usize]);
        (self.cost(at, LOOKAHEAD), self.blocked(at), opened, Reverse(at))
    }

    fn is_live(&self, word: &&u32) -> bool {
        self.is_live[**word as usize]
    }

    /// Height of the farthest node that reads a value which `at` would open, and that cannot be placed yet.
    fn blocked(&self, at: u32) -> u32 {
        let opened = self.facts.reads[at as usize].iter().filter(|word| !self.is_live(word));
        let readers = opened.flat_map(|word| &self.facts.readers[*word as usize]);
        let far = readers.filter(|other| {
            **other != at && self.waiting[**other as usize] > 0 && !self.is_placed[**other as usize]
        });
        far.map(|other| self.facts.height[*other as usize]).max().unwrap_or(0)
    }

    /// Registers that the node opens less those that it ends, if the producers that wait for it
    /// alone follow at once.
    fn cost(&self, at: u32, depth: u32) -> i32 {
        let is_guarded = self.nodes[at as usize].guarded;
        let ended = self.facts.writes[at as usize].iter().filter(|word| !is_guarded && self.is_live(word));
        let mut cost = -(ended.count() as i32);
        let mut producers: Vec<u32> = Vec::new();
        for word in self.facts.reads[at as usize].iter().filter(|word| !self.is_live(word)) {
            cost += 1;
            let producer = self.facts.producer[*word as usize];
            producers.extend(producer.filter(|of| self.waiting[*of as usize] == 1 && *of < at));
        }
        if depth > 0 {
            producers.dedup();
            for of in producers {
                // `at` opens all results of the producer, which then ends them.
                let results = &self.facts.writes[of as usize];
                let closed = results.len() - results.iter().filter(|word| self.is_live(word)).count();
                cost += (self.cost(of, depth - 1) - closed as i32).min(0);
            }
        }
        cost
    }

    fn place(&mut self, at: u32) {
        self.ready.retain(|other| *other != at);
        self.order.push(at);
        self.is_placed[at as usize] = true;
        let step = self.order.len() as u32;
        if !self.nodes[at as usize].guarded {
            self.facts.writes[at as usize].iter().for_each(|word| self.is_live[*word as usize] = false);
        }
        for word in self.facts.reads[at as usize].iter().map(|word| *word as usize) {
            if !std::mem::replace(&mut self.is_live[word], true)
                && let Some(producer) = self.facts.producer[word]
            {
                self.opened[producer as usize] = step;
            }
        }
        for before in &self.facts.before[at as usize] {
            let waiting = &mut self.waiting[*before as usize];
            *waiting -= 1;
            if *waiting == 0 {
                let place = self.ready.partition_point(|other| other < before);
                self.ready.insert(place, *before);
            }
        }
    }
}
