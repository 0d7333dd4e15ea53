//! `multimem`: accesses to memory of several devices by one address (PTX manual 9.7.9.14, and bulk copies
//! to such addresses). Values are combined in the device order of [`Memory`](crate::memory::Memory).
//!
//! The manual leaves the rounding of 8-bit float sums open. Here each step rounds to the nearest number of
//! the type and saturates, like `cvt`.

use std::marker::PhantomData;

use ptx_frontend::ir::{Instruction, Operand};
use ptx_frontend::isa::{Modifier, ScalarType};

use super::bulk::{copy_bytes, place};
use super::{elements, push_copy};
use crate::bind::{BindError, Binder};
use crate::engine::address_translation::{Shared, lanes_of};
use crate::engine::op::{Flow, Op, Run};
use crate::engine::warp_context::WarpContext;
use crate::fault::FaultKind;
use crate::number::half::{F16, HalfFormat};
use crate::ops::Bound;
use crate::ops::address_operand::wide_address;
use crate::ops::atomic::{Update, reduction_of_replicas, replicas_bulk_update, replicas_update};
use crate::ops::convert::{Eights, narrow_to_eights, widen_eights};
use crate::ops::float::extremum::extreme_half;

/// Combination of the values of several devices.
pub(in crate::ops) trait Reduction: 'static {
    /// Value type.
    type Element: Copy + Default;
    /// Combination of all values.
    fn combined(values: impl Iterator<Item = Self::Element>) -> Self::Element;
}

/// Stepwise update as by atomic operations; subnormal numbers are kept.
pub(in crate::ops) struct Stepwise<U>(PhantomData<U>);

impl<U: Update> Reduction for Stepwise<U> {
    type Element = U::Value;
    fn combined(values: impl Iterator<Item = U::Value>) -> U::Value {
        values.reduce(|all, value| U::apply(all, value, true)).unwrap_or_default()
    }
}

/// Sum of halves in single precision, rounded once.
struct SingleSum<F>(PhantomData<F>);

impl<F: HalfFormat> Reduction for SingleSum<F> {
    type Element = u16;
    fn combined(values: impl Iterator<Item = u16>) -> u16 {
        F::narrow(values.map(F::widen).reduce(|all, value| all + value).unwrap_or_default())
    }
}

/// Sum of 8-bit floats; if `WIDE`, summed in half precision and rounded again at the end.
struct EightsSum<F, const WIDE: bool>(PhantomData<F>);

impl<F: Eights, const WIDE: bool> Reduction for EightsSum<F, WIDE> {
    type Element = u8;
    fn combined(values: impl Iterator<Item = u8>) -> u8 {
        let round = |sum: f32| match WIDE {
            true => F16::widen(F16::narrow(sum)),
            false => widen_eights::<F>(narrow_to_eights::<F>(sum)),
        };
        let sum = values.map(widen_eights::<F>).reduce(|all, value| round(all + value));
        narrow_to_eights::<F>(sum.unwrap_or_default())
    }
}

/// Minimum or maximum of 8-bit floats.
struct EightsExtreme<F, const LARGER: bool>(PhantomData<F>);

impl<F: Eights, const LARGER: bool> Reduction for EightsExtreme<F, LARGER> {
    type Element = u8;
    fn combined(values: impl Iterator<Item = u8>) -> u8 {
        let halves = values.map(|value| F16::narrow(widen_eights::<F>(value)));
        let most = halves.reduce(|most, value| extreme_half::<F16>(LARGER, most, value));
        narrow_to_eights::<F>(F16::widen(most.unwrap_or_default()))
    }
}

/// Replica addresses of a lane's access, one per device.
fn replicas(
    w: &WarpContext<'_>,
    lane: usize,
    address: u64,
    bytes: u32,
    unit: u32,
) -> Result<Vec<u64>, FaultKind> {
    if address & u64::from(unit - 1) != 0 {
        return Err(FaultKind::MisalignedAddress { address, width: unit, lane: lane as u32 });
    }
    let found = w.grid.owner.memory.replicas(address, bytes);
    match found.is_empty() {
        true => Err(FaultKind::IllegalAddress { address, width: bytes, lane: lane as u32 }),
        false => Ok(found),
    }
}

/// Replica addresses of a register of `c` bytes, at offset `immediate` of the `e` bytes at `a`.
///
/// # Safety
/// As for [`Run`]: `a` is a 64-bit row.
unsafe fn places(w: &WarpContext<'_>, op: &Op, lane: usize) -> Result<Vec<u64>, FaultKind> {
    // SAFETY: guaranteed by the caller.
    let address = unsafe { w.read_lane::<u64>(op.a, lane) };
    let mut places = replicas(w, lane, address, op.e, op.e)?;
    places.iter_mut().for_each(|place| *place += op.immediate);
    Ok(places)
}

/// Bytes of a lane's register of `c` bytes.
///
/// # Safety
/// As for [`Run`]: `b` is a 64-bit row if `c` is 8, else a 32-bit row.
unsafe fn value(w: &WarpContext<'_>, op: &Op, lane: usize) -> [u8; 8] {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match op.c {
            8 => w.read_lane::<u64>(op.b, lane),
            _ => w.read_lane::<u32>(op.b, lane).into(),
        }
    }
    .to_le_bytes()
}

