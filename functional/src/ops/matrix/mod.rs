//! Warp-level matrix instructions (PTX manual 9.7.14): products of matrices distributed over the registers
//! of a warp.
//!
//! A fragment has more registers than an op has operands. The program therefore stores operands in tables
//! ([`Matrices`]), and an op holds the index of its entry. All shapes and types share a few functions,
//! which convert a fragment to a matrix of numbers by a [`layout`] computed at binding.

mod accumulate;
mod bytes;
mod layout;
mod product;
mod scale;
mod sparse;
mod transfer;
mod warpgroup;

pub use warpgroup::*;

use ptx_frontend::ir::{Instruction, Operand};
use ptx_frontend::isa::{Fragment, MatrixRole, MatrixShape, Modifier, ScalarType};

use super::address_operand::{AccessSpace, AddressOperand, address_operand, by_space};
use super::{Bound, forms};
use crate::bind::{BindError, Binder};
use crate::engine::op::Op;
use crate::number::Round;
use accumulate::Sum;
use bytes::{ByteMatrices, Packing, load_bytes, store_bytes};
use layout::{Extent, quad_pairs, tiles};
use product::{Product, Spread, multiply};
use scale::{Scales, Scaling};
use sparse::{Sparsity, half_of};
use transfer::{
    Addresses, Eights, Tile, load_eights, load_tile, resolve, store_eights, store_tile, transpose,
};
use warpgroup::WarpgroupProduct;

/// Operands of a program's matrix instructions.
#[derive(Debug, Default)]
pub struct Matrices {
    products: Vec<Product>,
    pub(crate) tiles: Vec<Tile>,
    eights: Vec<Eights>,
    bytes: Vec<ByteMatrices>,
    warpgroups: Vec<WarpgroupProduct>,
}

/// Row of members with all lanes.
fn all_lanes(b: &mut Binder<'_, '_>) -> u32 {
    b.constant(u32::MAX.into(), false)
}

/// Fragment of operand `name` of an instruction.
fn fragment(b: &Binder<'_, '_>, i: &Instruction, name: &str) -> Result<Fragment, BindError> {
    let mnemonic = i.op.line().parsed().mnemonic;
    Fragment::of(mnemonic, name, &i.tokens).ok_or_else(|| b.error("not a fragment"))
}

fn shape(b: &Binder<'_, '_>, i: &Instruction) -> Result<MatrixShape, BindError> {
    MatrixShape::among(&i.tokens).ok_or_else(|| b.error("the instruction has no shape"))
}

/// Rows of a fragment's registers.
fn rows(
    b: &mut Binder<'_, '_>,
    operand: &Operand,
    fragment: Fragment,
    written: bool,
) -> Result<Vec<u32>, BindError> {
    let registers = match operand {
        Operand::Vector(registers) => registers.as_slice(),
        one => std::slice::from_ref(one),
    };
    if registers.len() != fragment.registers as usize {
        return Err(b.error(format!(
            "the operand has {} registers; it needs {}",
            registers.len(),
            fragment.registers
        )));
    }
    let ty = fragment.register_type();
    registers
        .iter()
        .map(|register| if written { b.result(register, ty) } else { b.source(register, ty) })
        .collect()
}

fn addresses(b: &mut Binder<'_, '_>, i: &Instruction, operand: &Operand) -> Result<Addresses, BindError> {
    let AddressOperand::Rows { space, row, wide, offset } = address_operand(b, i, operand)? else {
        return Err(b.error("a matrix in the kernel's parameters is not allowed"));
    };
    let resolve = by_space!(space, wide, |S| resolve::<S>);
    let slot = b.next_slot();
    Ok(Addresses { resolve, row, wide, offset, slot })
}

/// Binds `wmma.load` or `wmma.store` with registers, address and stride in these operands.
fn bind_tile(b: &mut Binder<'_, '_>, i: &Instruction, registers: usize, address: usize) -> Bound {
    let load = registers == 0;
    let fragment = fragment(b, i, "d")?;
    let extent =
        Extent::of(fragment.matrix.unwrap_or(MatrixRole::Accumulator), shape(b, i)?, fragment.element);
    let extent = if extent.bits < 8 { extent.of_words() } else { extent };
    let rows = rows(b, &i.operands[registers], fragment, load)?;
    let stride = match &i.operands[2] {
        Operand::Absent => None,
        given => Some(b.source(given, ScalarType::B32)?),
    };
    let tile = Tile {
        addresses: addresses(b, i, &i.operands[address])?,
        layout: tiles(extent, rows.len()),
        rows,
        extent,
        by_column: i.has(Modifier::Col),
        stride,
        stride_bits: fragment.element.bits(),
    };
    let tables = b.matrices();
    tables.tiles.push(tile);
    let immediate = tables.tiles.len() as u64 - 1;
    let e = all_lanes(b);
    b.note_tile(immediate as u32);
    let op = Op { e, immediate, ..b.op(if load { load_tile } else { store_tile }) };
    b.push(op);
    Ok(())
}

