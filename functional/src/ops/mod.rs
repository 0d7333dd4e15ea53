//! Semantics: for each form of the op table, the function that binds it and the one-lane function it comes down to.

pub mod atomic;
pub mod compare;
pub mod control;
pub mod convert;
pub mod float;
pub mod integer;
pub mod load_store;
pub mod logic;
pub mod memory;
pub mod parallel;

use ptx_frontend::ir::Instruction;
use ptx_frontend::isa::ScalarType;

use crate::bind::{BindError, Binder};
use crate::engine::op::{Op, Run};

/// The warp-wide function of `$op<T>` for the Rust type of a PTX type: `by_type!(b, ty, binary, Add, U32 => u32, …)`.
macro_rules! by_type {
    ($b:expr, $ty:expr, $shape:ident, $op:ident, $($scalar:ident => $rust:ty),* $(,)?) => {
        match $ty {
            $(ptx_frontend::isa::ScalarType::$scalar => $crate::engine::shapes::$shape::<$op<$rust>>(),)*
            other => return Err($b.error(format!(".{} is not a type of this form", other.name()))),
        }
    };
}
pub(crate) use by_type;

/// What binding an instruction comes to.
pub type Bound = Result<(), BindError>;

/// Binds d = f(a).
pub(crate) fn bind_unary(
    b: &mut Binder<'_, '_>,
    i: &Instruction,
    run: Run,
    d: ScalarType,
    a: ScalarType,
) -> Bound {
    let a = b.source(&i.operands[1], a)?;
    let d = b.result(&i.operands[0], d)?;
    let op = Op { d, a, ..b.op(run) };
    b.push(op);
    Ok(())
}

/// Binds d = f(a, b).
pub(crate) fn bind_binary(
    b: &mut Binder<'_, '_>,
    i: &Instruction,
    run: Run,
    d: ScalarType,
    [first, second]: [ScalarType; 2],
) -> Bound {
    let a = b.source(&i.operands[1], first)?;
    let second = b.source(&i.operands[2], second)?;
    let d = b.result(&i.operands[0], d)?;
    let op = Op { d, a, b: second, ..b.op(run) };
    b.push(op);
    Ok(())
}

/// Binds d = f(a, b, c).
pub(crate) fn bind_ternary(
    b: &mut Binder<'_, '_>,
    i: &Instruction,
    run: Run,
    d: ScalarType,
    [first, second, third]: [ScalarType; 3],
) -> Bound {
    let a = b.source(&i.operands[1], first)?;
    let second = b.source(&i.operands[2], second)?;
    let c = b.source(&i.operands[3], third)?;
    let d = b.result(&i.operands[0], d)?;
    let op = Op { d, a, b: second, c, ..b.op(run) };
    b.push(op);
    Ok(())
}

/// Forms that are in the table and have no semantics yet: launching a kernel that holds one is an error that says so.
macro_rules! not_yet {
    ($($name:ident)*) => {
        $(
            /// Known, and answered with an error.
            pub fn $name(b: &mut $crate::bind::Binder<'_, '_>, i: &ptx_frontend::ir::Instruction) -> $crate::ops::Bound {
                Err(b.error(format!("`{}` has no semantics yet", i.op.line().syntax)))
            }
        )*
    };
}
pub(crate) use not_yet;
