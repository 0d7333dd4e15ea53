//! Layout of lane values in register rows.
//!
//! Registers up to 32 bits take a row of 32 words, zero-extended. Registers of 64 bits take a row of 32
//! double words. Registers of 128 bits take two such rows, low halves first.

use half::{bf16, f16};

use super::isa::Isa;

/// Lanes per warp.
pub const WARP: usize = 32;

/// Lanes per tile: neighbours whose accesses may be regular when the warp's are not.
pub const TILE: usize = 8;

/// Array of `value(index)`. Equivalent to [`std::array::from_fn`], but cheaper to compile, since that
/// inlines six functions per instruction and type.
#[inline(always)]
pub(crate) fn array_of<T: Copy + Default, const N: usize>(value: impl Fn(usize) -> T) -> [T; N] {
    let mut array = [T::default(); N];
    for (index, element) in array.iter_mut().enumerate() {
        *element = value(index);
    }
    array
}

/// Word that holds a lane's value: `u32` or `u64`.
pub trait Bits: Copy + Default + PartialEq + 'static {
    /// Selects `yes` where `mask` is all ones, `no` where `mask` is 0.
    fn choose(mask: u32, yes: Self, no: Self) -> Self;
    /// Bytes per row.
    const ROW: u32;
    /// True if `row[i] == row[0] + i * step` for all lanes.
    fn is_strided<I: Isa>(row: &[Self; WARP], step: u64) -> bool;
    /// True if lanes advance by `step` within each tile.
    fn is_tiled(row: &[Self; WARP], step: u64) -> bool;
}

macro_rules! is_tiled {
    () => {
        #[inline(always)]
        fn is_tiled(row: &[Self; WARP], step: u64) -> bool {
            let offsets: [Self; TILE] = array_of(|i| (step as Self).wrapping_mul(i as Self));
            let mut different = 0;
            for tile in row.chunks_exact(TILE) {
                for (value, offset) in tile.iter().zip(offsets) {
                    different |= value ^ tile[0].wrapping_add(offset);
                }
            }
            different == 0
        }
    };
}

impl Bits for u32 {
    #[inline(always)]
    fn choose(mask: u32, yes: u32, no: u32) -> u32 {
        (yes & mask) | (no & !mask)
    }
    const ROW: u32 = 128;
    #[inline(always)]
    fn is_strided<I: Isa>(row: &[u32; WARP], step: u64) -> bool {
        I::is_strided_32(row, step as u32)
    }
    is_tiled!();
}

impl Bits for u64 {
    #[inline(always)]
    fn choose(mask: u32, yes: u64, no: u64) -> u64 {
        let mask = i64::from(mask as i32) as u64;
        (yes & mask) | (no & !mask)
    }
    const ROW: u32 = 256;
    #[inline(always)]
    fn is_strided<I: Isa>(row: &[u64; WARP], step: u64) -> bool {
        I::is_strided_64(row, step)
    }
    is_tiled!();
}

/// Type of a register value.
pub trait Lane: Copy + Default + 'static {
    /// Word that holds the value.
    type Bits: Bits;
    /// Converts from the word.
    fn from_bits(bits: Self::Bits) -> Self;
    /// Converts to the word.
    fn to_bits(self) -> Self::Bits;
}

macro_rules! lane {
    ($($ty:ty, $bits:ty, |$b:ident| $from:expr, |$v:ident| $to:expr;)*) => {
        $(impl Lane for $ty {
            type Bits = $bits;
            #[inline(always)]
            fn from_bits($b: $bits) -> $ty { $from }
            #[inline(always)]
            fn to_bits(self) -> $bits { let $v = self; $to }
        })*
    };
}

lane! {
    u8, u32, |b| b as u8, |v| u32::from(v);
    i8, u32, |b| b as i8, |v| u32::from(v as u8);
    u16, u32, |b| b as u16, |v| u32::from(v);
    i16, u32, |b| b as i16, |v| u32::from(v as u16);
    u32, u32, |b| b, |v| v;
    i32, u32, |b| b as i32, |v| v as u32;
    u64, u64, |b| b, |v| v;
    i64, u64, |b| b as i64, |v| v as u64;
    f32, u32, |b| f32::from_bits(b), |v| v.to_bits();
    f64, u64, |b| f64::from_bits(b), |v| v.to_bits();
    f16, u32, |b| f16::from_bits(b as u16), |v| u32::from(v.to_bits());
    bf16, u32, |b| bf16::from_bits(b as u16), |v| u32::from(v.to_bits());
}
