//! Selection: instructions of PTX become nodes, one after the other.

use warp_stream::OperationClass;

use crate::analyse::{ControlFlow, writes};
use crate::ir::{AddressBase, Function, Instruction, Operand, RegisterId};
use crate::isa::{Control, Convert, Logic, Memory, Modifier, Op, ScalarType, SpecialRegister};

use super::access::access;
use super::allocate::depths;
use super::code::{Code, Kind, Node, Words};
use super::converge::Convergence;
use super::fold::{Fold, Folds};
use super::recipe::{Recipe, recipe};
use super::values::{Constant, Values};

/// Makes the nodes of a function.
pub(super) fn select(function: &Function, flow: &ControlFlow, values: &Values<'_>, folds: &Folds) -> Code {
    let mut selector = Selector::new(function, values, folds, depths(flow));
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
            // The barrier register is cleared and set.
            let of_barrier =
                [OperationClass::Move, OperationClass::Branch].map(|class| Node::new(class, branch.line));
            selector.nodes.extend(of_barrier);
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
    folds: &'a Folds,
    code: Code,
    /// Virtual registers of each register; none for predicates.
    words: Vec<Words>,
    /// Virtual predicate of each register that is one.
    predicates: Vec<u32>,
    /// Nodes of the current block.
    nodes: Vec<Node>,
    /// Constants that are in registers already, in the current block.
    materialised: Vec<(Operand, u8, Words)>,
    /// Constants that are in registers since the block of their definition, from where loops see them.
    hoisted: Vec<(RegisterId, Words)>,
    /// How many loops the current block is in.
    depths: Vec<u32>,
    /// The instruction that is being selected.
    line: u32,
    guard: Option<u32>,
    keeps_old: bool,
}

impl<'a> Selector<'a> {
    fn new(
        function: &'a Function,
        values: &'a Values<'a>,
        folds: &'a Folds,
        depths: Vec<u32>,
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
            folds,
            code,
            words,
            predicates,
            nodes: Vec::new(),
            materialised: Vec::new(),
            hoisted: Vec::new(),
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
        // A value that nobody sees without the guard has no older one that must be kept.
        self.keeps_old = i.guard.is_some()
            && writes(i).iter().any(|register| self.values.single_definition(*register).is_none());
        let first = self.nodes.len();
        if self.values.is_gone(position) || self.folds.is_absorbed(position) || self.is_constant(i) {
            self.absorbed(i);
        } else {
            self.emit(i, position);
        }
        self.mark_effect(i, first, position);
    }

    /// Says with which of the nodes from `first` on the instruction takes effect.
    fn mark_effect(&mut self, i: &Instruction, first: usize, position: u32) {
        if self.nodes.len() == first {
            self.absorbed(i);
        }
        let deferred = self.values.reads(i).iter().any(|register| self.values.is_deferred(*register));
        let of_instruction = &mut self.nodes[first..];
        // An access or a barrier is where it happens; anything else is done when its result is there.
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
        is_move
            && elements
                .iter()
                .all(|element| matches!(element, Operand::Discard) || self.values.constant(element).is_some())
    }

    fn emit(&mut self, i: &Instruction, position: u32) {
        if let Some(fold) = self.folds.taken_by(position)
            && self.emit_folded(i, fold)
        {
            return;
        }
        match (i.op, recipe(i)) {
            (Op::Memory(Memory::mov), _) => self.emit_move(i),
            (Op::Memory(Memory::cvta), _) if i.has(Modifier::Global) || i.has(Modifier::Const) => {
                self.emit_copy(i);
            }
            (Op::Convert(Convert::integer_to_integer), Recipe::Same) => self.emit_width(i),
            (Op::Logic(Logic::not_predicate), _) | (_, Recipe::One(_)) => self.emit_one(i, recipe(i)),
            (_, Recipe::Same) => self.emit_copy(i),
            (_, Recipe::Halves(class)) => self.emit_halves(i, class, false),
            (_, Recipe::Carried(class)) => self.emit_halves(i, class, true),
            (Op::Matrix(_), Recipe::Chain(&[(class, steps)])) => self.emit_product(i, class, steps),
            (_, Recipe::Chain(steps)) => self.emit_chain(i, steps),
        }
    }

