//! Instruction selection: converts PTX instructions to nodes, one by one.

mod operands;
mod vectors;

use rustc_hash::FxHashMap;
use warp_stream::OperationClass;

use crate::analyse::{ControlFlow, writes};
use crate::ir::{AddressBase, Function, Instruction, Operand, RegisterId};
use crate::isa::{
    Control, Convert, Effect, Integer, Logic, Memory, Modifier, Op, ScalarType, SpecialRegister,
};

use crate::lower::access::access;
use crate::lower::allocate::depths;
use crate::lower::code::{Code, Node, NodeKind, Words};
use crate::lower::combine::{Combination, Combinations, Shape};
use crate::lower::converge::Convergence;
use crate::lower::expansion::{Expansion, expansion, expansion_with_constant};
use crate::lower::target::Machine;
use crate::lower::values::{Constant, Values};

/// Selects the nodes of a function.
pub(super) fn select(
    function: &Function,
    flow: &ControlFlow,
    values: &Values<'_>,
    combinations: &Combinations,
    machine: &Machine,
) -> Code {
    let mut selector = Selector::new(function, values, combinations, depths(flow), machine);
    let convergence = Convergence::of(function, flow, &selector.depths);
    for (number, block) in flow.blocks().iter().enumerate() {
        selector.nodes = Vec::new();
        selector.materialised.clear();
        if convergence.meets[number] {
            let line = selector.values.instruction(block.start.0).map_or(0, |i| i.place.line);
            selector.nodes.push(Node::new(OperationClass::Branch, line));
        }
        for position in block.start.0..block.end.0 {
            selector.instruction(position);
        }
        if convergence.parts[number]
            && let Some(branch) = selector.nodes.pop()
        {
            selector.nodes.extend(machine.reconvergence.iter().map(|class| Node::new(*class, branch.line)));
            selector.nodes.push(branch);
        }
        let nodes = std::mem::take(&mut selector.nodes);
        selector.code.blocks.push(nodes);
    }
    selector.code
}

struct Selector<'a> {
    function: &'a Function,
    values: &'a Values<'a>,
    combinations: &'a Combinations,
    machine: &'a Machine,
    code: Code,
    /// Virtual registers of each register; none for predicates.
    words: Vec<Words>,
    /// Virtual predicate of each predicate register.
    predicates: Vec<u32>,
    /// Nodes of the current block.
    nodes: Vec<Node>,
    /// Constants already in registers, in the current block.
    materialised: FxHashMap<Operand, Vec<Words>>,
    /// Constants in registers since the block of their definition, which loops use.
    hoisted: FxHashMap<RegisterId, Words>,
    /// Loop depth of each block.
    depths: Vec<u32>,
    /// Line of the current instruction.
    line: u32,
    guard: Option<u32>,
    keeps_old: bool,
}

