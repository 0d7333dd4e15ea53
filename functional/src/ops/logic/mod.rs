//! Logic, shifts, byte permutation (PTX manual 9.7.8).

use iced_x86::Code;
use ptx_frontend::ir::{Instruction, Operand};
use ptx_frontend::isa::{Modifier, ScalarType};

use super::{Bound, bind_values, by_width, lane_functions, uniform_forms};
use crate::bind::{BindError, Binder};
use crate::engine::isa::{Isa, per_level};
use crate::engine::lane::{Lane, WARP};
use crate::engine::native::{Combine, Forms};
use crate::engine::op::{Flow, Op, PredicateSource, Run};
use crate::engine::shapes::{Ternary, binary, ternary, unary};
use crate::engine::warp_context::WarpContext;

/// Type with logic and shift operations.
pub(crate) trait Word: Lane + Ord {
    /// All ones.
    const ONES: Self;
    /// Bitwise and.
    fn and(self, other: Self) -> Self;
    /// Bitwise or.
    fn or(self, other: Self) -> Self;
    /// Bitwise exclusive or.
    fn xor(self, other: Self) -> Self;
    /// 1 for zero, else 0.
    fn is_zero(self) -> Self;
    /// Left shift; 0 for shifts by the width or more.
    fn shift_left(self, by: u32) -> Self;
    /// Right shift, filled with zeros, or with the sign if signed.
    fn shift_right(self, by: u32) -> Self;
}

macro_rules! word {
    ($($ty:ty),*) => {
        $(impl Word for $ty {
            const ONES: $ty = !0;
            #[inline(always)]
            fn and(self, other: $ty) -> $ty { self & other }
            #[inline(always)]
            fn or(self, other: $ty) -> $ty { self | other }
            #[inline(always)]
            fn xor(self, other: $ty) -> $ty { self ^ other }
            #[inline(always)]
            fn is_zero(self) -> $ty { <$ty>::from(self == 0) }
            #[inline(always)]
            fn shift_left(self, by: u32) -> $ty { self.checked_shl(by).unwrap_or(0) }
            #[inline(always)]
            #[allow(unused_comparisons)]
            fn shift_right(self, by: u32) -> $ty {
                // A shift by the width or more leaves only the fill: zeros or sign bits.
                self.checked_shr(by).unwrap_or(if self < 0 { !0 } else { 0 })
            }
        })*
    };
}
word! { u16, u32, u64, i16, i32, i64 }

lane_functions! {
    /// a and b.
    And<T: Word> = |a: T, b: T| -> T { a.and(b) }
    /// a or b.
    Or<T: Word> = |a: T, b: T| -> T { a.or(b) }
    /// a exclusive-or b.
    Xor<T: Word> = |a: T, b: T| -> T { a.xor(b) }
    /// Not a.
    Not<T: Word> = |a: T| -> T { a.xor(T::ONES) }
    /// 1 if a is 0.
    IsZero<T: Word> = |a: T| -> T { a.is_zero() }
    /// a shifted left.
    ShiftLeft<T: Word> = |a: T, b: u32| -> T { a.shift_left(b) }
    /// a shifted right.
    ShiftRight<T: Word> = |a: T, b: u32| -> T { a.shift_right(b) }
    /// Upper half of b:a shifted left, by 32 at most.
    FunnelLeftClamp = |a: u32, b: u32, c: u32| -> u32 { (pair(a, b) << c.min(32) >> 32) as u32 }
    /// Upper half of b:a shifted left, by the low 5 bits.
    FunnelLeftWrap = |a: u32, b: u32, c: u32| -> u32 { (pair(a, b) << (c & 31) >> 32) as u32 }
    /// Lower half of b:a shifted right, by 32 at most.
    FunnelRightClamp = |a: u32, b: u32, c: u32| -> u32 { (pair(a, b) >> c.min(32)) as u32 }
    /// Lower half of b:a shifted right, by the low 5 bits.
    FunnelRightWrap = |a: u32, b: u32, c: u32| -> u32 { (pair(a, b) >> (c & 31)) as u32 }
    /// a rotated left.
    RotateLeft = |a: u32, b: u32| -> u32 { a.rotate_left(b & 31) }
    /// a rotated right.
    RotateRight = |a: u32, b: u32| -> u32 { a.rotate_right(b & 31) }
}

