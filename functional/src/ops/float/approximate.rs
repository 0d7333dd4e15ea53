//! Approximate reciprocals, roots and quotients (PTX manual 9.7.3.8, 9.7.3.13 to 9.7.3.17).
//!
//! The host's division and square root are more accurate than the manual requires. They vectorise, and,
//! unlike the host's approximations, give equal bits on every host.

use std::marker::PhantomData;

use ptx_frontend::ir::Instruction;
use ptx_frontend::isa::{Modifier, ScalarType};

use super::half::halves;
use super::modifiers::Modifiers;
use super::{Bound, bind};
use crate::bind::Binder;
use crate::engine::arithmetic::{Arithmetic, arithmetic};
use crate::engine::native::{Approximation, Forms};
use crate::number::half::{Bf16, F16, HalfFormat};
use crate::number::propagate;

/// A function of one or two singles.
pub(super) trait Function: 'static {
    /// Number of operands.
    const OPERANDS: usize;
    /// Value of the function; the caller canonicalises NaNs.
    fn common(x: [f32; 3]) -> f32;
    /// True if [`Function::rare`] must handle the operands.
    #[inline(always)]
    fn is_rare(_x: [f32; 3]) -> bool {
        false
    }
    /// Value for rare operands.
    fn rare(x: [f32; 3]) -> f32 {
        Self::common(x)
    }
}

/// `F` with optional `.ftz`.
struct Approximate<F>(PhantomData<F>);

impl<F: Function> Arithmetic for Approximate<F> {
    type T = f32;
    type D = f32;
    const OPERANDS: usize = F::OPERANDS;

    #[inline(always)]
    fn common(x: [f32; 3], how: u64) -> f32 {
        let modifiers = Modifiers::decode(how);
        modifiers.result(F::common(x.map(|x| modifiers.operand(x))))
    }

    #[inline(always)]
    fn is_rare(x: [f32; 3], _: f32) -> bool {
        F::is_rare(x)
    }

    fn rare(x: [f32; 3], how: u64) -> f32 {
        Modifiers::decode(how).result(F::rare(x))
    }
}

/// Binds `F`.
pub(super) fn bind_function<F: Function>(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, arithmetic::<Approximate<F>>(), ScalarType::F32)
}

/// `F` of a half, rounded to half, with optional `.ftz`.
struct ApproximateHalf<F, H>(PhantomData<(F, H)>);

impl<F: Function, H: HalfFormat> Arithmetic for ApproximateHalf<F, H> {
    type T = u16;
    type D = u16;
    const OPERANDS: usize = F::OPERANDS;

    #[inline(always)]
    fn common(x: [u16; 3], how: u64) -> u16 {
        let modifiers = Modifiers::decode(how);
        let x = x.map(|x| H::widen(modifiers.half_operand::<H>(x)));
        modifiers.half_result::<H>(H::narrow(F::common(x)))
    }
}

/// Binds `F`, which has no rare operands, for halves.
pub(super) fn bind_half_function<F: Function>(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    let packed = ty.bits() == 32;
    let run = match ty {
        ScalarType::Bf16 | ScalarType::Bf16x2 => halves::<ApproximateHalf<F, Bf16>>(packed),
        _ => halves::<ApproximateHalf<F, F16>>(packed),
    };
    bind(b, i, run, ty)
}

/// 1 ÷ a; the manual allows an error of 1 ulp.
struct Rcp;
impl Function for Rcp {
    const OPERANDS: usize = 1;
    #[inline(always)]
    fn common([a, _, _]: [f32; 3]) -> f32 {
        1.0 / a
    }
}

/// √a; the manual allows a relative error of 2^-23.
struct Sqrt;
impl Function for Sqrt {
    const OPERANDS: usize = 1;
    #[inline(always)]
    fn common([a, _, _]: [f32; 3]) -> f32 {
        a.sqrt()
    }
}

/// 1 ÷ √a; the manual allows a relative error of 2^-22.9, and two roundings make at most 2^-23.
struct Rsqrt;
impl Function for Rsqrt {
    const OPERANDS: usize = 1;
    #[inline(always)]
    fn common([a, _, _]: [f32; 3]) -> f32 {
        1.0 / a.sqrt()
    }
}

