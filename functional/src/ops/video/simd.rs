//! Video instructions on two halves or four bytes (PTX manual 9.7.18.5 to 9.7.18.8).

use ptx_frontend::ir::Instruction;
use ptx_frontend::isa::{Modifier, WordPart};

use super::{Operation, bind_described, clamp, extend, is_signed, part};
use crate::bind::Binder;
use crate::engine::arithmetic::{Arithmetic, arithmetic};
use crate::ops::Bound;

/// The results are signed.
const SIGNED: u8 = 1;
/// The elements of a are signed.
const SIGNED_A: u8 = 2;
/// The elements of b are signed.
const SIGNED_B: u8 = 4;
/// Results are clamped to an element.
const CLAMPED: u8 = 8;
/// Results are added to c.
const SUMMED: u8 = 16;

/// Element of b:a for each result element, four bits each; `default` without a selection.
fn picks(part: Option<WordPart>, default: u16) -> [u8; 2] {
    let picks = part.map_or(default, |part| {
        part.pieces().iter().rev().fold(0, |picks, piece| picks << 4 | u16::from(*piece))
    });
    picks.to_le_bytes()
}

/// Operation on `N` elements per word.
struct Simd<const N: usize>;

impl<const N: usize> Arithmetic for Simd<N> {
    type T = u32;
    type D = u32;
    const OPERANDS: usize = 3;

    #[inline(always)]
    fn common([a, b, c]: [u32; 3], how: u64) -> u32 {
        let [operation, a_low, a_high, b_low, b_high, mask, flags, _] = how.to_le_bytes();
        let operation = Operation::from_number(operation);
        let (picks_a, picks_b) = (u16::from_le_bytes([a_low, a_high]), u16::from_le_bytes([b_low, b_high]));
        let both = u64::from(b) << 32 | u64::from(a);
        let bits = 32 / N as u32;
        let read = |picks: u16, n: usize, signed| {
            let pick = u32::from(picks >> (4 * n) & 15);
            extend(both >> (pick * bits), bits, signed)
        };
        let mut d = c;
        for n in 0..N {
            if mask >> n & 1 == 0 {
                continue;
            }
            let x = read(picks_a, n, flags & SIGNED_A != 0);
            let y = read(picks_b, n, flags & SIGNED_B != 0);
            let mut value = operation.apply(x, y);
            if flags & CLAMPED != 0 {
                value = clamp(value, bits, flags & SIGNED != 0);
            }
            if flags & SUMMED != 0 {
                d = d.wrapping_add(value as u32);
            } else {
                let at = n as u32 * bits;
                let ones = (u32::MAX >> (32 - bits)) << at;
                d = (d & !ones) | ((value as u32) << at & ones);
            }
        }
        d
    }
}

/// Binds an instruction on `N` elements whose types `a` and `a + 1` belong to a and b.
fn bind<const N: usize>(b: &mut Binder<'_, '_>, i: &Instruction, operation: Operation, a: usize) -> Bound {
    let (default_a, default_b) = if N == 2 { (0x10, 0x32) } else { (0x3210, 0x7654) };
    let [a_low, a_high] = picks(part(i, 1), default_a);
    let [b_low, b_high] = picks(part(i, 2), default_b);
    let mask = part(i, 0).map_or((1 << N) - 1, |part| part.pieces().iter().map(|place| 1 << place).sum());
    let known = [
        (SIGNED, a > 0 && is_signed(i, 0)),
        (SIGNED_A, is_signed(i, a)),
        (SIGNED_B, is_signed(i, a + 1)),
        (CLAMPED, i.has(Modifier::Sat)),
        (SUMMED, i.has(Modifier::Add)),
    ];
    let flags = known.iter().filter(|(_, holds)| *holds).map(|(flag, _)| flag).sum();
    let description = [operation as u8, a_low, a_high, b_low, b_high, mask, flags, 0];
    bind_described(b, i, arithmetic::<Simd<N>>(), description)
}

macro_rules! simd_forms {
    ($($two:ident, $four:ident = $operation:ident;)*) => {
        $(
            #[doc = concat!("Binds `", stringify!($two), "`.")]
            pub fn $two(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
                bind::<2>(b, i, Operation::$operation, 1)
            }

            #[doc = concat!("Binds `", stringify!($four), "`.")]
            pub fn $four(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
                bind::<4>(b, i, Operation::$operation, 1)
            }
        )*
    };
}

simd_forms! {
    vadd2, vadd4 = Add;
    vsub2, vsub4 = Subtract;
    vavrg2, vavrg4 = Average;
    vabsdiff2, vabsdiff4 = Difference;
    vmin2, vmin4 = Minimum;
    vmax2, vmax4 = Maximum;
}

/// Binds `vset2`.
pub fn vset2(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind::<2>(b, i, Operation::comparison(i), 0)
}

/// Binds `vset4`.
pub fn vset4(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind::<4>(b, i, Operation::comparison(i), 0)
}
