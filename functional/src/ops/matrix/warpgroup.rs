//! `wgmma` (PTX manual 9.7.15): products of a warpgroup of four adjacent warps.
//!
//! Warp `w` of a warpgroup holds rows `16 w` to `16 w + 15` of A and D in its registers, with the
//! layout of `mma.sync` for 16 rows. Shared memory holds B, and A if registers do not. The rows of
//! a warp thus depend on no other warp. Each warp computes its rows when it executes the
//! instruction, so there is nothing to wait for. A program must not change the matrices before all
//! four warps have passed the instruction, because the hardware starts only then.
//!
//! A matrix descriptor (9.7.15.5.1) describes the location of a matrix in shared memory, in chunks of 16
//! bytes. With K consecutive in memory, a chunk belongs to one row of A or column of B; transposed, a chunk
//! holds elements of one K. Eight such lines form a group.
//!
//! | order | from chunk to chunk | from line to line in a group | from group to group |
//! |---|---|---|---|
//! | K consecutive, no swizzle | leading offset | 16 bytes | stride offset |
//! | K consecutive, swizzle of W bytes | 16 bytes; leading offset after W | W | stride offset |
//! | transposed, no swizzle | stride offset | 16 bytes | leading offset |
//! | transposed, swizzle of W bytes | 16 bytes; leading offset after W | W | stride offset |
//!
//! A swizzle permutes chunks: the chunk's number within W bytes is XORed with the number of the address's
//! 128-byte unit, counted from the base offset. These are the canonical layouts of the manual and of
//! CUTLASS's `mma_traits_sm90_gmma`.

use ptx_frontend::ir::{Instruction, Operand};
use ptx_frontend::isa::{MatrixRole, MatrixShape, Modifier, ScalarType};

use super::accumulate::{Sum, accumulate};
use super::layout::{Extent, tiles};
use super::product::{Spread, decode, read, write};
use super::sparse::{Sparsity, half_of};
use super::{all_lanes, fragment, rows, shape, sparsity};
use crate::bind::{BindError, Binder};
use crate::engine::address_translation::{Shared, Space};
use crate::engine::lane::WARP;
use crate::engine::op::{Flow, Op, PredicateSource};
use crate::engine::warp_context::WarpContext;
use crate::fault::FaultKind;
use crate::ops::control::bind_nothing;
use crate::ops::{Bound, forms};

/// Rows of A and D per warp.
const ROWS: u32 = 16;
/// Bytes per chunk.
const CHUNK: u64 = 16;

/// Operands of a warpgroup's product.
#[derive(Debug)]
pub(super) struct WarpgroupProduct {
    /// Shape for one warp.
    shape: MatrixShape,
    sum: Sum,
    saturate: bool,
    sparsity: Option<Sparsity>,
    d: Spread,
    a: Factor,
    b: Factor,
    /// True if D is also a summand.
    adds: PredicateSource,
}

/// A factor of the product.
#[derive(Debug)]
struct Factor {
    place: FactorPlace,
    element: ScalarType,
    negated: bool,
}

#[derive(Debug)]
enum FactorPlace {
    Registers(Spread),
    /// Row of the descriptor, and whether the matrix is transposed.
    Shared {
        descriptor: u32,
        transposed: bool,
    },
}

/// Location of a matrix in shared memory, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Descriptor {
    start: u64,
    leading: u64,
    stride: u64,
    /// Base offset of the swizzle pattern, in units of 128 bytes.
    base: u64,
    /// Width of the swizzle in bytes; one chunk without a swizzle.
    width: u64,
}

impl Descriptor {
    fn decode(bits: u64) -> Descriptor {
        let field = |at: u32| (bits >> at & 0x3fff) << 4;
        let width = match bits >> 62 {
            1 => 128,
            2 => 64,
            3 => 32,
            _ => CHUNK,
        };
        Descriptor { start: field(0), leading: field(16), stride: field(32), base: bits >> 49 & 7, width }
    }

