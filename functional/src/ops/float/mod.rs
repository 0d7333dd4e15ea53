//! Floating-point arithmetic (PTX manual 9.7.3 to 9.7.5).
//!
//! NaN: arithmetic in single and half precision returns the canonical NaN (0x7fffffff, 0x7fff), like the
//! hardware. Double precision keeps the payload of the first NaN operand. `abs`, `neg` and `copysign`
//! change only the sign bit.
//!
//! Each operation is a type that defines its computation. Rounding, flushing and clamping are common to all
//! operations and implemented in [`single`], [`double`] and [`half`].

mod approximate;
mod arithmetic;
mod double;
pub(super) mod extremum;
mod half;
pub(super) mod modifiers;
mod operation;
mod sign;
mod single;
mod transcendental;
mod trigonometric;

pub use approximate::*;
pub use arithmetic::*;
pub use extremum::*;
pub use sign::*;
pub use transcendental::*;
pub use trigonometric::*;

use ptx_frontend::ir::Instruction;
use ptx_frontend::isa::ScalarType;

use super::Bound;
use crate::bind::Binder;
use crate::engine::native::Forms;
use crate::engine::op::{Op, Run};
use modifiers::Modifiers;

/// Binds d = f(a), f(a, b) or f(a, b, c) with operands of type `ty`; the immediate encodes the modifiers.
fn bind(b: &mut Binder<'_, '_>, i: &Instruction, run: Run, ty: ScalarType) -> Bound {
    let mut rows = [0; 3];
    for (row, operand) in rows.iter_mut().zip(&i.operands[1..]) {
        *row = b.source(operand, ty)?;
    }
    let d = b.result(&i.operands[0], ty)?;
    let immediate = Modifiers::of(i).encode();
    let op = Op { d, a: rows[0], b: rows[1], c: rows[2], immediate, ..b.op(run) };
    b.push(op);
    Ok(())
}

/// Adds the forms that have machine code.
pub(crate) fn native_forms(forms: &mut Forms) {
    approximate::native_forms(forms);
    double::native_forms(forms);
    extremum::native_forms(forms);
    sign::native_forms(forms);
    single::native_forms(forms);
}
