//! `red.async` (PTX manual 9.7.13.7): updates shared memory and completes transactions of a barrier at
//! once, or updates global memory before the end of the CTA.

use ptx_frontend::ir::Instruction;

use super::{Run, bind_update, bits_function, count_function, integer_function};
use crate::bind::Binder;
use crate::ops::parallel::bind_transactions;
use crate::ops::{Bound, forms};

fn bind(b: &mut Binder<'_, '_>, i: &Instruction, run: Run) -> Bound {
    bind_update(b, i, 0, run)?;
    let bytes = b.last_type(i)?.bytes();
    bind_transactions(b, i, &i.operands[2], bytes)
}

/// `red.async.and`, `.or`, `.xor`.
pub fn red_async_bits(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = bits_function(b, i, false)?;
    bind(b, i, run)
}

/// `red.async.add`, `.min`, `.max`.
pub fn red_async_integer(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = integer_function(b, i, false)?;
    bind(b, i, run)
}

/// `red.async.add` of 64 bits.
pub fn red_async_wide(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    red_async_integer(b, i)
}

/// `red.async.inc`, `.dec`.
pub fn red_async_count(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, count_function(i, false))
}

/// `red.async.release.inc`, `.dec`.
pub fn red_async_release_count(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_update(b, i, 0, count_function(i, false))
}

/// `red.async.release.and`, `.or`, `.xor`.
pub fn red_async_release_bits(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = bits_function(b, i, false)?;
    bind_update(b, i, 0, run)
}

fn bind_release(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = integer_function(b, i, false)?;
    bind_update(b, i, 0, run)
}

forms! {
    bind_release: red_async_release_integer red_async_release_wide;
}
