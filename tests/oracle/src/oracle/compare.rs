//! Comparison and selection (PTX manual 9.7.6, 9.7.7).

use std::cmp::Ordering;

use ptx_frontend::isa::{Modifier, ScalarType, TypeClass};

use super::{Answer, Judge, Unjudged, integer, one};
use crate::format::Format;
use crate::operands::mask;
use crate::variant::Variant;

pub(super) fn judge(variant: &Variant) -> Result<Judge, Unjudged> {
    match variant.line.parsed().mnemonic {
        "setp" => setp(variant),
        "set" => set(variant),
        "selp" => Ok(one(|x| if x[2] & 1 == 1 { x[0] } else { x[1] })),
        "slct" => slct(variant),
        _ => Err(Unjudged::Unknown),
    }
}

type Comparison = Box<dyn Fn(u64, u64) -> bool + Send + Sync>;

/// Compares two numbers of the variant's type, or elements of them, as the modifier specifies.
fn comparison(variant: &Variant, ty: ScalarType) -> Result<Comparison, Unjudged> {
    let how = variant.modifiers().next().ok_or(Unjudged::Unknown)?;
    let Some(format) = Format::of(ty) else {
        let unsigned_only = matches!(how, Modifier::Lo | Modifier::Ls | Modifier::Hi | Modifier::Hs);
        let equality = matches!(how, Modifier::Eq | Modifier::Ne);
        let fits = match ty.class() {
            TypeClass::Bits => equality,
            TypeClass::Unsigned => true,
            _ => !unsigned_only,
        };
        return match fits {
            true => Ok(Box::new(move |a, b| ordered(how, integer(a, ty).cmp(&integer(b, ty))))),
            false => Err(Unjudged::NotInManual),
        };
    };
    let ftz = variant.has(Modifier::Ftz);
    if ftz && matches!(format, Format::F64 | Format::Bf16) {
        return Err(Unjudged::NotInManual);
    }
    Ok(Box::new(move |a, b| {
        let [a, b] = [a, b].map(|x| x & mask(format.bits()));
        let [a, b] = [a, b].map(|x| if ftz { format.flush(x) } else { x });
        if format.is_nan(a) || format.is_nan(b) {
            return holds_for_nan(how);
        }
        let order = match (format.is_less(a, b, false), format.is_less(b, a, false)) {
            (true, _) => Ordering::Less,
            (_, true) => Ordering::Greater,
            _ => Ordering::Equal,
        };
        ordered(how, order)
    }))
}

fn ordered(how: Modifier, order: Ordering) -> bool {
    match how {
        Modifier::Eq | Modifier::Equ => order.is_eq(),
        Modifier::Ne | Modifier::Neu => order.is_ne(),
        Modifier::Lt | Modifier::Ltu | Modifier::Lo => order.is_lt(),
        Modifier::Le | Modifier::Leu | Modifier::Ls => order.is_le(),
        Modifier::Gt | Modifier::Gtu | Modifier::Hi => order.is_gt(),
        Modifier::Ge | Modifier::Geu | Modifier::Hs => order.is_ge(),
        Modifier::Num => true,
        _ => false,
    }
}

fn holds_for_nan(how: Modifier) -> bool {
    use Modifier::{Equ, Geu, Gtu, IsNan, Leu, Ltu, Neu};
    matches!(how, Equ | Neu | Ltu | Leu | Gtu | Geu | IsNan)
}

type Combination = Box<dyn Fn(bool, &[u64]) -> bool + Send + Sync>;

/// Combines a comparison with the optional predicate c.
fn combination(variant: &Variant) -> Combination {
    let Some(c) = variant.place("c") else { return Box::new(|truth, _| truth) };
    let negated = c.negated;
    let how = variant.modifiers().find(|m| matches!(m, Modifier::And | Modifier::Or | Modifier::Xor));
    Box::new(move |truth, x| {
        let c = (x[2] & 1 == 1) != negated;
        match how {
            Some(Modifier::And) => truth && c,
            Some(Modifier::Or) => truth || c,
            _ => truth != c,
        }
    })
}

fn setp(variant: &Variant) -> Result<Judge, Unjudged> {
    let ty = *variant.types().last().ok_or(Unjudged::Unknown)?;
    let compare = comparison(variant, ty)?;
    let combine = combination(variant);
    let both = variant.place("q").is_some();
    if both && variant.line.name == "setp_half" {
        return Err(Unjudged::NotInManual);
    }
    if ty.class() == TypeClass::Packed {
        return Ok(Box::new(move |x| {
            let halves = [0, 16].map(|shift| compare(x[0] >> shift, x[1] >> shift));
            halves.map(|truth| Answer::Bits(combine(truth, x).into())).to_vec()
        }));
    }
    Ok(Box::new(move |x| {
        let truth = compare(x[0], x[1]);
        let mut answers = vec![Answer::Bits(combine(truth, x).into())];
        if both {
            answers.push(Answer::Bits(combine(!truth, x).into()));
        }
        answers
    }))
}

/// Returns the type's value for true.
fn truth_of(ty: ScalarType) -> u64 {
    match Format::of(ty) {
        Some(format) => format.one(),
        None => mask(ty.bits()),
    }
}

fn set(variant: &Variant) -> Result<Judge, Unjudged> {
    let types = variant.types();
    let (to, ty) = (types[0], *types.last().ok_or(Unjudged::Unknown)?);
    let compare = comparison(variant, ty)?;
    let combine = combination(variant);
    if ty.class() == TypeClass::Packed {
        let to_format = Format::of(to).filter(|_| to.class() == TypeClass::Packed);
        if to_format.is_some() && to != ty {
            return Err(Unjudged::NotInManual);
        }
        let truth = to_format.map_or(0xffff, Format::one);
        return Ok(one(move |x| {
            let half = |shift: u32| combine(compare(x[0] >> shift, x[1] >> shift), x);
            [0, 16].into_iter().filter(|shift| half(*shift)).fold(0, |d, shift| d | truth << shift)
        }));
    }
    let half = |ty| matches!(ty, ScalarType::F16 | ScalarType::Bf16);
    if half(to) && half(ty) && to != ty {
        return Err(Unjudged::NotInManual);
    }
    let truth = truth_of(to);
    Ok(one(move |x| if combine(compare(x[0], x[1]), x) { truth } else { 0 }))
}

fn slct(variant: &Variant) -> Result<Judge, Unjudged> {
    let float = variant.types().last() == Some(&ScalarType::F32);
    if variant.has(Modifier::Ftz) && !float {
        return Err(Unjudged::NotInManual);
    }
    let ftz = variant.has(Modifier::Ftz);
    Ok(one(move |x| {
        let c = if ftz { Format::F32.flush(x[2] & mask(32)) } else { x[2] & mask(32) };
        let holds = match float {
            true => !Format::F32.is_nan(c) && !Format::F32.is_less(c, 0, false),
            false => integer(c, ScalarType::S32) >= 0,
        };
        if holds { x[0] } else { x[1] }
    }))
}
