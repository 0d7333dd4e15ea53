//! Physical registers: a colouring of the interference graph, in the order in which values come into being.

use warp_stream::Registers;

use crate::analyse::ControlFlow;

use super::code::{Code, Words};
use super::interference::{Groups, Interference, alignment};
use super::live::{Kind, OfPredicates, OfWords, live_out};

/// Registers that can be addressed, less the one that is always zero.
const MOST_REGISTERS: usize = 255;
/// Register 1 is the stack pointer.
const STACK_POINTER: usize = 1;
/// Predicates that a thread has.
const PREDICATES: usize = 7;
/// Beside those that the code names, a thread of Volta needs two registers: ptxas counts them.
const HIDDEN_REGISTERS: u32 = 2;

/// Which physical register each virtual one is.
#[derive(Debug, Default)]
pub(super) struct Allocation {
    /// By virtual register.
    places: Vec<u16>,
    predicates: Vec<u8>,
    /// Registers needed.
    pub(super) registers: u32,
}

impl Allocation {
    pub(super) fn of(code: &Code, flow: &ControlFlow) -> Allocation {
        let mut interference = Interference::of::<OfWords>(code, &live_out::<OfWords>(code, flow));
        let groups = Groups::coalesce(code, &mut interference, &depths(flow));
        let places = colour(code, &interference, &groups);
        let highest = places.iter().copied().max().unwrap_or(0).max(STACK_POINTER as u16);
        let of_predicates = Interference::of::<OfPredicates>(code, &live_out::<OfPredicates>(code, flow));
        Allocation {
            places,
            predicates: colour_predicates(code, &of_predicates),
            registers: (u32::from(highest) + 1 + HIDDEN_REGISTERS).min(MOST_REGISTERS as u32),
        }
    }

    /// The physical registers of these.
    pub(super) fn registers_of(&self, words: Words) -> Registers {
        match self.places.get(words.first as usize) {
            Some(first) if words.count > 0 => Registers { first: *first, count: words.count },
            _ => Registers::NONE,
        }
    }

    /// The number of a predicate.
    pub(super) fn predicate(&self, predicate: u32) -> u8 {
        self.predicates.get(predicate as usize).copied().unwrap_or(0)
    }
}

/// How many loops each block lies in, by the branches that go back over it.
pub(super) fn depths(flow: &ControlFlow) -> Vec<u32> {
    let mut depths = vec![0; flow.blocks().len()];
    for (block, of) in flow.blocks().iter().enumerate() {
        for target in of.successors.iter().map(|target| target.0 as usize).filter(|target| *target <= block) {
            depths[target..=block].iter_mut().for_each(|depth| *depth += 1);
        }
    }
    depths
}

/// Groups in the order in which the code writes them first.
fn order(code: &Code, interference: &Interference, groups: &Groups) -> Vec<u32> {
    let mut seen = vec![false; code.groups.len()];
    let mut order = Vec::new();
    for node in code.blocks.iter().flatten() {
        for word in node.destination.iter().chain(node.reads()) {
            let group = code.group_of[interference.root(word) as usize];
            if !std::mem::replace(&mut seen[group as usize], true) && groups.is_root(group) {
                order.push(group);
            }
        }
    }
    order
}

fn colour(code: &Code, interference: &Interference, groups: &Groups) -> Vec<u16> {
    const NONE: u16 = u16::MAX;
    let mut places = vec![NONE; code.group_of.len()];
    for group in order(code, interference, groups) {
        let words = code.groups[group as usize];
        let mut taken = [false; MOST_REGISTERS + 1];
        taken[STACK_POINTER] = true;
        let step = usize::from(alignment(words.count));
        // For each word of the group, the places that its neighbours have, counted from the group's first.
        for (nth, word) in words.iter().enumerate() {
            for neighbour in interference.neighbours(word) {
                let place = places[interference.root(neighbour) as usize];
                if place != NONE && usize::from(place) >= nth {
                    taken[(usize::from(place) - nth).min(MOST_REGISTERS)] = true;
                }
            }
            if STACK_POINTER >= nth {
                taken[STACK_POINTER - nth] = true;
            }
        }
        let last = MOST_REGISTERS.saturating_sub(usize::from(words.count));
        let place = (0..=last).step_by(step).find(|place| !taken[*place]).unwrap_or(last / step * step);
        for (nth, word) in words.iter().enumerate() {
            places[word as usize] = (place + nth) as u16;
        }
    }
    (0..places.len())
        .map(|word| places[interference.root(word as u32) as usize])
        .map(|p| if p == NONE { 0 } else { p })
        .collect()
}

fn colour_predicates(code: &Code, interference: &Interference) -> Vec<u8> {
    let mut places = vec![u8::MAX; OfPredicates::count(code)];
    for predicate in 0..places.len() {
        let mut taken = [false; 32];
        for neighbour in interference.neighbours(predicate as u32) {
            if let Some(taken) = taken.get_mut(usize::from(places[neighbour as usize])) {
                *taken = true;
            }
        }
        let free = taken.iter().position(|taken| !taken);
        places[predicate] = free.unwrap_or(predicate % PREDICATES) as u8;
    }
    places
}
