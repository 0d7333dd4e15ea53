//! Scalar video instructions (PTX manual 9.7.18.1 to 9.7.18.4).

use ptx_frontend::ir::{Instruction, Operand};
use ptx_frontend::isa::{Modifier, WordPart};

use super::{Operation, bind_described, clamp, extend, is_signed, part};
use crate::bind::Binder;
use crate::engine::arithmetic::{Arithmetic, arithmetic};
use crate::ops::Bound;

/// Position of a byte, half or whole word in a word. The lowest bit takes five bits; above them is the
/// number of doublings from 8 bits to the width.
#[derive(Debug, Clone, Copy)]
struct Field(u8);

impl Field {
    fn new(part: Option<WordPart>) -> Field {
        match part.map(|part| (part.halves, part.pieces().first().copied().unwrap_or(0))) {
            None => Field(2 << 5),
            Some((true, half)) => Field(1 << 5 | half << 4),
            Some((false, byte)) => Field(byte << 3),
        }
    }

    #[inline(always)]
    fn bits(self) -> u32 {
        8 << (self.0 >> 5)
    }

    #[inline(always)]
    fn lowest(self) -> u32 {
        u32::from(self.0 & 31)
    }

    /// Number at this position.
    #[inline(always)]
    fn read(self, word: u32, signed: bool) -> i64 {
        extend(u64::from(word >> self.lowest()), self.bits(), signed)
    }

    /// The word with the number's low bits at this position.
    #[inline(always)]
    fn write(self, word: u32, value: i64) -> u32 {
        let ones = (u32::MAX >> (32 - self.bits())) << self.lowest();
        (word & !ones) | ((value as u32) << self.lowest() & ones)
    }
}

/// The result and c are signed.
const SIGNED: u8 = 1;
/// a is signed.
const SIGNED_A: u8 = 2;
/// b is signed.
const SIGNED_B: u8 = 4;
/// The result is clamped to the part of d that receives it.
const CLAMPED: u8 = 8;
/// One is added (`vmad.po`).
const PLUS_ONE: u8 = 16;
/// a * b is negated.
const MINUS_PRODUCT: u8 = 32;
/// c is negated.
const MINUS_C: u8 = 64;

/// Flags of an instruction whose types `a` and `a + 1` belong to a and b.
fn flags(i: &Instruction, d_signed: bool, a: usize) -> u8 {
    let known = [
        (SIGNED, d_signed),
        (SIGNED_A, is_signed(i, a)),
        (SIGNED_B, is_signed(i, a + 1)),
        (CLAMPED, i.has(Modifier::Sat)),
    ];
    known.iter().filter(|(_, holds)| *holds).map(|(flag, _)| flag).sum()
}

/// Operation on parts of a and b. The result is inserted into a part of c, or combined with c. Without a
/// second operation, c is a row of zeros that is added.
struct Scalar;

impl Arithmetic for Scalar {
    type T = u32;
    type D = u32;
    const OPERANDS: usize = 3;

    #[inline(always)]
    fn common([a, b, c]: [u32; 3], how: u64) -> u32 {
        let [operation, place_a, place_b, place_d, second, flags, ..] = how.to_le_bytes();
        let a = Field(place_a).read(a, flags & SIGNED_A != 0);
        let b = Field(place_b).read(b, flags & SIGNED_B != 0);
        let d = Field(place_d);
        let mut value = Operation::from_number(operation).apply(a, b);
        if flags & CLAMPED != 0 {
            value = clamp(value, d.bits(), flags & SIGNED != 0);
        }
        if d.bits() < 32 {
            return d.write(c, value);
        }
        let c = extend(u64::from(c), 32, flags & SIGNED != 0);
        Operation::from_number(second).apply(value, c) as u32
    }
}

/// Binds an instruction whose types `a` and `a + 1` belong to a and b.
fn bind(b: &mut Binder<'_, '_>, i: &Instruction, operation: Operation, d_signed: bool, a: usize) -> Bound {
    let second = [Modifier::Add, Modifier::Min, Modifier::Max].into_iter().find(|second| i.has(*second));
    let has_c = !matches!(i.operands.get(3), None | Some(Operand::Absent));
    let uses = usize::from(second.is_some()) + usize::from(part(i, 0).is_some());
    if uses != usize::from(has_c) {
        return Err(b.error(match has_c {
            true => "c cannot both combine with the result and receive it in a part",
            false => "a second operation or a part of d requires operand c",
        }));
    }
    let second = match second {
        Some(Modifier::Min) => Operation::Minimum,
        Some(Modifier::Max) => Operation::Maximum,
        _ => Operation::Add,
    };
    let [place_d, place_a, place_b] = [0, 1, 2].map(|n| Field::new(part(i, n)).0);
    let flags = flags(i, d_signed, a);
    let description = [operation as u8, place_a, place_b, place_d, second as u8, flags, 0, 0];
    bind_described(b, i, arithmetic::<Scalar>(), description)
}

