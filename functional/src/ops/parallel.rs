//! Barriers, fences, votes, and exchange between the lanes of a warp (PTX manual 9.7.13, 9.7.9.5, 9.7.9.6).

mod fence;
mod mbarrier;

pub use fence::*;
pub use mbarrier::*;

use ptx_frontend::ir::{Instruction, Operand};
use ptx_frontend::isa::{Modifier, ScalarType};

use super::Bound;
use super::float::extremum::extreme_single;
use super::float::modifiers::Modifiers;
use crate::bind::{BindError, Binder};
use crate::engine::access::lanes_of;
use crate::engine::barrier::{BARRIERS, Barrier};
use crate::engine::lane::WARP;
use crate::engine::members::{Group, Groups};
use crate::engine::op::{Flow, Op, PredicateSource};
use crate::engine::running::Running;
use crate::fault::FaultKind;

/// What a thread takes away from a barrier.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Nothing,
    Popc,
    And,
    Or,
}

/// `a` is the barrier's number, `b` the number of threads (0: all), `c` the predicate, `d` the result.
unsafe fn barrier_wait<const ANSWER: u8>(w: &mut Running<'_>, op: &Op) -> Flow {
    // SAFETY: rows and predicates as the binder gave them.
    let (id, wanted, holding) = unsafe {
        let lane = w.mask.trailing_zeros() as usize;
        let predicate = w.predicate(PredicateSource::decode(op.c));
        (w.read_lane::<u32>(op.a, lane), w.read_lane::<u32>(op.b, lane), predicate & w.mask)
    };
    if id as usize >= BARRIERS {
        return w.fault(FaultKind::Unsupported(format!("barrier {id}: a CTA has {BARRIERS}")));
    }
    if std::mem::take(&mut w.divergence.released) {
        // SAFETY: as above.
        unsafe { take_answer::<ANSWER>(w, op, w.cta.barriers[id as usize]) };
        return Flow::Next;
    }
    let (arriving, live) = (w.mask.count_ones(), w.cta.live_threads);
    if w.cta.barriers[id as usize].arrive(arriving, holding.count_ones(), wanted, live) {
        // SAFETY: as above.
        unsafe { take_answer::<ANSWER>(w, op, w.cta.barriers[id as usize]) };
        return Flow::Next;
    }
    if w.mask != w.active {
        // Lanes that the guard leaves out go on by themselves.
        let (arrived, next) = (w.mask, w.pc + 1);
        return w.wait_apart(id, arrived, next);
    }
    w.wait_at_barrier(id)
}

unsafe fn take_answer<const ANSWER: u8>(w: &mut Running<'_>, op: &Op, barrier: Barrier) {
    // SAFETY: `d` is a row of words for a count, a predicate word for a truth.
    unsafe {
        match ANSWER {
            POPC => w.write_row(op.d, &[barrier.popc(); 32]),
            AND => w.write_predicate(op.d, if barrier.all() { u32::MAX } else { 0 }),
            OR => w.write_predicate(op.d, if barrier.any() { u32::MAX } else { 0 }),
            _ => {}
        }
    }
}

const NOTHING: u8 = 0;
const POPC: u8 = 1;
const AND: u8 = 2;
const OR: u8 = 3;

/// Arrives at barrier `a` of `b` threads without waiting.
fn barrier_arrive_only(w: &mut Running<'_>, op: &Op) -> Flow {
    // SAFETY: rows as the binder gave them.
    let (id, wanted) = unsafe {
        let lane = w.mask.trailing_zeros() as usize;
        (w.read_lane::<u32>(op.a, lane), w.read_lane::<u32>(op.b, lane))
    };
    if id as usize >= BARRIERS {
        return w.fault(FaultKind::Unsupported(format!("barrier {id}: a CTA has {BARRIERS}")));
    }
    let (arriving, live) = (w.mask.count_ones(), w.cta.live_threads);
    w.cta.barriers[id as usize].arrive(arriving, 0, wanted, live);
    Flow::Next
}

/// Binds a waiting barrier whose operands start at `first`.
fn bind_barrier(b: &mut Binder<'_, '_>, i: &Instruction, first: usize, answer: Answer) -> Bound {
    let a = b.source(&i.operands[first], ScalarType::U32)?;
    let threads = threads(b, &i.operands[first + 1])?;
    let (d, c) = match answer {
        Answer::Nothing => (0, PredicateSource::new(0, true)),
        Answer::Popc => {
            (b.result(&i.operands[0], ScalarType::U32)?, b.predicate_source(&i.operands[first + 2])?)
        }
        Answer::And | Answer::Or => {
            (b.predicate_result(&i.operands[0])?, b.predicate_source(&i.operands[first + 2])?)
        }
    };
    let run = match answer {
        Answer::Nothing => barrier_wait::<NOTHING>,
        Answer::Popc => barrier_wait::<POPC>,
        Answer::And => barrier_wait::<AND>,
        Answer::Or => barrier_wait::<OR>,
    };
    let op = Op { d, a, b: threads, c: c.encode(), ..b.op(run) };
    b.push(op);
    Ok(())
}

