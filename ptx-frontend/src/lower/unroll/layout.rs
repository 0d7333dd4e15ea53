//! Layout of unrolled loops: tests, copies and branches, as ptxas places them.

use rustc_hash::FxHashSet;

use crate::analyse::{ControlFlow, Liveness};
use crate::ir::{Function, Guard, Instruction, InstructionIndex, Operand, RegisterId};
use crate::isa::{Compare, Control, Integer, Memory, Modifier, Op, ScalarType, Token};
use crate::lower::contract::Replacements;

use super::copy::{Copier, Roles};
use super::counter::Order;
use super::find::Loop;
use super::size::{COPIES, Plan};

/// True if nothing behind the loop reads the result of its test.
pub(super) fn ends_its_test(found: &Loop, flow: &ControlFlow, liveness: &Liveness) -> bool {
    targets_behind(found).all(|target| {
        let block = flow.block_of(target);
        block.is_some_and(|block| liveness.live_in(block).all(|register| register != found.predicate))
    })
}

/// First instructions that may follow a loop.
fn targets_behind(found: &Loop) -> impl Iterator<Item = InstructionIndex> + '_ {
    found.exits.iter().copied().chain([InstructionIndex(found.latch as u32 + 1)])
}

/// A place in the new code that branches name before it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place(usize);

/// Target of a branch in the new code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    /// Instruction of the original code.
    Old,
    /// Instruction of the new code, as the label says.
    New,
    Place(Place),
}

/// The new code, as far as it is laid out.
pub(super) struct Layout<'a> {
    old: &'a Function,
    flow: &'a ControlFlow,
    liveness: &'a Liveness,
    replacements: &'a Replacements,
    function: Function,
    moved: Replacements,
    targets: Vec<Target>,
    /// New position of each original instruction.
    position: Vec<u32>,
    places: Vec<u32>,
    /// Next original instruction.
    next: usize,
}