/// The pair b:a.
#[inline(always)]
fn pair(a: u32, b: u32) -> u64 {
    u64::from(b) << 32 | u64::from(a)
}

uniform_forms! {
    and = by_width!(binary, And);
    or = by_width!(binary, Or);
    xor = by_width!(binary, Xor);
    not = by_width!(unary, Not);
    cnot = by_width!(unary, IsZero);
}

/// `shl`.
pub fn shl(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    let run = by_width!(b, ty, binary, ShiftLeft);
    bind_values(b, i, run, ty, &[ty, ScalarType::U32])
}

/// `shr`.
pub fn shr(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    let run = match (ty.is_signed(), ty.bits()) {
        (true, 16) => binary::<ShiftRight<i16>>(),
        (true, 32) => binary::<ShiftRight<i32>>(),
        (true, 64) => binary::<ShiftRight<i64>>(),
        _ => by_width!(b, ty, binary, ShiftRight),
    };
    bind_values(b, i, run, ty, &[ty, ScalarType::U32])
}

/// `shf`; a funnel shift of a register with itself is a rotation.
pub fn shf(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    const WORD: ScalarType = ScalarType::B32;
    let left = i.has(Modifier::Left);
    if i.has(Modifier::Wrap) && i.operands[1] == i.operands[2] {
        let run = if left { binary::<RotateLeft>() } else { binary::<RotateRight>() };
        let (a, by) = (b.source(&i.operands[1], WORD)?, b.source(&i.operands[3], ScalarType::U32)?);
        let d = b.result(&i.operands[0], WORD)?;
        let op = Op { d, a, b: by, ..b.op(run) };
        b.push(op);
        return Ok(());
    }
    let run = match (left, i.has(Modifier::Wrap)) {
        (true, false) => ternary::<FunnelLeftClamp>(),
        (true, true) => ternary::<FunnelLeftWrap>(),
        (false, false) => ternary::<FunnelRightClamp>(),
        (false, true) => ternary::<FunnelRightWrap>(),
    };
    bind_values(b, i, run, WORD, &[WORD, WORD, ScalarType::U32])
}

/// Defines a combination of two predicates, one bit per lane.
macro_rules! predicate_forms {
    ($($form:ident, $run:ident = |$a:ident, $b:ident| $value:expr;)*) => {
        $(
            fn $run() -> Run {
                fn run(w: &mut WarpContext<'_>, op: &Op) -> Flow {
                    // SAFETY: `a` and `b` are predicate sources, `d` a predicate word.
                    unsafe {
                        let $a = w.predicate(PredicateSource::decode(op.a));
                        let $b = w.predicate(PredicateSource::decode(op.b));
                        w.write_predicate(op.d, $value);
                    }
                    Flow::Next
                }
                run
            }

            #[doc = concat!("Binds `", stringify!($form), "`.")]
            pub fn $form(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
                let a = b.predicate_source(&i.operands[1])?.encode();
                let second = match i.operands.get(2) {
                    Some(operand) => b.predicate_source(operand)?.encode(),
                    None => PredicateSource::TRUE.encode(),
                };
                let d = b.predicate_result(&i.operands[0])?;
                let op = Op { d, a, b: second, ..b.op($run()) };
                b.push(op);
                Ok(())
            }
        )*
    };
}
predicate_forms! {
    and_predicate, and_predicate_run = |a, b| a & b;
    or_predicate, or_predicate_run = |a, b| a | b;
    xor_predicate, xor_predicate_run = |a, b| a ^ b;
    not_predicate, not_predicate_run = |a, b| !a & b;
}

/// A truth table with each entry expanded to a word.
type SpreadTable = [u32; 8];

#[inline(always)]
fn spread(table: u64) -> SpreadTable {
    std::array::from_fn(|entry| 0u32.wrapping_sub((table >> entry) as u32 & 1))
}

/// Bitwise table lookup with the index formed by the bits of a, b and c.
#[inline(always)]
fn look_up(table: &SpreadTable, a: u32, b: u32, c: u32) -> u32 {
    let choose = |on: u32, yes: u32, no: u32| (on & yes) | (!on & no);
    let by_c = |first: usize| choose(c, table[first + 1], table[first]);
    let by_b = |first: usize| choose(b, by_c(first + 2), by_c(first));
    choose(a, by_b(4), by_b(0))
}