fn threads(b: &mut Binder<'_, '_>, operand: &Operand) -> Result<u32, BindError> {
    match operand {
        Operand::Absent => Ok(b.constant(0, false)),
        given => b.source(given, ScalarType::U32),
    }
}

/// `bar.sync`.
pub fn bar_sync(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_barrier(b, i, 0, Answer::Nothing)
}

/// `bar.arrive`.
pub fn bar_arrive(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let a = b.source(&i.operands[0], ScalarType::U32)?;
    let threads = threads(b, &i.operands[1])?;
    let op = Op { a, b: threads, ..b.op(barrier_arrive_only) };
    b.push(op);
    Ok(())
}

/// `bar.red.popc`.
pub fn bar_red_popc(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_barrier(b, i, 1, Answer::Popc)
}

/// `bar.red.and`, `bar.red.or`.
pub fn bar_red(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let answer = if i.has(Modifier::And) { Answer::And } else { Answer::Or };
    bind_barrier(b, i, 1, answer)
}

/// `barrier.sync`.
pub fn barrier_sync(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bar_sync(b, i)
}

/// `barrier.arrive`.
pub fn barrier_arrive(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bar_arrive(b, i)
}

/// `barrier.red.popc`.
pub fn barrier_red_popc(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bar_red_popc(b, i)
}

/// `barrier.red.and`, `barrier.red.or`.
pub fn barrier_red(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bar_red(b, i)
}

/// Brings together the members that the executing lanes name in a row, or leaves the op with the flow of a waiting warp.
macro_rules! gather {
    ($w:ident, $row:expr) => {
        match $w.gather($row) {
            Ok(groups) => groups,
            Err(flow) => return flow,
        }
    };
}

fn sync_lanes(w: &mut Running<'_>, op: &Op) -> Flow {
    // SAFETY: `a` is a row of words.
    unsafe { gather!(w, op.a) };
    Flow::Next
}

/// `bar.warp.sync`.
pub fn bar_warp_sync(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let a = b.source(&i.operands[0], ScalarType::B32)?;
    let op = Op { a, ..b.op(sync_lanes) };
    b.push(op);
    Ok(())
}

/// `a` is the predicate, `b` the row of member masks, `immediate` 1 if all active lanes are the members.
unsafe fn vote_of<const HOW: u8>(w: &mut Running<'_>, op: &Op) -> Flow {
    // SAFETY: operands as the binder gave them.
    unsafe {
        let groups = if op.immediate == 0 { gather!(w, op.b) } else { Groups::whole(w.mask) };
        let holding = w.predicate(PredicateSource::decode(op.a));
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
            w.write_row(op.d, &ballots);
        } else {
            w.write_predicate(op.d, truth);
        }
    }
    Flow::Next
}

