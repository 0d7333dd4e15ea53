//! Barriers, fences, votes, and exchange between lanes (PTX manual 9.7.13, 9.7.9.5, 9.7.9.6).

/// Gathers the members that the executing lanes name in a row of their op, or returns the flow of a waiting
/// warp.
macro_rules! gather {
    ($w:ident, $op:ident, $members:expr) => {
        match $w.gather($op, $members) {
            Ok(groups) => groups,
            Err(flow) => return flow,
        }
    };
}

mod cluster;
mod fence;
mod mbarrier;
mod reduce;
mod shuffle;
mod vote;

pub use cluster::*;
pub use fence::*;
pub use mbarrier::*;
pub use reduce::*;
pub use shuffle::*;
pub use vote::*;

use ptx_frontend::ir::{Instruction, Operand};
use ptx_frontend::isa::{Modifier, ScalarType};

use super::Bound;
use crate::bind::{BindError, Binder};
use crate::engine::barrier::{BARRIERS, Barrier};
use crate::engine::lane::WARP;
use crate::engine::op::{Flow, Op, PredicateSource};
use crate::engine::warp_context::WarpContext;
use crate::fault::FaultKind;

/// Result of a barrier for a thread.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Nothing,
    Popc,
    And,
    Or,
}

/// Operands: `a` barrier number, `b` number of threads (0: all), `c` predicate, `d` result.
unsafe fn barrier_wait<const ANSWER: u8>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: the binder allocated the rows and predicates.
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
        // Lanes excluded by the guard continue alone.
        let (arrived, next) = (w.mask, w.pc + 1);
        return w.wait_apart(id, arrived, next);
    }
    w.wait_at_barrier(id)
}

unsafe fn take_answer<const ANSWER: u8>(w: &mut WarpContext<'_>, op: &Op, barrier: Barrier) {
    // SAFETY: `d` is a 32-bit row for a count, a predicate word for a truth.
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

/// Arrives at barrier `a` of `b` threads without a wait.
fn barrier_arrive_only(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: the binder allocated the rows.
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

/// Sets `lanes` of a row to a value.
fn fill(row: &mut [u32; WARP], lanes: u32, value: u32) {
    for (lane, slot) in row.iter_mut().enumerate() {
        *slot = if lanes >> lane & 1 != 0 { value } else { *slot };
    }
}

fn sync_lanes(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: `a` is a row of words.
    unsafe { gather!(w, op, |op| op.a) };
    Flow::Next
}

/// `bar.warp.sync`.
pub fn bar_warp_sync(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let a = b.source(&i.operands[0], ScalarType::B32)?;
    let op = Op { a, ..b.op(sync_lanes) };
    b.push(op);
    Ok(())
}

fn active_lanes(w: &mut WarpContext<'_>, op: &Op) -> Flow {
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
