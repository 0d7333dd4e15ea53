//! Barriers in shared memory (PTX manual 9.7.13.15). One host thread executes a cluster, and lanes take
//! turns.

use ptx_frontend::ir::{Instruction, Operand};
use ptx_frontend::isa::{Modifier, ScalarType};

use crate::bind::Binder;
use crate::engine::address_translation::{ClusterShared, Generic, Shared, Space, lanes_of, resolve_aligned};
use crate::engine::cluster::in_cta;
use crate::engine::op::{Flow, Op, Run};
use crate::engine::shapes::unary;
use crate::engine::warp_context::WarpContext;
use crate::ops::address_operand::{named_space, names_cluster, wide_address};
use crate::ops::control::bind_nothing;
use crate::ops::{Bound, lane_functions};

/// The opaque 64-bit object: pending arrivals of the current phase and expected arrivals per phase (20 bits
/// each), and pending transactions (21 bits, two's complement). The phase number (2 bits) and the layout (1
/// bit) follow. The layouts differ only in reports about devices joined by a fabric, which do not exist
/// here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Barrier(u64);

/// First bit and number of bits of a field.
type Field = (u32, u32);
const PENDING: Field = (0, 20);
const EXPECTED: Field = (20, 20);
const TRANSACTIONS: Field = (40, 21);
const PHASE: Field = (61, 2);
const LAYOUT: Field = (63, 1);

impl Barrier {
    fn get(self, (at, bits): Field) -> u64 {
        self.0 >> at & ((1 << bits) - 1)
    }

    /// Adds `by` to the field, with wrapping.
    fn add(self, (at, bits): Field, by: u64) -> Barrier {
        let ones = ((1 << bits) - 1) << at;
        Barrier((self.0 & !ones) | (self.0.wrapping_add(by << at) & ones))
    }

    /// A barrier for `count` arrivals per phase.
    fn new(count: u32) -> Barrier {
        Barrier(0).add(EXPECTED, count.into()).add(PENDING, count.into())
    }

    /// The barrier with the other layout.
    fn reporting(self) -> Barrier {
        self.add(LAYOUT, 1)
    }

    fn expect(self, transactions: u32) -> Barrier {
        self.add(TRANSACTIONS, transactions.into())
    }

    fn arrive(self, count: u32) -> Barrier {
        self.add(PENDING, u64::from(count).wrapping_neg()).advance()
    }

    fn drop(self, count: u32) -> Barrier {
        self.add(EXPECTED, u64::from(count).wrapping_neg()).arrive(count)
    }

    fn complete(self, transactions: u32) -> Barrier {
        self.add(TRANSACTIONS, u64::from(transactions).wrapping_neg()).advance()
    }

    /// Starts the next phase if nothing is pending.
    fn advance(self) -> Barrier {
        if self.get(PENDING) != 0 || self.get(TRANSACTIONS) != 0 {
            return self;
        }
        self.add(PENDING, self.get(EXPECTED)).add(PHASE, 1)
    }
}

/// Action of an instruction on a barrier, given its operand.
trait Action: 'static {
    fn apply(barrier: Barrier, operand: u32) -> Barrier;
}

