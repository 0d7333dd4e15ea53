//! Atomic operations on memory (PTX manual 9.7.13.5, 9.7.13.6).
//!
//! All addresses are checked first; then the lanes operate in ascending order. Shared memory belongs to a
//! cluster, which one thread executes, and needs no host atomics. Global memory needs them unless the
//! device has one worker.

mod asynchronous;
mod bulk;
mod update;
mod vector;
mod wide;

pub use asynchronous::*;
pub(in crate::ops) use bulk::{
    bulk_update, element_update, reduction_of_replicas, replicas_bulk_update, replicas_update,
};
pub(in crate::ops) use update::Update;
pub use vector::*;
pub use wide::*;

use half::{bf16, f16};
use ptx_frontend::ir::{Instruction, Operand};
use ptx_frontend::isa::{Modifier, ScalarType};

use self::update::{Add, AddFloat, And, Cell, Decrement, Exchange, Increment, Max, Min, Or, Xor};
use super::Bound;
use super::address_operand::{AccessSpace, AddressOperand, address_operand};
use crate::bind::{BindError, Binder};
use crate::engine::address_translation::{
    Generic, Global, GlobalNarrow, Pattern, Regular, Shared, Space, addresses, lanes_of, pattern, regular,
    resolve_aligned,
};
use crate::engine::isa::{Isa, Outlined, per_level};
use crate::engine::lane::{Lane, WARP, array_of};
use crate::engine::machine::Deferral;
use crate::engine::native::{Form, Forms, Update as Native, UpdateKind as Kind};
use crate::engine::op::{Flow, Op, Run};
use crate::engine::warp_context::WarpContext;
use crate::fault::FaultKind;
use warp_stream::host_cache;

/// Host addresses of an atomic op's lanes.
struct ReservedAddresses {
    /// Host addresses of the executing lanes.
    at: [u64; WARP],
    /// True if all lanes execute, on one address.
    uniform: bool,
    /// True for shared memory.
    shared: bool,
    /// True if no other thread accesses the memory.
    private: bool,
}

impl ReservedAddresses {
    /// Prefetches the lines of these lanes together: each atomic access would otherwise wait for its own
    /// line.
    #[inline(always)]
    fn fetch(&self, mask: u32) {
        for lane in lanes_of(mask) {
            host_cache::fetch_at(self.at[lane] as *const u8);
        }
    }
}

/// Space and address width of an atomic op, as a field of the op.
pub(crate) const SHARED: u32 = 0;
pub(crate) const SHARED_WIDE: u32 = 1;
pub(crate) const GLOBAL: u32 = 2;
pub(crate) const GENERIC: u32 = 3;
const GLOBAL_NARROW: u32 = 4;
/// Flag for atomics in which the host's own threads may take part (`.sys`).
const SYSTEM: u32 = 8;

/// Translates and checks the addresses of all executing lanes; `e` is the space.
struct Locate;

impl Outlined for Locate {
    type Argument = u32;
    type Result = Result<ReservedAddresses, FaultKind>;

    #[inline(always)]
    unsafe fn run<I: Isa>(
        w: &mut WarpContext<'_>,
        op: &Op,
        width: u32,
    ) -> Result<ReservedAddresses, FaultKind> {
        // SAFETY: the binder allocated a row as wide as the space's addresses.
        unsafe {
            match op.e & !SYSTEM {
                SHARED => locate::<I, Shared<u32>>(w, op, width, Some(true)),
                SHARED_WIDE => locate::<I, Shared<u64>>(w, op, width, Some(true)),
                GLOBAL => locate::<I, Global>(w, op, width, Some(false)),
                GENERIC => locate::<I, Generic>(w, op, width, None),
                _ => locate::<I, GlobalNarrow>(w, op, width, Some(false)),
            }
        }
    }
}

/// Translates addresses of one space; `shared` is set if all of them are known to be or not to be shared.
///
/// # Safety
/// As for [`Run`]: `a` is a row of the space's addresses.
#[inline(always)]
unsafe fn locate<I: Isa, S: Space>(
    w: &mut WarpContext<'_>,
    op: &Op,
    width: u32,
    shared: Option<bool>,
) -> Result<ReservedAddresses, FaultKind> {
    // SAFETY: guaranteed by the caller.
    let (mut at, regular) = unsafe { (addresses::<S>(w, op), regular::<I, S>(w, op, width)) };
    let mut uniform = false;
    match regular {
        Some(Regular::Strided(first)) => {
            at = array_of(|lane| first as u64 + lane as u64 * u64::from(width));
        }
        Some(Regular::Uniform(place)) => {
            at = [place as u64; WARP];
            uniform = true;
        }
        None => match pattern::<I, S>(w, op, &at, width) {
            Pattern::Scattered(scattered) => {
                at = array_of(|lane| scattered.place(lane, at[lane]));
            }
            Pattern::Unchecked => {
                for lane in lanes_of(w.mask) {
                    at[lane] = resolve_aligned::<S>(w, op.slot, lane, at[lane], width)? as u64;
                }
            }
        },
    }
    let (start, bytes) = w.cluster_extent();
    let in_shared = |lane: usize| at[lane].wrapping_sub(start) < bytes;
    let shared = shared.unwrap_or_else(|| lanes_of(w.mask).all(in_shared));
    let private = shared || (w.grid.has_one_worker && op.e & SYSTEM == 0);
    Ok(ReservedAddresses { at, uniform, shared, private })
}

