//! `shfl` and `elect` (PTX manual 9.7.9.5, 9.7.9.6, 9.7.13.15).

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

const UP: u64 = 0;
const DOWN: u64 = 1;
const BUTTERFLY: u64 = 2;
/// Flag in the immediate: a member mask is given, in the row of the upper half.
const MASKED: u64 = 4;

/// Source lane of `lane`, and whether it is in range (PTX manual 9.7.9.6).
fn shuffle_source(how: u64, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let (b, clamp, segment) = (b & 31, c & 31, c >> 8 & 31);
    let highest = (lane & segment) | (clamp & !segment);
    let lowest = lane & segment;
    let (from, in_range) = match how {
        UP => (lane.wrapping_sub(b), lane as i32 - b as i32 >= highest as i32),
        DOWN => (lane + b, lane + b <= highest),
        BUTTERFLY => (lane ^ b, lane ^ b <= highest),
        _ => {
            let from = lowest | (b & !segment);
            (from, from <= highest)
        }
    };
    (if in_range { from & 31 } else { lane }, in_range)
}

/// d|e = a of the lane selected by `b` and `c`; the upper half of the immediate is the members' row.
fn shuffle(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: the binder allocated the operands.
    unsafe {
        if op.immediate & MASKED != 0 {
            gather!(w, op, |op| (op.immediate >> 32) as u32);
        } else {
            w.executing();
        }
        // The manual leaves the value from a lane that does not execute open. Programs (the vendor's
        // reduction sample, kernel 7) rely on 0.
        let mut values = [0; WARP];
        let row = w.read_members::<u32>(op, |op| op.a);
        lanes_of(w.mask).for_each(|lane| values[lane] = row[lane]);
        let b = w.read_members::<u32>(op, |op| op.b);
        let c = w.read_members::<u32>(op, |op| op.c);
        let mut taken = [0; 32];
        let mut truth = 0;
        for lane in 0..32 {
            let (from, in_range) = shuffle_source(op.immediate & 3, lane as u32, b[lane], c[lane]);
            taken[lane] = values[from as usize];
            truth |= u32::from(in_range) << lane;
        }
        w.write_members(op, |op| op.d, &taken);
        w.write_predicate_of_members(op, |op| op.e, truth);
    }
    Flow::Next
}

fn bind_shuffle(b: &mut Binder<'_, '_>, i: &Instruction, masked: bool) -> Bound {
    let how = i.modifiers().find_map(|m| match m {
        Modifier::Up => Some(UP),
        Modifier::Down => Some(DOWN),
        Modifier::Bfly => Some(BUTTERFLY),
        Modifier::Idx => Some(3),
        _ => None,
    });
    let Some(how) = how else { return Err(b.error("the instruction names no shuffle mode")) };
    let a = b.source(&i.operands[2], ScalarType::B32)?;
    let lane = b.source(&i.operands[3], ScalarType::U32)?;
    let c = b.source(&i.operands[4], ScalarType::U32)?;
    let immediate = if masked {
        let members = b.source(&i.operands[5], ScalarType::B32)?;
        how | MASKED | u64::from(members) << 32
    } else {
        how
    };
    let e = b.predicate_result(&i.operands[1])?;
    let d = b.result(&i.operands[0], ScalarType::B32)?;
    let op = Op { d, e, a, b: lane, c, immediate, ..b.op(shuffle) };
    b.push(op);
    Ok(())
}

/// `shfl.sync`.
pub fn shfl(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_shuffle(b, i, true)
}

/// `shfl` without a member mask.
pub fn shfl_unmasked(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_shuffle(b, i, false)
}

/// d = lowest member lane; e = true in that lane.
fn elect_lane(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: the binder allocated the operands.
    unsafe {
        let groups = gather!(w, op, |op| op.a);
        let mut leaders = [0; WARP];
        let mut elected = 0;
        for Group { lanes, members } in groups {
            let leader = members.trailing_zeros() & 31;
            fill(&mut leaders, lanes, leader);
            elected |= 1 << leader;
        }
        w.write_members(op, |op| op.d, &leaders);
        w.write_predicate_of_members(op, |op| op.e, elected);
    }
    Flow::Next
}

/// `elect.sync`.
pub fn elect(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let a = b.source(&i.operands[2], ScalarType::B32)?;
    let e = b.predicate_result(&i.operands[1])?;
    let d = b.result(&i.operands[0], ScalarType::B32)?;
    let op = Op { d, e, a, ..b.op(elect_lane) };
    b.push(op);
    Ok(())
}
