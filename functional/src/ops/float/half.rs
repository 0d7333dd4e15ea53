//! Half precision: an operation on one or two halves, computed in single precision and rounded once.

use std::marker::PhantomData;

use super::modifiers::Modifiers;
use super::operation::Operation;
use crate::engine::arithmetic::{Arithmetic, arithmetic};
use crate::engine::op::Run;
use crate::number::half::HalfFormat;
use crate::number::rounding::make_odd;

/// `O` in format `F`, rounded to nearest, with any modifiers.
pub(super) struct Half<O, F>(PhantomData<(O, F)>);

impl<O: Operation, F: HalfFormat> Arithmetic for Half<O, F> {
    type T = u16;
    type D = u16;
    const OPERANDS: usize = O::OPERANDS;

    #[inline(always)]
    fn common(x: [u16; 3], how: u64) -> u16 {
        let modifiers = Modifiers::decode(how);
        let x = x.map(|x| F::widen(modifiers.half_operand::<F>(x)));
        let r = O::nearest(x);
        let d = F::narrow(make_odd(r, O::excess(x.map(f64::from), f64::from(r))));
        modifiers.half_result::<F>(d)
    }
}

/// `O`, but zero if an operand is the NaN that copies store for elements outside of a tensor.
pub(super) struct ZeroOutside<O>(PhantomData<O>);

/// NaN for elements outside of a tensor, which no arithmetic instruction produces.
const OUTSIDE: u16 = 0xffff;

impl<O: Arithmetic<T = u16, D = u16>> Arithmetic for ZeroOutside<O> {
    type T = u16;
    type D = u16;
    const OPERANDS: usize = O::OPERANDS;

    #[inline(always)]
    fn common(x: [u16; 3], how: u64) -> u16 {
        let d = O::common(x, how);
        if x.contains(&OUTSIDE) { 0 } else { d }
    }
}

/// `O` on the lower and the upper 16 bits.
struct Packed<O>(PhantomData<O>);

impl<O: Arithmetic<T = u16, D = u16>> Arithmetic for Packed<O> {
    type T = u32;
    type D = u32;
    const OPERANDS: usize = O::OPERANDS;

    #[inline(always)]
    fn common(x: [u32; 3], how: u64) -> u32 {
        let low = O::common(x.map(|x| x as u16), how);
        let high = O::common(x.map(|x| (x >> 16) as u16), how);
        u32::from(low) | u32::from(high) << 16
    }
}

/// Warp-wide function of `O` on one half or two.
pub(super) fn halves<O: Arithmetic<T = u16, D = u16>>(packed: bool) -> Run {
    if packed { arithmetic::<Packed<O>>() } else { arithmetic::<O>() }
}
