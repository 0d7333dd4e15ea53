//! How a value of one lane lies in a register row.
//!
//! Registers of up to 32 bits take one row of 32 words, zero-extended; 64-bit registers take 32 double words;
//! 128-bit registers take two such rows, low halves first.

use half::{bf16, f16};

use super::isa::Isa;

/// Lanes in a warp.
pub const WARP: usize = 32;

/// Lanes in a tile: neighbours whose memory accesses may be regular where those of the warp are not.
pub const TILE: usize = 8;

/// What `value` gives for each index. As [`std::array::from_fn`], which is six functions for the compiler to inline, for each
/// instruction and type anew.
#[inline(always)]
pub(crate) fn array_of<T: Copy + Default, const N: usize>(value: impl Fn(usize) -> T) -> [T; N] {
    let mut array = [T::default(); N];
    for (index, element) in array.iter_mut().enumerate() {
        *element = value(index);
    }
    array
}

/// The word in which a lane's value is kept: `u32` or `u64`.
pub trait Bits: Copy + Default + PartialEq + 'static {
    /// All ones where `mask` (0 or all ones) says so, this value's bits elsewhere.
    fn choose(mask: u32, yes: Self, no: Self) -> Self;
    /// Bytes of a row.
    const ROW: u32;
    /// Is `row[i] == row[0] + i * step` for all lanes?
    fn is_strided<I: Isa>(row: &[Self; WARP], step: u64) -> bool;
    /// Is each value its tile's first plus `step` for each lane between them?
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

/// A type that registers hold.
pub trait Lane: Copy + Default + 'static {
    /// The word it is kept in.
    type Bits: Bits;
    /// From the word.
    fn from_bits(bits: Self::Bits) -> Self;
    /// To the word.
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