/// `d` = elements of a register, each combined from its replicas.
pub(in crate::ops) unsafe fn load_combined<R: Reduction>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    for lane in lanes_of(w.mask) {
        // SAFETY: the binder allocated the rows, the bytes of each replica are valid, and elements are
        // aligned.
        unsafe {
            let places = match places(w, op, lane) {
                Ok(places) => places,
                Err(fault) => return w.fault(fault),
            };
            let mut combined = [0; 8];
            for at in (0..op.c as usize).step_by(size_of::<R::Element>()) {
                let values =
                    places.iter().map(|place| (*place as *const u8).add(at).cast::<R::Element>().read());
                combined.as_mut_ptr().add(at).cast::<R::Element>().write_unaligned(R::combined(values));
            }
            let combined = u64::from_le_bytes(combined);
            match op.c {
                8 => w.write_lane(op.d, lane, combined),
                _ => w.write_lane(op.d, lane, combined as u32),
            }
        }
    }
    Flow::Next
}

/// Stores a register to each of its replicas.
unsafe fn store(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    for lane in lanes_of(w.mask) {
        // SAFETY: the binder allocated the rows, and the bytes of each replica are valid.
        unsafe {
            let value = value(w, op, lane);
            match places(w, op, lane) {
                Ok(places) => {
                    for place in places {
                        value.as_ptr().copy_to_nonoverlapping(place as *mut u8, op.c as usize);
                    }
                }
                Err(fault) => return w.fault(fault),
            }
        }
    }
    Flow::Next
}

/// Updates the elements of each replica with those of the register.
pub(in crate::ops) unsafe fn update<U: Update>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    for lane in lanes_of(w.mask) {
        // SAFETY: the binder allocated the rows, the bytes of each replica are valid, and elements are
        // aligned.
        unsafe {
            let value = value(w, op, lane);
            let places = match places(w, op, lane) {
                Ok(places) => places,
                Err(fault) => return w.fault(fault),
            };
            for at in (0..op.c as usize).step_by(size_of::<U::Value>()) {
                let with = value.as_ptr().add(at).cast::<U::Value>().read_unaligned();
                for place in &places {
                    U::indivisibly((*place as *mut u8).add(at).cast(), with, false);
                }
            }
        }
    }
    Flow::Next
}

/// Destinations and source of a lane's bulk copy of `c` bytes.
///
/// # Safety
/// As for [`Run`]: `a` and `b` are 64-bit rows, `c` is a 32-bit row.
unsafe fn stretches(
    w: &mut WarpContext<'_>,
    op: &Op,
    lane: usize,
) -> Result<(Vec<u64>, *mut u8, u32), FaultKind> {
    // SAFETY: guaranteed by the caller.
    let (to, from, bytes) = unsafe {
        (w.read_lane::<u64>(op.a, lane), w.read_lane::<u64>(op.b, lane), w.read_lane::<u32>(op.c, lane))
    };
    let from = place::<Shared<u64>>(w, op, lane, from, bytes)?;
    Ok((replicas(w, lane, to, bytes, 16)?, from, bytes))
}

/// `c` bytes at `a`, in each device's memory, = bytes at `b`, where the position modulo 16 is set in `d`.
unsafe fn copy(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    for lane in lanes_of(w.mask) {
        // SAFETY: the binder allocated the rows, and the ranges were checked for this lane.
        unsafe {
            let mask = w.read_lane::<u32>(op.d, lane);
            match stretches(w, op, lane) {
                Ok((places, from, bytes)) => {
                    for place in places {
                        copy_bytes(place as *mut u8, from, bytes, mask);
                    }
                }
                Err(fault) => return w.fault(fault),
            }
        }
    }
    Flow::Next
}

/// Updates elements in `c` bytes at `a`, in each device's memory, with the elements at `b`.
pub(in crate::ops) unsafe fn bulk_update<U: Update>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    for lane in lanes_of(w.mask) {
        // SAFETY: the binder allocated the rows; the ranges were checked for this lane, and addresses are
        // multiples of 16.
        unsafe {
            let (places, from, bytes) = match stretches(w, op, lane) {
                Ok(stretches) => stretches,
                Err(fault) => return w.fault(fault),
            };
            for n in 0..bytes as usize / size_of::<U::Value>() {
                let with = from.cast::<U::Value>().add(n).read();
                for place in &places {
                    U::indivisibly((*place as *mut U::Value).add(n), with, false);
                }
            }
        }
    }
    Flow::Next
}

/// Type of each number in a register of this type.
fn element(ty: ScalarType) -> ScalarType {
    match ty {
        ScalarType::F16x2 => ScalarType::F16,
        ScalarType::Bf16x2 => ScalarType::Bf16,
        ScalarType::E4m3x2 | ScalarType::E4m3x4 => ScalarType::E4m3,
        ScalarType::E5m2x2 | ScalarType::E5m2x4 => ScalarType::E5m2,
        single => single,
    }
}

