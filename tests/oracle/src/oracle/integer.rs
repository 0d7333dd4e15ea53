//! Integer arithmetic (PTX manual 9.7.1) in 128 bits.

use ptx_frontend::isa::{Modifier, ScalarType};

use super::{Judge, Unjudged, halves, integer, one, range, signed_or_not, wrapped};
use crate::operands::mask;
use crate::variant::Variant;

pub(super) fn judge(variant: &Variant) -> Result<Judge, Unjudged> {
    let types = variant.types();
    let ty = *types.last().ok_or(Unjudged::Unknown)?;
    match ty {
        ScalarType::U16x2 => return packed(variant, ScalarType::U16),
        ScalarType::S16x2 => return packed(variant, ScalarType::S16),
        _ => {}
    }
    Ok(match variant.line.parsed().mnemonic {
        "fns" => one(|x| fns(x[0], x[1], x[2] as i32)),
        "clmad" => {
            let shift = if variant.has(Modifier::Hi) { 64 } else { 0 };
            one(move |x| (carryless(x[0], x[1]) >> shift) as u64 ^ x[2])
        }
        "bfe" => one(move |x| bfe(x[0], x[1], x[2], ty)),
        "bfi" => one(move |x| bfi(x[0], x[1], x[2], x[3], ty.bits())),
        "szext" => {
            let clamp = variant.has(Modifier::Clamp);
            one(move |x| szext(x[0], x[1] & mask(32), clamp, ty))
        }
        "bmsk" => {
            let clamp = variant.has(Modifier::Clamp);
            one(move |x| bmsk(x[0] & mask(32), x[1] & mask(32), clamp))
        }
        "dp4a" => {
            let (a, b) = (types[0], types[1]);
            one(move |x| dot(x, a, b, 4, |word, i, ty| element(word, i, 8, ty)))
        }
        "dp2a" => {
            let (a, b) = (types[0], types[1]);
            let first = if variant.has(Modifier::Hi) { 2 } else { 0 };
            one(move |x| {
                let sum = (0..2).map(|i| element(x[0], i, 16, a) * element(x[1], first + i, 8, b));
                wrapped(sum.sum::<i128>() + integer(x[2], sum_type(a, b)), 32)
            })
        }
        "bfind" => {
            let shift = variant.has(Modifier::Shiftamt);
            one(move |x| bfind(x[0], ty, shift))
        }
        "popc" => one(move |x| u64::from((x[0] & mask(ty.bits())).count_ones())),
        "clz" => one(move |x| (0..ty.bits()).rev().take_while(|bit| x[0] >> bit & 1 == 0).count() as u64),
        "brev" => one(move |x| (0..ty.bits()).fold(0, |d, bit| d << 1 | x[0] >> bit & 1)),
        _ => {
            let of = scalar(variant, ty)?;
            one(move |x| of(x))
        }
    })
}

/// Returns the carry-less product.
fn carryless(a: u64, b: u64) -> u128 {
    let places = (0..u64::BITS).filter(|place| b >> place & 1 == 1);
    places.map(|place| u128::from(a) << place).fold(0, std::ops::BitXor::bitxor)
}

type Function<T> = Box<dyn Fn(&[u64]) -> T + Send + Sync>;

/// Returns the function of scalar arithmetic on one integer type.
fn scalar(variant: &Variant, ty: ScalarType) -> Result<Function<u64>, Unjudged> {
    let bits = ty.bits();
    let signed = ty.is_signed();
    let hi = variant.has(Modifier::Hi);
    let sat = variant.has(Modifier::Sat);
    let relu = variant.has(Modifier::Relu);
    let read = move |x: &[u64], i: usize| integer(x[i], ty);
    let clamp = move |value: i128| {
        let (least, most) = range(bits, signed);
        if sat { value.clamp(least, most) } else { value }
    };
    let floor = move |value: i128| if relu { value.max(0) } else { value };
    let mnemonic = variant.line.parsed().mnemonic;
    let wide = variant.has(Modifier::Wide);
    let d_bits = if wide { 2 * bits } else { bits };
    // Takes the high half of a product, or the whole product.
    let half = move |product: i128| if hi { product >> bits } else { product };
    // The 24-bit product has 48 bits.
    let read24 = move |x: &[u64], i: usize| signed_or_not(x[i], 24, signed);
    let half24 = move |product: i128| if hi { product >> 16 } else { product };
    let low = move |value: i128| integer(wrapped(value, bits), ty);
    let wide_ty = move |value: u64| signed_or_not(value, 2 * bits, signed);
    let value: Function<i128> = match mnemonic {
        "add" => Box::new(move |x| clamp(read(x, 0) + read(x, 1))),
        "sub" => Box::new(move |x| clamp(read(x, 0) - read(x, 1))),
        "mul" => Box::new(move |x| half(multiply(read(x, 0), read(x, 1)))),
        "mad" if wide => Box::new(move |x| read(x, 0) * read(x, 1) + wide_ty(x[2])),
        "mad" => Box::new(move |x| {
            let product = half(multiply(read(x, 0), read(x, 1)));
            clamp(if hi { product } else { low(product) } + read(x, 2))
        }),
        "mul24" => Box::new(move |x| half24(read24(x, 0) * read24(x, 1))),
        "mad24" => Box::new(move |x| clamp(low(half24(read24(x, 0) * read24(x, 1))) + read(x, 2))),
        "sad" => Box::new(move |x| read(x, 2) + (read(x, 0) - read(x, 1)).abs()),
        // Division by 0 gives all ones.
        "div" => Box::new(move |x| if read(x, 1) == 0 { -1 } else { read(x, 0) / read(x, 1) }),
        "rem" => Box::new(move |x| if read(x, 1) == 0 { -1 } else { read(x, 0) % read(x, 1) }),
        "abs" => Box::new(move |x| read(x, 0).abs()),
        "neg" => Box::new(move |x| -read(x, 0)),
        "min" => Box::new(move |x| floor(read(x, 0).min(read(x, 1)))),
        "max" => Box::new(move |x| floor(read(x, 0).max(read(x, 1)))),
        _ => return Err(Unjudged::Unknown),
    };
    Ok(Box::new(move |x| wrapped(value(x), d_bits)))
}

