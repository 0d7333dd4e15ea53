//! `atom.exch` and `atom.cas` of 128 bits, by the host's 16-byte compare-and-exchange.

use ptx_frontend::ir::{Instruction, Operand};

use super::{Bound, Locate, target};
use crate::bind::{BindError, Binder};
use crate::engine::address_translation::lanes_of;
use crate::engine::isa::{Isa, per_level};
use crate::engine::lane::Bits;
use crate::engine::op::{Flow, Op};
use crate::engine::warp_context::WarpContext;
use crate::ops::mov::halves_128;

const BYTES: u32 = 16;

/// True if the host has such an instruction.
fn host_has_it() -> bool {
    #[cfg(target_arch = "x86_64")]
    let has = std::arch::is_x86_feature_detected!("cmpxchg16b");
    #[cfg(not(target_arch = "x86_64"))]
    let has = false;
    has
}

/// Atomically replaces 16 aligned bytes by `new` if they equal `old`, and returns the old bytes.
///
/// # Safety
/// `at` points to 16 live, aligned bytes, and [`host_has_it`] holds.
#[cfg(target_arch = "x86_64")]
unsafe fn compare_exchange(at: *mut u128, old: u128, new: u128) -> u128 {
    let (mut low, mut high) = (old as u64, (old >> 64) as u64);
    // SAFETY: guaranteed by the caller. The compiler reserves rbx, which takes the low half, so the code
    // restores it. The compiler's intrinsic is no alternative: inlined for another level, it calls a
    // library that is absent.
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

/// Never called: no form that needs it is bound on such a host.
///
/// # Safety
/// None.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn compare_exchange(_: *mut u128, old: u128, _: u128) -> u128 {
    old
}

/// Value of a lane in a 128-bit register: two 64-bit rows, low halves first.
///
/// # Safety
/// `row` is the first of two such rows of the frame.
unsafe fn read(w: &WarpContext<'_>, row: u32, lane: usize) -> u128 {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let (low, high) = (w.read_lane::<u64>(row, lane), w.read_lane::<u64>(row + u64::ROW, lane));
        u128::from(low) | u128::from(high) << 64
    }
}

/// d = 16 bytes at `a`, replaced by `c`; if `CONDITIONAL`, only where they equal `b`.
#[inline(always)]
unsafe fn replace<I: Isa, const CONDITIONAL: bool>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: the binder allocated the rows and checked the host's ability; the addresses were checked.
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
unsafe fn exchange_body<I: Isa>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: guaranteed by the caller.
    unsafe { replace::<I, false>(w, op) }
}

#[inline(always)]
unsafe fn compare_and_swap_body<I: Isa>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: guaranteed by the caller.
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
        return Err(b.error("the host processor lacks a 16-byte compare-and-exchange (cmpxchg16b)"));
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