/// Gives the lanes a value.
fn fill(row: &mut [u32; WARP], lanes: u32, value: u32) {
    for (lane, slot) in row.iter_mut().enumerate() {
        *slot = if lanes >> lane & 1 != 0 { value } else { *slot };
    }
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

/// A row of words or double words, as double words.
///
/// # Safety
/// `row` is a row of that width.
unsafe fn values(w: &Running<'_>, row: u32, wide: bool) -> [u64; 32] {
    // SAFETY: the caller's promise.
    unsafe { if wide { w.read_row::<u64>(row) } else { w.read_row::<u32>(row).map(u64::from) } }
}

/// `a` is the row of values, `b` that of member masks, `immediate` 1 for 64-bit values.
fn match_any_lanes(w: &mut Running<'_>, op: &Op) -> Flow {
    // SAFETY: operands as the binder gave them.
    unsafe {
        let groups = gather!(w, op.b);
        let values = values(w, op.a, op.immediate != 0);
        let mut same = [0u32; WARP];
        for Group { lanes, members } in groups {
            let equal = |lane: usize| lanes_of(members).filter(move |&other| values[other] == values[lane]);
            for lane in lanes_of(lanes) {
                same[lane] = equal(lane).map(|other| 1 << other).sum();
            }
        }
        w.write_row(op.d, &same);
    }
    Flow::Next
}

/// As [`match_any_lanes`]; `e` takes the truth.
fn match_all_lanes(w: &mut Running<'_>, op: &Op) -> Flow {
    // SAFETY: operands as the binder gave them.
    unsafe {
        let groups = gather!(w, op.b);
        let values = values(w, op.a, op.immediate != 0);
        let mut same = [0; WARP];
        let mut truth = 0;
        for Group { lanes, members } in groups {
            let first = values[members.trailing_zeros() as usize & 31];
            if lanes_of(members).all(|lane| values[lane] == first) {
                fill(&mut same, lanes, members);
                truth |= lanes;
            }
        }
        w.write_row(op.d, &same);
        w.write_predicate(op.e, truth);
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

fn active_lanes(w: &mut Running<'_>, op: &Op) -> Flow {
    // SAFETY: `d` is a row of words.
    unsafe { w.write_row(op.d, &[w.mask; 32]) };
    Flow::Next
}

/// `activemask`.
pub fn activemask(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let d = b.result(&i.operands[0], ScalarType::B32)?;
    let op = Op { d, ..b.op(active_lanes) };
    b.push(op);
    Ok(())
}

/// A reduction of two words.
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

/// `immediate` numbers the reduction.
fn reduce_lanes(w: &mut Running<'_>, op: &Op) -> Flow {
    // SAFETY: operands as the binder gave them.
    unsafe {
        let groups = gather!(w, op.b);
        let values = w.read_row::<u32>(op.a);
        let reduce = REDUCTIONS[op.immediate as usize & 7];
        let mut results = [0; WARP];
        for Group { lanes, members } in groups {
            let result = lanes_of(members).map(|lane| values[lane]).reduce(reduce);
            fill(&mut results, lanes, result.unwrap_or(0));
        }
        w.write_row(op.d, &results);
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
    let Some(how) = how else { return Err(b.error("no reduction is named")) };
    let a = b.source(&i.operands[1], ty)?;
    let members = b.source(&i.operands[2], ScalarType::B32)?;
    let d = b.result(&i.operands[0], ty)?;
    let op = Op { d, a, b: members, immediate: how, ..b.op(reduce_lanes) };
    b.push(op);
    Ok(())
}

/// The smallest or largest single; `c` says which, `immediate` the modifiers.
fn reduce_singles(w: &mut Running<'_>, op: &Op) -> Flow {
    // SAFETY: operands as the binder gave them.
    unsafe {
        let groups = gather!(w, op.b);
        let values = w.read_row::<u32>(op.a);
        let how = Modifiers::decode(op.immediate);
        let choose = |a, b| extreme_single(op.c != 0, a, b, how);
        let mut results = [0; WARP];
        for Group { lanes, members } in groups {
            // A lone value is compared with itself, for its sign and NaN.
            let first = values[members.trailing_zeros() as usize & 31];
            let result = lanes_of(members).fold(first, |all, lane| choose(all, values[lane]));
            fill(&mut results, lanes, result);
        }
        w.write_row(op.d, &results);
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

const UP: u64 = 0;
const DOWN: u64 = 1;
const BUTTERFLY: u64 = 2;
/// In the immediate: members are given (in the row of the upper half).
const MASKED: u64 = 4;

/// The lane whose value `lane` takes, and whether it lies in range (manual 9.7.9.6).
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

/// d|e = a of the lane that `b` and `c` name; the members' row is in the upper half of the immediate.
fn shuffle(w: &mut Running<'_>, op: &Op) -> Flow {
    // SAFETY: operands as the binder gave them.
    unsafe {
        if op.immediate & MASKED != 0 {
            gather!(w, (op.immediate >> 32) as u32);
        }
        // The manual leaves open what a lane gets from one that does not execute; programs (the vendor's reduction
        // sample, kernel 7) count on 0.
        let mut values = [0; WARP];
        let row = w.read_row::<u32>(op.a);
        lanes_of(w.mask).for_each(|lane| values[lane] = row[lane]);
        let (b, c) = (w.read_row::<u32>(op.b), w.read_row::<u32>(op.c));
        let mut taken = [0; 32];
        let mut truth = 0;
        for lane in 0..32 {
            let (from, in_range) = shuffle_source(op.immediate & 3, lane as u32, b[lane], c[lane]);
            taken[lane] = values[from as usize];
            truth |= u32::from(in_range) << lane;
        }
        w.write_row(op.d, &taken);
        w.write_predicate(op.e, truth);
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
    let Some(how) = how else { return Err(b.error("no shuffle mode is named")) };
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

/// d = lowest lane of the members; e = this is it.
fn elect_lane(w: &mut Running<'_>, op: &Op) -> Flow {
    // SAFETY: operands as the binder gave them.
    unsafe {
        let groups = gather!(w, op.a);
        let mut leaders = [0; WARP];
        let mut elected = 0;
        for Group { lanes, members } in groups {
            let leader = members.trailing_zeros() & 31;
            fill(&mut leaders, lanes, leader);
            elected |= 1 << leader;
        }
        w.write_row(op.d, &leaders);
        w.write_predicate(op.e, elected);
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
