//! Primitives per host instruction level that auto-vectorisation does not find.

use super::lane::WARP;
use super::op::Op;
use super::warp_context::WarpContext;

/// Primitives of a level. Bodies of warp-wide ops are generic over this trait and inlined into a function
/// compiled for the level, and so are the intrinsics.
pub trait Isa: 'static {
    /// Top bits of the lanes; bit i is lane i.
    fn top_bits_32(lanes: &[u32; WARP]) -> u32;
    /// Top bits of the lanes; bit i is lane i.
    fn top_bits_64(lanes: &[u64; WARP]) -> u32;
    /// True if `row[i] == row[0] + i * step` for all lanes.
    fn is_strided_32(row: &[u32; WARP], step: u32) -> bool;
    /// True if `row[i] == row[0] + i * step` for all lanes.
    fn is_strided_64(row: &[u64; WARP], step: u64) -> bool;
    /// Runs a part shared by many ops as a separate function, compiled for the level.
    ///
    /// # Safety
    /// The host supports the level, and the conditions of `O::run` hold.
    unsafe fn outlined<O: Outlined>(w: &mut WarpContext<'_>, op: &Op, argument: O::Argument) -> O::Result;
}

/// A part shared by many ops; see [`Isa::outlined`].
pub trait Outlined {
    /// Input besides the op.
    type Argument;
    /// Output.
    type Result;
    /// Runs the part, inlined into a function compiled for the level.
    ///
    /// # Safety
    /// As for [`super::op::Run`].
    unsafe fn run<I: Isa>(w: &mut WarpContext<'_>, op: &Op, argument: Self::Argument) -> Self::Result;
}

/// Baseline x86-64, or another architecture.
pub struct Baseline;

impl Isa for Baseline {
    #[inline(always)]
    fn top_bits_32(lanes: &[u32; WARP]) -> u32 {
        let mut bits = 0;
        for (i, lane) in lanes.iter().enumerate() {
            bits |= (lane >> 31) << i;
        }
        bits
    }

    #[inline(always)]
    fn top_bits_64(lanes: &[u64; WARP]) -> u32 {
        let mut bits = 0;
        for (i, lane) in lanes.iter().enumerate() {
            bits |= ((lane >> 63) as u32) << i;
        }
        bits
    }

    #[inline(always)]
    fn is_strided_32(row: &[u32; WARP], step: u32) -> bool {
        let mut different = 0;
        for (i, value) in row.iter().enumerate() {
            different |= value ^ row[0].wrapping_add(step.wrapping_mul(i as u32));
        }
        different == 0
    }

    #[inline(always)]
    fn is_strided_64(row: &[u64; WARP], step: u64) -> bool {
        let mut different = 0;
        for (i, value) in row.iter().enumerate() {
            different |= value ^ row[0].wrapping_add(step.wrapping_mul(i as u64));
        }
        different == 0
    }

    #[inline(never)]
    unsafe fn outlined<O: Outlined>(w: &mut WarpContext<'_>, op: &Op, argument: O::Argument) -> O::Result {
        // SAFETY: guaranteed by the caller.
        unsafe { O::run::<Baseline>(w, op, argument) }
    }
}

/// AVX2, FMA and BMI.
#[cfg(target_arch = "x86_64")]
pub struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Isa for Avx2 {
    #[inline(always)]
    fn top_bits_32(lanes: &[u32; WARP]) -> u32 {
        use std::arch::x86_64::*;
        let mut bits = 0;
        for part in 0..4 {
            // SAFETY: 8 words from an array of 32. This code is only inlined into functions compiled for
            // AVX2, which run only on hosts with AVX2.
            let byte = unsafe {
                let vector = _mm256_loadu_si256(lanes.as_ptr().add(part * 8).cast());
                _mm256_movemask_ps(_mm256_castsi256_ps(vector)) as u32
            };
            bits |= byte << (part * 8);
        }
        bits
    }

    #[inline(always)]
    fn top_bits_64(lanes: &[u64; WARP]) -> u32 {
        use std::arch::x86_64::*;
        let mut bits = 0;
        for part in 0..8 {
            // SAFETY: as above, 4 double words from an array of 32.
            let nibble = unsafe {
                let vector = _mm256_loadu_si256(lanes.as_ptr().add(part * 4).cast());
                _mm256_movemask_pd(_mm256_castsi256_pd(vector)) as u32
            };
            bits |= nibble << (part * 4);
        }
        bits
    }

    #[inline(always)]
    fn is_strided_32(row: &[u32; WARP], step: u32) -> bool {
        use std::arch::x86_64::*;
        // SAFETY: loads stay inside the array; AVX2 as above.
        unsafe {
            let first = _mm256_set1_epi32(row[0] as i32);
            let steps =
                _mm256_mullo_epi32(_mm256_set1_epi32(step as i32), _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));
            let mut expected = _mm256_add_epi32(first, steps);
            let eight = _mm256_set1_epi32(step.wrapping_mul(8) as i32);
            let mut different = _mm256_setzero_si256();
            for part in 0..4 {
                let vector = _mm256_loadu_si256(row.as_ptr().add(part * 8).cast());
                different = _mm256_or_si256(different, _mm256_xor_si256(vector, expected));
                expected = _mm256_add_epi32(expected, eight);
            }
            _mm256_testz_si256(different, different) != 0
        }
    }