/// Function of a, b and c with the truth table in the immediate.
///
/// # Safety
/// As for [`Run`]: a, b and c are 32-bit rows.
#[inline(always)]
unsafe fn lop3_rows(w: &WarpContext<'_>, op: &Op) -> [u32; WARP] {
    // SAFETY: guaranteed by the caller.
    let (a, b, c) = unsafe { (w.read_row::<u32>(op.a), w.read_row::<u32>(op.b), w.read_row::<u32>(op.c)) };
    let table = spread(op.immediate);
    std::array::from_fn(|lane| look_up(&table, a[lane], b[lane], c[lane]))
}

#[inline(always)]
unsafe fn lop3_body<I: Isa>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: the caller keeps `Run`'s contract.
    unsafe {
        let d = lop3_rows(w, op);
        w.write_row(op.d, &d);
    }
    Flow::Next
}

/// [`lop3_body`] with a test: predicate `e` = (d is not 0) AND or OR the predicate in the immediate's upper
/// half.
#[inline(always)]
unsafe fn lop3_predicate_body<I: Isa>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: the caller keeps `Run`'s contract; `e` is a predicate word.
    unsafe {
        let d = lop3_rows(w, op);
        let truth = I::top_bits_32(&d.map(|d| 0u32.wrapping_sub(u32::from(d != 0))));
        let other = w.predicate(PredicateSource::decode((op.immediate >> 32) as u32));
        w.write_row(op.d, &d);
        w.write_predicate(op.e, if op.slot == 0 { truth & other } else { truth | other });
    }
    Flow::Next
}

per_level! {
    fn lop3_any<> = lop3_body
}
per_level! {
    fn lop3_and_test<> = lop3_predicate_body
}

lane_functions! {
    /// Truth table 0x80.
    And3 = |a: u32, b: u32, c: u32| -> u32 { a & b & c }
    /// Truth table 0xfe.
    Or3 = |a: u32, b: u32, c: u32| -> u32 { a | b | c }
    /// Truth table 0x96.
    Xor3 = |a: u32, b: u32, c: u32| -> u32 { a ^ b ^ c }
    /// Truth table 0xca: b where a, else c.
    Select3 = |a: u32, b: u32, c: u32| -> u32 { (a & b) | (!a & c) }
    /// Truth table 0xe8.
    Majority3 = |a: u32, b: u32, c: u32| -> u32 { (a & b) | (a & c) | (b & c) }
    /// Truth table 0xf8.
    AndOr3 = |a: u32, b: u32, c: u32| -> u32 { a | (b & c) }
    /// Truth table 0x78.
    AndXor3 = |a: u32, b: u32, c: u32| -> u32 { a ^ (b & c) }
    /// Truth table 0x6a.
    XorAnd3 = |a: u32, b: u32, c: u32| -> u32 { (a & b) ^ c }
    /// Truth table 0xea.
    OrAnd3 = |a: u32, b: u32, c: u32| -> u32 { (a & b) | c }
}

/// Function with this truth table, specialised for common tables.
fn lop3_function(table: u64) -> Run {
    match table {
        0x80 => ternary::<And3>(),
        0xfe => ternary::<Or3>(),
        0x96 => ternary::<Xor3>(),
        0xca => ternary::<Select3>(),
        0xe8 => ternary::<Majority3>(),
        0xf8 => ternary::<AndOr3>(),
        0x78 => ternary::<AndXor3>(),
        0x6a => ternary::<XorAnd3>(),
        0xea => ternary::<OrAnd3>(),
        0xc0 => binary::<And<u32>>(),
        0xfc => binary::<Or<u32>>(),
        0x3c => binary::<Xor<u32>>(),
        _ => lop3_any(),
    }
}

/// Truth table: the function's value for a = 0xF0, b = 0xCC, c = 0xAA (PTX manual 9.7.8.6).
fn truth_table(b: &Binder<'_, '_>, operand: &Operand) -> Result<u64, BindError> {
    match operand {
        Operand::Immediate(bits) => Ok(*bits & 0xff),
        _ => Err(b.error("the truth table of lop3 must be a constant")),
    }
}

