//! Emission: from scheduled nodes to the lowered function.

use warp_stream::{MachineInstruction, OperationClass, Registers};

use crate::analyse::ControlFlow;
use crate::ir::{Function, InstructionIndex};

use super::LoweredFunction;
use super::allocate::Allocation;
use super::code::{Code, Node, NodeKind, Words};
use super::target::Target;

/// Register of the stack pointer.
const STACK_POINTER: Registers = Registers { first: 1, count: 1 };

/// Lays out the nodes.
pub(super) fn emit(
    function: &Function,
    flow: &ControlFlow,
    code: &Code,
    allocation: &Allocation,
    target: Target,
) -> LoweredFunction {
    let mut out = Output {
        allocation,
        target,
        lowered: LoweredFunction::default(),
        pending: Vec::new(),
        awaited: Vec::new(),
        first: 0,
    };
    out.lowered.position = vec![0; function.instructions.len()];
    if function.is_kernel {
        out.prologue(function);
    }
    for (block, nodes) in flow.blocks().iter().zip(&code.blocks) {
        out.block(nodes);
        if let Some(position) = out.lowered.position.get_mut(block.start.0 as usize) {
            *position = out.first;
        }
    }
    out.lowered.joined.sort_unstable();
    out.lowered.registers = allocation.registers;
    out.lowered
}

struct Output<'a> {
    allocation: &'a Allocation,
    target: Target,
    lowered: LoweredFunction,
    /// Effects of the next machine instruction.
    pending: Vec<u32>,
    /// Sources of these effects, which may arrive late.
    awaited: Vec<Words>,
    /// Start of the current block.
    first: u32,
}

impl Output<'_> {
    /// Every kernel sets the stack pointer first.
    fn prologue(&mut self, function: &Function) {
        let line = function.instructions.first().map_or(0, |i| i.place.line);
        for class in self.target.machine().prologue {
            self.push(&Node::new(*class, line));
        }
        if let Some(set) = self.lowered.instructions.first_mut() {
            set.destination = STACK_POINTER;
        }
    }

    fn block(&mut self, nodes: &[Node]) {
        let begins = self.lowered.order.is_empty();
        self.first = if begins { 0 } else { self.lowered.instructions.len() as u32 };
        for node in nodes {
            self.pending.extend(node.effects());
            if self.is_machine_instruction(node) {
                self.push(node);
            } else if node.deferred {
                self.awaited.extend(node.sources.iter().copied().filter(|source| !source.is_none()));
            }
        }
        let last = self.lowered.instructions.len() as u32;
        if last == self.first {
            // An empty block is only a branch target.
            let line = nodes.first().map_or(0, |node| node.line);
            self.push(&Node::new(OperationClass::Nothing, line));
        } else if !self.pending.is_empty() {
            // Nothing in this block depends on them: they take effect with its last instruction, before
            // that instruction's own effect.
            if let Some(last) = self.lowered.instructions.last_mut() {
                for awaited in self.awaited.drain(..) {
                    wait_for(&mut last.sources, self.allocation.registers_of(awaited));
                }
            }
            self.join_last();
        }
    }

    fn is_machine_instruction(&self, node: &Node) -> bool {
        match node.kind {
            NodeKind::Machine => true,
            NodeKind::Absorbed => false,
            NodeKind::Copy => {
                self.allocation.registers_of(node.destination)
                    != self.allocation.registers_of(node.sources[0])
            }
        }
    }

    fn push(&mut self, node: &Node) {
        let address = self.target.address(self.lowered.instructions.len() as u32);
        let mask = |predicates: &[u32]| {
            predicates.iter().fold(0, |mask, of| mask | 1 << self.allocation.predicate(*of))
        };
        let mut sources = node.sources.map(|source| self.allocation.registers_of(source));
        for awaited in self.awaited.drain(..) {
            wait_for(&mut sources, self.allocation.registers_of(awaited));
        }
        self.lowered.instructions.push(MachineInstruction {
            address,
            class: node.class,
            destination: self.allocation.registers_of(node.destination),
            sources,
            predicates_read: mask(&node.predicates_read),
            predicates_written: mask(&node.predicates_written),
            memory: node.memory,
            line: node.line,
            ptx: 0,
        });
        if !node.joined.is_empty() {
            self.lowered.joined.extend(node.effect.map(InstructionIndex));
        }
        let start = self.lowered.order.len() as u32;
        self.lowered.effects.push(start..start);
        self.join_last();
    }

    /// Attaches pending effects to the last machine instruction.
    fn join_last(&mut self) {
        let LoweredFunction { instructions, effects, order, position, .. } = &mut self.lowered;
        let at = instructions.len() as u32 - 1;
        for effect in self.pending.drain(..) {
            order.push(InstructionIndex(effect));
            if let Some(position) = position.get_mut(effect as usize) {
                *position = at;
            }
        }
        if let (Some(last), Some(effects)) = (instructions.last_mut(), effects.last_mut()) {
            effects.end = order.len() as u32;
            last.ptx = u16::try_from(effects.len()).unwrap_or(u16::MAX);
        }
    }
}

/// Adds these registers to the sources, if there is room, so that the issue waits for them.
fn wait_for(sources: &mut [Registers; 4], awaited: Registers) {
    let reads = |source: &Registers| awaited.iter().all(|register| source.iter().any(|of| of == register));
    if !sources.iter().any(reads)
        && let Some(free) = sources.iter_mut().find(|source| source.count == 0)
    {
        *free = awaited;
    }
}