/// Returns the product modulo 2^128. Unsigned 64-bit factors need all bits.
fn multiply(a: i128, b: i128) -> i128 {
    (a as u128).wrapping_mul(b as u128) as i128
}

fn packed(variant: &Variant, element: ScalarType) -> Result<Judge, Unjudged> {
    let of = scalar(variant, element)?;
    Ok(one(halves(16, move |x| of(x))))
}

fn fns(mask: u64, base: u64, offset: i32) -> u64 {
    const NONE: u64 = 0xffff_ffff;
    let base = base & 0xffff_ffff;
    let set = |position: i64| mask >> position & 1 == 1;
    if base > 31 {
        return NONE;
    }
    let base = base as i64;
    if offset == 0 {
        return if set(base) { base as u64 } else { NONE };
    }
    let step = i64::from(offset.signum());
    let ones =
        (0..32).map(|n| base + n * step).filter(|position| (0..32).contains(position) && set(*position));
    ones.map(|position| position as u64).nth(offset.unsigned_abs() as usize - 1).unwrap_or(NONE)
}

/// Returns position and length of a field. ptxas uses 8 bits of a count for words and 32 for double words.
fn counts(counts: [u64; 2], bits: u32) -> [u64; 2] {
    counts.map(|count| count & if bits == 64 { mask(32) } else { 0xff })
}

fn bfe(a: u64, b: u64, c: u64, ty: ScalarType) -> u64 {
    let top = u64::from(ty.bits()) - 1;
    let [position, length] = counts([b, c], ty.bits());
    let sign = match ty.is_signed() && length > 0 {
        true => a >> (position + length - 1).min(top) & 1,
        false => 0,
    };
    (0..=top).fold(0, |d, i| {
        let bit = if i < length && position + i <= top { a >> (position + i) & 1 } else { sign };
        d | bit << i
    })
}

fn bfi(a: u64, b: u64, c: u64, length: u64, bits: u32) -> u64 {
    let [position, length] = counts([c, length], bits);
    (0..length.min(64))
        .take_while(|i| position + i < u64::from(bits))
        .fold(b & mask(bits), |d, i| d & !(1 << (position + i)) | (a >> i & 1) << (position + i))
}

fn szext(a: u64, b: u64, clamp: bool, ty: ScalarType) -> u64 {
    let width = if clamp { b.min(32) } else { b % 32 };
    match width {
        0 => 0,
        width => wrapped(signed_or_not(a, width as u32, ty.is_signed()), 32),
    }
}

fn bmsk(a: u64, b: u64, clamp: bool) -> u64 {
    let (a, b) = if clamp { (a.min(32), b.min(32)) } else { (a % 32, b % 32) };
    (a..(a + b).min(32)).fold(0, |d, bit| d | 1 << bit)
}

/// Returns element `i` of a word.
fn element(word: u64, i: u32, bits: u32, ty: ScalarType) -> i128 {
    signed_or_not(word >> (i * bits), bits, ty.is_signed())
}

fn sum_type(a: ScalarType, b: ScalarType) -> ScalarType {
    if a.is_signed() || b.is_signed() { ScalarType::S32 } else { ScalarType::U32 }
}

fn dot(
    x: &[u64],
    a: ScalarType,
    b: ScalarType,
    count: u32,
    read: impl Fn(u64, u32, ScalarType) -> i128,
) -> u64 {
    let sum: i128 = (0..count).map(|i| read(x[0], i, a) * read(x[1], i, b)).sum();
    wrapped(sum + integer(x[2], sum_type(a, b)), 32)
}

fn bfind(a: u64, ty: ScalarType, shift: bool) -> u64 {
    let negative = ty.is_signed() && a >> (ty.bits() - 1) & 1 == 1;
    let a = if negative { !a } else { a } & mask(ty.bits());
    match (0..ty.bits()).rev().find(|bit| a >> bit & 1 == 1) {
        None => mask(32),
        Some(bit) if shift => u64::from(ty.bits() - 1 - bit),
        Some(bit) => u64::from(bit),
    }
}