/// `lop3`.
pub fn lop3(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    const WORD: ScalarType = ScalarType::B32;
    let table = truth_table(b, &i.operands[4])?;
    let a = b.source(&i.operands[1], WORD)?;
    let second = b.source(&i.operands[2], WORD)?;
    let c = b.source(&i.operands[3], WORD)?;
    let d = b.result(&i.operands[0], WORD)?;
    let op = Op { d, a, b: second, c, immediate: table, ..b.op(lop3_function(table)) };
    b.push(op);
    Ok(())
}

/// `lop3.and`, `lop3.or`.
pub fn lop3_predicate(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    const WORD: ScalarType = ScalarType::B32;
    let table = truth_table(b, &i.operands[5])?;
    let a = b.source(&i.operands[2], WORD)?;
    let second = b.source(&i.operands[3], WORD)?;
    let c = b.source(&i.operands[4], WORD)?;
    let other = b.predicate_source(&i.operands[6])?.encode();
    let e = b.predicate_result(&i.operands[1])?;
    let d = b.result(&i.operands[0], WORD)?;
    let immediate = table | u64::from(other) << 32;
    let slot = u32::from(i.has(Modifier::Or));
    let op = Op { d, e, a, b: second, c, immediate, slot, ..b.op(lop3_and_test()) };
    b.push(op);
    Ok(())
}

lane_functions! {
    /// Four bytes of b:a, selected by the four digits of c; a digit's high bit replicates the byte's sign
    /// instead.
    Permute = |a: u32, b: u32, c: u32| -> u32 {
        let pick = |digit: u32| {
            let word = if digit & 4 != 0 { b } else { a };
            let byte = word >> (8 * (digit & 3));
            let sign = ((byte << 24) as i32 >> 31) as u32;
            (if digit & 8 != 0 { sign } else { byte }) & 0xff
        };
        pick(c) | pick(c >> 4) << 8 | pick(c >> 8) << 16 | pick(c >> 12) << 24
    }
    /// Low halves of a and b.
    LowHalves = |a: u32, b: u32| -> u32 { (a & 0xffff) | b << 16 }
    /// High halves of a and b.
    HighHalves = |a: u32, b: u32| -> u32 { a >> 16 | (b & 0xffff_0000) }
    /// a with its bytes in reverse order.
    SwapBytes = |a: u32| -> u32 { a.swap_bytes() }
    /// Four bytes of b:a upwards from byte c (`.f4e`).
    PermuteForward = |a: u32, b: u32, c: u32| -> u32 { selected(a, b, &FORWARD, c) }
    /// Four bytes of b:a downwards from byte c (`.b4e`).
    PermuteBackward = |a: u32, b: u32, c: u32| -> u32 { selected(a, b, &BACKWARD, c) }
    /// Byte c of a four times (`.rc8`).
    ReplicateByte = |a: u32, b: u32, c: u32| -> u32 { selected(a, b, &REPLICATE_BYTE, c) }
    /// a with the bytes below byte c replaced by byte c (`.ecl`).
    ClampLeft = |a: u32, b: u32, c: u32| -> u32 { selected(a, b, &CLAMP_LEFT, c) }
    /// a with the bytes above byte c replaced by byte c (`.ecr`).
    ClampRight = |a: u32, b: u32, c: u32| -> u32 { selected(a, b, &CLAMP_RIGHT, c) }
    /// Half c of a twice (`.rc16`).
    ReplicateHalf = |a: u32, b: u32, c: u32| -> u32 { selected(a, b, &REPLICATE_HALF, c) }
}

/// Selectors of the `prmt` modes for each value of c's low two bits, as digits of [`Permute`] (PTX manual
/// 9.7.9.7).
const FORWARD: [u32; 4] = [0x3210, 0x4321, 0x5432, 0x6543];
const BACKWARD: [u32; 4] = [0x5670, 0x6701, 0x7012, 0x0123];
const REPLICATE_BYTE: [u32; 4] = [0x0000, 0x1111, 0x2222, 0x3333];
const CLAMP_LEFT: [u32; 4] = [0x3210, 0x3211, 0x3222, 0x3333];
const CLAMP_RIGHT: [u32; 4] = [0x0000, 0x1110, 0x2210, 0x3210];
const REPLICATE_HALF: [u32; 4] = [0x1010, 0x3232, 0x1010, 0x3232];