/// Updates the value at the address with `b`; `d` receives the old value if `A` keeps it.
#[inline(always)]
unsafe fn update_body<I: Isa, U: Update, A: Answer>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: the binder allocated the rows. The addresses of executing lanes were checked to be aligned
    // and inside an allocation or the CTA's shared memory.
    unsafe {
        let b = w.read_row::<<U::Value as Lane>::Bits>(op.b);
        let places = match I::outlined::<Locate>(w, op, size_of::<U::Value>() as u32) {
            Ok(places) => places,
            Err(fault) => return w.fault(fault),
        };
        let shared = places.shared;
        let place = |lane: usize| places.at[lane] as *mut U::Value;
        let value = |lane: usize| U::Value::from_bits(b[lane]);
        let mut old = [<U::Value as Lane>::Bits::default(); WARP];
        if !shared && !places.uniform && !places.private {
            places.fetch(w.mask);
        }
        if places.uniform && U::MERGES {
            let all = (1..WARP).fold(value(0), |all, lane| U::apply(all, value(lane), shared));
            let mut now = if places.private {
                let now = place(0).read();
                place(0).write(U::apply(now, all, shared));
                now
            } else {
                U::indivisibly(place(0), all, shared)
            };
            if A::WANTED {
                for (lane, old) in old.iter_mut().enumerate() {
                    *old = now.to_bits();
                    now = U::apply(now, value(lane), shared);
                }
            }
        } else if places.private {
            let mut update = |lane: usize| {
                let now = place(lane).read();
                place(lane).write(U::apply(now, value(lane), shared));
                old[lane] = now.to_bits();
            };
            if w.mask == u32::MAX {
                (0..WARP).for_each(update);
            } else {
                lanes_of(w.mask).for_each(&mut update);
            }
        } else {
            for lane in lanes_of(w.mask) {
                old[lane] = U::indivisibly(place(lane), value(lane), shared).to_bits();
            }
        }
        if A::WANTED {
            w.write_row(op.d, &old);
        }
    }
    if A::SPINS {
        w.may_spin();
    }
    Flow::Next
}

/// Use of the old value.
trait Answer: 'static {
    /// True if `d` receives the old value.
    const WANTED: bool;
    /// True for code that may spin on the value of a lock.
    const SPINS: bool;
}
struct Dropped;
struct Kept;
struct Awaited;
impl Answer for Dropped {
    const WANTED: bool = false;
    const SPINS: bool = false;
}
impl Answer for Kept {
    const WANTED: bool = true;
    const SPINS: bool = false;
}
impl Answer for Awaited {
    const WANTED: bool = true;
    const SPINS: bool = true;
}

per_level! {
    fn update<U: Update, A: Answer> = update_body
}

/// Replaces the value at the address by `c` if it equals `b`; `d` receives the old value if `A` keeps it.
#[inline(always)]
unsafe fn compare_and_swap_body<I: Isa, T: Cell, A: Answer>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: as in `update_body`.
    unsafe {
        let b = w.read_row::<T::Bits>(op.b);
        let c = w.read_row::<T::Bits>(op.c);
        let places = match I::outlined::<Locate>(w, op, size_of::<T>() as u32) {
            Ok(places) => places,
            Err(fault) => return w.fault(fault),
        };
        let mut old = [T::Bits::default(); WARP];
        for lane in lanes_of(w.mask) {
            let place = places.at[lane] as *mut T;
            let (expected, new) = (T::from_bits(b[lane]), T::from_bits(c[lane]));
            let found = if places.private {
                let found = place.read();
                if found == expected {
                    place.write(new);
                }
                found
            } else {
                match T::compare_exchange(place, expected, new) {
                    Ok(found) | Err(found) => found,
                }
            };
            old[lane] = found.to_bits();
        }
        if A::WANTED {
            w.write_row(op.d, &old);
        }
    }
    if A::SPINS {
        w.may_spin();
    }
    Flow::Next
}