    /// An instruction that takes in another.
    fn emit_folded(&mut self, i: &Instruction, fold: Fold) -> bool {
        let Some(inner) = self.values.instruction(fold.inner) else { return false };
        let mut operands: Vec<&Operand> = Vec::new();
        for (n, operand) in i.operands.iter().enumerate().skip(1) {
            if n == usize::from(fold.operand) {
                operands.extend(inner.operands.iter().skip(1));
            } else {
                operands.push(operand);
            }
        }
        let [Some(d), ..] = [i.operands.first()] else { return false };
        let wide = fold.is_pair;
        if wide {
            let destination = self.register(d);
            let sources = self.sources(&operands);
            let carry = self.code.predicate();
            for half in 0..2 {
                let mut node = self.node(OperationClass::Integer);
                node.destination = destination.part(half, 1);
                for (to, from) in node.sources.iter_mut().zip(&sources) {
                    *to = if from.count == 2 { from.part(half, 1) } else { *from };
                }
                if half == 1 {
                    // The upper half takes bits of the lower.
                    node.sources[3] = sources.first().map_or(Words::NONE, |words| words.part(0, 1));
                }
                let carries =
                    if half == 0 { &mut node.predicates_written } else { &mut node.predicates_read };
                carries.push(carry);
                self.nodes.push(node);
            }
            return true;
        }
        let mut node = self.node(fold.class);
        self.write_to(&mut node, d);
        self.read_into(&mut node, &operands, true);
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

    /// `MOV` of a constant, one for each half.
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

    /// Between a wide register and the registers that are its parts.
    fn emit_rearrangement(&mut self, d: &Operand, a: &Operand) {
        let (to, from) = (self.elements(d), self.elements(a));
        let narrow = |all: &[(Operand, u8)]| all.iter().any(|(_, bytes)| *bytes < 4);
        if narrow(&to) && to.len() > 1 || narrow(&from) && from.len() > 1 {
            // Halves of a register are taken out and put together by PRMT.
            for (operand, _) in &to {
                let mut node = self.node(OperationClass::Integer);
                self.write_to(&mut node, operand);
                let sources: Vec<&Operand> = from.iter().map(|(operand, _)| operand).collect();
                self.read_into(&mut node, &sources, true);
                self.nodes.push(node);
            }
            return;
        }
        let sources: Vec<Option<u32>> =
            from.iter().flat_map(|(operand, _)| self.optional_words(operand)).collect();
        let destinations: Vec<Option<u32>> =
            to.iter().flat_map(|(operand, _)| self.optional_words(operand)).collect();
        let constants: Vec<bool> = from
            .iter()
            .flat_map(|(operand, bytes)| {
                let constant = self.values.constant(operand).is_some();
                std::iter::repeat_n(constant, usize::from(bytes.div_ceil(4)))
            })
            .collect();
        for (n, d) in destinations.iter().enumerate() {
            let Some(d) = *d else { continue };
            let destination = Words { first: d, count: 1 };
            if constants.get(n) == Some(&true) {
                let mut node = self.node(OperationClass::Move);
                node.destination = destination;
                self.nodes.push(node);
            } else if let Some(Some(source)) = sources.get(n) {
                self.copy(destination, Words { first: *source, count: 1 });
            }
        }
    }

    /// The elements of a vector, or the operand itself, with the bytes of each.
    fn elements(&self, operand: &Operand) -> Vec<(Operand, u8)> {
        let all = match operand {
            Operand::Vector(elements) => elements.clone(),
            other => vec![other.clone()],
        };
        let bytes = |operand: &Operand| match operand {
            Operand::Register(register) => {
                self.function.registers.get(register.0 as usize).map_or(4, |ty| ty.bytes() as u8)
            }
            _ => 4,
        };
        all.into_iter().map(|operand| (operand.clone(), bytes(&operand))).collect()
    }

    /// The words of an operand; `None` for each that is none of a register.
    fn optional_words(&self, operand: &Operand) -> Vec<Option<u32>> {
        match operand {
            Operand::Register(_) => self.register(operand).iter().map(Some).collect(),
            _ => vec![None],
        }
    }

    /// Integers that are made wider or narrower.
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

    fn emit_one(&mut self, i: &Instruction, recipe: Recipe) {
        let Recipe::One(mut class) = recipe else { return };
        if matches!(i.op, Op::Memory(Memory::ld | Memory::st))
            && let Some(class) = self.parameter_class(i)
        {
            let mut node = self.node(class);
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
        let packed = self.gather_operands(&mut node, i);
        let results = self.scatter(&mut node, i);
        if packed {
            // What the packing made has to come first.
        }
        self.nodes.push(node);
        self.nodes.extend(results);
    }

    /// Loads and stores of parameters of calls are moves; those of a kernel's parameters come from a constant bank.
    fn parameter_class(&self, i: &Instruction) -> Option<OperationClass> {
        let is_parameter =
            i.modifiers().any(|m| matches!(m, Modifier::Param | Modifier::ParamEntry | Modifier::ParamFunc));
        let address = i.operands.iter().find_map(|operand| match operand {
            Operand::Address { base, .. } => Some(*base),
            _ => None,
        })?;
        match address {
            _ if !is_parameter => None,
            AddressBase::Register(_) => Some(OperationClass::LoadConstant),
            _ => Some(OperationClass::Move),
        }
    }

    fn is_result_unread(&self, i: &Instruction) -> bool {
        match i.operands.first() {
            Some(Operand::Register(register)) => self.values.uses(*register).is_empty(),
            Some(Operand::Discard) => true,
            _ => false,
        }
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
                // A shift moves bits from one half into the other.
                *to = if from.count == 2 && !is_shift { from.part(half, 1) } else { *from };
            }
            self.read_predicates(&mut node, &operands);
            let carries = if half == 0 { &mut node.predicates_written } else { &mut node.predicates_read };
            carries.extend(carry);
            self.nodes.push(node);
        }
    }