macro_rules! scalar_forms {
    ($($form:ident = $operation:ident;)*) => {
        $(
            #[doc = concat!("Binds `", stringify!($form), "`.")]
            pub fn $form(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
                bind(b, i, Operation::$operation, is_signed(i, 0), 1)
            }
        )*
    };
}

scalar_forms! {
    vadd = Add;
    vsub = Subtract;
    vabsdiff = Difference;
    vmin = Minimum;
    vmax = Maximum;
}

/// Binds `vshl`.
pub fn vshl(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let clamped = i.has(Modifier::Clamp);
    let operation = if clamped { Operation::ShiftLeftClamped } else { Operation::ShiftLeftWrapped };
    bind(b, i, operation, is_signed(i, 0), 1)
}

/// Binds `vshr`.
pub fn vshr(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let clamped = i.has(Modifier::Clamp);
    let operation = if clamped { Operation::ShiftRightClamped } else { Operation::ShiftRightWrapped };
    bind(b, i, operation, is_signed(i, 0), 1)
}

/// Binds `vset`.
pub fn vset(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, Operation::comparison(i), false, 0)
}

/// a * b + c with optional negations, scaled.
struct MultiplyAdd;

impl Arithmetic for MultiplyAdd {
    type T = u32;
    type D = u32;
    const OPERANDS: usize = 3;

    #[inline(always)]
    fn common([a, b, c]: [u32; 3], how: u64) -> u32 {
        let [shift, place_a, place_b, flags, ..] = how.to_le_bytes();
        let a = Field(place_a).read(a, flags & SIGNED_A != 0);
        let b = Field(place_b).read(b, flags & SIGNED_B != 0);
        let signed = flags & SIGNED != 0;
        let product = i128::from(a) * i128::from(b);
        let product = if flags & MINUS_PRODUCT != 0 { -product } else { product };
        // The complement precedes the extension of c, so -c of the largest unsigned number is 1.
        let c = if flags & MINUS_C != 0 { !c } else { c };
        let plus = i128::from(flags & (PLUS_ONE | MINUS_C) != 0);
        let sum = (product + i128::from(extend(u64::from(c), 32, signed)) + plus) >> shift;
        if flags & CLAMPED == 0 {
            return sum as u32;
        }
        let (least, most) =
            if signed { (i128::from(i32::MIN), i128::from(i32::MAX)) } else { (0, i128::from(u32::MAX)) };
        sum.clamp(least, most) as u32
    }
}

/// Binds `vmad`.
pub fn vmad(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let [minus_a, minus_b, minus_c] =
        [1, 2, 3].map(|n| matches!(i.operands.get(n), Some(Operand::Part { minus: true, .. })));
    let minus_product = minus_a != minus_b;
    let plus_one = i.has(Modifier::Po);
    if minus_product && minus_c || plus_one && (minus_a || minus_b || minus_c) {
        return Err(b.error("only one of a * b and c may be negated, and neither with .po"));
    }
    let signed = is_signed(i, 1) || is_signed(i, 2) || minus_product || minus_c;
    let known = [(PLUS_ONE, plus_one), (MINUS_PRODUCT, minus_product), (MINUS_C, minus_c)];
    let signs: u8 = known.iter().filter(|(_, holds)| *holds).map(|(flag, _)| flag).sum();
    let shift = match (i.has(Modifier::Shr7), i.has(Modifier::Shr15)) {
        (true, _) => 7,
        (_, true) => 15,
        _ => 0,
    };
    let [place_a, place_b] = [1, 2].map(|n| Field::new(part(i, n)).0);
    let description = [shift, place_a, place_b, flags(i, signed, 1) | signs, 0, 0, 0, 0];
    bind_described(b, i, arithmetic::<MultiplyAdd>(), description)
}
