//! `atom.exch` and `atom.cas` of 128 bits, with the host's own compare-and-exchange of 16 bytes.

use ptx_frontend::ir::{Instruction, Operand};

use super::{Bound, Locate, target};
use crate::bind::{BindError, Binder};
use crate::engine::access::lanes_of;
use crate::engine::isa::{Isa, per_level};
use crate::engine::lane::Bits;
use crate::engine::op::{Flow, Op};
use crate::engine::running::Running;
use crate::ops::memory::halves_128;

const BYTES: u32 = 16;

/// Can this host do it?
fn host_has_it() -> bool {
    #[cfg(target_arch = "x86_64")]
    let has = std::arch::is_x86_feature_detected!("cmpxchg16b");
    #[cfg(not(target_arch = "x86_64"))]
    let has = false;
    has
}

/// Replaces 16 aligned bytes by `new` if they are `old`, indivisibly; what they were.
///
/// # Safety
/// `at` points to 16 live bytes, aligned; [`host_has_it`].
#[cfg(target_arch = "x86_64")]
unsafe fn compare_exchange(at: *mut u128, old: u128, new: u128) -> u128 {
    let (mut low, mut high) = (old as u64, (old >> 64) as u64);
    // SAFETY: the caller's promise. The compiler keeps rbx, which takes the low half, to itself: it is put back. (Its
    // own intrinsic becomes a call of a library that is not there when it is inlined for another level.)
    unsafe {
        std::arch::asm!(
            "xchg rsi, rbx",
            "lock cmpxchg16b [rdi]",
            "mov rbx, rsi",
            in("rdi") at,
            inout("rsi") new as u64 => _,
            in("rcx") (new >> 64) as u64,
            inout("rax") low,
            inout("rdx") high,
            options(nostack),
        );
    }
    u128::from(low) | u128::from(high) << 64
}

/// No form that needs it is bound on such a host.
///
/// # Safety
/// None.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn compare_exchange(_: *mut u128, old: u128, _: u128) -> u128 {
    old
}

/// What a lane of a 128-bit register holds: two rows of double words, low halves first.
///
/// # Safety
/// `row` is the first of two such rows of the frame.
unsafe fn read(w: &Running<'_>, row: u32, lane: usize) -> u128 {
    // SAFETY: the caller's promise.
    unsafe {
        let (low, high) = (w.read_lane::<u64>(row, lane), w.read_lane::<u64>(row + u64::ROW, lane));
        u128::from(low) | u128::from(high) << 64
    }
}

/// d = 16 bytes at `a`, replaced by `c`, or if `CONDITIONAL` only where they are `b`.
#[inline(always)]
unsafe fn replace<I: Isa, const CONDITIONAL: bool>(w: &mut Running<'_>, op: &Op) -> Flow {
    // SAFETY: rows as the binder gave them; the places were checked; the binder has asked for the host's ability.
    unsafe {
        let places = match I::outlined::<Locate>(w, op, BYTES) {
            Ok(places) => places,
            Err(fault) => return w.fault(fault),
        };
        for lane in lanes_of(w.mask) {
            let at = places.at[lane] as *mut u128;
            let new = read(w, op.c, lane);
            let mut expected = if CONDITIONAL { read(w, op.b, lane) } else { 0 };
            let found = loop {
                let found = compare_exchange(at, expected, new);
                if CONDITIONAL || found == expected {
                    break found;
                }
                expected = found;
            };
            w.write_lane(op.d, lane, found as u64);
            w.write_lane(op.d + u64::ROW, lane, (found >> 64) as u64);
        }
    }
    w.may_spin();
    Flow::Next
}

#[inline(always)]
unsafe fn exchange_body<I: Isa>(w: &mut Running<'_>, op: &Op) -> Flow {
    // SAFETY: the caller's promise.
    unsafe { replace::<I, false>(w, op) }
}

#[inline(always)]
unsafe fn compare_and_swap_body<I: Isa>(w: &mut Running<'_>, op: &Op) -> Flow {
    // SAFETY: the caller's promise.
    unsafe { replace::<I, true>(w, op) }
}

per_level! {
    fn exchange<> = exchange_body
}
per_level! {
    fn compare_and_swap<> = compare_and_swap_body
}

/// Row of a 128-bit operand.
fn row(b: &Binder<'_, '_>, operand: &Operand) -> Result<u32, BindError> {
    Ok(halves_128(b, operand)?[0])
}

fn bind(b: &mut Binder<'_, '_>, i: &Instruction, expected: Option<&Operand>, new: &Operand) -> Bound {
    if !host_has_it() {
        return Err(b.error("this host has no compare-and-exchange of 16 bytes"));
    }
    let (e, a, offset) = target(b, i, &i.operands[1])?;
    let c = row(b, new)?;
    let second = expected.map_or(Ok(c), |expected| row(b, expected))?;
    let d = match &i.operands[0] {
        Operand::Discard => b.scratch_128(),
        d => row(b, d)?,
    };
    let slot = b.next_slot();
    let run = if expected.is_some() { compare_and_swap() } else { exchange() };
    let op = Op { d, a, b: second, c, e, immediate: offset as u64, slot, ..b.op(run) };
    b.push(op);
    Ok(())
}

/// `atom.exch.b128`.
pub fn atom_exch_128(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, None, &i.operands[2])
}

/// `atom.cas.b128`.
pub fn atom_cas_128(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, Some(&i.operands[2]), &i.operands[3])
}
