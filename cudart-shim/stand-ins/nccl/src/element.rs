//! Types of elements, and the arithmetic of reductions.

use crate::status::{Answer, Failure};
use half::{bf16, f16};
use std::ffi::c_int;

/// `ncclDataType_t`, without the 8-bit floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Element {
    Int8 = 0,
    Uint8 = 1,
    Int32 = 2,
    Uint32 = 3,
    Int64 = 4,
    Uint64 = 5,
    Float16 = 6,
    Float32 = 7,
    Float64 = 8,
    Bfloat16 = 9,
    /// 8-bit floats move, and no reduction accepts them.
    Float8 = 10,
}

impl Element {
    /// The type with a number.
    pub fn of(number: c_int) -> Answer<Element> {
        use Element::*;
        let all =
            [Int8, Uint8, Int32, Uint32, Int64, Uint64, Float16, Float32, Float64, Bfloat16, Float8, Float8];
        let index = usize::try_from(number).map_err(|_| Failure::InvalidArgument)?;
        all.get(index).copied().ok_or(Failure::InvalidArgument)
    }

    /// Bytes of an element.
    pub fn size(self) -> usize {
        match self {
            Element::Int8 | Element::Uint8 | Element::Float8 => 1,
            Element::Float16 | Element::Bfloat16 => 2,
            Element::Int32 | Element::Uint32 | Element::Float32 => 4,
            Element::Int64 | Element::Uint64 | Element::Float64 => 8,
        }
    }
}

/// Operation of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    Sum,
    Product,
    Max,
    Min,
    /// Sum, divided by the number of ranks.
    Average,
    /// Sum of the ranks' elements, each times its rank's factor. The bytes of the factor are an
    /// element at the beginning.
    ScaledSum([u8; 8]),
}

impl Reduction {
    /// The operation with a number of `ncclRedOp_t`.
    pub fn of(number: c_int) -> Option<Reduction> {
        [Reduction::Sum, Reduction::Product, Reduction::Max, Reduction::Min, Reduction::Average]
            .get(usize::try_from(number).ok()?)
            .copied()
    }

    /// Number that ranks compare.
    pub fn number(self) -> u64 {
        match self {
            Reduction::Sum => 0,
            Reduction::Product => 1,
            Reduction::Max => 2,
            Reduction::Min => 3,
            Reduction::Average => 4,
            Reduction::ScaledSum(_) => 5,
        }
    }
}

/// Type in which a reduction of an element computes.
trait Number: Copy {
    /// Type of intermediate results.
    type Wide: Copy;
    fn widen(self) -> Self::Wide;
    fn narrow(wide: Self::Wide) -> Self;
    fn sum(left: Self::Wide, right: Self::Wide) -> Self::Wide;
    fn product(left: Self::Wide, right: Self::Wide) -> Self::Wide;
    fn largest(left: Self::Wide, right: Self::Wide) -> Self::Wide;
    fn smallest(left: Self::Wide, right: Self::Wide) -> Self::Wide;
    fn share(sum: Self::Wide, ranks: usize) -> Self::Wide;
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Number for $type {
            type Wide = $type;
            fn widen(self) -> $type { self }
            fn narrow(wide: $type) -> $type { wide }
            fn sum(left: $type, right: $type) -> $type { left.wrapping_add(right) }
            fn product(left: $type, right: $type) -> $type { left.wrapping_mul(right) }
            fn largest(left: $type, right: $type) -> $type { left.max(right) }
            fn smallest(left: $type, right: $type) -> $type { left.min(right) }
            // The number of ranks is small and positive.
            fn share(sum: $type, ranks: usize) -> $type { sum.wrapping_div(ranks as $type) }
        }
    )*};
}
integers! { i8 u8 i32 u32 i64 u64 }

macro_rules! floats {
    ($($type:ty, $wide:ty, $widen:expr, $narrow:expr;)*) => {$(
        impl Number for $type {
            type Wide = $wide;
            fn widen(self) -> $wide { $widen(self) }
            fn narrow(wide: $wide) -> $type { $narrow(wide) }
            fn sum(left: $wide, right: $wide) -> $wide { left + right }
            fn product(left: $wide, right: $wide) -> $wide { left * right }
            fn largest(left: $wide, right: $wide) -> $wide { left.max(right) }
            fn smallest(left: $wide, right: $wide) -> $wide { left.min(right) }
            fn share(sum: $wide, ranks: usize) -> $wide { sum / ranks as $wide }
        }
    )*};
}
floats! {
    f32, f32, |value| value, |value| value;
    f64, f64, |value| value, |value| value;
    f16, f32, f16::to_f32, f16::from_f32;
    bf16, f32, bf16::to_f32, bf16::from_f32;
}

