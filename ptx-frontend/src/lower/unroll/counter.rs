//! Counters of loops: the register that decides how often a loop runs.

use crate::analyse::{ControlFlow, writes};
use crate::ir::{Function, Instruction, InstructionIndex, Operand, RegisterId};
use crate::isa::{Compare, Integer, Memory, Modifier, Op, ScalarType};

/// Longest chain of blocks that is searched for a counter's first value.
const CHAIN: usize = 16;

/// Comparison that continues a loop, seen from the counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    NotEqual,
}

impl Order {
    fn of(i: &Instruction) -> Option<Order> {
        i.modifiers().find_map(|modifier| match modifier {
            Modifier::Lt | Modifier::Lo => Some(Order::Less),
            Modifier::Le | Modifier::Ls => Some(Order::LessOrEqual),
            Modifier::Gt | Modifier::Hi => Some(Order::Greater),
            Modifier::Ge | Modifier::Hs => Some(Order::GreaterOrEqual),
            Modifier::Ne => Some(Order::NotEqual),
            _ => None,
        })
    }

    pub(super) fn modifier(self) -> Modifier {
        match self {
            Order::Less => Modifier::Lt,
            Order::LessOrEqual => Modifier::Le,
            Order::Greater => Modifier::Gt,
            Order::GreaterOrEqual => Modifier::Ge,
            Order::NotEqual => Modifier::Ne,
        }
    }

    /// The comparison that holds exactly when this one does not.
    pub(super) fn negated(self) -> Option<Order> {
        Some(match self {
            Order::Less => Order::GreaterOrEqual,
            Order::LessOrEqual => Order::Greater,
            Order::Greater => Order::LessOrEqual,
            Order::GreaterOrEqual => Order::Less,
            Order::NotEqual => return None,
        })
    }

    /// True if equality continues the loop.
    pub(super) fn includes_equal(self) -> bool {
        matches!(self, Order::LessOrEqual | Order::GreaterOrEqual)
    }
}

/// A counter, its step, and the comparison after each iteration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Counter {
    /// Register at the start of an iteration.
    pub(super) register: RegisterId,
    /// Constant added in each iteration.
    pub(super) step: i64,
    pub(super) order: Order,
    /// Type of the comparison: `s32`, `u32`, `s64` or `u64`.
    pub(super) ty: ScalarType,
    /// The other side of the comparison: a constant, or a register that the loop does not change.
    pub(super) bound: Operand,
    /// Position of the comparison.
    pub(super) comparison: usize,
    /// Value before the first iteration, if it is known.
    pub(super) first: Option<u64>,
    /// Number of iterations, if it is known.
    pub(super) trips: Option<u64>,
}

/// Counter of the loop `header..=latch` whose last branch has predicate `guard`. `is_always` tells the
/// positions that each iteration executes.
pub(super) fn counter(
    function: &Function,
    flow: &ControlFlow,
    (header, latch): (usize, usize),
    guard: RegisterId,
    is_always: &dyn Fn(usize) -> bool,
) -> Option<Counter> {
    let code = &function.instructions;
    let definitions = |register: RegisterId| {
        let mut found = (header..latch).filter(|at| writes(&code[*at]).contains(&register));
        let only = found.next()?;
        (found.next().is_none() && code[only].guard.is_none() && is_always(only)).then_some(only)
    };
    let changes = |operand: &Operand| match operand {
        Operand::Immediate(_) => false,
        Operand::Register(register) => (header..latch).any(|at| writes(&code[at]).contains(register)),
        _ => true,
    };
    let comparison = definitions(guard)?;
    let setp = &code[comparison];
    if setp.op != Op::Compare(Compare::setp_integer) || setp.modifiers().count() != 1 {
        return None;
    }
    let [Operand::Register(_), Operand::Absent, Operand::Register(compared), bound, Operand::Absent] =
        &setp.operands[..]
    else {
        return None;
    };
    let order = Order::of(setp)?;
    let ty = match (setp.last_type()?, order) {
        (ScalarType::B32, _) | (ScalarType::U32, Order::NotEqual) => ScalarType::S32,
        (ScalarType::B64, _) | (ScalarType::U64, Order::NotEqual) => ScalarType::S64,
        (ty, _) if ty.bits() >= 32 => ty,
        _ => return None,
    };
    if changes(bound) {
        return None;
    }
    let next = definitions(*compared).filter(|at| *at < comparison)?;
    let (from, step) = addition(&code[next])?;
    // The counter is the sum itself, or a register that later takes the sum.
    let register = if from == *compared {
        from
    } else {
        let copy = definitions(from)?;
        let [Operand::Register(_), Operand::Register(source), ..] = &code[copy].operands[..] else {
            return None;
        };
        let is_copy = code[copy].op == Op::Memory(Memory::mov) && source == compared && copy > next;
        is_copy.then_some(from)?
    };
    let goes_up = step > 0;
    let fits = match order {
        Order::Less | Order::LessOrEqual => goes_up,
        Order::Greater | Order::GreaterOrEqual => !goes_up,
        Order::NotEqual => true,
    };
    if !fits || step.unsigned_abs() > 1 << 24 {
        return None;
    }
    let mut counter =
        Counter { register, step, order, ty, bound: bound.clone(), comparison, first: None, trips: None };
    counter.first = first_value(function, flow, header, register);
    counter.trips = counter.first.and_then(|first| trips(&counter, first));
    Some(counter)
}