    #[inline(always)]
    fn is_strided_64(row: &[u64; WARP], step: u64) -> bool {
        use std::arch::x86_64::*;
        // SAFETY: loads stay inside the array; AVX2 as above.
        unsafe {
            let first = _mm256_set1_epi64x(row[0] as i64);
            let step = step as i64;
            let mut expected = _mm256_add_epi64(
                first,
                _mm256_set_epi64x(step.wrapping_mul(3), step.wrapping_mul(2), step, 0),
            );
            let four = _mm256_set1_epi64x(step.wrapping_mul(4));
            let mut different = _mm256_setzero_si256();
            for part in 0..8 {
                let vector = _mm256_loadu_si256(row.as_ptr().add(part * 4).cast());
                different = _mm256_or_si256(different, _mm256_xor_si256(vector, expected));
                expected = _mm256_add_epi64(expected, four);
            }
            _mm256_testz_si256(different, different) != 0
        }
    }

    #[inline(never)]
    #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn outlined<O: Outlined>(w: &mut WarpContext<'_>, op: &Op, argument: O::Argument) -> O::Result {
        // SAFETY: guaranteed by the caller.
        unsafe { O::run::<Avx2>(w, op, argument) }
    }
}

/// AVX-512: uses the primitives of AVX2, with wider loops.
#[cfg(target_arch = "x86_64")]
pub struct Avx512;

#[cfg(target_arch = "x86_64")]
impl Isa for Avx512 {
    #[inline(always)]
    fn top_bits_32(lanes: &[u32; WARP]) -> u32 {
        Avx2::top_bits_32(lanes)
    }

    #[inline(always)]
    fn top_bits_64(lanes: &[u64; WARP]) -> u32 {
        Avx2::top_bits_64(lanes)
    }

    #[inline(always)]
    fn is_strided_32(row: &[u32; WARP], step: u32) -> bool {
        Avx2::is_strided_32(row, step)
    }

    #[inline(always)]
    fn is_strided_64(row: &[u64; WARP], step: u64) -> bool {
        Avx2::is_strided_64(row, step)
    }

    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512cd,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn outlined<O: Outlined>(w: &mut WarpContext<'_>, op: &Op, argument: O::Argument) -> O::Result {
        // SAFETY: guaranteed by the caller.
        unsafe { O::run::<Avx512>(w, op, argument) }
    }
}

/// Defines `$name::<…>() -> Run`, which selects the copy of `$body` for the host's level.
///
/// `$body` is an `#[inline(always)]` function, generic over an [`Isa`] first and then over the listed
/// parameters.
macro_rules! per_level {
    ($(#[$doc:meta])* $visibility:vis fn $name:ident < $($generic:ident : $bound:path),* > = $body:ident) => {
        $(#[$doc])*
        $visibility fn $name<$($generic: $bound),*>() -> $crate::engine::op::Run {
            use $crate::engine::{isa, op::{Flow, Op}, warp_context::WarpContext};

            unsafe fn baseline<$($generic: $bound),*>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
                // SAFETY: the caller keeps `Run`'s contract.
                unsafe { $body::<isa::Baseline $(, $generic)*>(w, op) }
            }
            #[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
            #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
            unsafe fn avx2<$($generic: $bound),*>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
                // SAFETY: the caller keeps `Run`'s contract.
                unsafe { $body::<isa::Avx2 $(, $generic)*>(w, op) }
            }
            #[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512cd,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
            unsafe fn avx512<$($generic: $bound),*>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
                // SAFETY: the caller keeps `Run`'s contract.
                unsafe { $body::<isa::Avx512 $(, $generic)*>(w, op) }
            }
            match $crate::host::level() {
                #[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
                $crate::host::Level::Avx512 => avx512::<$($generic),*>,
                #[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
                $crate::host::Level::Avx2 => avx2::<$($generic),*>,
                _ => baseline::<$($generic),*>,
            }
        }
    };
}
pub(crate) use per_level;