    /// Address of a chunk of a line for consecutive K; lines are rows of A or columns of B.
    fn along_k(self, line: u64, chunk: u64) -> u64 {
        let per_width = self.width / CHUNK;
        let across = chunk % per_width * CHUNK + chunk / per_width * self.leading;
        self.swizzled(self.start + line % 8 * self.width + line / 8 * self.stride + across)
    }

    /// Address of a chunk at one K for consecutive rows of A or columns of B.
    fn along_lines(self, k: u64, chunk: u64) -> u64 {
        let per_width = self.width / CHUNK;
        let (from_group, across) = if self.width == CHUNK {
            (self.leading, chunk * self.stride)
        } else {
            (self.stride, chunk % per_width * CHUNK + chunk / per_width * self.leading)
        };
        self.swizzled(self.start + k % 8 * self.width + k / 8 * from_group + across)
    }

    fn swizzled(self, address: u64) -> u64 {
        let line = (address >> 7).wrapping_sub(self.base);
        address ^ (line & (self.width / CHUNK - 1)) << 4
    }
}

impl Factor {
    /// Elements per word; 32 single bits form one.
    fn per_word(&self) -> usize {
        if self.element == ScalarType::B1 { 1 } else { 32 / self.element.bits() as usize }
    }

    /// Loads the factor as numbers: `lines` rows of A (from `first` on) or columns of B, with `k` elements
    /// each. `place(line, k)` returns the index of an element among the numbers.
    ///
    /// # Safety
    /// As for [`crate::engine::op::Run`].
    unsafe fn load(
        &self,
        w: &mut WarpContext<'_>,
        (first, lines): (usize, usize),
        k: usize,
        place: impl Fn(usize, usize) -> usize,
        numbers: &mut [f64],
    ) -> Result<(), FaultKind> {
        match &self.place {
            // SAFETY: guaranteed by the caller.
            FactorPlace::Registers(spread) => unsafe { read(w, spread, numbers) },
            FactorPlace::Shared { descriptor, transposed } => {
                // SAFETY: guaranteed by the caller. All lanes have the same descriptor.
                let descriptor = Descriptor::decode(unsafe { w.read_lane::<u64>(*descriptor, 0) });
                let per_chunk = 4 * self.per_word();
                let (outer, inner) = if *transposed { (k, lines) } else { (lines, k) };
                for line in 0..outer {
                    for chunk in 0..inner / per_chunk {
                        let address = if *transposed {
                            descriptor.along_lines(line as u64, (first / per_chunk + chunk) as u64)
                        } else {
                            descriptor.along_k((first + line) as u64, chunk as u64)
                        };
                        let values = self.chunk(w, address)?;
                        for (n, value) in values.into_iter().enumerate().take(per_chunk) {
                            let within = chunk * per_chunk + n;
                            let (line, k) = if *transposed { (within, line) } else { (line, within) };
                            numbers[place(line, k)] = value;
                        }
                    }
                }
            }
        }
        if self.negated {
            numbers.iter_mut().for_each(|number| *number = -*number);
        }
        Ok(())
    }

    /// Elements of the 16 bytes at a shared address, lowest address first.
    fn chunk(&self, w: &mut WarpContext<'_>, address: u64) -> Result<[f64; 16], FaultKind> {
        let fault = FaultKind::IllegalAddress { address, width: CHUNK as u32, lane: 0 };
        let place = Shared::<u64>::resolve(w, 0, 0, address, CHUNK as u32).ok_or(fault)?;
        // SAFETY: the 16 bytes lie in shared memory, and the address is a multiple of 16.
        let found = unsafe { place.cast::<[u32; 4]>().read() };
        let mut words = [0; WARP];
        words[..4].copy_from_slice(&found);
        let mut values = [0.0; 16];
        let per_word = self.per_word();
        for i in 0..per_word {
            let column = decode((self.element, self.element.bits()), &words, i);
            for (word, value) in column.into_iter().take(4).enumerate() {
                values[word * per_word + i] = value;
            }
        }
        Ok(values)
    }
}