macro_rules! actions {
    ($($(#[$doc:meta])* $name:ident = |$barrier:pat_param, $operand:pat_param| $after:expr;)*) => {
        $(
            $(#[$doc])*
            struct $name;
            impl Action for $name {
                fn apply($barrier: Barrier, $operand: u32) -> Barrier { $after }
            }
        )*
    };
}

actions! {
    Init = |_, count| Barrier::new(count);
    InitReporting = |_, count| Barrier::new(count).reporting();
    Invalidate = |_, _| Barrier(0);
    Expect = |barrier, transactions| barrier.expect(transactions);
    Complete = |barrier, transactions| barrier.complete(transactions);
    Arrive = |barrier, count| barrier.arrive(count);
    Drop = |barrier, count| barrier.drop(count);
    ArriveExpecting = |barrier, transactions| barrier.expect(transactions).arrive(1);
    DropExpecting = |barrier, transactions| barrier.expect(transactions).drop(1);
}

fn barrier_at<S: Space>(
    w: &mut WarpContext<'_>,
    op: &Op,
    lane: usize,
) -> Result<*mut u64, crate::fault::FaultKind> {
    // SAFETY: `a` is a 64-bit row.
    let address = unsafe { w.read_lane::<u64>(op.a, lane) };
    resolve_aligned::<S>(w, op.slot, lane, address, 8).map(<*mut u8>::cast)
}

/// d = the barrier at `a`, which is then changed with operand `b`.
unsafe fn act<S: Space, A: Action>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    for lane in lanes_of(w.mask) {
        match barrier_at::<S>(w, op, lane) {
            // SAFETY: the address was checked for this lane; `b` is a 32-bit row, `d` a 64-bit row.
            Ok(place) => unsafe {
                let (before, operand) = (place.read(), w.read_lane::<u32>(op.b, lane));
                place.write(A::apply(Barrier(before), operand).0);
                w.write_lane(op.d, lane, before);
            },
            Err(fault) => return w.fault(fault),
        }
    }
    Flow::Next
}

/// Completes `b` transactions of the barrier at `a` in each CTA whose rank is set in `c`.
unsafe fn complete_in_several(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    for lane in lanes_of(w.mask) {
        // SAFETY: the binder allocated the rows.
        let (address, transactions, ctas) = unsafe {
            (
                w.read_lane::<u64>(op.a, lane),
                w.read_lane::<u32>(op.b, lane),
                w.read_lane::<u32>(op.c, lane) & 0xffff,
            )
        };
        for rank in lanes_of(ctas) {
            let address = in_cta(address, rank as u32, w.cta.rank);
            match resolve_aligned::<ClusterShared>(w, op.slot, lane, address, 8) {
                // SAFETY: the address was checked for this lane.
                Ok(place) => unsafe {
                    let place = place.cast::<u64>();
                    place.write(Barrier(place.read()).complete(transactions).0);
                },
                Err(fault) => return w.fault(fault),
            }
        }
    }
    Flow::Next
}

/// d = the phase of the barrier at `a` differs from that of state `b`, or from parity `b`.
unsafe fn test<S: Space, const PARITY: bool>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let mut truth = 0;
    for lane in lanes_of(w.mask) {
        match barrier_at::<S>(w, op, lane) {
            // SAFETY: the address was checked for this lane; `b` is a 32-bit row for a parity, else a
            // 64-bit row.
            Ok(place) => unsafe {
                let phase = Barrier(place.read()).get(PHASE);
                let complete = if PARITY {
                    phase & 1 != u64::from(w.read_lane::<u32>(op.b, lane) & 1)
                } else {
                    phase != Barrier(w.read_lane::<u64>(op.b, lane)).get(PHASE)
                };
                truth |= u32::from(complete) << lane;
            },
            Err(fault) => return w.fault(fault),
        }
    }
    if truth != w.mask {
        w.may_spin();
    }
    // SAFETY: `d` is a predicate word.
    unsafe { w.write_predicate(op.d, truth) };
    Flow::Next
}

/// Evaluates `$function::<Space, $rest>` for the instruction's space.
macro_rules! in_space {
    ($i:expr, $function:ident::<$rest:tt>) => {
        if names_cluster($i) {
            $function::<ClusterShared, $rest> as Run
        } else if named_space($i).is_some() {
            $function::<Shared<u64>, $rest> as Run
        } else {
            $function::<Generic, $rest> as Run
        }
    };
}

/// Binds an action on the barrier at address operand `at`. The following operand, or 1, is the action's
/// own; the preceding one, if any, is the result.
fn bind_action(b: &mut Binder<'_, '_>, i: &Instruction, run: Run, at: usize) -> Bound {
    let a = wide_address(b, &i.operands[at])?;
    let operand = match i.operands.get(at + 1) {
        Some(operand) => b.source(operand, ScalarType::U32)?,
        None => b.constant(1, false),
    };
    let d = if at == 0 { b.scratch(true) } else { b.result(&i.operands[0], ScalarType::B64)? };
    let slot = b.next_slot();
    let op = Op { d, a, b: operand, slot, ..b.op(run) };
    b.push(op);
    Ok(())
}

/// Binds the completion of `bytes` transactions of the barrier at an address operand, besides the
/// instruction's own effect.
pub(in crate::ops) fn bind_transactions(
    b: &mut Binder<'_, '_>,
    i: &Instruction,
    barrier: &Operand,
    bytes: u32,
) -> Bound {
    let row = b.constant(bytes.into(), false);
    bind_transactions_of(b, i, barrier, row)
}

/// [`bind_transactions`] with the number of transactions in row `operand`.
pub(in crate::ops) fn bind_transactions_of(
    b: &mut Binder<'_, '_>,
    i: &Instruction,
    barrier: &Operand,
    operand: u32,
) -> Bound {
    let a = wide_address(b, barrier)?;
    let d = b.scratch(true);
    let slot = b.next_slot();
    let op = Op { d, a, b: operand, slot, ..b.op(in_space!(i, act::<Complete>)) };
    b.push(op);
    Ok(())
}

/// [`bind_transactions_of`] in each of the CTAs in row `ctas`.
pub(in crate::ops) fn bind_transactions_in(
    b: &mut Binder<'_, '_>,
    barrier: &Operand,
    operand: u32,
    ctas: u32,
) -> Bound {
    let a = wide_address(b, barrier)?;
    let slot = b.next_slot();
    let op = Op { a, b: operand, c: ctas, slot, ..b.op(complete_in_several) };
    b.push(op);
    Ok(())
}

macro_rules! action_forms {
    ($($form:ident = $action:ident at $at:literal;)*) => {
        $(
            #[doc = concat!("Binds `", stringify!($form), "`.")]
            pub fn $form(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
                bind_action(b, i, in_space!(i, act::<$action>), $at)
            }
        )*
    };
}

action_forms! {
    mbarrier_inval = Invalidate at 0;
    mbarrier_expect_tx = Expect at 0;
    mbarrier_complete_tx = Complete at 0;
    mbarrier_arrive = Arrive at 1;
    mbarrier_arrive_count = Arrive at 1;
    mbarrier_arrive_no_complete = Arrive at 1;
    mbarrier_arrive_expect_tx = ArriveExpecting at 1;
    mbarrier_drop = Drop at 1;
    mbarrier_drop_count = Drop at 1;
    mbarrier_drop_no_complete = Drop at 1;
    mbarrier_drop_expect_tx = DropExpecting at 1;
}

/// `mbarrier.init`.
pub fn mbarrier_init(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = match i.has(Modifier::LayoutV1) {
        true => in_space!(i, act::<InitReporting>),
        false => in_space!(i, act::<Init>),
    };
    bind_action(b, i, run, 0)
}

/// `cp.async.mbarrier.arrive`: the copies are complete, so the thread arrives. Without `.noinc`, the
/// barrier also expects one more arrival, which cancels the effect.
pub fn cp_async_mbarrier_arrive(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    if i.has(Modifier::Noinc) { bind_action(b, i, in_space!(i, act::<Arrive>), 0) } else { bind_nothing(b) }
}

/// Binds a test; the second and third result are 0, because nothing is ever reported.
fn bind_test(b: &mut Binder<'_, '_>, i: &Instruction, run: Run, state: ScalarType) -> Bound {
    let a = wide_address(b, &i.operands[3])?;
    let state = b.source(&i.operands[4], state)?;
    let d = b.predicate_result(&i.operands[0])?;
    let slot = b.next_slot();
    let op = Op { d, a, b: state, slot, ..b.op(run) };
    b.push(op);
    if i.operands[1] != Operand::Absent {
        let d = b.predicate_result(&i.operands[1])?;
        let op = Op { d, ..b.op(no_report) };
        b.push(op);
    }
    if i.operands[2] != Operand::Absent {
        let d = b.result(&i.operands[2], ScalarType::B8)?;
        let a = b.constant(0, false);
        let op = Op { d, a, ..b.op(unary::<NoReport>()) };
        b.push(op);
    }
    Ok(())
}

/// d = false.
unsafe fn no_report(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: `d` is a predicate word.
    unsafe { w.write_predicate(op.d, 0) };
    Flow::Next
}

/// d = the barrier at `a` has this layout.
unsafe fn has_layout<S: Space, const LAYOUT_V1: bool>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let mut truth = 0;
    for lane in lanes_of(w.mask) {
        match barrier_at::<S>(w, op, lane) {
            // SAFETY: the address was checked for this lane.
            Ok(place) => unsafe {
                truth |= u32::from((Barrier(place.read()).get(LAYOUT) == 1) == LAYOUT_V1) << lane;
            },
            Err(fault) => return w.fault(fault),
        }
    }
    // SAFETY: `d` is a predicate word.
    unsafe { w.write_predicate(op.d, truth) };
    Flow::Next
}