impl<'a> Layout<'a> {
    pub(super) fn new(
        old: &'a Function,
        flow: &'a ControlFlow,
        liveness: &'a Liveness,
        replacements: &'a Replacements,
    ) -> Layout<'a> {
        let function = Function { instructions: Vec::new(), rolled: Vec::new(), ..old.clone() };
        Layout {
            old,
            flow,
            liveness,
            replacements,
            function,
            moved: Replacements::new(),
            targets: Vec::new(),
            position: vec![0; old.instructions.len() + 1],
            places: Vec::new(),
            next: 0,
        }
    }

    /// Takes over the original code up to a position.
    pub(super) fn advance_to(&mut self, end: usize) {
        for at in self.next..end {
            let Some(i) = self.old.instructions.get(at) else { break };
            self.position[at] = self.here();
            if let Some(replaced) = self.replacements.get(&at) {
                self.moved.insert(self.function.instructions.len(), replaced.clone());
            }
            self.push(i.clone(), Target::Old);
        }
        self.next = self.next.max(end);
    }

    /// Lays out a loop whose header comes next.
    pub(super) fn unrolled(&mut self, found: &Loop, plan: Plan) {
        self.position[found.header] = self.here();
        let roles = self.roles(found);
        match plan {
            Plan::Straight(copies) => {
                let mut copier = Copier::new(&roles);
                if let Some(first) = found.counter.first {
                    self.start_at(found, first, &mut copier);
                }
                self.copies(found, &mut copier, copies);
            }
            Plan::Repeated { copies, rest } => {
                let start = self.here();
                self.copies(found, &mut Copier::new(&roles), copies);
                let bound = self.bound(found, copies - 1);
                let more = self.compared(found, found.counter.order, &bound);
                self.branch_to(found, more, false, start);
                if rest > 0 {
                    self.copies(found, &mut Copier::new(&roles), rest);
                }
            }
            Plan::Unknown => self.unknown(found, &roles),
        }
        self.next = found.latch + 1;
    }

    /// The rest of the code. Returns the function with its replacements.
    pub(super) fn finish(mut self) -> (Function, Replacements) {
        self.advance_to(self.old.instructions.len());
        let last = self.old.instructions.len();
        self.position[last] = self.here();
        let Layout { mut function, moved, targets, position, places, .. } = self;
        for (i, target) in function.instructions.iter_mut().zip(&targets) {
            let resolve = |label: &mut InstructionIndex| match target {
                Target::Old => {
                    label.0 = position.get(label.0 as usize).copied().unwrap_or(label.0);
                }
                Target::New => {}
                Target::Place(place) => label.0 = places.get(place.0).copied().unwrap_or(0),
            };
            for operand in &mut i.operands {
                match operand {
                    Operand::Label(label) => resolve(label),
                    Operand::BranchTargets(labels) => labels.iter_mut().for_each(resolve),
                    _ => {}
                }
            }
        }
        (function, moved)
    }

    fn roles(&self, found: &Loop) -> Roles {
        let live = |targets: &mut dyn Iterator<Item = InstructionIndex>| -> FxHashSet<RegisterId> {
            targets
                .filter_map(|target| self.flow.block_of(target))
                .flat_map(|block| self.liveness.live_in(block))
                .collect()
        };
        let header = InstructionIndex(found.header as u32);
        let passed = live(&mut targets_behind(found).chain([header]));
        let kept = live(&mut found.exits.iter().copied());
        Roles::of(self.old, found, &|of| passed.contains(&of), &|of| kept.contains(&of))
    }

    fn here(&self) -> u32 {
        self.function.instructions.len() as u32
    }

    fn push(&mut self, i: Instruction, target: Target) {
        self.function.instructions.push(i);
        self.targets.push(target);
    }

    fn place(&mut self) -> Place {
        self.places.push(0);
        Place(self.places.len() - 1)
    }

    fn set(&mut self, place: Place) {
        self.places[place.0] = self.here();
    }

    /// Copies of the body without the branch back and its test.
    fn copies(&mut self, found: &Loop, copier: &mut Copier<'_>, copies: u32) {
        for copy in 0..copies {
            copier.begin(copy + 1 == copies);
            self.copy(found, copier);
        }
    }

    fn copy(&mut self, found: &Loop, copier: &mut Copier<'_>) {
        let first = self.function.instructions.len();
        let mut new = vec![0; found.latch - found.header + 1];
        for at in found.header..found.latch {
            new[at - found.header] = self.here();
            let Some(i) = self.old.instructions.get(at) else { break };
            if at == found.counter.comparison {
                continue;
            }
            let mut replaced = Vec::new();
            if let Some([signs @ .., _]) = self.replacements.get(&at).map(Vec::as_slice) {
                replaced.extend(signs.iter().map(|sign| copier.copy_of_sign(&mut self.function, sign)));
            }
            let copied = copier.copy(&mut self.function, i, at, found.is_always(at));
            if let Some(all) = self.replacements.get(&at) {
                if !all.is_empty() {
                    replaced.push(copied.clone());
                }
                self.moved.insert(self.function.instructions.len(), replaced);
            }
            self.push(copied, Target::Old);
        }
        new[found.latch - found.header] = self.here();
        self.lead_within(found, first, &new);
    }

    /// Leads branches within a copy of the body, laid out from `first` on, to that copy.
    fn lead_within(&mut self, found: &Loop, first: usize, new: &[u32]) {
        for at in first..self.function.instructions.len() {
            let i = &mut self.function.instructions[at];
            if let (Op::Control(Control::bra), Some(Operand::Label(label))) = (i.op, i.operands.first_mut())
                && let Some(to) = (label.0 as usize).checked_sub(found.header).and_then(|at| new.get(at))
            {
                label.0 = *to;
                self.targets[at] = Target::New;
            }
        }
    }

    /// The body as it is, with the branch back if `repeats`.
    fn original(&mut self, found: &Loop, repeats: bool) {
        let first = self.function.instructions.len();
        let end = if repeats { found.latch + 1 } else { found.latch };
        let mut new = vec![0; found.latch - found.header + 1];
        for at in found.header..end {
            new[at - found.header] = self.here();
            let Some(i) = self.old.instructions.get(at) else { break };
            if at == found.counter.comparison && !repeats {
                continue;
            }
            if let Some(replaced) = self.replacements.get(&at) {
                self.moved.insert(self.function.instructions.len(), replaced.clone());
            }
            self.push(i.clone(), Target::Old);
        }
        if !repeats {
            new[found.latch - found.header] = self.here();
        }
        self.lead_within(found, first, &new);
    }

    /// Four copies while at least four iterations remain, two if two remain, and one.
    fn unknown(&mut self, found: &Loop, roles: &Roles) {
        let counter = &found.counter;
        let [two, one, rolled, end] = [(); 4].map(|()| self.place());
        let is_equality = counter.order == Order::NotEqual;
        let is_unsigned = matches!(counter.ty, ScalarType::U32 | ScalarType::U64);
        let first = self.predicate();
        if is_unsigned {
            self.without_underflow(found);
        } else {
            if is_equality {
                let some = self.remaining(found, 0);
                self.branch(found, some, true, rolled);
            }
            self.set_predicate(found, first, true);
        }
        let many = self.remaining(found, COPIES - 1);
        self.branch(found, many, true, two);
        if !is_unsigned {
            self.set_predicate(found, first, false);
        }
        let bound = if is_equality { Operand::Absent } else { self.bound(found, COPIES - 1) };
        let start = self.here();
        self.copies(found, &mut Copier::new(roles), COPIES);
        let more = if is_equality {
            self.remaining(found, COPIES - 1)
        } else {
            self.compared(found, counter.order, &bound)
        };
        self.branch_to(found, more, false, start);
        self.set(two);
        let many = self.remaining(found, 1);
        self.branch(found, many, true, one);
        self.copies(found, &mut Copier::new(roles), 2);
        if !is_unsigned {
            self.set_predicate(found, first, false);
        }
        self.set(one);
        let more = self.compared(found, counter.order, &counter.bound.clone());
        if !is_unsigned {
            self.or(more, first);
        }
        self.branch(found, more, true, end);
        self.set(rolled);
        self.original(found, is_equality);
        self.set(end);
    }

    /// An iteration whose counter has passed the bound before runs alone, so that the distance to the bound
    /// is no negative number afterwards.
    fn without_underflow(&mut self, found: &Loop) {
        let Some(passed) = found.counter.order.negated() else { return };
        let some = self.place();
        let bound = found.counter.bound.clone();
        let is_passed = self.compared(found, passed, &bound);
        self.branch(found, is_passed, true, some);
        self.original(found, false);
        self.set(some);
    }

    /// Compares the counter's distance to the bound with `steps` steps. For unsigned counters, the counter
    /// must also not have passed the bound.
    fn remaining(&mut self, found: &Loop, steps: u32) -> RegisterId {
        let counter = &found.counter;
        let up = counter.step > 0;
        let this = Operand::Register(counter.register);
        let (from, to) = if up { (this, counter.bound.clone()) } else { (counter.bound.clone(), this) };
        let distance = match from {
            Operand::Immediate(0) => to,
            _ => {
                let register = self.register(counter.ty);
                let operands = vec![Operand::Register(register), to, from];
                self.emit(found, Op::Integer(Integer::sub), &[Token::Type(counter.ty)], operands);
                Operand::Register(register)
            }
        };
        let order = if counter.order.includes_equal() { Order::GreaterOrEqual } else { Order::Greater };
        let least = Operand::Immediate(u64::from(steps) * counter.step.unsigned_abs());
        let more = self.predicate();
        self.compare(found, more, order, [distance, least]);
        if matches!(counter.ty, ScalarType::U32 | ScalarType::U64) {
            let bound = counter.bound.clone();
            let within = self.compared(found, counter.order, &bound);
            self.and(within, more);
            return within;
        }
        more
    }

    /// The bound, `steps` steps before.
    fn bound(&mut self, found: &Loop, steps: u32) -> Operand {
        let counter = &found.counter;
        let by = counter.step.wrapping_mul(i64::from(steps));
        match &counter.bound {
            Operand::Immediate(bits) => Operand::Immediate((*bits as i64).wrapping_sub(by) as u64),
            bound => {
                let register = self.register(counter.ty);
                let less = Operand::Immediate(by.wrapping_neg() as u64);
                let operands = vec![Operand::Register(register), bound.clone(), less];
                self.emit(found, Op::Integer(Integer::add), &[Token::Type(counter.ty)], operands);
                Operand::Register(register)
            }
        }
    }

    /// The counter compared with a bound.
    fn compared(&mut self, found: &Loop, order: Order, bound: &Operand) -> RegisterId {
        let result = self.predicate();
        self.compare(found, result, order, [Operand::Register(found.counter.register), bound.clone()]);
        result
    }

    fn compare(&mut self, found: &Loop, result: RegisterId, order: Order, sides: [Operand; 2]) {
        let tokens = [Token::Modifier(order.modifier()), Token::Type(found.counter.ty)];
        let [a, b] = sides;
        let operands = vec![Operand::Register(result), Operand::Absent, a, b, Operand::Absent];
        self.emit(found, Op::Compare(Compare::setp_integer), &tokens, operands);
    }

    /// Combines the last comparison with a predicate.
    fn combine(&mut self, result: RegisterId, with: RegisterId, how: Modifier) {
        let Some(i) = self.function.instructions.last_mut() else { return };
        let mut tokens: Vec<Token> = i.tokens.iter().flatten().copied().collect();
        tokens.insert(1, Token::Modifier(how));
        if let (Some(tokens), [Operand::Register(written), .., third]) =
            (i.op.line().parsed().fit(&tokens), &mut i.operands[..])
            && *written == result
        {
            i.tokens = tokens;
            *third = Operand::Register(with);
        }
    }

    fn or(&mut self, result: RegisterId, with: RegisterId) {
        self.combine(result, with, Modifier::Or);
    }

    fn and(&mut self, result: RegisterId, with: RegisterId) {
        self.combine(result, with, Modifier::And);
    }

    /// Sets a predicate to a constant.
    fn set_predicate(&mut self, found: &Loop, predicate: RegisterId, value: bool) {
        let order = if value { Order::LessOrEqual } else { Order::NotEqual };
        let this = Operand::Register(found.counter.register);
        self.compare(found, predicate, order, [this.clone(), this]);
    }

    /// Puts the counter's first value into a register of its own, in which lowering sees a constant.
    fn start_at(&mut self, found: &Loop, first: u64, copier: &mut Copier<'_>) {
        let register = self.register(found.counter.ty);
        let operands = vec![Operand::Register(register), Operand::Immediate(first)];
        self.emit(found, Op::Memory(Memory::mov), &[Token::Type(found.counter.ty)], operands);
        copier.rename(found.counter.register, register);
    }

    /// Branches to a place of the new code if the predicate is true, or false.
    fn branch_to(&mut self, found: &Loop, predicate: RegisterId, negated: bool, to: u32) {
        self.jump(found, Guard { register: predicate, negated }, to, Target::New);
    }

    fn branch(&mut self, found: &Loop, predicate: RegisterId, negated: bool, to: Place) {
        self.jump(found, Guard { register: predicate, negated }, 0, Target::Place(to));
    }

    fn jump(&mut self, found: &Loop, guard: Guard, label: u32, target: Target) {
        let Some(latch) = self.old.instructions.get(found.latch) else { return };
        let operands = vec![Operand::Label(InstructionIndex(label))];
        self.push(Instruction { guard: Some(guard), operands, ..latch.clone() }, target);
    }

    fn emit(&mut self, found: &Loop, op: Op, tokens: &[Token], operands: Vec<Operand>) {
        let Some(latch) = self.old.instructions.get(found.latch) else { return };
        let tokens = op.line().parsed().fit(tokens).unwrap_or_default();
        let i = Instruction { op, tokens, guard: None, operands, ..latch.clone() };
        self.push(i, Target::Old);
    }

    fn predicate(&mut self) -> RegisterId {
        self.register(ScalarType::Pred)
    }

    fn register(&mut self, ty: ScalarType) -> RegisterId {
        let register = RegisterId(self.function.registers.len() as u32);
        self.function.registers.push(ty);
        self.function.register_names.push("register of an unrolled loop".to_owned());
        register
    }
}