/// Product of table entry `immediate`; `e` is the row of members.
unsafe fn multiply(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let grid = w.grid;
    let Some(product) = grid.program.matrices.warpgroups.get(op.immediate as usize) else {
        return Flow::Next;
    };
    let MatrixShape { m, n, k } = product.shape;
    let (m, n) = (m as usize, n as usize);
    // Single bits are grouped into words; a sparse A has half of its elements.
    let k = if product.a.element == ScalarType::B1 { k as usize / 32 } else { k as usize };
    let there = if product.sparsity.is_some() { k / 2 } else { k };
    let (mut a, mut b, mut sums) = (vec![0.0; m * there], vec![0.0; k * n], vec![0.0; m * n]);
    // SAFETY: `e` is a 32-bit row, descriptors are 64-bit rows, and the others are registers of the
    // elements' width.
    unsafe {
        if let Err(flow) = w.gather(op, |op| op.e) {
            return flow;
        }
        let first = w.warp as usize % 4 * m;
        let loaded = product.a.load(w, (first, m), there, |row, k| row * there + k, &mut a);
        let loaded = loaded.and_then(|()| product.b.load(w, (0, n), k, |column, k| k * n + column, &mut b));
        if let Err(fault) = loaded {
            return w.fault(fault);
        }
        if w.predicate(product.adds) & w.mask != 0 {
            read(w, &product.d, &mut sums);
        }
        match &product.sparsity {
            Some(sparsity) => {
                let metadata = w.read_row::<u32>(sparsity.row);
                sparsity.accumulate(product.sum, product.shape, &metadata, &a, &b, &mut sums);
            }
            None => accumulate(product.sum, product.shape, &a, &b, &mut sums),
        }
        write(w, &product.d, product.saturate, &sums);
    }
    Flow::Next
}

/// Constant operand with one of two values.
fn choice(b: &Binder<'_, '_>, operand: &Operand, no: i32, yes: i32) -> Result<bool, BindError> {
    match operand {
        Operand::Immediate(value) if *value as i32 == no => Ok(false),
        Operand::Immediate(value) if *value as i32 == yes => Ok(true),
        _ => Err(b.error(format!("the operand must be the constant {no} or {yes}"))),
    }
}

/// Binds `wgmma.mma_async`.
fn bind_product(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let whole = shape(b, i)?;
    let warp = MatrixShape { m: ROWS, ..whole };
    let (Some(element_a), Some(element_b)) = (i.ty(1), i.ty(2)) else {
        return Err(b.error("the types of the factors are missing"));
    };
    let is_sparse = i.has(Modifier::Sp);
    let spread = |b: &mut Binder<'_, '_>, position: usize, name: &str, shape: MatrixShape, written: bool| {
        let fragment = fragment(b, i, name)?;
        let role = fragment.matrix.unwrap_or(MatrixRole::Accumulator);
        let rows = rows(b, &i.operands[position], fragment, written)?;
        let extent = Extent::of(role, shape, fragment.element);
        let layout = tiles(extent, rows.len());
        Ok::<_, BindError>(Spread {
            rows,
            element: fragment.element,
            bits: fragment.bits,
            layout,
            len: extent.len(),
        })
    };
    let d = spread(b, 0, "d", warp, true)?;
    let in_registers = matches!(i.operands[1], Operand::Vector(_));
    // Operands after the factors: metadata and selector, predicate, signs, and transposition.
    let (metadata, rest) = i.operands[3..].split_at(if is_sparse { 2 } else { 0 });
    let (Some(adds), options) = (rest.first(), rest.get(1..).unwrap_or(&[])) else {
        return Err(b.error("the predicate is missing"));
    };
    let adds = b.predicate_source(adds)?;
    let sign = |b: &Binder<'_, '_>, n: usize| options.get(n).map_or(Ok(false), |o| choice(b, o, 1, -1));
    let transposed = |b: &Binder<'_, '_>, n: usize| options.get(n).map_or(Ok(false), |o| choice(b, o, 0, 1));
    let (negated_a, negated_b) = (sign(b, 0)?, sign(b, 1)?);
    let (transposed_a, transposed_b) = match in_registers {
        true => (false, transposed(b, 2)?),
        false => (transposed(b, 2)?, transposed(b, 3)?),
    };
    let place_a = if in_registers {
        let shape = if is_sparse { half_of(warp) } else { warp };
        FactorPlace::Registers(spread(b, 1, "a", shape, false)?)
    } else {
        let descriptor = b.source(&i.operands[1], ScalarType::B64)?;
        FactorPlace::Shared { descriptor, transposed: transposed_a }
    };
    let descriptor = b.source(&i.operands[2], ScalarType::B64)?;
    let sparsity = match metadata {
        [_, _] => Some(sparsity(b, i, (3, 4), whole, element_a.bits())?),
        _ => None,
    };
    let sum = match (element_a, d.element) {
        (ScalarType::B1, _) => Sum::BitsOfAnd,
        (_, ScalarType::S32) => Sum::Integer,
        (_, ScalarType::F16) => Sum::Half,
        _ => Sum::Single,
    };
    let product = WarpgroupProduct {
        shape: warp,
        sum,
        saturate: i.has(Modifier::Satfinite),
        sparsity,
        d,
        a: Factor { place: place_a, element: element_a, negated: negated_a },
        b: Factor {
            place: FactorPlace::Shared { descriptor, transposed: transposed_b },
            element: element_b,
            negated: negated_b,
        },
        adds,
    };
    let tables = b.matrices();
    tables.warpgroups.push(product);
    let immediate = tables.warpgroups.len() as u64 - 1;
    let e = all_lanes(b);
    let op = Op { e, immediate, ..b.op(multiply) };
    b.push(op);
    Ok(())
}

