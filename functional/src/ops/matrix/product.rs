//! Matrix products: `wmma.mma` and `mma.sync` (PTX manual 9.7.14.4.5, 9.7.14.5.14).

use half::f16;
use ptx_frontend::isa::{MatrixShape, ScalarType};

use super::accumulate::{Sum, accumulate};
use super::layout::Layout;
use super::scale::Scaling;
use super::sparse::Sparsity;
use crate::engine::isa::{Isa, per_level};
use crate::engine::lane::WARP;
use crate::engine::op::{Flow, Op};
use crate::engine::warp_context::WarpContext;
use crate::number::canonical;
use crate::number::half::{Bf16, F16, HalfFormat};

/// Operands of a product.
#[derive(Debug)]
pub struct Product {
    pub(super) shape: MatrixShape,
    pub(super) sum: Sum,
    /// Present elements of a sparse A.
    pub(super) sparsity: Option<Sparsity>,
    /// Scales of A and B.
    pub(super) scaling: Option<Scaling>,
    /// `.satfinite`.
    pub(super) saturate: bool,
    pub(super) d: Spread,
    pub(super) a: Spread,
    pub(super) b: Spread,
    pub(super) c: Spread,
}

/// A matrix distributed over registers.
#[derive(Debug)]
pub(super) struct Spread {
    /// Rows of the registers.
    pub(super) rows: Vec<u32>,
    pub(super) element: ScalarType,
    /// Bits per element in a register.
    pub(super) bits: u32,
    pub(super) layout: Layout,
    /// Elements per matrix; several matrices follow each other.
    pub(super) len: usize,
}

/// Maximum elements of A, B and C: those of m16n8k64, sparse m16n8k128, and m16n16k16.
const MOST_A: usize = 1024;
const MOST_B: usize = 1024;
const MOST_C: usize = 256;

#[inline(always)]
unsafe fn multiply_body<I: Isa>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let grid = w.grid;
    let Some(product) = grid.program.matrices.products.get(op.immediate as usize) else { return Flow::Next };
    // SAFETY: `e` is a 32-bit row, and the product's rows are registers of the elements' width.
    unsafe {
        if let Err(flow) = w.gather(op, |op| op.e) {
            return flow;
        }
        let (mut a, mut b, mut c) = ([0.0; MOST_A], [0.0; MOST_B], [0.0; MOST_C]);
        read(w, &product.a, &mut a);
        read(w, &product.b, &mut b);
        read(w, &product.c, &mut c);
        if let Some(scaling) = &product.scaling {
            let columns = product.a.len / product.shape.m as usize;
            scaling.apply(w, product.shape, columns, &mut a, &mut b);
        }
        if let Some(sparsity) = &product.sparsity {
            let metadata = w.read_row::<u32>(sparsity.row);
            sparsity.accumulate(product.sum, product.shape, &metadata, &a, &b, &mut c);
            write(w, &product.d, product.saturate, &c);
            return Flow::Next;
        }
        let factors = a.chunks_exact(product.a.len).zip(b.chunks_exact(product.b.len));
        for ((a, b), sums) in factors.zip(c.chunks_exact_mut(product.c.len)).take(product.matrices()) {
            accumulate(product.sum, product.shape, a, b, sums);
        }
        write(w, &product.d, product.saturate, &c);
    }
    Flow::Next
}

per_level! {
    /// Product of table entry `immediate`; `e` is the row of members.
    pub(super) fn multiply<> = multiply_body
}

impl Product {
    /// Number of multiplied pairs of matrices.
    fn matrices(&self) -> usize {
        (self.d.rows.len() * self.d.layout.per_register * WARP / self.d.len).max(1)
    }
}

/// Elements as numbers; 32 single bits form one number.
#[inline(always)]
pub(super) unsafe fn read(w: &WarpContext<'_>, spread: &Spread, numbers: &mut [f64]) {
    let layout = &spread.layout;
    for (&row, places) in spread.rows.iter().zip(layout.elements.chunks_exact(layout.per_register)) {
        for (i, first) in places.iter().enumerate() {
            // SAFETY: guaranteed by the caller.
            let values = unsafe {
                match spread.element {
                    ScalarType::F64 => w.read_row::<u64>(row).map(f64::from_bits),
                    element => decode((element, spread.bits), &w.read_row::<u32>(row), i),
                }
            };
            for (lane, value) in layout.lanes.iter().zip(values) {
                numbers[usize::from(lane + first)] = value;
            }
        }
    }
}

