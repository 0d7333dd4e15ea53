//! Register allocation: colouring of the interference graph, in the order in which values are defined.

use warp_stream::Registers;

use crate::analyse::ControlFlow;

use super::banks::Banks;
use super::code::{Code, Words};
use super::interference::{Groups, Interference, alignment};
use super::live::{LiveOut, OfPredicates, OfWords, RegisterClass, live_out};
use super::target::Registers as OfTarget;

/// Register 1 is the stack pointer.
const STACK_POINTER: usize = 1;
/// Predicates per thread.
const PREDICATES: usize = 7;
/// Distance in machine instructions within which a memory instruction's source is not overwritten, if that
/// is free.
const DISTANCE: usize = 6;
/// Registers that a callee may use without saving them, which a caller must therefore reserve.
const REGISTERS_OF_CALLS: u32 = 24;

/// Physical register of each virtual register.
#[derive(Debug, Default)]
pub(super) struct Allocation {
    /// Physical register of each virtual register.
    places: Vec<u16>,
    predicates: Vec<u8>,
    /// Number of registers needed.
    pub(super) registers: u32,
}

impl Allocation {
    pub(super) fn of(code: &Code, flow: &ControlFlow, calls: bool, target: &OfTarget) -> Allocation {
        let live = live_out::<OfWords>(code, flow);
        let depths = depths(flow);
        let mut places = place(code, &live, &depths, DISTANCE, target);
        if highest(&places) + 1 + target.hidden > target.all_warps {
            places = place(code, &live, &depths, 0, target);
        }
        let of_predicates = Interference::of::<OfPredicates>(code, &live_out::<OfPredicates>(code, flow), 0);
        let least = if calls { REGISTERS_OF_CALLS } else { 0 };
        let registers = (highest(&places) + 1 + target.hidden).min(target.most as u32).max(least);
        Allocation { places, predicates: colour_predicates(code, &of_predicates), registers }
    }

    /// Physical registers of `words`.
    pub(super) fn registers_of(&self, words: Words) -> Registers {
        match self.places.get(words.first as usize) {
            Some(first) if words.count > 0 => Registers { first: *first, count: words.count },
            _ => Registers::NONE,
        }
    }

    /// Number of a predicate.
    pub(super) fn predicate(&self, predicate: u32) -> u8 {
        self.predicates.get(predicate as usize).copied().unwrap_or(0)
    }
}

fn place(code: &Code, live: &LiveOut, depths: &[u32], distance: usize, target: &OfTarget) -> Vec<u16> {
    let mut interference = Interference::of::<OfWords>(code, live, distance);
    let groups = Groups::coalesce(code, &mut interference, depths);
    let banks = Banks::of(code, &interference, depths);
    colour(code, &interference, &groups, banks, target.most)
}

fn highest(places: &[u16]) -> u32 {
    u32::from(places.iter().copied().max().unwrap_or(0)).max(STACK_POINTER as u32)
}

/// Loop depth of each block, from backward branches over it.
pub(super) fn depths(flow: &ControlFlow) -> Vec<u32> {
    // For each block, loops that start there minus loops that end with the previous block.
    let mut changes = vec![0_i64; flow.blocks().len() + 1];
    for (block, of) in flow.blocks().iter().enumerate() {
        for target in of.successors.iter().map(|target| target.0 as usize).filter(|target| *target <= block) {
            changes[target] += 1;
            changes[block + 1] -= 1;
        }
    }
    let depths = changes.iter().take(flow.blocks().len()).scan(0, |depth, change| {
        *depth += change;
        Some(*depth as u32)
    });
    depths.collect()
}

/// Groups in the order of their first definition in the code.
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

