//! Listing of lowered code, for people and tests.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use warp_stream::{MachineInstruction, Registers};

use super::LoweredFunction;
use crate::analyse::ControlFlow;
use crate::ir::Function;

/// One line per machine instruction, with the forms of its PTX instructions; a `block` line before each
/// basic block.
pub fn listing(function: &Function, flow: &ControlFlow, lowered: &LoweredFunction) -> String {
    let start = |block: &crate::analyse::Block| lowered.position.get(block.start.0 as usize).copied();
    let starts: BTreeSet<u32> = flow.blocks().iter().filter_map(start).collect();
    let mut text = String::new();
    for (position, (instruction, effects)) in lowered.instructions.iter().zip(&lowered.effects).enumerate() {
        if starts.contains(&(position as u32)) {
            text.push_str("block\n");
        }
        let effects = lowered.order.get(effects.start as usize..effects.end as usize).unwrap_or(&[]);
        let names = effects.iter().filter_map(|index| function.instructions.get(index.0 as usize));
        let names: Vec<&str> = names.map(|i| i.op.line().name).collect();
        let line = format!("{:44}; {}", describe(instruction), names.join(" "));
        let _ = writeln!(text, "{}", line.trim_end_matches([' ', ';']));
    }
    text
}

fn describe(i: &MachineInstruction) -> String {
    let mut text = format!("{:?}", i.class);
    if i.destination.count > 0 {
        let _ = write!(text, " {} <-", registers(i.destination));
    }
    for source in i.sources.iter().filter(|source| source.count > 0) {
        let _ = write!(text, " {}", registers(*source));
    }
    for (mark, mask) in [("reads", i.predicates_read), ("writes", i.predicates_written)] {
        let all: Vec<String> = (0..32).filter(|n| mask >> n & 1 == 1).map(|n| format!("P{n}")).collect();
        if !all.is_empty() {
            let _ = write!(text, " {mark} {}", all.join(" "));
        }
    }
    if let Some(memory) = i.memory {
        let _ = write!(text, " {:?} {}", memory.space, memory.width);
    }
    text
}

fn registers(of: Registers) -> String {
    match of.count {
        1 => format!("R{}", of.first),
        count => format!("R{}:{}", of.first, of.first + u16::from(count) - 1),
    }
}
