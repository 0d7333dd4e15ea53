//! Double precision: an operation with a rounding.

use std::marker::PhantomData;

use iced_x86::Code;

use super::modifiers::Modifiers;
use super::operation::{Add, Div, Fma, Mul, Operation, Sqrt, Sub};
use crate::engine::arithmetic::{Arithmetic, arithmetic};
use crate::engine::native::Forms;
use crate::engine::op::Run;
use crate::number::{Finite, Format, Round, propagate};

/// `O` rounded to nearest.
struct ToNearest<O>(PhantomData<O>);

impl<O: Operation> Arithmetic for ToNearest<O> {
    type T = f64;
    type D = f64;
    const OPERANDS: usize = O::OPERANDS;

    #[inline(always)]
    fn common(x: [f64; 3], _: u64) -> f64 {
        O::nearest(x)
    }

    #[inline(always)]
    fn is_rare(_: [f64; 3], d: f64) -> bool {
        d.is_nan()
    }

    fn rare(x: [f64; 3], _: u64) -> f64 {
        propagate(&x[..O::OPERANDS])
    }
}

/// `O` with the rounding of the modifiers, computed with integers and rounded once. A non-finite exact
/// result is not rounded, and the host's result applies.
struct Directed<O>(PhantomData<O>);

impl<O: Operation> Arithmetic for Directed<O> {
    type T = f64;
    type D = f64;
    const OPERANDS: usize = O::OPERANDS;

    #[inline(never)]
    fn common(x: [f64; 3], how: u64) -> f64 {
        let round = Modifiers::decode(how).round();
        let decode = |x: f64| Finite::decode(x.to_bits(), Format::F64);
        let exact = match (decode(x[0]), decode(x[1]), decode(x[2])) {
            (Some(a), Some(b), Some(c)) => O::exact([a, b, c], round),
            _ => None,
        };
        if let Some(exact) = exact {
            return f64::from_bits(exact.encode(Format::F64, round));
        }
        let d = O::nearest(x);
        if d.is_nan() { propagate(&x[..O::OPERANDS]) } else { d }
    }
}

/// Warp-wide function of `O`.
pub(super) fn double<O: Operation>(modifiers: Modifiers) -> Run {
    match modifiers.round() {
        Round::Nearest => arithmetic::<ToNearest<O>>(),
        _ => arithmetic::<Directed<O>>(),
    }
}

/// Adds the forms that have machine code.
pub(super) fn native_forms(forms: &mut Forms) {
    forms.lanes(arithmetic::<ToNearest<Add>>(), |e, op| {
        e.double_numbers(op, Code::EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er)
    });
    forms.lanes(arithmetic::<ToNearest<Sub>>(), |e, op| {
        e.double_numbers(op, Code::EVEX_Vsubpd_zmm_k1z_zmm_zmmm512b64_er)
    });
    forms.lanes(arithmetic::<ToNearest<Mul>>(), |e, op| {
        e.double_numbers(op, Code::EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er)
    });
    forms.lanes(arithmetic::<ToNearest<Div>>(), |e, op| {
        e.double_numbers(op, Code::EVEX_Vdivpd_zmm_k1z_zmm_zmmm512b64_er)
    });
    forms.lanes(arithmetic::<ToNearest<Sqrt>>(), |e, op| {
        e.double_number(op, Code::EVEX_Vsqrtpd_zmm_k1z_zmmm512b64_er)
    });
    forms.lanes(arithmetic::<ToNearest<Fma>>(), |e, op| e.fused_doubles(op));
}
