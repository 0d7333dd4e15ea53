//! Half precision: an operation on one or two halves, computed in single precision and rounded once.

use std::marker::PhantomData;

use super::operation::Operation;
use crate::engine::arithmetic::{Arithmetic, arithmetic};
use crate::engine::op::Run;
use crate::number::half::{self, HalfFormat};
use crate::number::rounding::make_odd;

/// What is done to a result at the end.
pub(super) trait Clamp: 'static {
    fn clamp<F: HalfFormat>(bits: u16) -> u16;
}

/// Nothing.
pub(super) struct Unclamped;
impl Clamp for Unclamped {
    #[inline(always)]
    fn clamp<F: HalfFormat>(bits: u16) -> u16 {
        bits
    }
}

/// `.sat`.
pub(super) struct Sat;
impl Clamp for Sat {
    #[inline(always)]
    fn clamp<F: HalfFormat>(bits: u16) -> u16 {
        half::saturate::<F>(bits)
    }
}

/// `.relu`.
pub(super) struct Relu;
impl Clamp for Relu {
    #[inline(always)]
    fn clamp<F: HalfFormat>(bits: u16) -> u16 {
        half::rectify::<F>(bits)
    }
}

/// `O` in format `F`, rounded to nearest.
pub(super) struct Half<O, F, C, const FTZ: bool>(PhantomData<(O, F, C)>);

impl<O: Operation, F: HalfFormat, C: Clamp, const FTZ: bool> Arithmetic for Half<O, F, C, FTZ> {
    type T = u16;
    type D = u16;
    const OPERANDS: usize = O::OPERANDS;

    #[inline(always)]
    fn common(x: [u16; 3]) -> u16 {
        let x = if FTZ { x.map(half::flush::<F>) } else { x };
        let x = x.map(F::widen);
        let r = O::nearest(x);
        let d = F::narrow(make_odd(r, O::excess(x.map(f64::from), f64::from(r))));
        C::clamp::<F>(if FTZ { half::flush::<F>(d) } else { d })
    }
}

/// `O` on the lower and on the upper 16 bits.
pub(super) struct Packed<O>(PhantomData<O>);

impl<O: Arithmetic<T = u16, D = u16>> Arithmetic for Packed<O> {
    type T = u32;
    type D = u32;
    const OPERANDS: usize = O::OPERANDS;

    #[inline(always)]
    fn common(x: [u32; 3]) -> u32 {
        let low = O::common(x.map(|x| x as u16));
        let high = O::common(x.map(|x| (x >> 16) as u16));
        u32::from(low) | u32::from(high) << 16
    }
}

/// The warp-wide function of `O` on one half or on two.
pub(super) fn halves<O: Arithmetic<T = u16, D = u16>>(packed: bool) -> Run {
    if packed { arithmetic::<Packed<O>>() } else { arithmetic::<O>() }
}
