//! Correctly rounded IEEE 754 operations: in host arithmetic, exactly, and with integers.

use std::ops::{Add as Plus, Div as Over, Mul as Times, Neg, Sub as Minus};

use crate::number::{Finite, Round};

/// Floating-point types of the host.
pub(super) trait Real:
    Copy
    + Neg<Output = Self>
    + Plus<Output = Self>
    + Minus<Output = Self>
    + Times<Output = Self>
    + Over<Output = Self>
{
    /// 1.
    const ONE: Self;
    /// self × b + c, rounded once.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// √self.
    fn sqrt(self) -> Self;
}

macro_rules! real {
    ($($ty:ty)*) => {
        $(impl Real for $ty {
            const ONE: $ty = 1.0;
            #[inline(always)]
            fn mul_add(self, b: $ty, c: $ty) -> $ty { self.mul_add(b, c) }
            #[inline(always)]
            fn sqrt(self) -> $ty { self.sqrt() }
        })*
    };
}
real! { f32 f64 }

/// A correctly rounded operation on up to three operands.
pub(super) trait Operation: 'static {
    /// Number of operands.
    const OPERANDS: usize;
    /// True if ptxas computes the operation by several instructions, which flush after rounding to 24 bits.
    const FLUSHED_BY_CODE: bool = false;
    /// Result rounded to nearest.
    fn nearest<T: Real>(x: [T; 3]) -> T;
    /// Result rounded to nearest, with the zero sign of `.rm`: an exact sum of 0 is -0 unless both operands
    /// are +0.
    #[inline(always)]
    fn nearest_down<T: Real>(x: [T; 3]) -> T {
        Self::nearest(x)
    }
    /// A number with the sign of r - x, where x is the exact result for single-precision operands and r is x
    /// rounded to single precision. NaN if an operand or r is infinite, or x is no number.
    fn excess(x: [f64; 3], r: f64) -> f64;
    /// Exact result for finite double-precision operands; `None` if it is no finite number.
    fn exact(x: [Finite; 3], round: Round) -> Option<Finite>;
}

/// r - (a + b), with an exact sign if r is a + b rounded to fewer bits than double precision.
#[inline(always)]
fn excess_of_sum(a: f64, b: f64, r: f64) -> f64 {
    let sum = a + b;
    let b_part = sum - a;
    let error = (a - (sum - b_part)) + (b - b_part);
    let difference = r - sum;
    if difference == 0.0 { -error } else { difference }
}

/// a + b.
pub(super) struct Add;
impl Operation for Add {
    const OPERANDS: usize = 2;
    #[inline(always)]
    fn nearest<T: Real>([a, b, _]: [T; 3]) -> T {
        a + b
    }
    #[inline(always)]
    fn nearest_down<T: Real>([a, b, _]: [T; 3]) -> T {
        -(-a - b)
    }
    #[inline(always)]
    fn excess([a, b, _]: [f64; 3], r: f64) -> f64 {
        excess_of_sum(a, b, r)
    }
    fn exact([a, b, _]: [Finite; 3], round: Round) -> Option<Finite> {
        Some(a.add(b, round))
    }
}

/// a - b.
pub(super) struct Sub;
impl Operation for Sub {
    const OPERANDS: usize = 2;
    #[inline(always)]
    fn nearest<T: Real>([a, b, _]: [T; 3]) -> T {
        a - b
    }
    #[inline(always)]
    fn nearest_down<T: Real>([a, b, _]: [T; 3]) -> T {
        -(b - a)
    }
    #[inline(always)]
    fn excess([a, b, _]: [f64; 3], r: f64) -> f64 {
        excess_of_sum(a, -b, r)
    }
    fn exact([a, b, _]: [Finite; 3], round: Round) -> Option<Finite> {
        Some(a.add(b.negate(), round))
    }
}

/// a × b.
pub(super) struct Mul;
impl Operation for Mul {
    const OPERANDS: usize = 2;
    #[inline(always)]
    fn nearest<T: Real>([a, b, _]: [T; 3]) -> T {
        a * b
    }
    #[inline(always)]
    fn excess([a, b, _]: [f64; 3], r: f64) -> f64 {
        // The product has 48 bits and is exact.
        r - a * b
    }
    fn exact([a, b, _]: [Finite; 3], _: Round) -> Option<Finite> {
        Some(a.multiply(b))
    }
}

/// a × b + c.
pub(super) struct Fma;
impl Operation for Fma {
    const OPERANDS: usize = 3;
    #[inline(always)]
    fn nearest<T: Real>([a, b, c]: [T; 3]) -> T {
        a.mul_add(b, c)
    }
    #[inline(always)]
    fn nearest_down<T: Real>([a, b, c]: [T; 3]) -> T {
        -(-a).mul_add(b, -c)
    }
    #[inline(always)]
    fn excess([a, b, c]: [f64; 3], r: f64) -> f64 {
        excess_of_sum(a * b, c, r)
    }
    fn exact([a, b, c]: [Finite; 3], round: Round) -> Option<Finite> {
        Some(a.multiply(b).add(c, round))
    }
}

/// a ÷ b.
pub(super) struct Div;
impl Operation for Div {
    const OPERANDS: usize = 2;
    const FLUSHED_BY_CODE: bool = true;
    #[inline(always)]
    fn nearest<T: Real>([a, b, _]: [T; 3]) -> T {
        a / b
    }
    #[inline(always)]
    fn excess([a, b, _]: [f64; 3], r: f64) -> f64 {
        let excess = r * b - a;
        if b < 0.0 { -excess } else { excess }
    }
    fn exact([a, b, _]: [Finite; 3], _: Round) -> Option<Finite> {
        (b.significand != 0).then(|| a.divide(b))
    }
}

/// 1 ÷ a.
pub(super) struct Rcp;
impl Operation for Rcp {
    const OPERANDS: usize = 1;
    const FLUSHED_BY_CODE: bool = true;
    #[inline(always)]
    fn nearest<T: Real>([a, _, _]: [T; 3]) -> T {
        T::ONE / a
    }
    #[inline(always)]
    fn excess([a, _, _]: [f64; 3], r: f64) -> f64 {
        Div::excess([1.0, a, a], r)
    }
    fn exact([a, _, _]: [Finite; 3], round: Round) -> Option<Finite> {
        Div::exact([Finite::integer(false, 1), a, a], round)
    }
}

/// √a.
pub(super) struct Sqrt;
impl Operation for Sqrt {
    const OPERANDS: usize = 1;
    #[inline(always)]
    fn nearest<T: Real>([a, _, _]: [T; 3]) -> T {
        a.sqrt()
    }
    #[inline(always)]
    fn excess([a, _, _]: [f64; 3], r: f64) -> f64 {
        r * r - a
    }
    fn exact([a, _, _]: [Finite; 3], _: Round) -> Option<Finite> {
        (!a.negative).then(|| a.square_root())
    }
}