fn operation(b: &Binder<'_, '_>, i: &Instruction) -> Result<Modifier, BindError> {
    use Modifier::{Add, And, Dec, Inc, Max, Min, Or, Xor};
    let named = i.modifiers().find(|m| matches!(m, Add | And | Dec | Inc | Max | Min | Or | Xor));
    named.ok_or_else(|| b.error("the instruction names no operation"))
}

fn eights_function<F: Eights>(how: Modifier, wide: bool) -> Run {
    match (how, wide) {
        (Modifier::Min, _) => load_combined::<EightsExtreme<F, false>>,
        (Modifier::Max, _) => load_combined::<EightsExtreme<F, true>>,
        (_, true) => load_combined::<EightsSum<F, true>>,
        (_, false) => load_combined::<EightsSum<F, false>>,
    }
}

fn load_function(how: Modifier, ty: ScalarType, i: &Instruction) -> Option<Run> {
    use crate::number::half::{Bf16, F16};
    use crate::ops::convert::{E4m3, E5m2};
    Some(match ty {
        ScalarType::E4m3 => eights_function::<E4m3>(how, i.has(Modifier::AccF16)),
        ScalarType::E5m2 => eights_function::<E5m2>(how, i.has(Modifier::AccF16)),
        ScalarType::F16 if i.has(Modifier::AccF32) => load_combined::<SingleSum<F16>>,
        ScalarType::Bf16 if i.has(Modifier::AccF32) => load_combined::<SingleSum<Bf16>>,
        _ => return reduction_of_replicas(how, ty),
    })
}

/// Binds an access with one op per register, with the address in operand `address` and the registers in
/// `registers`.
fn bind(b: &mut Binder<'_, '_>, i: &Instruction, address: usize, registers: usize, run: Run) -> Bound {
    let ty = b.last_type(i)?;
    let registers: Vec<Operand> = elements(&i.operands[registers]);
    let mut a = wide_address(b, &i.operands[address])?;
    let loads = address > 0;
    if loads && registers.len() > 1 {
        // A result may overlay the address, which later ops need.
        let kept = b.scratch(true);
        push_copy(b, kept, a, true);
        a = kept;
    }
    let (bytes, slot) = (ty.bytes(), b.next_slot());
    for (n, register) in registers.iter().enumerate() {
        let (d, value) = match loads {
            true => (b.result(register, ty)?, 0),
            false => (0, b.source(register, ty)?),
        };
        let immediate = u64::from(bytes) * n as u64;
        let whole = bytes * registers.len() as u32;
        let op = Op { d, a, b: value, c: bytes, e: whole, immediate, slot, ..b.op(run) };
        b.push(op);
    }
    Ok(())
}

fn no_operation(b: &Binder<'_, '_>, ty: ScalarType) -> BindError {
    b.error(format!("no such reduction of .{} exists", ty.name()))
}

/// `multimem.ld_reduce` of integers.
pub fn multimem_ld_reduce(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = element(b.last_type(i)?);
    let run = load_function(operation(b, i)?, ty, i).ok_or_else(|| no_operation(b, ty))?;
    bind(b, i, 1, 0, run)
}

/// `multimem.ld_reduce` of floating-point numbers.
pub fn multimem_ld_reduce_float(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    multimem_ld_reduce(b, i)
}

/// `multimem.st`.
pub fn multimem_st(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, 0, 1, store)
}

/// `multimem.red` of integers.
pub fn multimem_red(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = element(b.last_type(i)?);
    let run = replicas_update(operation(b, i)?, ty).ok_or_else(|| no_operation(b, ty))?;
    bind(b, i, 0, 1, run)
}

/// `multimem.red` of floating-point numbers.
pub fn multimem_red_float(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    multimem_red(b, i)
}

/// Binds a bulk copy with its size in operand 2 and its mask in a row.
fn bind_bulk(b: &mut Binder<'_, '_>, i: &Instruction, run: Run, mask: u32) -> Bound {
    let a = wide_address(b, &i.operands[0])?;
    let from = wide_address(b, &i.operands[1])?;
    let bytes = b.source(&i.operands[2], ScalarType::U32)?;
    let slot = b.next_slot();
    let op = Op { d: mask, a, b: from, c: bytes, slot, ..b.op(run) };
    b.push(op);
    Ok(())
}

/// `multimem.cp.async.bulk`.
pub fn multimem_cp_async_bulk(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let all = b.constant(0xffff, false);
    bind_bulk(b, i, copy, all)
}

/// `multimem.cp.async.bulk.cp_mask`.
pub fn multimem_cp_async_bulk_masked(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let mask = b.source(&i.operands[3], ScalarType::B16)?;
    bind_bulk(b, i, copy, mask)
}

/// `multimem.cp.reduce.async.bulk`.
pub fn multimem_cp_reduce_async_bulk(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    let run = replicas_bulk_update(operation(b, i)?, ty).ok_or_else(|| no_operation(b, ty))?;
    let unused = b.constant(0, false);
    bind_bulk(b, i, run, unused)
}