/// `wgmma.fence`: no effect, because products complete in order.
pub fn wgmma_fence(b: &mut Binder<'_, '_>, _: &Instruction) -> Bound {
    bind_nothing(b)
}

/// `wgmma.commit_group`: no effect, because products complete at once.
pub fn wgmma_commit_group(b: &mut Binder<'_, '_>, _: &Instruction) -> Bound {
    bind_nothing(b)
}

/// `wgmma.wait_group`: no effect, because products complete at once.
pub fn wgmma_wait_group(b: &mut Binder<'_, '_>, _: &Instruction) -> Bound {
    bind_nothing(b)
}

forms! {
    bind_product: wgmma_f16 wgmma_f16_registers wgmma_sp_f16 wgmma_sp_f16_registers
    wgmma_bf16 wgmma_bf16_registers wgmma_sp_bf16 wgmma_sp_bf16_registers
    wgmma_tf32 wgmma_tf32_registers wgmma_sp_tf32 wgmma_sp_tf32_registers
    wgmma_fp8 wgmma_fp8_registers wgmma_sp_fp8 wgmma_sp_fp8_registers
    wgmma_byte wgmma_byte_registers wgmma_sp_byte wgmma_sp_byte_registers
    wgmma_bit wgmma_bit_registers;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptor(swizzle: u64) -> Descriptor {
        Descriptor::decode(0x40 | 0x10 << 16 | 0x20 << 32 | swizzle << 62)
    }

    #[test]
    fn descriptors_count_in_chunks() {
        let expected = Descriptor { start: 0x400, leading: 0x100, stride: 0x200, base: 0, width: 64 };
        assert_eq!(descriptor(2), expected);
    }

    #[test]
    fn unswizzled_lines_of_a_group_are_contiguous() {
        let plain = descriptor(0);
        assert_eq!([plain.along_k(3, 0), plain.along_k(9, 1)], [0x430, 0x400 + 0x200 + 0x10 + 0x100]);
        assert_eq!([plain.along_lines(3, 0), plain.along_lines(9, 2)], [0x430, 0x400 + 0x100 + 0x10 + 0x400]);
    }

    #[test]
    fn swizzles_permute_chunks_of_a_line() {
        let wide = descriptor(1);
        assert_eq!([wide.along_k(0, 1), wide.along_k(3, 1)], [0x410, 0x400 + 3 * 128 + (1 ^ 3) * 16]);
        let narrow = descriptor(3);
        assert_eq!([narrow.along_k(3, 1), narrow.along_k(4, 1)], [0x400 + 3 * 32 + 16, 0x400 + 4 * 32]);
    }
}
