//! Fast functions from single and double precision to integers.

use std::marker::PhantomData;

use ptx_frontend::isa::ScalarType;

use super::definition::Conversion;
use crate::engine::lane::Lane;
use crate::engine::native::Forms;
use crate::engine::op::Run;
use crate::engine::shapes::{Unary, unary};
use crate::number::{Down, Nearest, Round, Rounding, Up, Zero};

/// Single or double precision.
pub(super) trait Real: Lane {
    /// Rounds to an integral value.
    fn integral<R: Rounding>(self) -> Self;
}

macro_rules! real {
    ($($ty:ty)*) => {
        $(impl Real for $ty {
            #[inline(always)]
            fn integral<R: Rounding>(self) -> $ty {
                match R::ROUND {
                    Round::Nearest | Round::NearestAway => self.round_ties_even(),
                    Round::Zero => self.trunc(),
                    Round::Down => self.floor(),
                    Round::Up => self.ceil(),
                }
            }
        })*
    };
}
real! { f32 f64 }

/// From an integral float: clamped, and NaN according to the manual for this pair of types.
trait Clamp<D>: Real {
    fn clamp_to(self) -> D;
}

macro_rules! clamps {
    ($($from:ty => $($to:ty = $nan:expr),*;)*) => {
        $($(impl Clamp<$to> for $from {
            #[inline(always)]
            fn clamp_to(self) -> $to {
                // Rust's `as` clamps and maps NaN to 0.
                let clamped = self as $to;
                if self.is_nan() { $nan } else { clamped }
            }
        })*)*
    };
}
clamps! {
    f32 => u32 = 0, i32 = 0, u64 = 1 << 63, i64 = i64::MIN;
    f64 => u32 = 1 << 31, i32 = i32::MIN, u64 = 1 << 63, i64 = i64::MIN;
}

macro_rules! narrow_clamps {
    ($($to:ty)*) => {
        $(impl Clamp<$to> for f32 {
            #[inline(always)]
            fn clamp_to(self) -> $to {
                (self as i32).clamp(i32::from(<$to>::MIN), i32::from(<$to>::MAX)) as $to
            }
        })*
    };
}
narrow_clamps! { u8 i8 u16 i16 }

/// From `S` to `D`, rounded by `R`.
struct ToInteger<S, D, R>(PhantomData<(S, D, R)>);
impl<S: Clamp<D>, D: Lane, R: Rounding> Unary for ToInteger<S, D, R> {
    type A = S;
    type D = D;
    #[inline(always)]
    fn apply(a: S) -> D {
        a.integral::<R>().clamp_to()
    }
}

/// Fast function of a conversion, if any: all roundings between 32-bit types, the two usual roundings
/// otherwise.
pub(super) fn function(conversion: &Conversion) -> Option<Run> {
    match conversion.round {
        Round::Nearest => usual::<Nearest>(conversion),
        Round::Zero => usual::<Zero>(conversion),
        // Only these roundings distinguish a subnormal number from zero.
        _ if conversion.ftz => None,
        Round::Down => between_words::<Down>(conversion),
        Round::Up => between_words::<Up>(conversion),
        Round::NearestAway => None,
    }
}

fn between_words<R: Rounding>(conversion: &Conversion) -> Option<Run> {
    Some(match (conversion.from, conversion.to) {
        (ScalarType::F32, ScalarType::U32) => unary::<ToInteger<f32, u32, R>>(),
        (ScalarType::F32, ScalarType::S32) => unary::<ToInteger<f32, i32, R>>(),
        _ => return None,
    })
}

fn usual<R: Rounding>(conversion: &Conversion) -> Option<Run> {
    Some(match (conversion.from, conversion.to) {
        (ScalarType::F32, ScalarType::U8) => unary::<ToInteger<f32, u8, R>>(),
        (ScalarType::F32, ScalarType::S8) => unary::<ToInteger<f32, i8, R>>(),
        (ScalarType::F32, ScalarType::U16) => unary::<ToInteger<f32, u16, R>>(),
        (ScalarType::F32, ScalarType::S16) => unary::<ToInteger<f32, i16, R>>(),
        (ScalarType::F32, ScalarType::U64) => unary::<ToInteger<f32, u64, R>>(),
        (ScalarType::F32, ScalarType::S64) => unary::<ToInteger<f32, i64, R>>(),
        (ScalarType::F64, ScalarType::U32) => unary::<ToInteger<f64, u32, R>>(),
        (ScalarType::F64, ScalarType::S32) => unary::<ToInteger<f64, i32, R>>(),
        (ScalarType::F64, ScalarType::U64) => unary::<ToInteger<f64, u64, R>>(),
        (ScalarType::F64, ScalarType::S64) => unary::<ToInteger<f64, i64, R>>(),
        _ => return between_words::<R>(conversion),
    })
}

/// Adds the forms that have machine code. The number is the rounding of the host's `vrndscaleps`.
pub(super) fn native_forms(forms: &mut Forms) {
    macro_rules! forms {
        ($($rounding:ident = $number:literal;)*) => {$(
            forms.lanes(unary::<ToInteger<f32, i32, $rounding>>(), |e, op| e.rounded_words(op, $number, true));
            forms.lanes(unary::<ToInteger<f32, u32, $rounding>>(), |e, op| e.rounded_words(op, $number, false));
        )*};
    }
    forms! {
        Nearest = 0;
        Down = 1;
        Up = 2;
        Zero = 3;
    }
}