fn bind_load(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_tile(b, i, 0, 1)
}

fn bind_store(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_tile(b, i, 1, 0)
}

/// Binds D = A * B + C.
fn bind_product(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let shape = shape(b, i)?;
    let is_sparse = i.modifiers().any(|m| matches!(m, Modifier::Sp | Modifier::SpOrdered));
    let mut spread = |position: usize, name: &str| {
        let fragment = fragment(b, i, name)?;
        let role = fragment.matrix.unwrap_or(MatrixRole::Accumulator);
        let rows = rows(b, &i.operands[position], fragment, position == 0)?;
        let shape = if role == MatrixRole::A && is_sparse { half_of(shape) } else { shape };
        let extent = Extent::of(role, shape, fragment.element);
        let extent = if fragment.bits == 8 { Extent { bits: 8, ..extent } } else { extent };
        let layout = if is_quad_pair(i, shape) {
            quad_pairs(extent, rows.len(), is_by_column(i, role))
        } else {
            tiles(extent, rows.len())
        };
        Ok(Spread { rows, element: fragment.element, bits: fragment.bits, layout, len: extent.len() })
    };
    let (d, a, factor, c) = (spread(0, "d")?, spread(1, "a")?, spread(2, "b")?, spread(3, "c")?);
    let sum = match (a.element, d.element, c.element) {
        (ScalarType::F64, ..) => Sum::Double(rounding(i)),
        (ScalarType::B1, ..) if i.has(Modifier::And) => Sum::BitsOfAnd,
        (ScalarType::B1, ..) => Sum::BitsOfXor,
        (_, ScalarType::S32, _) => Sum::Integer,
        (_, ScalarType::F16, ScalarType::F16) => Sum::Half,
        _ => Sum::Single,
    };
    let sparsity = if is_sparse { Some(sparsity(b, i, (4, 5), shape, a.bits)?) } else { None };
    let saturate = i.has(Modifier::Satfinite);
    let first_scale = if is_sparse { 6 } else { 4 };
    let scaling = if i.has(Modifier::BlockScale) { Some(scaling(b, i, first_scale)?) } else { None };
    let product = Product { shape, sum, saturate, sparsity, scaling, d, a, b: factor, c };
    let tables = b.matrices();
    tables.products.push(product);
    let immediate = tables.products.len() as u64 - 1;
    let e = all_lanes(b);
    let op = Op { e, immediate, ..b.op(multiply()) };
    b.push(op);
    Ok(())
}

/// Scales of the factors: from operand `first` on, registers and selectors of A's and B's scales.
fn scaling(b: &mut Binder<'_, '_>, i: &Instruction, first: usize) -> Result<Scaling, BindError> {
    let mut scales = |register: usize| {
        let row = match &i.operands[register] {
            Operand::Vector(one) if one.len() == 1 => b.source(&one[0], ScalarType::B32)?,
            operand => b.source(operand, ScalarType::B32)?,
        };
        let Operand::Vector(selector) = &i.operands[register + 1] else {
            return Err(b.error("the scale selector must be a pair of numbers"));
        };
        let [byte, lanes] = selector.as_slice() else {
            return Err(b.error("the scale selector must be a pair of numbers"));
        };
        let (byte, lanes) = (b.source(byte, ScalarType::U16)?, b.source(lanes, ScalarType::U16)?);
        Ok(Scales { row, byte, lanes })
    };
    let (of_a, of_b) = (scales(first)?, scales(first + 2)?);
    let parts = if i.has(Modifier::ScaleVec4) {
        4
    } else if i.has(Modifier::ScaleVec2) || i.has(Modifier::KindMxf4) {
        2
    } else {
        1
    };
    Ok(Scaling { a: of_a, b: of_b, parts, powers: i.last_type() == Some(ScalarType::Ue8m0) })
}

/// Sparsity of A, from the operands for metadata and selector.
fn sparsity(
    b: &mut Binder<'_, '_>,
    i: &Instruction,
    (metadata, selector): (usize, usize),
    shape: MatrixShape,
    element_bits: u32,
) -> Result<Sparsity, BindError> {
    let row = b.source(&i.operands[metadata], ScalarType::B32)?;
    let Operand::Immediate(selector) = i.operands[selector] else {
        return Err(b.error("the sparsity selector must be a constant"));
    };
    Sparsity::new(row, selector, shape, element_bits)
        .ok_or_else(|| b.error(format!("sparsity selector {selector} is invalid for this shape")))
}

/// True for the oldest shape of `mma`, on binary16 numbers, which has its own layout.
fn is_quad_pair(i: &Instruction, shape: MatrixShape) -> bool {
    shape == MatrixShape { m: 8, n: 8, k: 4 } && i.last_type() != Some(ScalarType::F64)
}

