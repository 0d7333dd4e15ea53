//! Element updates of bulk and multicast reductions.

use ptx_frontend::isa::{Modifier, ScalarType};

use super::vector::Extreme;
use super::{Add, AddFloat, And, Decrement, Increment, Max, Min, Or, Run, Update, Xor, bf16, f16};
use crate::engine::address_translation::Space;
use crate::number::half::{Bf16, F16};
use crate::ops::memory::{self, Stepwise, load_combined, reduce};

/// Calls `$function!` with the update for an operation on a type.
macro_rules! by_update {
    ($how:expr, $ty:expr, $function:ident) => {{
        use ScalarType::{B32, B64, S32, S64, U32, U64};
        match ($how, $ty) {
            (Modifier::And, B32) => $function!(And<u32>),
            (Modifier::And, B64) => $function!(And<u64>),
            (Modifier::Or, B32) => $function!(Or<u32>),
            (Modifier::Or, B64) => $function!(Or<u64>),
            (Modifier::Xor, B32) => $function!(Xor<u32>),
            (Modifier::Xor, B64) => $function!(Xor<u64>),
            (Modifier::Add, U32 | S32) => $function!(Add<u32>),
            (Modifier::Add, U64 | S64) => $function!(Add<u64>),
            (Modifier::Add, ScalarType::F32) => $function!(AddFloat<f32>),
            (Modifier::Add, ScalarType::F64) => $function!(AddFloat<f64>),
            (Modifier::Add, ScalarType::F16) => $function!(AddFloat<f16>),
            (Modifier::Add, ScalarType::Bf16) => $function!(AddFloat<bf16>),
            (Modifier::Inc, U32) => $function!(Increment<u32>),
            (Modifier::Dec, U32) => $function!(Decrement<u32>),
            (Modifier::Min, U32) => $function!(Min<u32>),
            (Modifier::Min, S32) => $function!(Min<i32>),
            (Modifier::Min, U64) => $function!(Min<u64>),
            (Modifier::Min, S64) => $function!(Min<i64>),
            (Modifier::Min, ScalarType::F16) => $function!(Extreme<F16, false>),
            (Modifier::Min, ScalarType::Bf16) => $function!(Extreme<Bf16, false>),
            (Modifier::Max, U32) => $function!(Max<u32>),
            (Modifier::Max, S32) => $function!(Max<i32>),
            (Modifier::Max, U64) => $function!(Max<u64>),
            (Modifier::Max, S64) => $function!(Max<i64>),
            (Modifier::Max, ScalarType::F16) => $function!(Extreme<F16, true>),
            (Modifier::Max, ScalarType::Bf16) => $function!(Extreme<Bf16, true>),
            _ => return None,
        }
    }};
}

/// Function for an operation on a type, if supported.
pub(in crate::ops) fn bulk_update<To: Space>(how: Modifier, ty: ScalarType) -> Option<Run> {
    macro_rules! function {
        ($update:ty) => {
            reduce::<To, $update> as Run
        };
    }
    Some(by_update!(how, ty, function))
}

/// Updates the first element, in global memory, with the second.
pub(in crate::ops) type ElementUpdate = unsafe fn(*mut u8, *const u8);

/// # Safety
/// Both pointers are aligned and valid, and other threads access the first only atomically.
unsafe fn update_element<U: Update>(to: *mut u8, from: *const u8) {
    // SAFETY: guaranteed by the caller.
    unsafe { U::indivisibly(to.cast(), from.cast::<U::Value>().read(), false) };
}

/// Function that updates one element, if supported.
pub(in crate::ops) fn element_update(how: Modifier, ty: ScalarType) -> Option<ElementUpdate> {
    macro_rules! function {
        ($update:ty) => {
            update_element::<$update> as ElementUpdate
        };
    }
    Some(by_update!(how, ty, function))
}

/// Function that loads and reduces the values of several devices, if supported.
pub(in crate::ops) fn reduction_of_replicas(how: Modifier, ty: ScalarType) -> Option<Run> {
    macro_rules! function {
        ($update:ty) => {
            load_combined::<Stepwise<$update>> as Run
        };
    }
    Some(by_update!(how, ty, function))
}

/// Function that updates the values of several devices from a register, if supported.
pub(in crate::ops) fn replicas_update(how: Modifier, ty: ScalarType) -> Option<Run> {
    macro_rules! function {
        ($update:ty) => {
            memory::update::<$update> as Run
        };
    }
    Some(by_update!(how, ty, function))
}

/// Function that updates values of several devices from shared memory, if supported.
pub(in crate::ops) fn replicas_bulk_update(how: Modifier, ty: ScalarType) -> Option<Run> {
    macro_rules! function {
        ($update:ty) => {
            memory::bulk_update::<$update> as Run
        };
    }
    Some(by_update!(how, ty, function))
}
