//! `atom` and `red` on vectors: the address of the whole vector is checked first, then each element is
//! updated atomically, in order.

use std::marker::PhantomData;

use ptx_frontend::ir::{Instruction, Operand};
use ptx_frontend::isa::{Modifier, ScalarType};

use super::{AddFloat, Bound, Locate, Update, bf16, f16, target, update_function};
use crate::bind::{BindError, Binder};
use crate::engine::isa::{Isa, per_level};
use crate::engine::op::{Flow, Op, Run};
use crate::engine::warp_context::WarpContext;
use crate::number::half::{Bf16, F16, HalfFormat};
use crate::ops::float::extremum::extreme_half;
use crate::ops::forms;
use crate::ops::mov::push_copy;

/// Minimum or maximum of two halves.
pub(super) struct Extreme<F, const LARGER: bool>(PhantomData<F>);

impl<F: HalfFormat, const LARGER: bool> Update for Extreme<F, LARGER> {
    type Value = u16;
    const MERGES: bool = false;
    #[inline(always)]
    fn apply(old: u16, b: u16, _: bool) -> u16 {
        extreme_half::<F>(LARGER, old, b)
    }
}

/// [`Extreme`] of each half of a word.
struct ExtremePair<F, const LARGER: bool>(PhantomData<F>);

impl<F: HalfFormat, const LARGER: bool> Update for ExtremePair<F, LARGER> {
    type Value = u32;
    const MERGES: bool = false;
    #[inline(always)]
    fn apply(old: u32, b: u32, _: bool) -> u32 {
        let half = |at: u32| u32::from(extreme_half::<F>(LARGER, (old >> at) as u16, (b >> at) as u16)) << at;
        half(0) | half(16)
    }
}

fn extremum_function<const LARGER: bool>(ty: ScalarType, wanted: bool) -> Option<Run> {
    Some(match ty {
        ScalarType::F16 => update_function::<Extreme<F16, LARGER>>(wanted),
        ScalarType::Bf16 => update_function::<Extreme<Bf16, LARGER>>(wanted),
        ScalarType::F16x2 => update_function::<ExtremePair<F16, LARGER>>(wanted),
        ScalarType::Bf16x2 => update_function::<ExtremePair<Bf16, LARGER>>(wanted),
        _ => return None,
    })
}

fn sum_function(ty: ScalarType, wanted: bool) -> Run {
    match ty {
        ScalarType::F32 => update_function::<AddFloat<f32>>(wanted),
        ScalarType::F16 => update_function::<AddFloat<f16>>(wanted),
        ScalarType::Bf16 => update_function::<AddFloat<bf16>>(wanted),
        ScalarType::F16x2 => update_function::<AddFloat<[f16; 2]>>(wanted),
        _ => update_function::<AddFloat<[bf16; 2]>>(wanted),
    }
}

#[inline(always)]
unsafe fn check_body<I: Isa>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: guaranteed by the caller.
    match unsafe { I::outlined::<Locate>(w, op, op.c) } {
        Ok(_) => crate::ops::control::uncounted(w),
        Err(fault) => w.fault(fault),
    }
}

per_level! {
    /// Faults unless `c` bytes at `a` + immediate form one valid access.
    fn check<> = check_body
}

fn elements<'i>(b: &Binder<'_, '_>, operand: &'i Operand) -> Result<&'i [Operand], BindError> {
    match operand {
        Operand::Vector(elements) => Ok(elements),
        other => Err(b.error(format!("{other:?} is not a vector"))),
    }
}

/// Binds updates of the elements at operand `address`; the preceding vector operand, if any, receives the
/// old values.
fn bind(b: &mut Binder<'_, '_>, i: &Instruction, address: usize) -> Bound {
    let ty = b.last_type(i)?;
    let (e, a, offset) = target(b, i, &i.operands[address])?;
    let slot = b.next_slot();
    let (results, sources) = (&i.operands[..address], elements(b, &i.operands[address + 1])?);
    let width = ty.bytes();
    let whole = width * sources.len() as u32;
    let op = Op { a, e, c: whole, immediate: offset as u64, slot, ..b.op(check()) };
    b.push(op);
    let mut rows = Vec::with_capacity(sources.len());
    for source in sources {
        let row = b.source(source, ty)?;
        // A result may overlay an operand that is read later.
        let kept = if address > 0 { b.scratch(false) } else { row };
        if kept != row {
            push_copy(b, kept, row, false);
        }
        rows.push(kept);
    }
    for (n, source) in rows.into_iter().enumerate() {
        let (d, wanted) = match results.first() {
            Some(results) => {
                let result = elements(b, results)?.get(n).unwrap_or(&Operand::Discard);
                (b.result(result, ty)?, b.is_wanted(result))
            }
            None => (0, false),
        };
        let named = |modifier| i.has(modifier);
        let run = if named(Modifier::Min) {
            extremum_function::<false>(ty, wanted)
        } else if named(Modifier::Max) {
            extremum_function::<true>(ty, wanted)
        } else {
            Some(sum_function(ty, wanted))
        };
        let run = run.ok_or_else(|| b.error(format!("no minimum or maximum of .{}", ty.name())))?;
        let at = offset.wrapping_add(i64::from(width) * n as i64);
        let op = Op { d, a, b: source, e, immediate: at as u64, slot, ..b.op(run) };
        b.push(op);
    }
    Ok(())
}

/// Binds `atom`, whose address follows the result.
fn bind_atom(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, 1)
}

/// Binds `red`, whose address is the first operand.
fn bind_red(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, 0)
}

forms! {
    bind_atom: atom_singles atom_halves atom_pairs;
    bind_red: red_singles red_halves red_pairs;
}
