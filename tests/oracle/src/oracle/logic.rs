//! Logic, shifts, byte permutation, moves (PTX manual 9.7.8, 9.7.9.2, 9.7.9.7).

use ptx_frontend::isa::Modifier;

use super::{Answer, Judge, Unjudged, integer, one, wrapped};
use crate::format::Format;
use crate::operands::mask;
use crate::variant::Variant;

pub(super) fn judge(variant: &Variant) -> Result<Judge, Unjudged> {
    let ty = *variant.types().last().ok_or(Unjudged::Unknown)?;
    let ones = mask(ty.bits());
    // Negation of predicates.
    let negated: Vec<u64> = variant.inputs().map(|place| u64::from(place.negated)).collect();
    let read = move |x: &[u64], i: usize| (x[i] ^ negated.get(i).copied().unwrap_or(0)) & ones;
    let clamp = variant.has(Modifier::Clamp);
    Ok(match variant.line.parsed().mnemonic {
        "and" => one(move |x| read(x, 0) & read(x, 1)),
        "or" => one(move |x| read(x, 0) | read(x, 1)),
        "xor" => one(move |x| read(x, 0) ^ read(x, 1)),
        "not" => one(move |x| !read(x, 0) & ones),
        "mov" if Format::of(ty).is_some_and(|format| ty.bits() != format.bits() || format.bits() == 16) => {
            return Err(Unjudged::NotInManual);
        }
        "mov" => one(move |x| read(x, 0)),
        "cnot" => one(move |x| u64::from(read(x, 0) == 0)),
        "lop3" => return lop3(variant),
        "shf" if variant.has(Modifier::Left) => {
            one(move |x| (both(x) << amount(x[2], clamp)) >> 32 & mask(32))
        }
        "shf" => one(move |x| both(x) >> amount(x[2], clamp) & mask(32)),
        "shl" => one(move |x| {
            let by = x[1] & mask(32);
            if by < u64::from(ty.bits()) { x[0] << by & ones } else { 0 }
        }),
        "shr" => one(move |x| wrapped(integer(x[0], ty) >> (x[1] & mask(32)).min(64), ty.bits())),
        "prmt" => {
            let mode = variant.modifiers().next();
            one(move |x| prmt(x, mode))
        }
        _ => return Err(Unjudged::Unknown),
    })
}

/// Concatenates b and a.
fn both(x: &[u64]) -> u64 {
    x[1] << 32 | x[0] & mask(32)
}

fn amount(c: u64, clamp: bool) -> u64 {
    let c = c & mask(32);
    if clamp { c.min(32) } else { c % 32 }
}

fn lop3(variant: &Variant) -> Result<Judge, Unjudged> {
    let table = variant.place("e").and_then(|place| place.constant).ok_or(Unjudged::Unknown)?;
    let bit = move |x: &[u64], i: u32| {
        let index = (x[0] >> i & 1) << 2 | (x[1] >> i & 1) << 1 | x[2] >> i & 1;
        table >> index & 1
    };
    let value = move |x: &[u64]| (0..32).fold(0, |d, i| d | bit(x, i) << i);
    let and = variant.has(Modifier::And);
    let Some(r) = variant.place("r") else { return Ok(one(value)) };
    let negated = r.negated;
    Ok(Box::new(move |x| {
        let (d, r) = (value(x), (x[3] & 1 == 1) != negated);
        let p = if and { d != 0 && r } else { d != 0 || r };
        vec![Answer::Bits(d), Answer::Bits(p.into())]
    }))
}

fn prmt(x: &[u64], mode: Option<Modifier>) -> u64 {
    let byte = |n: u64| both(x) >> (8 * (n % 8)) & 0xff;
    let s = x[2] & 3;
    let place = |i: u64| match mode {
        None => {
            let selector = x[2] >> (4 * i) & 0xf;
            let byte = byte(selector & 7);
            if selector & 8 == 0 { byte } else { 0xff * (byte >> 7) }
        }
        Some(Modifier::F4e) => byte(s + i),
        Some(Modifier::B4e) => byte(s + 8 - i),
        Some(Modifier::Rc8) => byte(s),
        Some(Modifier::Ecl) => byte(i.max(s)),
        Some(Modifier::Ecr) => byte(i.min(s)),
        // rc16: the bytes of the low or the high half.
        Some(_) => byte(2 * (s & 1) + i % 2),
    };
    (0..4).fold(0, |d, i| d | place(i) << (8 * i))
}
