//! Semantics: the binding function of each form of the op table, and its one-lane function.

pub(crate) mod address_operand;
pub mod atomic;
pub mod compare;
pub mod control;
pub mod convert;
pub mod float;
pub mod integer;
pub mod logic;
pub mod matrix;
pub mod memory;
pub(crate) mod mov;
pub mod parallel;
pub mod row_access;
#[cfg(test)]
pub(crate) mod samples;
pub mod texture;
pub mod video;

use ptx_frontend::ir::Instruction;
use ptx_frontend::isa::ScalarType;

use crate::bind::{BindError, Binder};
use crate::engine::native::Forms;
use crate::engine::op::{Op, Run};

/// Defines one-lane functions as types for the shapes of [`crate::engine::shapes`]. The number of arguments
/// selects the shape: `Sub<T: Integer> = |a: T, b: T| -> T { a.wrapping_sub(b) }` is a `Binary`.
macro_rules! lane_functions {
    (@shape $name:tt $header:tt $names:tt |$a:ident: $ta:ty| -> $d:ty $body:block) => {
        $crate::ops::lane_functions! { @impl Unary $name $header $names [A = $ta] $d, ($a: $ta) $body }
    };
    (@shape $name:tt $header:tt $names:tt |$a:ident: $ta:ty, $b:ident: $tb:ty| -> $d:ty $body:block) => {
        $crate::ops::lane_functions! {
            @impl Binary $name $header $names [A = $ta, B = $tb] $d, ($a: $ta, $b: $tb) $body
        }
    };
    (@shape $name:tt $header:tt $names:tt |$a:ident: $ta:ty, $b:ident: $tb:ty, $c:ident: $tc:ty| -> $d:ty $body:block) => {
        $crate::ops::lane_functions! {
            @impl Ternary $name $header $names [A = $ta, B = $tb, C = $tc] $d, ($a: $ta, $b: $tb, $c: $tc) $body
        }
    };
    (@shape $name:tt $header:tt $names:tt
        |$a:ident: $ta:ty, $b:ident: $tb:ty, $c:ident: $tc:ty, $e:ident: $te:ty| -> $d:ty $body:block) => {
        $crate::ops::lane_functions! {
            @impl Quaternary $name $header $names [A = $ta, B = $tb, C = $tc, E = $te] $d,
            ($a: $ta, $b: $tb, $c: $tc, $e: $te) $body
        }
    };
    (@impl $shape:ident $name:ident ($($header:tt)*) ($($names:tt)*)
        [$($operand:ident = $ty:ty),*] $d:ty, ($($argument:ident: $argument_ty:ty),*) $body:block) => {
        impl $($header)* $crate::engine::shapes::$shape for $name $($names)* {
            $(type $operand = $ty;)*
            type D = $d;
            #[inline(always)]
            fn apply($($argument: $argument_ty),*) -> $d $body
        }
    };
    ($($(#[$doc:meta])* $name:ident $(<$($generic:ident: $bound:path),+>)? =
        |$($argument:ident: $ty:ty),+| -> $d:ty $body:block)*) => {
        $(
            $(#[$doc])*
            pub(crate) struct $name $(<$($generic),+>(std::marker::PhantomData<($($generic,)+)>))?;
            $crate::ops::lane_functions! {
                @shape $name ($(<$($generic: $bound),+>)?) ($(<$($generic),+>)?) |$($argument: $ty),+| -> $d $body
            }
        )*
    };
}
pub(crate) use lane_functions;

/// Defines forms of the op table with a common binding function, which distinguishes them by the
/// instruction: `forms! { bind_load: ld_a ld_b; }`.
macro_rules! forms {
    ($($bind:ident: $($form:ident)*;)*) => {
        $($(
            #[doc = concat!("Binds `", stringify!($form), "`.")]
            pub fn $form(
                b: &mut $crate::bind::Binder<'_, '_>,
                i: &ptx_frontend::ir::Instruction,
            ) -> $crate::ops::Bound {
                $bind(b, i)
            }
        )*)*
    };
}
pub(crate) use forms;

/// Warp-wide function of `$op<T>` for the Rust type of a PTX type: `by_type!(b, ty, binary, Add, U32 =>
/// u32, …)`.
macro_rules! by_type {
    ($b:expr, $ty:expr, $shape:ident, $op:ident, $($scalar:ident => $rust:ty),* $(,)?) => {
        match $ty {
            $(ptx_frontend::isa::ScalarType::$scalar => $crate::engine::shapes::$shape::<$op<$rust>>(),)*
            other => return Err($b.error(format!(".{} is not a type of this form", other.name()))),
        }
    };
}
pub(crate) use by_type;

/// [`by_type`] for all signed and unsigned integers.
macro_rules! by_integer {
    ($b:expr, $ty:expr, $shape:ident, $op:ident) => {
        $crate::ops::by_type!(
            $b, $ty, $shape, $op, U16 => u16, S16 => i16, U32 => u32, S32 => i32, U64 => u64, S64 => i64
        )
    };
}
pub(crate) use by_integer;

/// [`by_type`] by width alone, with the unsigned integer as wide as the PTX type.
macro_rules! by_width {
    ($b:expr, $ty:expr, $shape:ident, $op:ident) => {
        match $ty.bits() {
            16 => $crate::engine::shapes::$shape::<$op<u16>>(),
            32 => $crate::engine::shapes::$shape::<$op<u32>>(),
            64 => $crate::engine::shapes::$shape::<$op<u64>>(),
            _ => return Err($b.error(format!(".{} is not a type of this form", $ty.name()))),
        }
    };
}
pub(crate) use by_width;

/// Function of a form with a single type.
macro_rules! only {
    ($b:expr, $ty:expr, $shape:ident, $op:ident) => {
        $crate::engine::shapes::$shape::<$op>()
    };
}
pub(crate) use only;

/// Defines forms whose operands and result all have the instruction's type: `sub = by_width!(binary,
/// Sub);`.
macro_rules! uniform_forms {
    ($($form:ident = $by:ident!($shape:ident, $op:ident $($types:tt)*);)*) => {
        $(
            #[doc = concat!("Binds `", stringify!($form), "`.")]
            pub fn $form(
                b: &mut $crate::bind::Binder<'_, '_>,
                i: &ptx_frontend::ir::Instruction,
            ) -> $crate::ops::Bound {
                let ty = b.last_type(i)?;
                let run = $crate::ops::$by!(b, ty, $shape, $op $($types)*);
                $crate::ops::bind_values(b, i, run, ty, &[ty; 4])
            }
        )*
    };
}
pub(crate) use uniform_forms;

/// Result of binding an instruction.
pub type Bound = Result<(), BindError>;

/// Binds d = f(a, b, c, e) for up to four operands of these types, which follow the result.
pub(crate) fn bind_values(
    b: &mut Binder<'_, '_>,
    i: &Instruction,
    run: Run,
    d: ScalarType,
    sources: &[ScalarType],
) -> Bound {
    let mut rows = [0; 4];
    for ((row, operand), ty) in rows.iter_mut().zip(&i.operands[1..]).zip(sources) {
        *row = b.source(operand, *ty)?;
    }
    let d = b.result(&i.operands[0], d)?;
    let op = Op { d, a: rows[0], b: rows[1], c: rows[2], e: rows[3], ..b.op(run) };
    b.push(op);
    Ok(())
}

/// Adds the forms that have machine code, for the native tier.
pub(crate) fn native_forms(forms: &mut Forms) {
    integer::native_forms(forms);
    logic::native_forms(forms);
    compare::native_forms(forms);
    mov::native_forms(forms);
    float::native_forms(forms);
    convert::native_forms(forms);
    row_access::native_forms(forms);
    atomic::native_forms(forms);
    control::native_forms(forms);
}