/// Register and constant of an unguarded sum of 32 or 64 bits.
pub(super) fn addition(i: &Instruction) -> Option<(RegisterId, i64)> {
    let ty = i.last_type()?;
    if i.op != Op::Integer(Integer::add) || i.guard.is_some() || ty.bits() < 32 {
        return None;
    }
    match &i.operands[..] {
        [Operand::Register(_), Operand::Register(from), Operand::Immediate(step)] => {
            Some((*from, in_width(*step as i64, ty.bits())))
        }
        _ => None,
    }
}

/// The lowest `bits` of a value, with their sign.
pub(super) fn in_width(value: i64, bits: u32) -> i64 {
    if bits == 32 { i64::from(value as i32) } else { value }
}

/// Constant that a register holds on entry to the loop, found along blocks with one predecessor.
fn first_value(function: &Function, flow: &ControlFlow, header: usize, register: RegisterId) -> Option<u64> {
    let outside = |block: &crate::analyse::BlockId| {
        flow.block(*block).is_some_and(|block| (block.start.0 as usize) < header)
    };
    let mut block = flow.block(flow.block_of(InstructionIndex(header as u32))?)?;
    let mut befores: Vec<_> = block.predecessors.iter().copied().filter(outside).collect();
    if befores.len() + 1 != block.predecessors.len() {
        return None;
    }
    for _ in 0..CHAIN {
        let [before] = befores[..] else { return None };
        block = flow.block(before)?;
        for at in (block.start.0..block.end.0).rev() {
            let i = function.instructions.get(at as usize)?;
            if writes(i).contains(&register) {
                let is_mov = i.op == Op::Memory(Memory::mov) && i.guard.is_none();
                return match i.operands.get(1) {
                    Some(Operand::Immediate(bits)) if is_mov => Some(*bits),
                    _ => None,
                };
            }
        }
        befores = block.predecessors.clone();
    }
    None
}

/// Number of iterations of a loop whose counter starts at `first`. An unknown number is `None`, and
/// so is a counter that leaves the range of its type.
fn trips(counter: &Counter, first: u64) -> Option<u64> {
    let value = |bits: u64| match counter.ty {
        ScalarType::S32 => i128::from(bits as u32 as i32),
        ScalarType::U32 => i128::from(bits as u32),
        ScalarType::U64 => i128::from(bits),
        _ => i128::from(bits as i64),
    };
    let Operand::Immediate(bound) = counter.bound else { return None };
    let (first, bound, step) = (value(first), value(bound), i128::from(counter.step));
    let distance = if step > 0 { bound - first } else { first - bound };
    let step = step.abs();
    let trips = match counter.order {
        Order::NotEqual => (distance > 0 && distance % step == 0).then_some(distance / step)?,
        order if order.includes_equal() => (distance.div_euclid(step) + 1).max(1),
        _ => ((distance + step - 1).div_euclid(step)).max(1),
    };
    let last = if counter.step > 0 { first + trips * step } else { first - trips * step };
    let fits = match counter.ty {
        ScalarType::S32 => i32::try_from(last).is_ok(),
        ScalarType::U32 => u32::try_from(last).is_ok(),
        ScalarType::U64 => u64::try_from(last).is_ok(),
        _ => i64::try_from(last).is_ok(),
    };
    fits.then_some(u64::try_from(trips).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(step: i64, order: Order, bound: i64) -> Counter {
        Counter {
            register: RegisterId(0),
            step,
            order,
            ty: ScalarType::S32,
            bound: Operand::Immediate(bound as u64),
            comparison: 0,
            first: None,
            trips: None,
        }
    }

    #[test]
    fn trips_count_a_first_iteration_without_a_test() {
        assert_eq!(trips(&of(1, Order::Less, 8), 0), Some(8));
        assert_eq!(trips(&of(1, Order::Less, 0), 5), Some(1));
        assert_eq!(trips(&of(3, Order::Less, 8), 0), Some(3));
        assert_eq!(trips(&of(1, Order::LessOrEqual, 8), 0), Some(9));
        assert_eq!(trips(&of(-4, Order::Greater, 0), 16), Some(4));
        assert_eq!(trips(&of(-4, Order::NotEqual, 0), 16), Some(4));
    }

    #[test]
    fn a_counter_that_would_wrap_has_no_known_trips() {
        assert_eq!(trips(&of(4, Order::NotEqual, 6), 0), None);
        assert_eq!(trips(&of(1 << 20, Order::LessOrEqual, i64::from(i32::MAX)), 0), None);
    }
}