/// `mbarrier.check_layout`.
pub fn mbarrier_check_layout(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = match i.has(Modifier::LayoutV1) {
        true => in_space!(i, has_layout::<true>),
        false => in_space!(i, has_layout::<false>),
    };
    let a = wide_address(b, &i.operands[1])?;
    let d = b.predicate_result(&i.operands[0])?;
    let slot = b.next_slot();
    let op = Op { d, a, slot, ..b.op(run) };
    b.push(op);
    Ok(())
}

/// `mbarrier.test_wait`.
pub fn mbarrier_test_wait(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_test(b, i, in_space!(i, test::<false>), ScalarType::B64)
}

/// `mbarrier.test_wait.parity`.
pub fn mbarrier_test_wait_parity(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_test(b, i, in_space!(i, test::<true>), ScalarType::U32)
}

/// `mbarrier.try_wait`, without a wait.
pub fn mbarrier_try_wait(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    mbarrier_test_wait(b, i)
}

/// `mbarrier.try_wait.parity`, without a wait.
pub fn mbarrier_try_wait_parity(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    mbarrier_test_wait_parity(b, i)
}

lane_functions! {
    /// Number of pending arrivals.
    PendingCount = |a: u64| -> u32 { Barrier(a).get(PENDING) as u32 }
    /// Always 0.
    NoReport = |_a: u32| -> u8 { 0 }
}

