//! From nodes in their final order to the lowered function.

use std::ops::Range;

use warp_stream::{MachineInstruction, OperationClass};

use crate::analyse::ControlFlow;
use crate::ir::{Function, InstructionIndex};

use super::LoweredFunction;
use super::allocate::Allocation;
use super::code::{Code, Kind, Node};

/// Bytes of a machine instruction from Volta on.
const INSTRUCTION_BYTES: u32 = 16;

/// Lays the nodes out.
pub(super) fn emit(
    function: &Function,
    flow: &ControlFlow,
    code: &Code,
    allocation: &Allocation,
) -> LoweredFunction {
    let mut out = Output { allocation, lowered: LoweredFunction::default(), pending: Vec::new(), first: 0 };
    out.lowered.position = vec![0; function.instructions.len()];
    for (block, nodes) in flow.blocks().iter().zip(&code.blocks) {
        out.block(nodes);
        if let Some(position) = out.lowered.position.get_mut(block.start.0 as usize) {
            *position = out.first;
        }
    }
    out.lowered.registers = allocation.registers;
    out.lowered
}

struct Output<'a> {
    allocation: &'a Allocation,
    lowered: LoweredFunction,
    /// Effects that come with the next machine instruction.
    pending: Vec<u32>,
    /// Where the current block begins.
    first: u32,
}

impl Output<'_> {
    fn block(&mut self, nodes: &[Node]) {
        self.first = self.lowered.instructions.len() as u32;
        for node in nodes {
            self.pending.extend(node.effect);
            if self.is_machine_instruction(node) {
                self.push(node);
            }
        }
        let last = self.lowered.instructions.len() as u32;
        if last == self.first {
            // A block without instructions is a place that others jump to.
            let line = nodes.first().map_or(0, |node| node.line);
            self.push(&Node::new(OperationClass::Nothing, line));
        } else if !self.pending.is_empty() {
            // Nothing in this block waits for them: they come with its last instruction, before what that does itself.
            self.join_last();
        }
    }

    fn is_machine_instruction(&self, node: &Node) -> bool {
        match node.kind {
            Kind::Machine => true,
            Kind::Absorbed => false,
            Kind::Copy => {
                self.allocation.registers_of(node.destination)
                    != self.allocation.registers_of(node.sources[0])
            }
        }
    }

    fn push(&mut self, node: &Node) {
        let address = self.lowered.instructions.len() as u32 * INSTRUCTION_BYTES;
        let mask = |predicates: &[u32]| {
            predicates.iter().fold(0, |mask, of| mask | 1 << self.allocation.predicate(*of))
        };
        let sources = node.sources.map(|source| self.allocation.registers_of(source));
        self.lowered.instructions.push(MachineInstruction {
            address,
            class: node.class,
            destination: self.allocation.registers_of(node.destination),
            sources,
            predicates_read: mask(&node.predicates_read),
            predicates_written: mask(&node.predicates_written),
            memory: node.memory,
            line: node.line,
        });
        let effects = self.place_pending();
        self.lowered.effects.push(effects);
    }

    fn place_pending(&mut self) -> Range<u32> {
        let start = self.lowered.order.len() as u32;
        let at = self.lowered.instructions.len() as u32 - 1;
        for effect in self.pending.drain(..) {
            self.lowered.order.push(InstructionIndex(effect));
            if let Some(position) = self.lowered.position.get_mut(effect as usize) {
                *position = at;
            }
        }
        start..self.lowered.order.len() as u32
    }

    fn join_last(&mut self) {
        let more = self.place_pending();
        if let Some(effects) = self.lowered.effects.last_mut() {
            effects.end = more.end;
        }
    }
}