/// True if the factor's layout is `.col`; A's layout is written first.
fn is_by_column(i: &Instruction, role: MatrixRole) -> bool {
    let mut layouts = i.modifiers().filter(|modifier| matches!(modifier, Modifier::Row | Modifier::Col));
    let (a, b) = (layouts.next(), layouts.next());
    let layout = if role == MatrixRole::A { a } else { b };
    layout == Some(Modifier::Col)
}

fn rounding(i: &Instruction) -> Round {
    let named = i.modifiers().find_map(|modifier| match modifier {
        Modifier::Rz => Some(Round::Zero),
        Modifier::Rm => Some(Round::Down),
        Modifier::Rp => Some(Round::Up),
        _ => None,
    });
    named.unwrap_or(Round::Nearest)
}

/// Binds `ldmatrix` or `stmatrix` with registers and address in these operands.
fn bind_eights(b: &mut Binder<'_, '_>, i: &Instruction, registers: usize, address: usize) -> Bound {
    let load = registers == 0;
    let fragment = fragment(b, i, "d")?;
    let rows = rows(b, &i.operands[registers], fragment, load)?;
    let addresses = addresses(b, i, &i.operands[address])?;
    let tables = b.matrices();
    tables.eights.push(Eights { addresses, rows, transposed: i.has(Modifier::Trans) });
    let immediate = tables.eights.len() as u64 - 1;
    let e = all_lanes(b);
    let op = Op { e, immediate, ..b.op(if load { load_eights } else { store_eights }) };
    b.push(op);
    Ok(())
}

/// Binds `ldmatrix` or `stmatrix` of bytes with registers and address in these operands.
fn bind_bytes(b: &mut Binder<'_, '_>, i: &Instruction, registers: usize, address: usize) -> Bound {
    let load = registers == 0;
    let fragment = fragment(b, i, "d")?;
    let rows = rows(b, &i.operands[registers], fragment, load)?;
    let addresses = addresses(b, i, &i.operands[address])?;
    let packing = if i.has(Modifier::B6x16P32) {
        Packing::Six
    } else if i.has(Modifier::B4x16P64) {
        Packing::Four
    } else if i.types().any(|ty| ty == ScalarType::S4) {
        Packing::Nibbles
    } else {
        Packing::Bytes
    };
    let square = i.has(Modifier::M16n16);
    let tables = b.matrices();
    tables.bytes.push(ByteMatrices { addresses, rows, square, packing });
    let immediate = tables.bytes.len() as u64 - 1;
    let e = all_lanes(b);
    let op = Op { e, immediate, ..b.op(if load { load_bytes } else { store_bytes }) };
    b.push(op);
    Ok(())
}

fn bind_byte_load(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_bytes(b, i, 0, 1)
}

/// `stmatrix` of bytes.
pub fn stmatrix_bytes(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_bytes(b, i, 1, 0)
}

/// `ldmatrix`.
pub fn ldmatrix(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_eights(b, i, 0, 1)
}

/// `stmatrix`.
pub fn stmatrix(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_eights(b, i, 1, 0)
}

/// `movmatrix`.
pub fn movmatrix(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let a = b.source(&i.operands[1], ScalarType::B32)?;
    let d = b.result(&i.operands[0], ScalarType::B32)?;
    let e = all_lanes(b);
    let op = Op { d, a, e, ..b.op(transpose) };
    b.push(op);
    Ok(())
}

forms! {
    bind_byte_load: ldmatrix_bytes ldmatrix_nibbles ldmatrix_narrow ldmatrix_narrow_columns;
    bind_load: wmma_load wmma_load_c wmma_load_byte wmma_load_c_integer wmma_load_a_nibble wmma_load_b_nibble
        wmma_load_a_bit wmma_load_b_bit wmma_load_c_narrow wmma_load_bf16 wmma_load_tf32 wmma_load_c_tf32
        wmma_load_f64;
    bind_store: wmma_store wmma_store_integer wmma_store_narrow wmma_store_tf32 wmma_store_f64;
    bind_product: wmma_mma wmma_mma_u8 wmma_mma_s8 wmma_mma_u4 wmma_mma_s4 wmma_mma_bit_xor wmma_mma_bit_and
        wmma_mma_bf16 wmma_mma_tf32 wmma_mma_f64 mma_quad_pair mma_quad_pair_f16 mma_f16_f32 mma_f16_f16
        mma_f16_f32_k16 mma_f16_f16_k16 mma_bf16 mma_tf32 mma_fp8_f32 mma_fp8_f16 mma_narrow_f32 mma_narrow_f16
        mma_scaled mma_scaled_halves mma_scaled_quarters mma_f64 mma_f64_m16 mma_byte mma_byte_m16 mma_nibble
        mma_sp_f16_f32 mma_sp_f16_f16 mma_sp_bf16 mma_sp_tf32 mma_sp_fp8 mma_sp_fp8_f16 mma_sp_narrow_f32
        mma_sp_narrow_f16 mma_sp_scaled mma_sp_scaled_halves mma_sp_scaled_quarters mma_sp_byte mma_sp_nibble
        mma_nibble_m16 mma_bit_xor mma_bit_xor_m16 mma_bit_and;
}
