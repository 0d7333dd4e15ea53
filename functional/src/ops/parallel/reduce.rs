//! `redux.sync` (PTX manual 9.7.13.11).

use ptx_frontend::ir::Instruction;
use ptx_frontend::isa::{Modifier, ScalarType};

use super::fill;
use crate::bind::Binder;
use crate::engine::address_translation::lanes_of;
use crate::engine::lane::WARP;
use crate::engine::members::Group;
use crate::engine::op::{Flow, Op};
use crate::engine::warp_context::WarpContext;
use crate::ops::Bound;
use crate::ops::float::extremum::extreme_single;
use crate::ops::float::modifiers::Modifiers;

/// Reduction of two words.
type Reduce = fn(u32, u32) -> u32;

const REDUCTIONS: [Reduce; 8] = [
    u32::wrapping_add,
    |a, b| a.min(b),
    |a, b| a.max(b),
    |a, b| (a as i32).min(b as i32) as u32,
    |a, b| (a as i32).max(b as i32) as u32,
    |a, b| a & b,
    |a, b| a | b,
    |a, b| a ^ b,
];

/// Reduces the members' words; `immediate` is the index of the reduction.
fn reduce_lanes(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: the binder allocated the operands.
    unsafe {
        let groups = gather!(w, op, |op| op.b);
        let values = w.read_members::<u32>(op, |op| op.a);
        let reduce = REDUCTIONS[op.immediate as usize & 7];
        let mut results = [0; WARP];
        for Group { lanes, members } in groups {
            let result = lanes_of(members).map(|lane| values[lane]).reduce(reduce);
            fill(&mut results, lanes, result.unwrap_or(0));
        }
        w.write_members(op, |op| op.d, &results);
    }
    Flow::Next
}

/// `redux.sync`.
pub fn redux(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    let signed = ty.is_signed();
    let how = i.modifiers().find_map(|m| match m {
        Modifier::Add => Some(0),
        Modifier::Min => Some(if signed { 3 } else { 1 }),
        Modifier::Max => Some(if signed { 4 } else { 2 }),
        Modifier::And => Some(5),
        Modifier::Or => Some(6),
        Modifier::Xor => Some(7),
        _ => None,
    });
    let Some(how) = how else { return Err(b.error("the instruction names no reduction")) };
    let a = b.source(&i.operands[1], ty)?;
    let members = b.source(&i.operands[2], ScalarType::B32)?;
    let d = b.result(&i.operands[0], ty)?;
    let op = Op { d, a, b: members, immediate: how, ..b.op(reduce_lanes) };
    b.push(op);
    Ok(())
}

/// Minimum or maximum of the members' singles, selected by `c`, with the modifiers in `immediate`.
fn reduce_singles(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: the binder allocated the operands.
    unsafe {
        let groups = gather!(w, op, |op| op.b);
        let values = w.read_members::<u32>(op, |op| op.a);
        let how = Modifiers::decode(op.immediate);
        let choose = |a, b| extreme_single(op.c != 0, a, b, how);
        let mut results = [0; WARP];
        for Group { lanes, members } in groups {
            // A single value is compared with itself, to apply the rules for sign and NaN.
            let first = values[members.trailing_zeros() as usize & 31];
            let result = lanes_of(members).fold(first, |all, lane| choose(all, values[lane]));
            fill(&mut results, lanes, result);
        }
        w.write_members(op, |op| op.d, &results);
    }
    Flow::Next
}

/// `redux.sync` of singles.
pub fn redux_float(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let a = b.source(&i.operands[1], ScalarType::F32)?;
    let members = b.source(&i.operands[2], ScalarType::B32)?;
    let d = b.result(&i.operands[0], ScalarType::F32)?;
    let (c, immediate) = (u32::from(i.has(Modifier::Max)), Modifiers::of(i).encode());
    let op = Op { d, a, b: members, c, immediate, ..b.op(reduce_singles) };
    b.push(op);
    Ok(())
}
