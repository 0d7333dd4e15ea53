//! `vote` and `match` (PTX manual 9.7.13.7 to 9.7.13.9).

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

/// Vote on predicate `a`; `b` is the row of member masks, and `immediate` 1 makes all active lanes members.
unsafe fn vote_of<const HOW: u8>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: the binder allocated the operands.
    unsafe {
        let groups = if op.immediate == 0 { gather!(w, op, |op| op.b) } else { w.executing() };
        let holding = w.predicate_of_members(op, |op| op.a);
        let mut ballots = [0; WARP];
        let mut truth = 0;
        for Group { lanes, members } in groups {
            let yes = holding & members;
            let holds = match HOW {
                VOTE_ALL => yes == members,
                VOTE_ANY => yes != 0,
                VOTE_UNI => yes == 0 || yes == members,
                _ => {
                    fill(&mut ballots, lanes, yes);
                    continue;
                }
            };
            truth |= if holds { lanes } else { 0 };
        }
        if HOW == VOTE_BALLOT {
            w.write_members(op, |op| op.d, &ballots);
        } else {
            w.write_predicate_of_members(op, |op| op.d, truth);
        }
    }
    Flow::Next
}

const VOTE_ALL: u8 = 0;
const VOTE_ANY: u8 = 1;
const VOTE_UNI: u8 = 2;
const VOTE_BALLOT: u8 = 3;

fn bind_vote(b: &mut Binder<'_, '_>, i: &Instruction, masked: bool) -> Bound {
    let a = b.predicate_source(&i.operands[1])?.encode();
    let members = if masked { b.source(&i.operands[2], ScalarType::B32)? } else { 0 };
    let how =
        i.modifiers().find(|m| matches!(m, Modifier::All | Modifier::Any | Modifier::Uni | Modifier::Ballot));
    let (run, d) = match how {
        Some(Modifier::All) => {
            (vote_of::<VOTE_ALL> as crate::engine::op::Run, b.predicate_result(&i.operands[0])?)
        }
        Some(Modifier::Any) => (vote_of::<VOTE_ANY> as _, b.predicate_result(&i.operands[0])?),
        Some(Modifier::Uni) => (vote_of::<VOTE_UNI> as _, b.predicate_result(&i.operands[0])?),
        _ => (vote_of::<VOTE_BALLOT> as _, b.result(&i.operands[0], ScalarType::B32)?),
    };
    let op = Op { d, a, b: members, immediate: u64::from(!masked), ..b.op(run) };
    b.push(op);
    Ok(())
}

/// `vote.sync.all`, `.any`, `.uni`.
pub fn vote(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_vote(b, i, true)
}

/// `vote.sync.ballot`.
pub fn vote_ballot(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_vote(b, i, true)
}

/// `vote.all`, `.any`, `.uni`.
pub fn vote_unmasked(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_vote(b, i, false)
}

/// `vote.ballot`.
pub fn vote_ballot_unmasked(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_vote(b, i, false)
}

/// The members' values in `a`, 32-bit or 64-bit, extended to 64 bits.
///
/// # Safety
/// `a` is a row of that width.
unsafe fn values(w: &WarpContext<'_>, op: &Op, wide: bool) -> [u64; WARP] {
    // SAFETY: guaranteed by the caller.
    unsafe {
        if wide { w.read_members(op, |op| op.a) } else { w.read_members::<u32>(op, |op| op.a).map(u64::from) }
    }
}

/// Matches the values in row `a` under the member masks in `b`; `immediate` is 1 for 64-bit values.
fn match_any_lanes(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: the binder allocated the operands.
    unsafe {
        let groups = gather!(w, op, |op| op.b);
        let values = values(w, op, op.immediate != 0);
        let mut same = [0u32; WARP];
        for Group { lanes, members } in groups {
            let equal = |lane: usize| lanes_of(members).filter(move |&other| values[other] == values[lane]);
            for lane in lanes_of(lanes) {
                same[lane] = equal(lane).map(|other| 1 << other).sum();
            }
        }
        w.write_members(op, |op| op.d, &same);
    }
    Flow::Next
}

/// [`match_any_lanes`] for all members; `e` receives the truth.
fn match_all_lanes(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: the binder allocated the operands.
    unsafe {
        let groups = gather!(w, op, |op| op.b);
        let values = values(w, op, op.immediate != 0);
        let mut same = [0; WARP];
        let mut truth = 0;
        for Group { lanes, members } in groups {
            let first = values[members.trailing_zeros() as usize & 31];
            if lanes_of(members).all(|lane| values[lane] == first) {
                fill(&mut same, lanes, members);
                truth |= lanes;
            }
        }
        w.write_members(op, |op| op.d, &same);
        w.write_predicate_of_members(op, |op| op.e, truth);
    }
    Flow::Next
}

/// `match.any.sync`.
pub fn match_any(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    let a = b.source(&i.operands[1], ty)?;
    let members = b.source(&i.operands[2], ScalarType::B32)?;
    let d = b.result(&i.operands[0], ScalarType::B32)?;
    let op = Op { d, a, b: members, immediate: u64::from(ty.bits() == 64), ..b.op(match_any_lanes) };
    b.push(op);
    Ok(())
}

/// `match.all.sync`.
pub fn match_all(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    let a = b.source(&i.operands[2], ty)?;
    let members = b.source(&i.operands[3], ScalarType::B32)?;
    let e = b.predicate_result(&i.operands[1])?;
    let d = b.result(&i.operands[0], ScalarType::B32)?;
    let op = Op { d, e, a, b: members, immediate: u64::from(ty.bits() == 64), ..b.op(match_all_lanes) };
    b.push(op);
    Ok(())
}
