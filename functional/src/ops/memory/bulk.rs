//! `cp.async.bulk` and `cp.reduce.async.bulk` without tensor maps (PTX manual 9.7.9.26.4). The starting
//! lane completes the copy at once, so there is nothing to wait for except the transactions of its barrier,
//! which the copy counts.

use ptx_frontend::ir::{Instruction, Operand};
use ptx_frontend::isa::{Modifier, ScalarType};

use crate::bind::{BindError, Binder};
use crate::engine::address_translation::{ClusterShared, Generic, Global, Shared, Space, lanes_of};
use crate::engine::cluster::in_cta;
use crate::engine::op::{Flow, Op, Run};
use crate::engine::warp_context::WarpContext;
use crate::fault::FaultKind;
use crate::ops::Bound;
use crate::ops::address_operand::{named_space, names_cluster, wide_address};
use crate::ops::atomic::{Update, bulk_update};
use crate::ops::control::bind_nothing;
use crate::ops::parallel::{bind_transactions_in, bind_transactions_of};

/// Required multiple of addresses and sizes, bytes.
const UNIT: u32 = 16;

/// Host addresses and size of one lane's copy.
struct Stretch {
    to: *mut u8,
    from: *const u8,
    bytes: u32,
}

/// Host address of `bytes` bytes at a multiple of 16.
pub(super) fn place<S: Space>(
    w: &mut WarpContext<'_>,
    op: &Op,
    lane: usize,
    address: u64,
    bytes: u32,
) -> Result<*mut u8, FaultKind> {
    if (address | u64::from(bytes)) & u64::from(UNIT - 1) != 0 {
        return Err(FaultKind::MisalignedAddress { address, width: UNIT, lane: lane as u32 });
    }
    let fault = FaultKind::IllegalAddress { address, width: bytes, lane: lane as u32 };
    S::resolve(w, op.slot, lane as u32, address, bytes).ok_or(fault)
}

/// Checked addresses for `c` bytes at `a` and `b` of a lane.
///
/// # Safety
/// As for [`Run`]: `a` and `b` are 64-bit rows, `c` is a 32-bit row.
unsafe fn stretch<To: Space, From: Space>(
    w: &mut WarpContext<'_>,
    op: &Op,
    lane: usize,
) -> Result<Stretch, FaultKind> {
    // SAFETY: guaranteed by the caller.
    let (to, from, bytes) = unsafe {
        (w.read_lane::<u64>(op.a, lane), w.read_lane::<u64>(op.b, lane), w.read_lane::<u32>(op.c, lane))
    };
    Ok(Stretch {
        from: place::<From>(w, op, lane, from, bytes)?,
        to: place::<To>(w, op, lane, to, bytes)?,
        bytes,
    })
}

/// `c` bytes at `a` = bytes at `b`.
unsafe fn copy<To: Space, From: Space>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    for lane in lanes_of(w.mask) {
        // SAFETY: guaranteed by the caller.
        match unsafe { stretch::<To, From>(w, op, lane) } {
            // SAFETY: both ranges were checked for this lane; they may overlap.
            Ok(Stretch { to, from, bytes }) => unsafe { to.copy_from(from, bytes as usize) },
            Err(fault) => return w.fault(fault),
        }
    }
    Flow::Next
}

/// Copies the bytes whose position modulo 16 is set in `mask`.
///
/// # Safety
/// Both ranges are valid and do not overlap.
pub(super) unsafe fn copy_bytes(to: *mut u8, from: *const u8, bytes: u32, mask: u32) {
    let is_copied = |n: &usize| mask >> (n % UNIT as usize) & 1 != 0;
    // SAFETY: guaranteed by the caller.
    (0..bytes as usize).filter(is_copied).for_each(|n| unsafe { to.add(n).write(from.add(n).read()) });
}

/// `c` bytes at `a` = bytes at `b`, where the position modulo 16 is set in `d`.
unsafe fn copy_masked(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    for lane in lanes_of(w.mask) {
        // SAFETY: the binder allocated the rows; the ranges were checked for this lane and lie in different
        // spaces.
        unsafe {
            let mask = w.read_lane::<u32>(op.d, lane);
            match stretch::<Global, Shared<u64>>(w, op, lane) {
                Ok(Stretch { to, from, bytes }) => copy_bytes(to, from, bytes, mask),
                Err(fault) => return w.fault(fault),
            }
        }
    }
    Flow::Next
}