/// Element `i` of each word.
#[inline(always)]
pub(super) fn decode((element, bits): (ScalarType, u32), words: &[u32; WARP], i: usize) -> [f64; WARP] {
    let shift = i as u32 * bits;
    match element {
        ScalarType::F16 => words.map(|word| f64::from(F16::widen((word >> shift) as u16))),
        ScalarType::Bf16 => words.map(|word| f64::from(Bf16::widen((word >> shift) as u16))),
        ScalarType::E4m3 => words.map(|word| f64::from(e4m3((word >> shift) as u8))),
        ScalarType::E3m2 => words.map(|word| small_float(word >> shift, 3, 2)),
        ScalarType::E2m3 => words.map(|word| small_float(word >> shift, 2, 3)),
        // The element is in the middle of its byte.
        ScalarType::E2m1 => words.map(|word| small_float(word >> (shift + (bits - 4) / 2), 2, 1)),
        // The element is the upper byte of a binary16 number.
        ScalarType::E5m2 => words.map(|word| f64::from(F16::widen(((word >> shift) as u16) << 8))),
        ScalarType::Tf32 => words.map(|word| f64::from(f32::from_bits(word & !0x1fff))),
        ScalarType::F32 => words.map(|word| f64::from(f32::from_bits(word))),
        ScalarType::S32 => words.map(|word| f64::from(word as i32)),
        ScalarType::U8 => words.map(|word| f64::from((word >> shift) as u8)),
        ScalarType::S8 => words.map(|word| f64::from((word >> shift) as i8)),
        ScalarType::U4 => words.map(|word| f64::from(word >> shift & 15)),
        ScalarType::S4 => words.map(|word| f64::from((word << (28 - shift)) as i32 >> 28)),
        _ => words.map(f64::from),
    }
}

/// Number in the low bits, with a sign, `exponent_bits` and `fraction_bits`; all codes are finite.
fn small_float(code: u32, exponent_bits: u32, fraction_bits: u32) -> f64 {
    let fraction = code & ((1 << fraction_bits) - 1);
    let exponent = code >> fraction_bits & ((1 << exponent_bits) - 1);
    let (whole, exponent) = if exponent == 0 { (0, 1) } else { (1, exponent) };
    let bias = (1 << (exponent_bits - 1)) - 1 + fraction_bits;
    let magnitude =
        f64::from(whole << fraction_bits | fraction) * power_of_two(exponent as i32 - bias as i32);
    if code >> (exponent_bits + fraction_bits) & 1 != 0 { -magnitude } else { magnitude }
}

/// 2^exponent, for the exponent of a normal number.
pub(super) fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// Number with 4 exponent and 3 fraction bits: no infinity, and one NaN per sign (PTX manual 5.2.3).
#[inline(always)]
pub(super) fn e4m3(bits: u8) -> f32 {
    /// Factor 2^120 for the difference of the exponent biases.
    const SCALE: f32 = f32::from_bits((127 + 120) << 23);
    let magnitude = u32::from(bits & 0x7f);
    let sign = u32::from(bits & 0x80) << 24;
    let finite = f32::from_bits(sign | magnitude << 20) * SCALE;
    if magnitude == 0x7f { f32::NAN } else { finite }
}

#[inline(always)]
pub(super) unsafe fn write(w: &mut WarpContext<'_>, d: &Spread, saturate: bool, numbers: &[f64]) {
    let Spread { rows, element, layout, .. } = d;
    for (&row, places) in rows.iter().zip(layout.elements.chunks_exact(layout.per_register)) {
        let value = |lane: usize, i: usize| numbers[usize::from(layout.lanes[lane] + places[i])];
        // SAFETY: guaranteed by the caller.
        unsafe {
            match element {
                ScalarType::F64 => {
                    w.write_row::<u64>(row, &std::array::from_fn(|lane| value(lane, 0).to_bits()));
                }
                ScalarType::F16 => {
                    let half = |lane, i| half(value(lane, i), saturate);
                    w.write_row(row, &std::array::from_fn(|lane| half(lane, 0) | half(lane, 1) << 16));
                }
                ScalarType::F32 => {
                    w.write_row(row, &std::array::from_fn(|lane| single(value(lane, 0), saturate)));
                }
                _ => {
                    let word = |lane| integer(value(lane, 0), saturate);
                    w.write_row(row, &std::array::from_fn(word));
                }
            }
        }
    }
}

/// Bits of `x` in binary32, which represents it exactly. Saturation makes the result finite.
fn single(x: f64, saturate: bool) -> u32 {
    let x = if saturate { finite(x, f32::MAX.into()) } else { x };
    canonical(x as f32).to_bits()
}

/// Bits of the nearest binary16 number, saturated as in [`single`].
fn half(x: f64, saturate: bool) -> u32 {
    let x = if saturate { finite(x, f16::MAX.into()) } else { x };
    F16::narrow(x as f32).into()
}

/// `x` clamped to ±`most`; 0 for NaN.
fn finite(x: f64, most: f64) -> f64 {
    if x.is_nan() { 0.0 } else { x.clamp(-most, most) }
}

/// Low 32 bits of an integer, or the integer clamped to 32 bits.
fn integer(x: f64, saturate: bool) -> u32 {
    let whole = x as i64;
    if saturate { whole.clamp(i32::MIN.into(), i32::MAX.into()) as u32 } else { whole as u32 }
}