/// `mbarrier.pending_count`.
pub fn mbarrier_pending_count(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let a = b.source(&i.operands[1], ScalarType::B64)?;
    let d = b.result(&i.operands[0], ScalarType::B32)?;
    let op = Op { d, a, ..b.op(unary::<PendingCount>()) };
    b.push(op);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phase_ends_without_pending_arrivals_or_transactions() {
        let barrier = Barrier::new(3).expect(16).arrive(3);
        assert_eq!((barrier.get(PENDING), barrier.get(PHASE)), (0, 0));
        let next = barrier.complete(16);
        assert_eq!((next.get(PENDING), next.get(TRANSACTIONS), next.get(PHASE)), (3, 0, 1));
    }

    #[test]
    fn dropped_arrivals_are_not_expected_next_phase() {
        let barrier = Barrier::new(4).drop(1).arrive(3);
        assert_eq!((barrier.get(PENDING), barrier.get(EXPECTED), barrier.get(PHASE)), (3, 3, 1));
    }

    #[test]
    fn mbarrier_fields_do_not_carry() {
        let barrier = Barrier::new(0xf_ffff).complete(1).expect(1);
        assert_eq!(barrier, Barrier::new(0xf_ffff));
        assert_eq!(barrier.add(PENDING, 1).get(EXPECTED), 0xf_ffff);
    }
}