/// `c` bytes at `a` = bytes at `b`, except the first `d` and the last `e`, which need not be allocated.
unsafe fn copy_inside(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    for lane in lanes_of(w.mask) {
        // SAFETY: the binder allocated the rows.
        let (to, from, bytes, left, right) = unsafe {
            (
                w.read_lane::<u64>(op.a, lane),
                w.read_lane::<u64>(op.b, lane),
                w.read_lane::<u32>(op.c, lane),
                w.read_lane::<u32>(op.d, lane),
                w.read_lane::<u32>(op.e, lane),
            )
        };
        if left >= UNIT || right >= UNIT {
            let what =
                format!("cp.async.bulk.ignore_oob of {left} and {right} bytes; each must be at most 15");
            return w.fault(FaultKind::Unsupported(what));
        }
        let to = match place::<Shared<u64>>(w, op, lane, to, bytes) {
            Ok(to) => to,
            Err(fault) => return w.fault(fault),
        };
        if !from.is_multiple_of(UNIT.into()) {
            return w.fault(FaultKind::MisalignedAddress { address: from, width: UNIT, lane: lane as u32 });
        }
        let (address, width) = (from.wrapping_add(left.into()), bytes.saturating_sub(left + right));
        if width == 0 {
            continue;
        }
        match Global::resolve(w, op.slot, lane as u32, address, width) {
            // SAFETY: both addresses were checked for this lane and lie in different spaces.
            Some(from) => unsafe {
                to.add(left as usize).copy_from_nonoverlapping(from, width as usize);
            },
            None => return w.fault(FaultKind::IllegalAddress { address, width, lane: lane as u32 }),
        }
    }
    Flow::Next
}

/// `c` bytes at `a`, in shared memory of each CTA whose rank is set in `d`, = bytes at `b`.
unsafe fn copy_to_several(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    for lane in lanes_of(w.mask) {
        // SAFETY: the binder allocated the rows.
        let (to, from, bytes, ctas) = unsafe {
            (
                w.read_lane::<u64>(op.a, lane),
                w.read_lane::<u64>(op.b, lane),
                w.read_lane::<u32>(op.c, lane),
                w.read_lane::<u32>(op.d, lane) & 0xffff,
            )
        };
        let from = match place::<Global>(w, op, lane, from, bytes) {
            Ok(from) => from,
            Err(fault) => return w.fault(fault),
        };
        for rank in lanes_of(ctas) {
            let to = in_cta(to, rank as u32, w.cta.rank);
            match place::<ClusterShared>(w, op, lane, to, bytes) {
                // SAFETY: both addresses were checked for this lane and lie in different spaces.
                Ok(to) => unsafe { to.copy_from_nonoverlapping(from, bytes as usize) },
                Err(fault) => return w.fault(fault),
            }
        }
    }
    Flow::Next
}

/// Updates elements in `c` bytes at `a` with the elements at `b`; `e` is 1 for shared memory.
pub(in crate::ops) unsafe fn reduce<To: Space, U: Update>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    for lane in lanes_of(w.mask) {
        // SAFETY: guaranteed by the caller.
        let Stretch { to, from, bytes } = match unsafe { stretch::<To, Shared<u64>>(w, op, lane) } {
            Ok(stretch) => stretch,
            Err(fault) => return w.fault(fault),
        };
        for n in 0..bytes as usize / size_of::<U::Value>() {
            // SAFETY: the element lies in both ranges, which were checked, and addresses are multiples of
            // 16.
            unsafe {
                let value = from.cast::<U::Value>().add(n).read();
                U::indivisibly(to.cast::<U::Value>().add(n), value, op.e != 0);
            }
        }
    }
    Flow::Next
}

/// `b` bytes at `a` = zeros.
unsafe fn clear<S: Space>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    for lane in lanes_of(w.mask) {
        // SAFETY: 64-bit rows.
        let (address, bytes) = unsafe { (w.read_lane::<u64>(op.a, lane), w.read_lane::<u64>(op.b, lane)) };
        let width = u32::try_from(bytes).unwrap_or(u32::MAX);
        if (address | bytes) % 8 != 0 {
            return w.fault(FaultKind::MisalignedAddress { address, width: 8, lane: lane as u32 });
        }
        match S::resolve(w, op.slot, lane as u32, address, width) {
            // SAFETY: the bytes were checked for this lane.
            Some(place) => unsafe { place.write_bytes(0, width as usize) },
            None => return w.fault(FaultKind::IllegalAddress { address, width, lane: lane as u32 }),
        }
    }
    Flow::Next
}

/// `st.bulk`, which can store only zeros.
pub fn st_bulk(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    if i.operands[2] != Operand::Immediate(0) {
        return Err(b.error("st.bulk can store only zeros"));
    }
    let a = wide_address(b, &i.operands[0])?;
    let bytes = b.source(&i.operands[1], ScalarType::U64)?;
    let run = if named_space(i).is_some() { clear::<Shared<u64>> } else { clear::<Generic> as Run };
    let slot = b.next_slot();
    let op = Op { a, b: bytes, slot, ..b.op(run) };
    b.push(op);
    Ok(())
}