impl<'a> Selector<'a> {
    fn new(
        function: &'a Function,
        values: &'a Values<'a>,
        combinations: &'a Combinations,
        depths: Vec<u32>,
        machine: &'a Machine,
    ) -> Selector<'a> {
        let mut code = Code::default();
        let mut words = Vec::with_capacity(function.registers.len());
        let mut predicates = Vec::with_capacity(function.registers.len());
        for ty in &function.registers {
            let is_predicate = *ty == ScalarType::Pred;
            predicates.push(if is_predicate { code.predicate() } else { 0 });
            words.push(if is_predicate { Words::NONE } else { code.group(words_of(*ty)) });
        }
        Selector {
            function,
            values,
            combinations,
            machine,
            code,
            words,
            predicates,
            nodes: Vec::new(),
            materialised: FxHashMap::default(),
            hoisted: FxHashMap::default(),
            depths,
            line: 0,
            guard: None,
            keeps_old: false,
        }
    }

    fn instruction(&mut self, position: u32) {
        let Some(i) = self.values.instruction(position) else { return };
        self.line = i.place.line;
        self.guard = i.guard.map(|guard| self.predicate_of(guard.register));
        // A value that is visible only under the guard has no older value to keep.
        self.keeps_old = i.guard.is_some()
            && writes(i).iter().any(|register| self.values.single_definition(*register).is_none());
        let first = self.nodes.len();
        if self.values.is_gone(position) || self.combinations.is_absorbed(position) || self.is_constant(i) {
            self.absorbed(i);
        } else {
            self.emit(i, position);
        }
        self.mark_effect(i, first, position);
    }

    /// Marks the node, from `first` on, with which the instruction takes effect.
    fn mark_effect(&mut self, i: &Instruction, first: usize, position: u32) {
        if self.nodes.len() == first {
            self.absorbed(i);
        }
        let deferred = self.values.reads(i).iter().any(|register| self.values.is_deferred(*register));
        let of_instruction = &mut self.nodes[first..];
        // Accesses and barriers take effect at their node; other instructions when the result is ready.
        let accesses = of_instruction.iter().position(|node| {
            let is_barrier = matches!(node.class, OperationClass::Barrier | OperationClass::Fence);
            node.memory.is_some() || is_barrier
        });
        let bearer = accesses.unwrap_or(of_instruction.len() - 1);
        of_instruction[bearer].effect = Some(position);
        of_instruction[bearer].deferred |= deferred;
    }

    fn is_constant(&self, i: &Instruction) -> bool {
        let result = i.operands.first();
        let elements = match result {
            Some(Operand::Vector(elements)) => elements,
            Some(one @ Operand::Register(_)) => std::slice::from_ref(one),
            _ => return false,
        };
        let is_move = matches!(i.op, Op::Memory(Memory::mov | Memory::cvta | Memory::cvta_to | Memory::ld));
        (is_move || i.op.line().effect == Effect::Pure)
            && elements
                .iter()
                .all(|element| matches!(element, Operand::Discard) || self.values.constant(element).is_some())
    }

    fn emit(&mut self, i: &Instruction, position: u32) {
        if let Some(combined) = self.combinations.taken_by(position)
            && self.emit_combined(i, combined)
        {
            return;
        }
        if self.emit_words(i) {
            return;
        }
        match (i.op, self.expansion(i)) {
            (Op::Memory(Memory::mov), _) => self.emit_move(i),
            (Op::Memory(Memory::cvta), _) if i.has(Modifier::Global) || i.has(Modifier::Const) => {
                self.emit_copy(i);
            }
            (Op::Convert(Convert::integer_to_integer), Expansion::Same) => self.emit_width(i),
            (Op::Logic(Logic::not_predicate), expansion) | (_, expansion @ Expansion::One(_)) => {
                self.emit_one(i, expansion)
            }
            (_, Expansion::Same) => self.emit_copy(i),
            (_, Expansion::Halves(class)) => self.emit_halves(i, class, false),
            (_, Expansion::Carried(class)) => self.emit_halves(i, class, true),
            (Op::Matrix(_), Expansion::Chain(&[(class, steps)])) => self.emit_product(i, class, steps),
            (_, Expansion::Chain(steps)) => self.emit_chain(i, steps),
        }
    }

    fn expansion(&self, i: &Instruction) -> Expansion {
        match i.operands.get(2).and_then(|operand| self.values.constant(operand)) {
            Some(Constant::Bits(bits)) => expansion_with_constant(i, bits, self.machine),
            _ => expansion(i, self.machine),
        }
    }

    /// Emits an instruction that absorbs another.
    fn emit_combined(&mut self, i: &Instruction, combined: Combination) -> bool {
        let Some(inner) = self.values.instruction(combined.inner) else { return false };
        let mut operands: Vec<&Operand> = Vec::new();
        for (n, operand) in i.operands.iter().enumerate().skip(1) {
            if n == usize::from(combined.operand) {
                operands.extend(inner.operands.iter().skip(1));
            } else {
                operands.push(operand);
            }
        }
        let [Some(d), ..] = [i.operands.first()] else { return false };
        if let Shape::Product | Shape::CarriedProduct = combined.shape {
            let Expansion::Chain(steps) = self.expansion(inner) else { return false };
            let mut steps = steps.to_vec();
            if combined.shape == Shape::CarriedProduct {
                steps.push((OperationClass::Integer, 1));
            }
            let mut first = self.node(OperationClass::Nothing);
            self.read_into(&mut first, &operands);
            let mut result = self.node(OperationClass::Nothing);
            self.write_to(&mut result, d);
            self.emit_steps(i, &first, &result, &steps);
            return true;
        }
        if combined.shape == Shape::Pair {
            let destination = self.register(d);
            let sources = self.sources(&operands);
            let carry = self.code.predicate();
            for half in 0..2 {
                let mut node = self.node(OperationClass::Integer);
                node.destination = destination.part(half, 1);
                for (to, from) in node.sources.iter_mut().zip(&sources) {
                    *to = if from.count == 2 { from.part(half, 1) } else { *from };
                }
                if half == 1 && matches!(inner.op, Op::Logic(_)) {
                    // The upper half of a shift uses bits of the lower half.
                    node.sources[3] = sources.first().map_or(Words::NONE, |words| words.part(0, 1));
                }
                let carries =
                    if half == 0 { &mut node.predicates_written } else { &mut node.predicates_read };
                carries.push(carry);
                self.nodes.push(node);
            }
            return true;
        }
        let mut node = self.node(combined.class);
        self.write_to(&mut node, d);
        self.read_into(&mut node, &operands);
        self.nodes.push(node);
        true
    }

    fn emit_move(&mut self, i: &Instruction) {
        let [d, a, ..] = &i.operands[..] else { return };
        match (d, self.values.constant(a), a) {
            (_, _, Operand::Special(special)) => {
                let class = match special {
                    SpecialRegister::NtidX | SpecialRegister::NtidY | SpecialRegister::NtidZ => {
                        OperationClass::Move
                    }
                    SpecialRegister::NctaidX | SpecialRegister::NctaidY | SpecialRegister::NctaidZ => {
                        OperationClass::Move
                    }
                    _ => OperationClass::SpecialRegister,
                };
                let mut node = self.node(class);
                self.write_to(&mut node, d);
                self.nodes.push(node);
            }
            (Operand::Register(_), Some(_), _) => self.move_constant(d),
            (_, _, Operand::Vector(_)) | (Operand::Vector(_), _, _) => self.emit_rearrangement(d, a),
            _ => self.emit_copy(i),
        }
    }

    /// `MOV` of a constant, one per half.
    fn move_constant(&mut self, d: &Operand) {
        let destination = self.register(d);
        for half in 0..destination.count {
            let mut node = self.node(OperationClass::Move);
            node.destination = destination.part(half, 1);
            self.nodes.push(node);
        }
    }

    fn emit_copy(&mut self, i: &Instruction) {
        let [d, a, ..] = &i.operands[..] else { return };
        if matches!(d, Operand::Vector(_)) {
            return self.emit_rearrangement(d, a);
        }
        if self.values.constant(a).is_some() {
            return self.move_constant(d);
        }
        let (destination, source) = (self.register(d), self.register(a));
        self.copy(destination, source);
    }

    /// Widens or narrows integers.
    fn emit_width(&mut self, i: &Instruction) {
        let [d, a, ..] = &i.operands[..] else { return };
        let source = self.source(a, &mut true);
        let destination = self.register(d);
        let low = destination.part(0, 1);
        match source.is_none() {
            true => {
                let mut node = self.node(OperationClass::Move);
                node.destination = low;
                self.nodes.push(node);
            }
            false => self.copy(
                destination.part(0, destination.count.min(source.count)),
                source.part(0, destination.count.min(source.count)),
            ),
        }
        if destination.count == 2 && source.count < 2 {
            let signed = i.ty(1).is_some_and(ScalarType::is_signed);
            let mut node = self.node(if signed { OperationClass::Integer } else { OperationClass::Move });
            node.destination = destination.part(1, 1);
            if signed {
                node.sources[0] = source;
            }
            self.nodes.push(node);
        }
    }

    fn emit_one(&mut self, i: &Instruction, expansion: Expansion) {
        let Expansion::One(mut class) = expansion else { return };
        if matches!(i.op, Op::Memory(Memory::ld | Memory::st))
            && let Some(class) = self.parameter_class(i)
        {
            let mut node = self.node(class);
            node.memory = access(self.function, i, class);
            self.write_result(&mut node, i);
            self.read_operands(&mut node, i);
            self.nodes.push(node);
            return;
        }
        if let Op::Control(Control::ret) = i.op
            && self.function.is_kernel
        {
            class = OperationClass::Exit;
        }
        if class == OperationClass::Atomic && matches!(i.op, Op::Atomic(_)) && self.is_result_unread(i) {
            class = OperationClass::Reduction;
        }
        if class == OperationClass::Load && i.has(Modifier::Const) {
            class = OperationClass::LoadConstant;
        }
        let mut node = self.node(class);
        node.memory = access(self.function, i, class);
        self.read_operands(&mut node, i);
        let results = self.scatter(&mut node, i);
        self.nodes.push(node);
        self.nodes.extend(results);
    }

    fn emit_halves(&mut self, i: &Instruction, class: OperationClass, carried: bool) {
        let Some(d) = i.operands.first() else { return };
        let destination = self.register(d);
        let operands: Vec<&Operand> = i.operands.iter().skip(1).collect();
        let sources = self.sources(&operands);
        let carry = carried.then(|| self.code.predicate());
        let is_shift = matches!(i.op, Op::Logic(Logic::shl | Logic::shr));
        for half in 0..2 {
            let mut node = self.node(class);
            node.destination = destination.part(half, 1);
            for (to, from) in node.sources.iter_mut().zip(&sources) {
                // A shift moves bits between the halves.
                *to = if from.count == 2 && !is_shift { from.part(half, 1) } else { *from };
            }
            self.read_predicates(&mut node, &operands);
            let carries = if half == 0 { &mut node.predicates_written } else { &mut node.predicates_read };
            carries.extend(carry);
            self.nodes.push(node);
        }
    }

    /// Emits a chain of machine instructions, each using the previous result.
    fn emit_chain(&mut self, i: &Instruction, steps: &[(OperationClass, u8)]) {
        let mut first = self.node(OperationClass::Nothing);
        self.read_operands(&mut first, i);
        let mut result = self.node(OperationClass::Nothing);
        self.write_result(&mut result, i);
        self.emit_steps(i, &first, &result, steps);
    }

    /// Emits a chain of machine instructions, each using the previous result and the sources of `first`;
    /// the last writes `result`.
    fn emit_steps(&mut self, i: &Instruction, first: &Node, result: &Node, steps: &[(OperationClass, u8)]) {
        let double = i.last_type() == Some(ScalarType::F64);
        let classes: Vec<OperationClass> = steps
            .iter()
            .flat_map(|(class, count)| std::iter::repeat_n(*class, usize::from(*count)))
            .collect();
        let mut before = Words::NONE;
        for (step, class) in classes.iter().enumerate() {
            let mut node = Node { class: *class, ..first.clone() };
            node.memory = access(self.function, i, *class);
            if *class == OperationClass::Nothing {
                node.sources = [Words::NONE; 4];
            } else if step > 0 {
                node.sources[3] = before;
            }
            if matches!(class, OperationClass::Branch | OperationClass::Nothing) {
                // A NOP, or a branch around the slow path: it has no result and does not end the block.
            } else if step + 1 == classes.len() {
                node.destination = result.destination;
                node.predicates_written = result.predicates_written.clone();
            } else {
                let words = if double && matches!(class, OperationClass::Fp64 | OperationClass::Fp64Compare) {
                    2
                } else {
                    1
                };
                before = self.code.group(words);
                node.destination = before;
            }
            self.nodes.push(node);
        }
    }

    /// Emits a matrix product in `steps` steps, each of which adds to a pair of the result.
    fn emit_product(&mut self, i: &Instruction, class: OperationClass, steps: u8) {
        let vectors: Vec<Words> = i.operands.iter().skip(1).map(|operand| self.gather(operand)).collect();
        let Some(d) = i.operands.first() else { return };
        let elements = self.elements(d);
        let result = self.code.group(elements.len() as u8);
        let pair = |words: Words, step: u8| match words.count {
            0 | 1 => words,
            count => words.part(2 * (step % (count / 2)), 2),
        };
        let rounds = (steps / (result.count / 2).max(1)).max(1);
        for step in 0..steps {
            let mut node = self.node(class);
            node.destination = pair(result, step / rounds);
            let [a, b, c] = [0, 1, 2].map(|n| vectors.get(n).copied().unwrap_or_default());
            let summand = if step % rounds == 0 { pair(c, step / rounds) } else { node.destination };
            node.sources = [pair(a, step % rounds), pair(b, step % rounds), summand, Words::NONE];
            self.nodes.push(node);
        }
        for (n, (element, _)) in elements.iter().enumerate() {
            let destination = self.register(element);
            if !destination.is_none() {
                self.copy(destination, result.part(n as u8, 1));
            }
        }
    }

    fn node(&self, class: OperationClass) -> Node {
        let mut node = Node::new(class, self.line);
        if let Some(guard) = self.guard {
            node.guarded = self.keeps_old;
            node.predicates_read.push(guard);
        }
        node
    }

    /// Emits an effect without a machine instruction. The effect waits for sources that arrive late.
    fn absorbed(&mut self, i: &Instruction) {
        let mut node = Node::new(OperationClass::Nothing, self.line);
        node.kind = NodeKind::Absorbed;
        for register in self.values.reads(i) {
            if self.values.is_deferred(register) {
                node.deferred = true;
                push(&mut node, self.words[register.0 as usize]);
            }
        }
        self.nodes.push(node);
    }

    fn copy(&mut self, destination: Words, source: Words) {
        let mut node = self.node(OperationClass::Move);
        node.kind = NodeKind::Copy;
        node.destination = destination;
        node.sources[0] = source;
        self.nodes.push(node);
    }
}

/// `MOV` of a constant, one per half.
fn moves_of_constant(words: Words, line: u32) -> impl Iterator<Item = Node> {
    (0..words.count).map(move |half| {
        let mut node = Node::new(OperationClass::Move, line);
        node.destination = words.part(half, 1);
        node
    })
}

fn push(node: &mut Node, words: Words) {
    if !words.is_none()
        && let Some(place) = node.sources.iter_mut().find(|place| place.is_none())
    {
        *place = words;
    }
}

fn words_of(ty: ScalarType) -> u8 {
    ty.bits().div_ceil(32) as u8
}
