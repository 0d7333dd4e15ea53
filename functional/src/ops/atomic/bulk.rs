//! Which update a bulk reduction makes of each element.

use ptx_frontend::isa::{Modifier, ScalarType};

use super::vector::Extreme;
use super::{Add, AddFloat, And, Decrement, Increment, Max, Min, Or, Run, Xor, bf16, f16};
use crate::engine::access::Space;
use crate::number::half::{Bf16, F16};
use crate::ops::memory::reduce;

/// The function for an operation on a type, if there is one.
pub(in crate::ops) fn bulk_update<To: Space>(how: Modifier, ty: ScalarType) -> Option<Run> {
    use ScalarType::{B32, B64, S32, S64, U32, U64};
    Some(match (how, ty) {
        (Modifier::And, B32) => reduce::<To, And<u32>>,
        (Modifier::And, B64) => reduce::<To, And<u64>>,
        (Modifier::Or, B32) => reduce::<To, Or<u32>>,
        (Modifier::Or, B64) => reduce::<To, Or<u64>>,
        (Modifier::Xor, B32) => reduce::<To, Xor<u32>>,
        (Modifier::Xor, B64) => reduce::<To, Xor<u64>>,
        (Modifier::Add, U32 | S32) => reduce::<To, Add<u32>>,
        (Modifier::Add, U64 | S64) => reduce::<To, Add<u64>>,
        (Modifier::Add, ScalarType::F32) => reduce::<To, AddFloat<f32>>,
        (Modifier::Add, ScalarType::F64) => reduce::<To, AddFloat<f64>>,
        (Modifier::Add, ScalarType::F16) => reduce::<To, AddFloat<f16>>,
        (Modifier::Add, ScalarType::Bf16) => reduce::<To, AddFloat<bf16>>,
        (Modifier::Inc, U32) => reduce::<To, Increment<u32>>,
        (Modifier::Dec, U32) => reduce::<To, Decrement<u32>>,
        (Modifier::Min, U32) => reduce::<To, Min<u32>>,
        (Modifier::Min, S32) => reduce::<To, Min<i32>>,
        (Modifier::Min, U64) => reduce::<To, Min<u64>>,
        (Modifier::Min, S64) => reduce::<To, Min<i64>>,
        (Modifier::Min, ScalarType::F16) => reduce::<To, Extreme<F16, false>>,
        (Modifier::Min, ScalarType::Bf16) => reduce::<To, Extreme<Bf16, false>>,
        (Modifier::Max, U32) => reduce::<To, Max<u32>>,
        (Modifier::Max, S32) => reduce::<To, Max<i32>>,
        (Modifier::Max, U64) => reduce::<To, Max<u64>>,
        (Modifier::Max, S64) => reduce::<To, Max<i64>>,
        (Modifier::Max, ScalarType::F16) => reduce::<To, Extreme<F16, true>>,
        (Modifier::Max, ScalarType::Bf16) => reduce::<To, Extreme<Bf16, true>>,
        _ => return None,
    })
}