/// Binds a copy with its size in operand 2; returns the row of the size.
fn bind_copy(b: &mut Binder<'_, '_>, i: &Instruction, run: Run, in_shared: bool) -> Result<u32, BindError> {
    let a = wide_address(b, &i.operands[0])?;
    let from = wide_address(b, &i.operands[1])?;
    let bytes = b.source(&i.operands[2], ScalarType::U32)?;
    let slot = b.next_slot();
    let op = Op { a, b: from, c: bytes, e: u32::from(in_shared), slot, ..b.op(run) };
    b.push(op);
    Ok(bytes)
}

/// `cp.async.bulk` from global to shared memory.
pub fn cp_async_bulk_load(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run =
        if names_cluster(i) { copy::<ClusterShared, Global> } else { copy::<Shared<u64>, Global> as Run };
    let bytes = bind_copy(b, i, run, true)?;
    bind_transactions_of(b, i, &i.operands[3], bytes)
}

/// `cp.async.bulk.ignore_oob`.
pub fn cp_async_bulk_load_inside(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let a = wide_address(b, &i.operands[0])?;
    let from = wide_address(b, &i.operands[1])?;
    let [bytes, left, right] = [2, 3, 4].map(|n| b.source(&i.operands[n], ScalarType::U32));
    let (bytes, left, right) = (bytes?, left?, right?);
    let slot = b.next_slot();
    let op = Op { d: left, a, b: from, c: bytes, e: right, slot, ..b.op(copy_inside) };
    b.push(op);
    bind_transactions_of(b, i, &i.operands[5], bytes)
}

/// `cp.async.bulk.multicast::cluster`.
pub fn cp_async_bulk_multicast(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let a = wide_address(b, &i.operands[0])?;
    let from = wide_address(b, &i.operands[1])?;
    let bytes = b.source(&i.operands[2], ScalarType::U32)?;
    let ctas = b.source(&i.operands[4], ScalarType::B16)?;
    let slot = b.next_slot();
    let op = Op { d: ctas, a, b: from, c: bytes, slot, ..b.op(copy_to_several) };
    b.push(op);
    bind_transactions_in(b, &i.operands[3], bytes, ctas)
}

/// `cp.async.bulk` within the shared memory of a cluster.
pub fn cp_async_bulk_shared(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let bytes = bind_copy(b, i, copy::<ClusterShared, Shared<u64>>, true)?;
    bind_transactions_of(b, i, &i.operands[3], bytes)
}

/// `cp.async.bulk` from shared to global memory.
pub fn cp_async_bulk_store(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_copy(b, i, copy::<Global, Shared<u64>>, false).map(|_| ())
}

/// Binds a copy of bytes selected by operand `mask`.
fn bind_masked(b: &mut Binder<'_, '_>, i: &Instruction, mask: usize) -> Bound {
    let a = wide_address(b, &i.operands[0])?;
    let from = wide_address(b, &i.operands[1])?;
    let bytes = b.source(&i.operands[2], ScalarType::U32)?;
    let mask = b.source(&i.operands[mask], ScalarType::B16)?;
    let slot = b.next_slot();
    let op = Op { d: mask, a, b: from, c: bytes, slot, ..b.op(copy_masked) };
    b.push(op);
    Ok(())
}

/// `cp.async.bulk.cp_mask`.
pub fn cp_async_bulk_store_masked(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_masked(b, i, 3)
}

/// `cp.async.bulk.cp_mask` with a cache policy.
pub fn cp_async_bulk_store_masked_hint(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_masked(b, i, 4)
}

fn reduction<To: Space>(b: &Binder<'_, '_>, i: &Instruction) -> Result<Run, BindError> {
    let ty = b.last_type(i)?;
    let how = i.modifiers().find(|m| {
        use Modifier::{Add, And, Dec, Inc, Max, Min, Or, Xor};
        matches!(m, Add | And | Dec | Inc | Max | Min | Or | Xor)
    });
    let run = how.and_then(|how| bulk_update::<To>(how, ty));
    run.ok_or_else(|| b.error(format!("no such reduction of .{} exists", ty.name())))
}

/// `cp.reduce.async.bulk` to global memory.
pub fn cp_reduce_async_bulk(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = reduction::<Global>(b, i)?;
    bind_copy(b, i, run, false).map(|_| ())
}

/// `cp.reduce.async.bulk` within the shared memory of a cluster.
pub fn cp_reduce_async_bulk_shared(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = reduction::<ClusterShared>(b, i)?;
    let bytes = bind_copy(b, i, run, true)?;
    bind_transactions_of(b, i, &i.operands[3], bytes)
}

/// `cp.async.bulk.commit_group`.
pub fn cp_async_bulk_commit_group(b: &mut Binder<'_, '_>, _: &Instruction) -> Bound {
    bind_nothing(b)
}

/// `cp.async.bulk.wait_group`.
pub fn cp_async_bulk_wait_group(b: &mut Binder<'_, '_>, _: &Instruction) -> Bound {
    bind_nothing(b)
}