per_level! {
    fn compare_and_swap<T: Cell, A: Answer> = compare_and_swap_body
}

/// Function of a compare-and-swap with an awaited or dropped old value.
fn compare_and_swap_function<T: Cell>(wanted: bool) -> Run {
    if wanted { compare_and_swap::<T, Awaited>() } else { compare_and_swap::<T, Dropped>() }
}

/// Function of an update with a kept or dropped old value.
fn update_function<U: Update>(wanted: bool) -> Run {
    if wanted { update::<U, Kept>() } else { update::<U, Dropped>() }
}

/// Space field, row and offset of an atomic op's addresses.
fn target(b: &mut Binder<'_, '_>, i: &Instruction, operand: &Operand) -> Result<(u32, u32, i64), BindError> {
    let AddressOperand::Rows { space, row, wide, offset } = address_operand(b, i, operand)? else {
        return Err(b.error("atomic operations on kernel parameters are not allowed"));
    };
    let code = match (space, wide) {
        (AccessSpace::Shared, false) => SHARED,
        (AccessSpace::Shared, true) => SHARED_WIDE,
        (AccessSpace::Global, true) => GLOBAL,
        (AccessSpace::Generic, true) => GENERIC,
        (AccessSpace::Global | AccessSpace::Generic, false) => GLOBAL_NARROW,
        (AccessSpace::Local, _) => return Err(b.error("atomic operations on local memory are not allowed")),
    };
    Ok((if i.has(Modifier::Sys) { code | SYSTEM } else { code }, row, offset))
}

/// Binds an update of the value at operand `address` with the operand after it.
fn bind_update(b: &mut Binder<'_, '_>, i: &Instruction, address: usize, run: Run) -> Bound {
    let ty = b.last_type(i)?;
    let (e, a, offset) = target(b, i, &i.operands[address])?;
    let second = b.source(&i.operands[address + 1], ty)?;
    let d = if address > 0 { b.result(&i.operands[0], ty)? } else { 0 };
    let slot = b.next_slot();
    let results = u8::from(address > 0 && b.is_wanted(&i.operands[0]));
    b.note_deferral(Deferral { in_shared: true, sources: 1, results, wide: ty.bits() == 64 });
    let op = Op { d, a, b: second, e, immediate: offset as u64, slot, ..b.op(run) };
    b.push(op);
    Ok(())
}

/// Update of a bitwise form.
fn bits_function(b: &Binder<'_, '_>, i: &Instruction, wanted: bool) -> Result<Run, BindError> {
    let wide = b.last_type(i)?.bits() == 64;
    let how =
        i.modifiers().find(|m| matches!(m, Modifier::And | Modifier::Or | Modifier::Xor | Modifier::Exch));
    Ok(match (how, wide) {
        (Some(Modifier::And), false) => update_function::<And<u32>>(wanted),
        (Some(Modifier::And), true) => update_function::<And<u64>>(wanted),
        (Some(Modifier::Or), false) => update_function::<Or<u32>>(wanted),
        (Some(Modifier::Or), true) => update_function::<Or<u64>>(wanted),
        (Some(Modifier::Xor), false) => update_function::<Xor<u32>>(wanted),
        (Some(Modifier::Xor), true) => update_function::<Xor<u64>>(wanted),
        (Some(_), false) if wanted => update::<Exchange<u32>, Awaited>(),
        (Some(_), true) if wanted => update::<Exchange<u64>, Awaited>(),
        (Some(_), false) => update::<Exchange<u32>, Dropped>(),
        (Some(_), true) => update::<Exchange<u64>, Dropped>(),
        (None, _) => return Err(b.error("the instruction names no operation")),
    })
}

/// Update of an integer form.
fn integer_function(b: &Binder<'_, '_>, i: &Instruction, wanted: bool) -> Result<Run, BindError> {
    let ty = b.last_type(i)?;
    let how = i.modifiers().find(|m| matches!(m, Modifier::Add | Modifier::Min | Modifier::Max));
    Ok(match (how, ty) {
        (Some(Modifier::Add), ScalarType::U32 | ScalarType::S32) => update_function::<Add<u32>>(wanted),
        (Some(Modifier::Add), _) => update_function::<Add<u64>>(wanted),
        (Some(Modifier::Min), ScalarType::U32) => update_function::<Min<u32>>(wanted),
        (Some(Modifier::Min), ScalarType::S32) => update_function::<Min<i32>>(wanted),
        (Some(Modifier::Min), ScalarType::U64) => update_function::<Min<u64>>(wanted),
        (Some(Modifier::Min), _) => update_function::<Min<i64>>(wanted),
        (Some(_), ScalarType::U32) => update_function::<Max<u32>>(wanted),
        (Some(_), ScalarType::S32) => update_function::<Max<i32>>(wanted),
        (Some(_), ScalarType::U64) => update_function::<Max<u64>>(wanted),
        (Some(_), _) => update_function::<Max<i64>>(wanted),
        (None, _) => return Err(b.error("the instruction names no operation")),
    })
}