/// Reduces elements of all ranks, in the order of ranks, into `result`. All slices have the same
/// length in bytes.
///
/// # Errors
/// The type has no arithmetic.
pub fn reduce(
    element: Element,
    reduction: Reduction,
    factors: &[[u8; 8]],
    inputs: &[&[u8]],
    result: &mut [u8],
) -> Answer {
    match element {
        Element::Int8 => {
            each::<i8, 1>(reduction, factors, inputs, result, i8::from_le_bytes, i8::to_le_bytes)
        }
        Element::Uint8 => {
            each::<u8, 1>(reduction, factors, inputs, result, u8::from_le_bytes, u8::to_le_bytes)
        }
        Element::Int32 => {
            each::<i32, 4>(reduction, factors, inputs, result, i32::from_le_bytes, i32::to_le_bytes)
        }
        Element::Uint32 => {
            each::<u32, 4>(reduction, factors, inputs, result, u32::from_le_bytes, u32::to_le_bytes)
        }
        Element::Int64 => {
            each::<i64, 8>(reduction, factors, inputs, result, i64::from_le_bytes, i64::to_le_bytes)
        }
        Element::Uint64 => {
            each::<u64, 8>(reduction, factors, inputs, result, u64::from_le_bytes, u64::to_le_bytes)
        }
        Element::Float16 => {
            each::<f16, 2>(reduction, factors, inputs, result, f16::from_le_bytes, f16::to_le_bytes)
        }
        Element::Float32 => {
            each::<f32, 4>(reduction, factors, inputs, result, f32::from_le_bytes, f32::to_le_bytes)
        }
        Element::Float64 => {
            each::<f64, 8>(reduction, factors, inputs, result, f64::from_le_bytes, f64::to_le_bytes)
        }
        Element::Bfloat16 => {
            each::<bf16, 2>(reduction, factors, inputs, result, bf16::from_le_bytes, bf16::to_le_bytes)
        }
        Element::Float8 => return Err(Failure::InvalidArgument),
    }
    Ok(())
}

fn each<T: Number, const SIZE: usize>(
    reduction: Reduction,
    factors: &[[u8; 8]],
    inputs: &[&[u8]],
    result: &mut [u8],
    read: impl Fn([u8; SIZE]) -> T,
    write: impl Fn(T) -> [u8; SIZE],
) {
    let at = |bytes: &[u8], offset: usize| {
        let mut element = [0; SIZE];
        element.copy_from_slice(&bytes[offset..offset + SIZE]);
        read(element).widen()
    };
    let combine = match reduction {
        Reduction::Sum | Reduction::Average | Reduction::ScaledSum(_) => T::sum,
        Reduction::Product => T::product,
        Reduction::Max => T::largest,
        Reduction::Min => T::smallest,
    };
    let is_scaled = matches!(reduction, Reduction::ScaledSum(_));
    for offset in (0..result.len()).step_by(SIZE) {
        let value = |rank: usize| {
            let value = at(inputs[rank], offset);
            if is_scaled { T::product(value, at(&factors[rank], 0)) } else { value }
        };
        let mut total = (1..inputs.len()).fold(value(0), |total, rank| combine(total, value(rank)));
        if reduction == Reduction::Average {
            total = T::share(total, inputs.len());
        }
        result[offset..offset + SIZE].copy_from_slice(&write(T::narrow(total)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reduced(element: Element, reduction: Reduction, inputs: &[&[u8]]) -> Vec<u8> {
        let mut result = vec![0; inputs[0].len()];
        let factors: Vec<[u8; 8]> = (0..inputs.len())
            .map(|rank| {
                let mut bytes = [0; 8];
                bytes[..4].copy_from_slice(&(rank as f32 + 1.0).to_le_bytes());
                bytes
            })
            .collect();
        reduce(element, reduction, &factors, inputs, &mut result).unwrap();
        result
    }

    #[test]
    fn integers_wrap_and_averages_truncate() {
        let inputs: [&[u8]; 2] = [&[250, 7], &[10, 4]];
        assert_eq!(reduced(Element::Uint8, Reduction::Sum, &inputs), [4, 11]);
        assert_eq!(reduced(Element::Uint8, Reduction::Max, &inputs), [250, 7]);
        assert_eq!(reduced(Element::Int8, Reduction::Max, &inputs), [10, 7]);
        assert_eq!(reduced(Element::Uint8, Reduction::Average, &[&[7], &[4]]), [5]);
    }

    #[test]
    fn halves_are_rounded_once() {
        let half = |value: f32| f16::from_f32(value).to_le_bytes();
        let (large, small) = (half(2048.0), half(1.0));
        let inputs: [&[u8]; 3] = [&large, &small, &small];
        assert_eq!(reduced(Element::Float16, Reduction::Sum, &inputs), half(2050.0));
    }

    #[test]
    fn scaled_sum_multiplies_by_the_factor_of_each_rank() {
        let number = |value: f32| value.to_le_bytes();
        let (first, second) = (number(3.0), number(5.0));
        let sum = reduced(Element::Float32, Reduction::ScaledSum([0; 8]), &[&first, &second]);
        assert_eq!(sum, number(3.0 + 2.0 * 5.0));
    }

    #[test]
    fn floats_of_8_bits_have_no_arithmetic() {
        let answer = reduce(Element::Float8, Reduction::Sum, &[], &[&[1]], &mut [0]);
        assert_eq!(answer, Err(Failure::InvalidArgument));
    }
}