    /// Machine instructions each of which uses what the one before gave.
    fn emit_chain(&mut self, i: &Instruction, steps: &[(OperationClass, u8)]) {
        let mut first = self.node(OperationClass::Nothing);
        self.read_operands(&mut first, i);
        let mut result = self.node(OperationClass::Nothing);
        self.write_result(&mut result, i);
        let double = i.last_type() == Some(ScalarType::F64);
        let classes: Vec<OperationClass> = steps
            .iter()
            .flat_map(|(class, count)| std::iter::repeat_n(*class, usize::from(*count)))
            .collect();
        let mut before = Words::NONE;
        for (step, class) in classes.iter().enumerate() {
            let mut node = Node { class: *class, ..first.clone() };
            node.memory = access(self.function, i, *class);
            if step > 0 {
                node.sources[3] = before;
            }
            if *class == OperationClass::Branch {
                // Around the slow path: it gives nothing, and the block does not end with it.
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

    /// A product of matrices in so many steps, each of which adds to a pair of the result.
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

    /// An effect without a machine instruction. Where it reads what comes late, it waits for that.
    fn absorbed(&mut self, i: &Instruction) {
        let mut node = Node::new(OperationClass::Nothing, self.line);
        node.kind = Kind::Absorbed;
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
        node.kind = Kind::Copy;
        node.destination = destination;
        node.sources[0] = source;
        self.nodes.push(node);
    }

    fn predicate_of(&self, register: RegisterId) -> u32 {
        let register = self.folds.behind_not(self.values, register);
        self.predicates.get(register.0 as usize).copied().unwrap_or(0)
    }

    /// Words of a register; none of anything else.
    fn register(&self, operand: &Operand) -> Words {
        match self.values.behind_negative(operand) {
            Operand::Register(register) => self.words.get(register.0 as usize).copied().unwrap_or_default(),
            Operand::Part { of, .. } => self.register(of),
            _ => Words::NONE,
        }
    }

    /// The registers an operand is read from; none if it is part of the instruction. Only one constant can be.
    fn source(&mut self, operand: &Operand, takes_constant: &mut bool) -> Words {
        let operand = self.folds.behind_sign(self.values, operand).clone();
        if let Operand::Special(_) = operand {
            let mut node = self.node(OperationClass::SpecialRegister);
            node.destination = self.code.group(1);
            let words = node.destination;
            self.nodes.push(node);
            return words;
        }
        match self.values.constant(&operand) {
            Some(Constant::Bits(0)) => Words::NONE,
            Some(_) if std::mem::take(takes_constant) => Words::NONE,
            Some(_) => {
                let count = match &operand {
                    Operand::Register(_) => self.register(&operand).count,
                    _ => 1,
                };
                self.materialise(&operand, count)
            }
            None => self.register(&operand),
        }
    }

    fn depth(&self, block: usize) -> u32 {
        self.depths.get(block).copied().unwrap_or(0)
    }

    /// A register with this constant: of this block, or in a loop one that was set where the constant is defined.
    fn materialise(&mut self, operand: &Operand, count: u8) -> Words {
        if let Operand::Register(register) = operand
            && let Some(words) = self.hoist(*register)
        {
            return words.part(0, count);
        }
        let known = self.materialised.iter().find(|(of, size, _)| of == operand && *size >= count);
        if let Some((_, _, words)) = known {
            return words.part(0, count);
        }
        let words = self.code.group(count.max(1));
        let moves = moves_of_constant(words, self.line);
        self.nodes.extend(moves);
        self.materialised.push((operand.clone(), words.count, words));
        words
    }

    /// The register that has had this constant since before the loop.
    fn hoist(&mut self, register: RegisterId) -> Option<Words> {
        if let Some((_, words)) = self.hoisted.iter().find(|(of, _)| *of == register) {
            return Some(*words);
        }
        let defined_in = self.values.block(self.values.single_definition(register)?) as usize;
        let current = self.code.blocks.len();
        if defined_in >= current || self.depth(defined_in) >= self.depth(current) {
            return None;
        }
        let words = *self.words.get(register.0 as usize)?;
        let block = self.code.blocks.get_mut(defined_in)?;
        let ends = block.last().is_some_and(|node| {
            node.effect.is_some() && matches!(node.class, OperationClass::Branch | OperationClass::Exit)
        });
        let at = block.len() - usize::from(ends);
        block.splice(at..at, moves_of_constant(words, self.line));
        self.hoisted.push((register, words));
        Some(words)
    }

    /// The registers that operands are read from, but for predicates. Of several constants the widest is part of the
    /// instruction.
    fn sources(&mut self, operands: &[&Operand]) -> Vec<Words> {
        let mut widest = None;
        for (n, operand) in operands.iter().enumerate() {
            let operand = self.folds.behind_sign(self.values, operand);
            if matches!(self.values.constant(operand), Some(constant) if constant != Constant::Bits(0)) {
                // In a loop a register is set before it; a number has to be part of the instruction.
                let is_number = matches!(operand, Operand::Immediate(_));
                let in_loop = self.depth(self.code.blocks.len()) > 0;
                let size = if in_loop && is_number { u8::MAX } else { self.register(operand).count };
                if widest.is_none_or(|(_, known)| size > known) {
                    widest = Some((n, size));
                }
            }
        }
        let mut sources = Vec::with_capacity(operands.len());
        for (n, operand) in operands.iter().enumerate() {
            match operand {
                Operand::Vector(_) => sources.push(self.gather(operand)),
                operand if self.is_predicate(operand) => {}
                operand => {
                    let mut takes_constant = widest.is_some_and(|(place, _)| place == n);
                    sources.push(self.source(operand, &mut takes_constant));
                }
            }
        }
        sources
    }

    fn is_predicate(&self, operand: &Operand) -> bool {
        match operand {
            Operand::NegatedPredicate(_) => true,
            Operand::Register(register) => {
                self.function.registers.get(register.0 as usize) == Some(&ScalarType::Pred)
            }
            _ => false,
        }
    }

    fn read_predicates(&mut self, node: &mut Node, operands: &[&Operand]) {
        for operand in operands {
            if let Operand::NegatedPredicate(register) | Operand::Register(register) = operand
                && self.is_predicate(operand)
            {
                node.predicates_read.push(self.predicate_of(*register));
            }
        }
    }

    /// Reads these operands; where there are more than four, the rest lies behind the others.
    fn read_into(&mut self, node: &mut Node, operands: &[&Operand], _constants: bool) {
        self.read_predicates(node, operands);
        let sources = self.sources(operands);
        let mut free = node.sources.iter_mut();
        for source in sources.into_iter().filter(|source| !source.is_none()) {
            if let Some(place) = free.next() {
                *place = source;
            }
        }
    }

    fn write_to(&mut self, node: &mut Node, operand: &Operand) {
        match self.is_predicate(operand) {
            true => {
                if let Operand::Register(register) = operand
                    && let Some(predicate) = self.predicates.get(register.0 as usize)
                {
                    node.predicates_written.push(*predicate);
                }
            }
            false => {
                let words = self.register(operand);
                if !words.is_none() {
                    node.destination = words;
                }
            }
        }
    }

    /// The results that are no vectors.
    fn write_result(&mut self, node: &mut Node, i: &Instruction) {
        for (operand, place) in i.operands.iter().zip(&i.op.line().parsed().operands) {
            if place.written {
                self.write_to(node, operand);
            }
        }
    }

    fn read_operands(&mut self, node: &mut Node, i: &Instruction) {
        self.gather_operands(node, i);
    }

    /// Reads all operands of an instruction, addresses among them.
    fn gather_operands(&mut self, node: &mut Node, i: &Instruction) -> bool {
        let places = &i.op.line().parsed().operands;
        let mut flat: Vec<Operand> = Vec::new();
        for (operand, place) in i.operands.iter().zip(places).filter(|(_, place)| !place.written) {
            match operand {
                Operand::Address { base: AddressBase::Register(register), .. } => {
                    let base = self.folds.base(self.values, *register);
                    let words = self.address(base.named);
                    push(node, words);
                }
                Operand::Texel { handle, sampler, coordinates } => {
                    flat.extend([(**handle).clone(), (**sampler).clone()]);
                    flat.push(Operand::Vector(coordinates.clone()));
                }
                Operand::Vector(elements) if elements.len() == 1 => flat.extend(elements.iter().cloned()),
                Operand::Parameters(elements) => flat.extend(elements.iter().cloned()),
                Operand::Address { .. } if place.address => {}
                other => flat.push(other.clone()),
            }
        }
        let operands: Vec<&Operand> = flat.iter().collect();
        let stores =
            matches!(node.class, OperationClass::Store | OperationClass::Atomic | OperationClass::Reduction);
        self.read_predicates(node, &operands);
        let mut takes_constant = !stores;
        for operand in operands {
            let source = match operand {
                Operand::Vector(_) => self.gather(operand),
                operand if self.is_predicate(operand) => Words::NONE,
                operand => self.source(operand, &mut takes_constant),
            };
            push(node, source);
        }
        true
    }

    /// The registers of an address.
    fn address(&mut self, base: RegisterId) -> Words {
        let operand = Operand::Register(base);
        match self.values.constant(&operand) {
            // The place of a variable is part of the instruction.
            Some(Constant::Bits(_) | Constant::Place(_)) => Words::NONE,
            Some(Constant::Bank) => {
                let count = self.register(&operand).count;
                self.materialise(&operand, count)
            }
            None => self.register(&operand),
        }
    }

    /// A vector's elements in registers that lie next to each other.
    fn gather(&mut self, operand: &Operand) -> Words {
        let elements = self.elements(operand);
        if let [(one, _)] = &elements[..] {
            return self.source(&one.clone(), &mut false);
        }
        let bytes: u32 = elements.iter().map(|(_, bytes)| u32::from(*bytes)).sum();
        if elements.iter().any(|(_, bytes)| *bytes < 4) {
            return self.pack(&elements, bytes);
        }
        let words = self.code.group((bytes / 4) as u8);
        let mut at = 0;
        for (element, bytes) in elements {
            let count = bytes / 4;
            let destination = words.part(at, count);
            at += count;
            if self.values.constant(&element).is_some() || matches!(element, Operand::Immediate(_)) {
                for half in 0..count {
                    let mut node = self.node(OperationClass::Move);
                    node.destination = destination.part(half, 1);
                    self.nodes.push(node);
                }
            } else {
                let source = self.register(&element);
                if !source.is_none() {
                    self.copy(destination, source);
                }
            }
        }
        words
    }

    /// Elements of one or two bytes, put together by PRMT.
    fn pack(&mut self, elements: &[(Operand, u8)], bytes: u32) -> Words {
        let words = self.code.group(bytes.div_ceil(4) as u8);
        for (n, pair) in elements.chunks(2).enumerate() {
            let mut node = self.node(OperationClass::Integer);
            let word = (n as u8).min(words.count - 1);
            node.destination = words.part(word, 1);
            let sources: Vec<&Operand> = pair.iter().map(|(operand, _)| operand).collect();
            self.read_into(&mut node, &sources, true);
            self.nodes.push(node);
        }
        words
    }

    /// The results of an instruction; what takes vectors apart is given back.
    fn scatter(&mut self, node: &mut Node, i: &Instruction) -> Vec<Node> {
        let mut after = Vec::new();
        for (operand, place) in i.operands.iter().zip(&i.op.line().parsed().operands) {
            match operand {
                Operand::Vector(_) if place.written => {
                    let elements = self.elements(operand);
                    if let [(one, _)] = &elements[..] {
                        self.write_to(node, &one.clone());
                    } else {
                        self.take_apart(node, &elements, &mut after);
                    }
                }
                operand if place.written => self.write_to(node, operand),
                _ => {}
            }
        }
        after
    }

    fn take_apart(&mut self, node: &mut Node, elements: &[(Operand, u8)], after: &mut Vec<Node>) {
        let narrow = elements.iter().any(|(_, bytes)| *bytes < 4);
        let bytes: u32 = elements.iter().map(|(_, bytes)| u32::from(*bytes)).sum();
        let words = self.code.group(bytes.div_ceil(4) as u8);
        node.destination = words;
        let before = std::mem::take(&mut self.nodes);
        let mut at = 0;
        for (n, (element, bytes)) in elements.iter().enumerate() {
            let destination = self.register(element);
            let first = at / 4;
            at += *bytes;
            if destination.is_none() {
                continue;
            }
            if narrow && n > 0 {
                let mut part = self.node(OperationClass::Integer);
                part.destination = destination;
                part.sources[0] = words.part(first, 1);
                self.nodes.push(part);
            } else {
                self.copy(destination, words.part(first, destination.count));
            }
        }
        after.append(&mut self.nodes);
        self.nodes = before;
    }
}

/// `MOV` of a constant, one for each half.
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
