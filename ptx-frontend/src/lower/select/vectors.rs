//! Values in several registers: vectors, and registers composed of others.

use warp_stream::OperationClass;

use super::{Constant, Instruction, Integer, Logic, Node, Op, Operand, Selector, Words};

impl Selector<'_> {
    /// Emits 64-bit shifts by 32 and merges of two halves as copies of halves.
    pub(super) fn emit_words(&mut self, i: &Instruction) -> bool {
        let number = |n: usize| match i.operands.get(n).and_then(|operand| self.values.constant(operand)) {
            Some(Constant::Bits(bits)) => Some(bits),
            _ => None,
        };
        if i.last_type().is_none_or(|ty| ty.bits() != 64 || ty.is_signed()) {
            return false;
        }
        let [Some(d), Some(a)] = [i.operands.first(), i.operands.get(1)] else { return false };
        let (d, a) = (self.register(d), self.register(a));
        let halves = match i.op {
            Op::Logic(Logic::shr) if number(2) == Some(32) => [a.part(1, 1), Words::NONE],
            Op::Logic(Logic::shl) if number(2) == Some(32) => [Words::NONE, a.part(0, 1)],
            Op::Integer(Integer::bfi) if number(3) == Some(32) && number(4) == Some(32) => {
                let b = i.operands.get(2).map_or(Words::NONE, |b| self.register(b));
                [b.part(0, 1), a.part(0, 1)]
            }
            _ => return false,
        };
        let constant =
            |n: usize| i.operands.get(n).is_some_and(|operand| self.values.constant(operand).is_some());
        if a.count != 2 || d == a || constant(1) || (i.operands.len() > 3 && constant(2)) {
            return false;
        }
        for (half, source) in halves.into_iter().enumerate() {
            let destination = d.part(half as u8, 1);
            if source.is_none() {
                let mut node = self.node(OperationClass::Move);
                node.destination = destination;
                self.nodes.push(node);
            } else {
                self.copy(destination, source);
            }
        }
        true
    }

    /// Moves between a wide register and the registers of its parts.
    pub(super) fn emit_rearrangement(&mut self, d: &Operand, a: &Operand) {
        let (to, from) = (self.elements(d), self.elements(a));
        let narrow = |all: &[(Operand, u8)]| all.iter().any(|(_, bytes)| *bytes < 4);
        if narrow(&to) && to.len() > 1 || narrow(&from) && from.len() > 1 {
            // PRMT extracts and merges halves of a register.
            for (operand, _) in &to {
                let mut node = self.node(OperationClass::Integer);
                self.write_to(&mut node, operand);
                let sources: Vec<&Operand> = from.iter().map(|(operand, _)| operand).collect();
                self.read_into(&mut node, &sources);
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

    /// Elements of a vector, or the operand itself, with their sizes in bytes.
    pub(super) fn elements(&self, operand: &Operand) -> Vec<(Operand, u8)> {
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

    /// Words of an operand; `None` for elements that are no register.
    pub(super) fn optional_words(&self, operand: &Operand) -> Vec<Option<u32>> {
        match operand {
            Operand::Register(_) => self.register(operand).iter().map(Some).collect(),
            _ => vec![None],
        }
    }

    /// Elements of a vector in adjacent registers.
    pub(super) fn gather(&mut self, operand: &Operand) -> Words {
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

    /// Elements of one or two bytes, packed by PRMT.
    pub(super) fn pack(&mut self, elements: &[(Operand, u8)], bytes: u32) -> Words {
        let words = self.code.group(bytes.div_ceil(4) as u8);
        for (n, pair) in elements.chunks(2).enumerate() {
            let mut node = self.node(OperationClass::Integer);
            let word = (n as u8).min(words.count - 1);
            node.destination = words.part(word, 1);
            let sources: Vec<&Operand> = pair.iter().map(|(operand, _)| operand).collect();
            self.read_into(&mut node, &sources);
            self.nodes.push(node);
        }
        words
    }

    /// Adds the results of an instruction; returns the nodes that split vectors.
    pub(super) fn scatter(&mut self, node: &mut Node, i: &Instruction) -> Vec<Node> {
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

    pub(super) fn take_apart(&mut self, node: &mut Node, elements: &[(Operand, u8)], after: &mut Vec<Node>) {
        // A fetch writes the components that the code reads, packed.
        let is_read = |(operand, _): &&(Operand, u8)| match operand {
            Operand::Register(register) => !self.values.uses(*register).is_empty(),
            _ => false,
        };
        let read: Vec<(Operand, u8)> = elements.iter().filter(is_read).cloned().collect();
        let elements =
            if node.class == OperationClass::Texture && !read.is_empty() { &read } else { elements };
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