/// a × (1 ÷ b); the manual allows 2 ulp, and defines the reciprocal of a divisor above 2^126 as 0.
struct Div;
impl Function for Div {
    const OPERANDS: usize = 2;
    #[inline(always)]
    fn common([a, b, _]: [f32; 3]) -> f32 {
        const LARGEST: f32 = f32::from_bits((127 + 126) << 23);
        a / if b.abs() > LARGEST { f32::INFINITY.copysign(b) } else { b }
    }
}

/// a ÷ b over the full range; the manual allows 2 ulp.
struct DivFull;
impl Function for DivFull {
    const OPERANDS: usize = 2;
    #[inline(always)]
    fn common([a, b, _]: [f32; 3]) -> f32 {
        a / b
    }
}

/// `rcp.approx.f32`.
pub fn rcp_approx(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_function::<Rcp>(b, i)
}

/// `sqrt.approx.f32`.
pub fn sqrt_approx(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_function::<Sqrt>(b, i)
}

/// `rsqrt.approx.f32`.
pub fn rsqrt_approx(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_function::<Rsqrt>(b, i)
}

/// `div.approx.f32` and `div.full.f32`.
pub fn div_approx(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    if i.has(Modifier::Full) { bind_function::<DivFull>(b, i) } else { bind_function::<Div>(b, i) }
}

/// 1 ÷ √a in double precision.
struct RsqrtDouble;
impl Arithmetic for RsqrtDouble {
    type T = f64;
    type D = f64;
    const OPERANDS: usize = 1;
    #[inline(always)]
    fn common([a, _, _]: [f64; 3], _: u64) -> f64 {
        1.0 / a.sqrt()
    }
    #[inline(always)]
    fn is_rare(_: [f64; 3], d: f64) -> bool {
        d.is_nan()
    }
    fn rare(x: [f64; 3], _: u64) -> f64 {
        propagate(&x[..1])
    }
}

/// `rsqrt.approx.f64`.
pub fn rsqrt_approx_double(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, arithmetic::<RsqrtDouble>(), ScalarType::F64)
}

/// A function of the upper word of a double: sign, exponent, 20 bits of fraction.
trait UpperWord: 'static {
    /// Value of the function.
    fn of(a: f64) -> f64;
}

struct RcpUpper;
impl UpperWord for RcpUpper {
    #[inline(always)]
    fn of(a: f64) -> f64 {
        1.0 / a
    }
}

struct RsqrtUpper;
impl UpperWord for RsqrtUpper {
    #[inline(always)]
    fn of(a: f64) -> f64 {
        1.0 / a.sqrt()
    }
}

/// `F` with flushed subnormal operands and results.
struct Gross<F>(PhantomData<F>);
impl<F: UpperWord> Arithmetic for Gross<F> {
    type T = u64;
    type D = u64;
    const OPERANDS: usize = 1;
    #[inline(always)]
    fn common([a, _, _]: [u64; 3], _: u64) -> u64 {
        const NAN: u64 = 0x7fff_ffff << 32;
        const UPPER: u64 = !0xffff_ffff;
        let flush = |bits: u64| if bits & (0x7ff << 52) == 0 { bits & (1 << 63) } else { bits };
        let d = F::of(f64::from_bits(flush(a & UPPER)));
        let rounded = d.to_bits().wrapping_add(1 << 31) & UPPER;
        if d.is_nan() { NAN } else { flush(rounded) }
    }
}

/// `rcp.approx.ftz.f64`.
pub fn rcp_approx_double(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, arithmetic::<Gross<RcpUpper>>(), ScalarType::F64)
}

/// `rsqrt.approx.ftz.f64`.
pub fn rsqrt_approx_ftz_double(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, arithmetic::<Gross<RsqrtUpper>>(), ScalarType::F64)
}

/// Adds the forms that have machine code.
pub(super) fn native_forms(forms: &mut Forms) {
    macro_rules! forms {
        ($($function:ident => $approximation:ident;)*) => {$(
            forms.lanes(arithmetic::<Approximate<$function>>(), |e, op| {
                let modifiers = Modifiers::decode(op.immediate);
                e.approximate(op, Approximation::$approximation, modifiers.has(Modifiers::FTZ))
            });
        )*};
    }
    forms! {
        Rcp => Reciprocal;
        Sqrt => Root;
        Rsqrt => ReciprocalRoot;
        DivFull => Quotient;
    }
}
