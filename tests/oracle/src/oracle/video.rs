//! Video instructions (PTX manual 9.7.18).

use ptx_frontend::isa::{Modifier, ScalarType, WordPart};

use super::{Answer, Judge, Unjudged, integer, one, range, signed_or_not, wrapped};
use crate::operands::mask;
use crate::variant::Variant;

pub(super) fn judge(variant: &Variant) -> Result<Judge, Unjudged> {
    let mnemonic = variant.line.parsed().mnemonic;
    match mnemonic {
        "vmad" => vmad(variant),
        _ if mnemonic.ends_with('2') => simd(variant, 2),
        _ if mnemonic.ends_with('4') => simd(variant, 4),
        _ => scalar(variant),
    }
}

type Binary = Box<dyn Fn(i128, i128) -> i128 + Send + Sync>;

/// Returns the operation on integers.
fn operation(variant: &Variant) -> Result<Binary, Unjudged> {
    let clamp = variant.has(Modifier::Clamp);
    let amount = move |b: i128| if clamp { b.min(32) } else { b & 31 };
    let mnemonic = variant.line.parsed().mnemonic.trim_end_matches(['2', '4']);
    Ok(match mnemonic {
        "vadd" => Box::new(|a, b| a + b),
        "vsub" => Box::new(|a, b| a - b),
        "vabsdiff" => Box::new(|a, b| (a - b).abs()),
        "vmin" => Box::new(|a, b| a.min(b)),
        "vmax" => Box::new(|a, b| a.max(b)),
        "vavrg" => Box::new(|a, b| (a + b + i128::from(a + b >= 0)) >> 1),
        "vshl" => Box::new(move |a, b| a << amount(b)),
        "vshr" => Box::new(move |a, b| a >> amount(b)),
        "vset" => {
            let how = variant.modifiers().next().ok_or(Unjudged::Unknown)?;
            Box::new(move |a, b| {
                i128::from(match how {
                    Modifier::Eq => a == b,
                    Modifier::Ne => a != b,
                    Modifier::Lt => a < b,
                    Modifier::Le => a <= b,
                    Modifier::Gt => a > b,
                    _ => a >= b,
                })
            })
        }
        _ => return Err(Unjudged::Unknown),
    })
}

/// Returns the lowest bit and width of a byte, half or word.
fn place(part: Option<WordPart>) -> (u32, u32) {
    match part {
        None => (0, 32),
        Some(part) => {
            let width = if part.halves { 16 } else { 8 };
            (part.pieces().first().map_or(0, |piece| u32::from(*piece) * width), width)
        }
    }
}

fn read(word: u64, part: Option<WordPart>, ty: ScalarType) -> i128 {
    let (lowest, width) = place(part);
    signed_or_not((word & mask(32)) >> lowest, width, ty.is_signed())
}

/// Returns the types of the result, a and b.
fn types(variant: &Variant) -> Result<[ScalarType; 3], Unjudged> {
    let of = |name| variant.place(name).map(|place| place.ty).ok_or(Unjudged::Unknown);
    Ok([of("d")?, of("a")?, of("b")?])
}

fn second(variant: &Variant) -> Option<Modifier> {
    variant.modifiers().find(|m| matches!(m, Modifier::Add | Modifier::Min | Modifier::Max))
}

fn scalar(variant: &Variant) -> Result<Judge, Unjudged> {
    let operation = operation(variant)?;
    let [d_type, a_type, b_type] = types(variant)?;
    let [d_part, a_part, b_part] = ["d", "a", "b"].map(|name| variant.place(name).and_then(|p| p.part));
    let sat = variant.has(Modifier::Sat);
    let second = second(variant);
    let (lowest, width) = place(d_part);
    Ok(Box::new(move |x| {
        let mut value = operation(read(x[0], a_part, a_type), read(x[1], b_part, b_type));
        if sat {
            let (least, most) = range(width, d_type.is_signed());
            value = value.clamp(least, most);
        }
        if width < 32 {
            let ones = mask(width) << lowest;
            return vec![Answer::Bits(x[2] & mask(32) & !ones | wrapped(value, width) << lowest)];
        }
        let combined = |value: i128| {
            let combined = match second {
                None => value,
                Some(Modifier::Add) => value + integer(x[2], d_type),
                Some(Modifier::Min) => value.min(integer(x[2], d_type)),
                Some(_) => value.max(integer(x[2], d_type)),
            };
            wrapped(combined, 32)
        };
        // The intermediate result has 34 bits and, by the manual, a sign that depends on the type of d.
        vec![Answer::Either(combined(value), combined(integer(wrapped(value, 32), d_type)))]
    }))
}

fn vmad(variant: &Variant) -> Result<Judge, Unjudged> {
    let [_, a_type, b_type] = types(variant)?;
    let [a_part, b_part] = ["a", "b"].map(|name| variant.place(name).and_then(|place| place.part));
    let [minus_a, minus_b, minus_c] =
        ["a", "b", "c"].map(|name| variant.place(name).is_some_and(|place| place.negated));
    let minus_product = minus_a != minus_b;
    let plus_one = variant.has(Modifier::Po);
    if (minus_product && minus_c) || (plus_one && (minus_a || minus_b || minus_c)) {
        return Err(Unjudged::NotInManual);
    }
    let signed = a_type.is_signed() || b_type.is_signed() || minus_product || minus_c;
    let sat = variant.has(Modifier::Sat);
    let shift = match (variant.has(Modifier::Shr7), variant.has(Modifier::Shr15)) {
        (true, _) => 7,
        (_, true) => 15,
        _ => 0,
    };
    Ok(one(move |x| {
        let mut product = read(x[0], a_part, a_type) * read(x[1], b_part, b_type);
        let mut c = x[2] & mask(32);
        let mut lowest = i128::from(plus_one);
        if minus_product {
            (product, lowest) = (!product, 1);
        } else if minus_c {
            (c, lowest) = (!c & mask(32), 1);
        }
        let sum = (product + signed_or_not(c, 32, signed) + lowest) >> shift;
        let (least, most) = range(32, signed);
        wrapped(if sat { sum.clamp(least, most) } else { sum }, 32)
    }))
}

fn simd(variant: &Variant, lanes: u32) -> Result<Judge, Unjudged> {
    let operation = operation(variant)?;
    let [d_type, a_type, b_type] = types(variant)?;
    let width = 32 / lanes;
    let picked = |name, first: u32| -> Vec<u32> {
        match variant.place(name).and_then(|place| place.part) {
            Some(part) => part.pieces().iter().map(|piece| u32::from(*piece)).collect(),
            None => (first..first + lanes).collect(),
        }
    };
    let (a, b) = (picked("a", 0), picked("b", lanes));
    let written = picked("d", 0);
    let (sat, add) = (variant.has(Modifier::Sat), variant.has(Modifier::Add));
    Ok(one(move |x| {
        let both = x[1] << 32 | x[0] & mask(32);
        let lane = |piece: u32, ty: ScalarType| signed_or_not(both >> (piece * width), width, ty.is_signed());
        let mut sum = integer(x[2], d_type);
        let mut merged = x[2] & mask(32);
        for i in 0..lanes {
            let at = i as usize;
            let mut value = operation(lane(a[at], a_type), lane(b[at], b_type));
            if sat {
                let (least, most) = range(width, d_type.is_signed());
                value = value.clamp(least, most);
            }
            if written.contains(&i) {
                sum += value;
                let lowest = i * width;
                merged = merged & !(mask(width) << lowest) | wrapped(value, width) << lowest;
            }
        }
        if add { wrapped(sum, 32) } else { merged }
    }))
}
