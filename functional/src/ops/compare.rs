//! Comparison and selection (PTX manual 9.7.6, 9.7.7).

use std::marker::PhantomData;

use ptx_frontend::ir::Instruction;
use ptx_frontend::isa::{Modifier, ScalarType};

use super::{Bound, not_yet};
use crate::bind::Binder;
use crate::engine::isa::{Isa, per_level};
use crate::engine::lane::Lane;
use crate::engine::op::{Flow, Op, PREDICATE_SINK, PredicateSource, Run};
use crate::engine::running::Running;
use crate::engine::shapes::{Predicate, predicate, test_lanes};

/// How a comparison's truth is combined with the predicate `c`; kept in the op's immediate.
const COMBINE_AND: u64 = 1;
const COMBINE_OR: u64 = 2;
const COMBINE_XOR: u64 = 3;

/// p = truth combined with c, q = (not truth) combined with c.
#[inline(always)]
unsafe fn setp_body<I: Isa, O: Predicate>(w: &mut Running<'_>, op: &Op) -> Flow {
    // SAFETY: `a` and `b` are rows of the comparison's width, `c` a predicate source, `d` and `e` predicate words.
    unsafe {
        let truth = test_lanes::<I, O>(w, op);
        let c = w.predicate(PredicateSource::decode(op.c));
        let combine = |truth: u32| match op.immediate {
            COMBINE_AND => truth & c,
            COMBINE_OR => truth | c,
            COMBINE_XOR => truth ^ c,
            _ => truth,
        };
        w.write_predicate(op.d, combine(truth));
        w.write_predicate(op.e, combine(!truth));
    }
    Flow::Next
}

per_level! {
    /// A comparison with a second result or a combination.
    fn setp_combined<O: Predicate> = setp_body
}

/// The plain and the combined form of one comparison.
struct Comparison {
    plain: Run,
    combined: Run,
}

fn comparison<O: Predicate>() -> Comparison {
    Comparison { plain: predicate::<O>(), combined: setp_combined::<O>() }
}

macro_rules! integer_comparisons {
    ($($name:ident $symbol:tt),*) => {
        $(struct $name<T>(PhantomData<T>);
        impl<T: Lane + PartialOrd> Predicate for $name<T> {
            type A = T;
            #[inline(always)]
            fn apply(a: T, b: T) -> bool { a $symbol b }
        })*
    };
}
integer_comparisons! { Equal ==, NotEqual !=, Less <, LessEqual <=, Greater >, GreaterEqual >= }

fn integer_comparison<S: Lane + PartialOrd, U: Lane + PartialOrd>(
    how: Modifier,
    signed: bool,
) -> Option<Comparison> {
    Some(match (how, signed) {
        (Modifier::Eq, _) => comparison::<Equal<U>>(),
        (Modifier::Ne, _) => comparison::<NotEqual<U>>(),
        (Modifier::Lt, true) => comparison::<Less<S>>(),
        (Modifier::Le, true) => comparison::<LessEqual<S>>(),
        (Modifier::Gt, true) => comparison::<Greater<S>>(),
        (Modifier::Ge, true) => comparison::<GreaterEqual<S>>(),
        (Modifier::Lt, false) | (Modifier::Lo, _) => comparison::<Less<U>>(),
        (Modifier::Le, false) | (Modifier::Ls, _) => comparison::<LessEqual<U>>(),
        (Modifier::Gt, false) | (Modifier::Hi, _) => comparison::<Greater<U>>(),
        (Modifier::Ge, false) | (Modifier::Hs, _) => comparison::<GreaterEqual<U>>(),
        _ => return None,
    })
}

/// Binds p|q = a ? b, combined with c.
fn bind_setp(b: &mut Binder<'_, '_>, i: &Instruction, ty: ScalarType, how: Comparison) -> Bound {
    let combine = match i.modifiers().find(|m| matches!(m, Modifier::And | Modifier::Or | Modifier::Xor)) {
        Some(Modifier::And) => COMBINE_AND,
        Some(Modifier::Or) => COMBINE_OR,
        Some(_) => COMBINE_XOR,
        None => 0,
    };
    let d = b.predicate_result(&i.operands[0])?;
    let e = b.predicate_result(&i.operands[1])?;
    let a = b.source(&i.operands[2], ty)?;
    let second = b.source(&i.operands[3], ty)?;
    let c = b.predicate_source(&i.operands[4])?.encode();
    let run = if combine == 0 && e == PREDICATE_SINK { how.plain } else { how.combined };
    let op = Op { d, e, a, b: second, c, immediate: combine, ..b.op(run) };
    b.push(op);
    Ok(())
}

/// `setp` of integers.
pub fn setp_integer(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    let how = i.modifiers().next().and_then(|how| match ty.bits() {
        16 => integer_comparison::<i16, u16>(how, ty.is_signed()),
        32 => integer_comparison::<i32, u32>(how, ty.is_signed()),
        _ => integer_comparison::<i64, u64>(how, ty.is_signed()),
    });
    let how = how.ok_or_else(|| b.error("this comparison is not one of integers"))?;
    bind_setp(b, i, ty, how)
}

not_yet! { setp_float setp_double setp_half setp_half_pair set_integer set_float set_half set_half_pair selp slct }