fn count_function(i: &Instruction, wanted: bool) -> Run {
    if i.has(Modifier::Inc) {
        update_function::<Increment<u32>>(wanted)
    } else {
        update_function::<Decrement<u32>>(wanted)
    }
}

fn float_function(b: &Binder<'_, '_>, i: &Instruction, wanted: bool) -> Result<Run, BindError> {
    Ok(match b.last_type(i)? {
        ScalarType::F32 => update_function::<AddFloat<f32>>(wanted),
        ScalarType::F64 => update_function::<AddFloat<f64>>(wanted),
        ScalarType::F16 => update_function::<AddFloat<f16>>(wanted),
        ScalarType::Bf16 => update_function::<AddFloat<bf16>>(wanted),
        ScalarType::F16x2 => update_function::<AddFloat<[f16; 2]>>(wanted),
        _ => update_function::<AddFloat<[bf16; 2]>>(wanted),
    })
}

/// `atom.and`, `.or`, `.xor`, `.exch`.
pub fn atom_bits(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = bits_function(b, i, b.is_wanted(&i.operands[0]))?;
    bind_update(b, i, 1, run)
}

/// `red.and`, `.or`, `.xor`.
pub fn red_bits(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = bits_function(b, i, false)?;
    bind_update(b, i, 0, run)
}

/// `atom.add`, `.min`, `.max` of integers.
pub fn atom_integer(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = integer_function(b, i, b.is_wanted(&i.operands[0]))?;
    bind_update(b, i, 1, run)
}

/// `red.add`, `.min`, `.max` of integers.
pub fn red_integer(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = integer_function(b, i, false)?;
    bind_update(b, i, 0, run)
}

/// `atom.inc`, `.dec`.
pub fn atom_count(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = count_function(i, b.is_wanted(&i.operands[0]));
    bind_update(b, i, 1, run)
}

/// `red.inc`, `.dec`.
pub fn red_count(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_update(b, i, 0, count_function(i, false))
}

/// `atom.add` of floating-point numbers.
pub fn atom_float(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = float_function(b, i, b.is_wanted(&i.operands[0]))?;
    bind_update(b, i, 1, run)
}

/// `red.add` of floating-point numbers.
pub fn red_float(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = float_function(b, i, false)?;
    bind_update(b, i, 0, run)
}

/// `atom.cas`.
pub fn atom_cas(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    let wanted = b.is_wanted(&i.operands[0]);
    let run = match ty.bits() {
        16 => compare_and_swap_function::<u16>(wanted),
        32 => compare_and_swap_function::<u32>(wanted),
        64 => compare_and_swap_function::<u64>(wanted),
        width => return Err(b.error(format!("atom.cas.b{width} belongs to another form"))),
    };
    let (e, a, offset) = target(b, i, &i.operands[1])?;
    let second = b.source(&i.operands[2], ty)?;
    let c = b.source(&i.operands[3], ty)?;
    let d = b.result(&i.operands[0], ty)?;
    let slot = b.next_slot();
    b.note_deferral(Deferral {
        in_shared: true,
        sources: 2,
        results: u8::from(wanted),
        wide: ty.bits() == 64,
    });
    let op = Op { d, a, b: second, c, e, immediate: offset as u64, slot, ..b.op(run) };
    b.push(op);
    Ok(())
}

/// Adds the forms that have machine code.
pub(crate) fn native_forms(forms: &mut Forms) {
    macro_rules! updates {
        ($($update:ident<$ty:ty> => $kind:ident, $wide:literal;)*) => {$(
            for keeps in [false, true] {
                let native = Native { kind: Kind::$kind, wide: $wide, keeps };
                forms.add(update_function::<$update<$ty>>(keeps), Form::Update(native));
            }
        )*};
    }
    updates! {
        Add<u32> => Add, false;
        Add<u64> => Add, true;
        And<u32> => And, false;
        And<u64> => And, true;
        Or<u32> => Or, false;
        Or<u64> => Or, true;
        Xor<u32> => Xor, false;
        Xor<u64> => Xor, true;
        Min<u32> => Min, false;
        Min<u64> => Min, true;
        Min<i32> => SignedMin, false;
        Min<i64> => SignedMin, true;
        Max<u32> => Max, false;
        Max<u64> => Max, true;
        Max<i32> => SignedMax, false;
        Max<i64> => SignedMax, true;
    }
}

#[cfg(test)]
mod tests;
