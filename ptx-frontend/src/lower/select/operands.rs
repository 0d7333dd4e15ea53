//! Conversion of operands to virtual registers: immediates, registers, and values to be put into registers.

use warp_stream::OperationClass;

use super::{
    AddressBase, Constant, Instruction, Modifier, Node, Operand, RegisterId, ScalarType, Selector, Words,
    moves_of_constant, push,
};

impl Selector<'_> {
    /// Class of parameter accesses: moves for parameters of calls, constant-bank loads for a kernel's
    /// parameters.
    pub(super) fn parameter_class(&self, i: &Instruction) -> Option<OperationClass> {
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

    pub(super) fn is_result_unread(&self, i: &Instruction) -> bool {
        match i.operands.first() {
            Some(Operand::Register(register)) => self.values.uses(*register).is_empty(),
            Some(Operand::Discard) => true,
            _ => false,
        }
    }

    pub(super) fn predicate_of(&self, register: RegisterId) -> u32 {
        let register = self.combinations.behind_not(self.values, register);
        self.predicates.get(register.0 as usize).copied().unwrap_or(0)
    }

    /// Words of a register; none for other operands.
    pub(super) fn register(&self, operand: &Operand) -> Words {
        match self.values.behind_negative(operand) {
            Operand::Register(register) => self.words.get(register.0 as usize).copied().unwrap_or_default(),
            Operand::Part { of, .. } => self.register(of),
            _ => Words::NONE,
        }
    }

    /// Registers of a source operand; none for an immediate. Only one constant can be an immediate.
    pub(super) fn source(&mut self, operand: &Operand, takes_constant: &mut bool) -> Words {
        let operand = self.combinations.behind_sign(self.values, operand).clone();
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

    pub(super) fn depth(&self, block: usize) -> u32 {
        self.depths.get(block).copied().unwrap_or(0)
    }

    /// A register with this constant: of this block, or, in a loop, set at the constant's definition.
    pub(super) fn materialise(&mut self, operand: &Operand, count: u8) -> Words {
        if let Operand::Register(register) = operand
            && let Some(words) = self.hoist(*register)
        {
            return words.part(0, count);
        }
        let known = self.materialised.get(operand).into_iter().flatten();
        if let Some(words) = known.into_iter().find(|words| words.count >= count) {
            return words.part(0, count);
        }
        let words = self.code.group(count.max(1));
        let moves = moves_of_constant(words, self.line);
        self.nodes.extend(moves);
        self.materialised.entry(operand.clone()).or_default().push(words);
        words
    }

    /// Register that holds this constant since before the loop.
    pub(super) fn hoist(&mut self, register: RegisterId) -> Option<Words> {
        if let Some(words) = self.hoisted.get(&register) {
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
        self.hoisted.insert(register, words);
        Some(words)
    }

    /// Registers of source operands, except predicates. Among several constants, the widest becomes the
    /// immediate.
    pub(super) fn sources(&mut self, operands: &[&Operand]) -> Vec<Words> {
        let mut widest = None;
        for (n, operand) in operands.iter().enumerate() {
            let operand = self.combinations.behind_sign(self.values, operand);
            if matches!(self.values.constant(operand), Some(constant) if constant != Constant::Bits(0)) {
                // In a loop, a register is set before the loop; a number must be the immediate.
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

    pub(super) fn is_predicate(&self, operand: &Operand) -> bool {
        match operand {
            Operand::NegatedPredicate(_) => true,
            Operand::Register(register) => {
                self.function.registers.get(register.0 as usize) == Some(&ScalarType::Pred)
            }
            _ => false,
        }
    }

    pub(super) fn read_predicates(&mut self, node: &mut Node, operands: &[&Operand]) {
        for operand in operands {
            if let Operand::NegatedPredicate(register) | Operand::Register(register) = operand
                && self.is_predicate(operand)
            {
                node.predicates_read.push(self.predicate_of(*register));
            }
        }
    }

    /// Adds these operands as sources, the first four that are in registers.
    pub(super) fn read_into(&mut self, node: &mut Node, operands: &[&Operand]) {
        self.read_predicates(node, operands);
        let sources = self.sources(operands);
        let mut free = node.sources.iter_mut();
        for source in sources.into_iter().filter(|source| !source.is_none()) {
            if let Some(place) = free.next() {
                *place = source;
            }
        }
    }

    pub(super) fn write_to(&mut self, node: &mut Node, operand: &Operand) {
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

    /// Adds the results that are no vectors.
    pub(super) fn write_result(&mut self, node: &mut Node, i: &Instruction) {
        for (operand, place) in i.operands.iter().zip(&i.op.line().parsed().operands) {
            if place.written {
                self.write_to(node, operand);
            }
        }
    }

    /// Adds all operands of an instruction as sources, including addresses.
    pub(super) fn read_operands(&mut self, node: &mut Node, i: &Instruction) {
        let places = &i.op.line().parsed().operands;
        let mut flat: Vec<Operand> = Vec::new();
        for (operand, place) in i.operands.iter().zip(places).filter(|(_, place)| !place.written) {
            match operand {
                Operand::Address { base: AddressBase::Register(register), .. } => {
                    let base = self.combinations.base(self.values, *register);
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
        let exchanges = matches!(
            node.class,
            OperationClass::Shuffle
                | OperationClass::Vote
                | OperationClass::Barrier
                | OperationClass::WarpBarrier
        );
        let mut takes_constant = !stores;
        for operand in operands {
            takes_constant |= exchanges;
            let source = match operand {
                Operand::Vector(_) => self.gather(operand),
                operand if self.is_predicate(operand) => Words::NONE,
                operand => self.source(operand, &mut takes_constant),
            };
            push(node, source);
        }
    }

    /// Registers of an address.
    pub(super) fn address(&mut self, base: RegisterId) -> Words {
        let operand = Operand::Register(base);
        match self.values.constant(&operand) {
            // The address of a variable is an immediate.
            Some(Constant::Bits(_) | Constant::Address(_)) => Words::NONE,
            Some(Constant::Bank) => {
                let count = self.register(&operand).count;
                self.materialise(&operand, count)
            }
            None => self.register(&operand),
        }
    }
}