fn colour(
    code: &Code,
    interference: &Interference,
    groups: &Groups,
    mut banks: Banks,
    most: usize,
) -> Vec<u16> {
    const NONE: u16 = u16::MAX;
    let mut highest = 0;
    let mut places = vec![NONE; code.group_of.len()];
    for group in order(code, interference, groups) {
        let words = code.groups[group as usize];
        let mut taken = vec![false; most + 1];
        taken[STACK_POINTER] = true;
        let step = usize::from(alignment(words.count));
        // For each word of the group, the registers of its neighbours, relative to the group's first.
        for (nth, word) in words.iter().enumerate() {
            for neighbour in interference.neighbours(word) {
                let place = places[interference.root(neighbour) as usize];
                if place != NONE && usize::from(place) >= nth {
                    taken[(usize::from(place) - nth).min(most)] = true;
                }
            }
            if STACK_POINTER >= nth {
                taken[STACK_POINTER - nth] = true;
            }
        }
        let last = most.saturating_sub(usize::from(words.count));
        let mut free = (0..=last).step_by(step).filter(|place| !taken[*place]);
        let lowest = free.next().unwrap_or(last / step * step);
        // The other bank may cost one register at most.
        let in_bank = |bank: u8| move |place: &usize| place % 2 == usize::from(bank);
        let better = banks.better(words).filter(|bank| !in_bank(*bank)(&lowest));
        let other = better.and_then(|bank| free.find(in_bank(bank)));
        let place = other.filter(|place| *place <= highest.max(lowest) + 1).unwrap_or(lowest);
        highest = highest.max(place + usize::from(words.count) - 1);
        for (nth, word) in words.iter().enumerate() {
            places[word as usize] = (place + nth) as u16;
            banks.place(word, place + nth);
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that meets an error has failed")]
mod tests {
    use std::collections::HashMap;

    use super::super::code::{Node, NodeKind};
    use super::super::{Target, combine, schedule, select, values};
    use super::*;
    use crate::Module;

    /// A value: the initial value of a register in the block, or the value that node n wrote to its
    /// register m.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Value {
        Before(u16),
        Of(usize, usize),
    }

    #[derive(Default)]
    struct Machine {
        virtual_registers: HashMap<u32, Value>,
        registers: HashMap<u16, Value>,
    }

    impl Machine {
        fn expected(&self, allocation: &Allocation, word: u32) -> Value {
            let before = Value::Before(allocation.places[word as usize]);
            self.virtual_registers.get(&word).copied().unwrap_or(before)
        }

        fn found(&self, register: u16) -> Value {
            self.registers.get(&register).copied().unwrap_or(Value::Before(register))
        }

        fn check(&self, allocation: &Allocation, word: u32) {
            let register = allocation.places[word as usize];
            assert_eq!(self.found(register), self.expected(allocation, word), "R{register}");
        }

        fn execute(&mut self, allocation: &Allocation, at: usize, node: &Node) {
            if node.kind != NodeKind::Copy {
                node.reads().for_each(|word| self.check(allocation, word));
            }
            for (n, word) in node.destination.iter().enumerate() {
                let value = match node.kind {
                    NodeKind::Copy => {
                        let source = node.sources[0].first + n as u32;
                        self.check(allocation, source);
                        self.expected(allocation, source)
                    }
                    _ => Value::Of(at, n),
                };
                self.virtual_registers.insert(word, value);
                self.registers.insert(allocation.places[word as usize], value);
            }
        }
    }

    /// Executes each block, and checks each value where it is read.
    fn check(code: &Code, flow: &ControlFlow) {
        let allocation = Allocation::of(code, flow, false, &Target::Sm70.machine().registers);
        let live_out = live_out::<OfWords>(code, flow);
        for (block, nodes) in code.blocks.iter().enumerate() {
            let mut machine = Machine::default();
            for (at, node) in nodes.iter().enumerate() {
                machine.execute(&allocation, at, node);
            }
            live_out.of_block(block).for_each(|word| machine.check(&allocation, word));
        }
    }

    #[test]
    fn values_stay_in_their_registers_while_live() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lower/examples");
        for file in std::fs::read_dir(folder).unwrap() {
            let module =
                Module::parse(std::fs::read_to_string(file.unwrap().path()).unwrap(), "test").unwrap();
            let names: Vec<String> = module.kernels().map(str::to_owned).collect();
            for name in names {
                let mut function = module.function(&name).unwrap();
                let machine = Target::Sm70.machine();
                super::super::rewrite(&mut function);
                let flow = ControlFlow::of(&function);
                let replacements = super::super::contract(&mut function, &flow);
                let values = values::Values::of(&function, &flow, &replacements);
                let combinations = combine::Combinations::of(&values, function.instructions.len(), machine);
                let mut selected = select::select(&function, &flow, &values, &combinations, machine);
                super::super::dead::drop_dead(&mut selected, &flow);
                for ahead in [schedule::Ahead::Anything, schedule::Ahead::Within(48)] {
                    let mut code = selected.clone();
                    let room = schedule::Room { registers: 29, ahead };
                    schedule::schedule(&mut code, &flow, &values, &combinations, room);
                    check(&code, &flow);
                }
            }
        }
    }
}