#[inline(always)]
fn selected(a: u32, b: u32, selectors: &[u32; 4], c: u32) -> u32 {
    Permute::apply(a, b, selectors[c as usize & 3])
}

/// `prmt`, specialised for the most common constant selectors.
pub fn prmt(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    const WORD: ScalarType = ScalarType::B32;
    let run = match (i.modifiers().next(), &i.operands[3]) {
        (None, Operand::Immediate(0x5410)) => binary::<LowHalves>(),
        (None, Operand::Immediate(0x7632)) => binary::<HighHalves>(),
        (None, Operand::Immediate(0x0123)) => unary::<SwapBytes>(),
        (None, _) => ternary::<Permute>(),
        (Some(Modifier::F4e), _) => ternary::<PermuteForward>(),
        (Some(Modifier::B4e), _) => ternary::<PermuteBackward>(),
        (Some(Modifier::Rc8), _) => ternary::<ReplicateByte>(),
        (Some(Modifier::Ecl), _) => ternary::<ClampLeft>(),
        (Some(Modifier::Ecr), _) => ternary::<ClampRight>(),
        (Some(_), _) => ternary::<ReplicateHalf>(),
    };
    bind_values(b, i, run, WORD, &[WORD, WORD, WORD])
}

/// Adds the forms that have machine code.
pub(crate) fn native_forms(forms: &mut Forms) {
    macro_rules! forms {
        ($($run:expr => $emit:ident $code:ident;)*) => {
            $(forms.lanes($run, |e, op| e.$emit(op, Code::$code));)*
        };
    }
    forms! {
        binary::<And<u32>>() => words EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32;
        binary::<And<u64>>() => doubles EVEX_Vpandq_zmm_k1z_zmm_zmmm512b64;
        binary::<Or<u32>>() => words EVEX_Vpord_zmm_k1z_zmm_zmmm512b32;
        binary::<Or<u64>>() => doubles EVEX_Vporq_zmm_k1z_zmm_zmmm512b64;
        binary::<Xor<u32>>() => words EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32;
        binary::<Xor<u64>>() => doubles EVEX_Vpxorq_zmm_k1z_zmm_zmmm512b64;
        binary::<ShiftLeft<u32>>() => words EVEX_Vpsllvd_zmm_k1z_zmm_zmmm512b32;
        binary::<ShiftLeft<u64>>() => shift_doubles EVEX_Vpsllvq_zmm_k1z_zmm_zmmm512b64;
        binary::<ShiftRight<u32>>() => words EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32;
        binary::<ShiftRight<u64>>() => shift_doubles EVEX_Vpsrlvq_zmm_k1z_zmm_zmmm512b64;
        binary::<ShiftRight<i32>>() => words EVEX_Vpsravd_zmm_k1z_zmm_zmmm512b32;
        binary::<ShiftRight<i64>>() => shift_doubles EVEX_Vpsravq_zmm_k1z_zmm_zmmm512b64;
        binary::<RotateLeft>() => words EVEX_Vprolvd_zmm_k1z_zmm_zmmm512b32;
        binary::<RotateRight>() => words EVEX_Vprorvd_zmm_k1z_zmm_zmmm512b32;
    }
    forms.lanes(unary::<Not<u32>>(), |e, op| e.invert_words(op));
    forms.lanes(unary::<Not<u64>>(), |e, op| e.invert_doubles(op));
    macro_rules! tables {
        ($($function:ident = $table:literal;)*) => {
            $(forms.lanes(ternary::<$function>(), |e, op| e.truth_table(op, $table));)*
        };
    }
    tables! {
        And3 = 0x80;
        Or3 = 0xfe;
        Xor3 = 0x96;
        Select3 = 0xca;
        Majority3 = 0xe8;
        AndOr3 = 0xf8;
        AndXor3 = 0x78;
    }
    forms.lanes(lop3_any(), |e, op| e.truth_table(op, op.immediate as u8));
    forms.lanes(and_predicate_run(), |e, op| e.combine_predicates(op, Combine::And));
    forms.lanes(or_predicate_run(), |e, op| e.combine_predicates(op, Combine::Or));
    forms.lanes(xor_predicate_run(), |e, op| e.combine_predicates(op, Combine::Xor));
    forms.lanes(not_predicate_run(), |e, op| e.combine_predicates(op, Combine::NotAnd));
}

#[cfg(test)]
mod tests;
