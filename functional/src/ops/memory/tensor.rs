//! Copies between shared memory and a tensor in global memory, and changes of tensor maps (PTX manual
//! 9.7.9.26.5, 9.7.9.27). Like other bulk copies, the starting lane completes them at once.

use ptx_frontend::ir::{Instruction, Operand};
use ptx_frontend::isa::{Modifier, ScalarType};

use super::push_copy;
use crate::bind::{BindError, Binder};
use crate::engine::address_translation::{ClusterShared, Generic, Global, Shared, Space, lanes_of};
use crate::engine::cluster::in_cta;
use crate::engine::op::{Flow, Op, Run};
use crate::engine::warp_context::WarpContext;
use crate::fault::FaultKind;
use crate::ops::Bound;
use crate::ops::address_operand::{named_space, wide_address};
use crate::ops::atomic::element_update;
use crate::ops::parallel::{bind_transactions_in, bind_transactions_of};
use crate::tensor::{BYTES, Element, Field, MAXIMUM_RANK, Row, TensorMap, Walk};

/// Alignment of the shared address, bytes.
const SHARED_ALIGNMENT: u32 = 128;
/// Alignment of a tensor map, bytes.
const MAP_ALIGNMENT: u32 = 64;
/// Maximum bytes of a row in shared memory: 256 elements of 8 bytes.
const MAXIMUM_ROW: usize = 2048;

/// Form of a copy, encoded in the op's immediate.
#[derive(Debug, Clone, Copy)]
struct Form {
    /// Number of dimensions.
    rank: usize,
    /// True to copy pixels instead of a box.
    pixels: bool,
    /// True if the coordinates are a column and four rows.
    four_rows: bool,
    /// True if row `e` holds a mask of CTAs.
    multicast: bool,
    /// Operation of a reduction, as an index into [`OPERATIONS`].
    operation: usize,
}

/// Operations of reductions; the first stands for none.
const OPERATIONS: [Modifier; 9] = {
    use Modifier::{Add, And, Dec, Inc, Max, Min, Or, Tile, Xor};
    [Tile, Add, And, Or, Xor, Inc, Dec, Min, Max]
};

impl Form {
    fn of(i: &Instruction) -> Form {
        let ranks = [Modifier::Geometry2d, Modifier::Geometry3d, Modifier::Geometry4d, Modifier::Geometry5d];
        let operation = i.modifiers().find_map(|m| OPERATIONS[1..].iter().position(|o| *o == m));
        Form {
            rank: ranks.iter().position(|rank| i.has(*rank)).map_or(1, |at| at + 2),
            pixels: i.has(Modifier::Im2col) || i.has(Modifier::Im2colNoOffs),
            four_rows: i.has(Modifier::Gather4) || i.has(Modifier::Scatter4),
            multicast: i.has(Modifier::Multicast),
            operation: operation.map_or(0, |at| at + 1),
        }
    }

    fn encode(self) -> u64 {
        self.rank as u64
            | u64::from(self.pixels) << 3
            | u64::from(self.four_rows) << 4
            | u64::from(self.multicast) << 5
            | (self.operation as u64) << 8
    }

    fn decode(bits: u64) -> Form {
        Form {
            rank: (bits & 7) as usize,
            pixels: bits >> 3 & 1 != 0,
            four_rows: bits >> 4 & 1 != 0,
            multicast: bits >> 5 & 1 != 0,
            operation: (bits >> 8) as usize,
        }
    }
}

/// A lane's copy. The swizzle permutes chunks of its rows by bits of their shared addresses.
struct Plan {
    map: TensorMap,
    rows: Vec<Row>,
}

impl Plan {
    /// Bytes that the copy moves.
    fn bytes(&self) -> u32 {
        u32::try_from(self.rows.len() as u64 * self.map.row_bytes()).unwrap_or(u32::MAX)
    }

    /// Shared address of each 8-byte piece of row `n` of a box at `shared`, in order.
    fn pieces(&self, shared: u64, n: usize) -> impl Iterator<Item = u64> + '_ {
        let start = shared + n as u64 * self.map.pitch();
        (0..self.map.row_bytes() / 8).map(move |piece| self.map.swizzle.place(start + piece * 8))
    }
}

/// Host pointer to a tensor map.
fn map_place<S: Space>(
    w: &mut WarpContext<'_>,
    op: &Op,
    lane: usize,
    address: u64,
) -> Result<*mut u8, FaultKind> {
    let (width, lane) = (BYTES as u32, lane as u32);
    if address & u64::from(MAP_ALIGNMENT - 1) != 0 {
        return Err(FaultKind::MisalignedAddress { address, width: MAP_ALIGNMENT, lane });
    }
    S::resolve(w, op.slot, lane, address, width).ok_or(FaultKind::IllegalAddress { address, width, lane })
}

fn map_at(w: &mut WarpContext<'_>, op: &Op, lane: usize, address: u64) -> Result<TensorMap, FaultKind> {
    let place = map_place::<Generic>(w, op, lane, address)?;
    w.grid.note_parameter_read(address, Some(BYTES as u64));
    // SAFETY: the bytes were checked for this lane.
    let bytes = unsafe { place.cast::<[u8; BYTES]>().read() };
    let unknown = FaultKind::UnknownHandle { handle: address, what: "tensor map", lane: lane as u32 };
    TensorMap::decode(&bytes).ok_or(unknown)
}

/// The copy of a lane: `b` is the map's address; 32-bit rows from `c` on hold the coordinates, followed by
/// the offsets of pixels.
///
/// # Safety
/// As for [`Run`]: `b` is a 64-bit row, followed from `c` on by eight 32-bit rows.
unsafe fn plan(w: &mut WarpContext<'_>, op: &Op, lane: usize, shared: u64) -> Result<Plan, FaultKind> {
    let form = Form::decode(op.immediate);
    // SAFETY: guaranteed by the caller.
    let address = unsafe { w.read_lane::<u64>(op.b, lane) };
    let map = map_at(w, op, lane, address)?;
    // SAFETY: guaranteed by the caller.
    let word = |n: u32| unsafe { w.read_lane::<u32>(op.c + n * ROW, lane) };
    let at: [i32; MAXIMUM_RANK] = std::array::from_fn(|n| word(n as u32).cast_signed());
    let is_pixels = !matches!(map.mode, crate::tensor::Mode::Tiled);
    if map.rank != form.rank || is_pixels != form.pixels || map.row_bytes() as usize > MAXIMUM_ROW {
        return Err(FaultKind::Unsupported(format!(
            "the tensor map at {address:#x} has rank {}, {}, and rows of {} bytes; the copy does not match",
            map.rank,
            if is_pixels { "pixels" } else { "a box" },
            map.row_bytes()
        )));
    }
    if map.row_bytes() % 8 != 0 {
        let width = map.row_bytes() as u32;
        return Err(FaultKind::MisalignedAddress { address: shared, width, lane: lane as u32 });
    }
    if shared & u64::from(SHARED_ALIGNMENT - 1) != 0 {
        return Err(FaultKind::MisalignedAddress {
            address: shared,
            width: SHARED_ALIGNMENT,
            lane: lane as u32,
        });
    }
    let walk = if form.four_rows {
        Walk::Rows(at[0], [at[1], at[2], at[3], at[4]])
    } else if form.pixels {
        Walk::Shifted(at, std::array::from_fn(|n| word((MAXIMUM_RANK + n) as u32) as u16))
    } else {
        Walk::From(at)
    };
    // Limits the copy to the size of shared memory, in rows and in bytes.
    let bytes = map.row_count(walk).saturating_mul(map.pitch().max(1));
    if bytes > u64::from(w.shared_bytes) {
        let width = u32::try_from(bytes).unwrap_or(u32::MAX);
        return Err(FaultKind::IllegalAddress { address: shared, width, lane: lane as u32 });
    }
    Ok(Plan { rows: map.rows(walk), map })
}

/// Bytes of a 32-bit row.
const ROW: u32 = 128;

/// Part of a row inside the tensor: offset in the row, device address, and size, in bytes of device memory.
fn inside(map: &TensorMap, row: &Row) -> Option<(usize, u64, usize)> {
    let (packed, bytes) = (map.element.packed() as i64, map.element.bytes() as i64);
    let start = row.first.max(0);
    let end = row.first.saturating_add(map.row_elements() as i64).min(row.size);
    let address = row.address?;
    if start >= end {
        return None;
    }
    let (from, skipped) = (start / packed * bytes, (start - row.first) / packed * bytes);
    Some((skipped as usize, address.wrapping_add(from as u64), ((end - start) / packed * bytes) as usize))
}

/// Bytes of a row for shared memory.
fn load_row(
    w: &mut WarpContext<'_>,
    op: &Op,
    lane: usize,
    map: &TensorMap,
    row: &Row,
) -> Result<[u8; MAXIMUM_ROW], FaultKind> {
    let fill = if map.fills_with_nan && map.element.is_float() { 0xff } else { 0 };
    let mut bytes = [fill; MAXIMUM_ROW];
    if let Some((skipped, address, count)) = inside(map, row) {
        let width = count as u32;
        let place = Global::resolve(w, op.slot, lane as u32, address, width);
        let place = place.ok_or(FaultKind::IllegalAddress { address, width, lane: lane as u32 })?;
        if let Some(part) = bytes.get_mut(skipped..skipped + count) {
            // SAFETY: the bytes were checked for this lane and do not overlap the buffer.
            unsafe { place.copy_to_nonoverlapping(part.as_mut_ptr(), part.len()) };
            map.element.convert(part);
        }
    }
    let (from, to) = (map.element.bytes() as usize, map.element.shared_bytes() as usize);
    if from != to {
        let packed = bytes;
        bytes = [0; MAXIMUM_ROW];
        for (to, from) in bytes.chunks_exact_mut(to).zip(packed.chunks_exact(from)) {
            to[..from.len()].copy_from_slice(from);
        }
    }
    Ok(bytes)
}

/// Copies the box given by map `b` and the coordinates to shared memory at `a`, for a multicast in each CTA
/// set in `e`. Result `d` is the box's size in bytes.
unsafe fn load(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let multicast = Form::decode(op.immediate).multicast;
    for lane in lanes_of(w.mask) {
        // SAFETY: the binder allocated the rows.
        let (to, ctas) = unsafe {
            (
                w.read_lane::<u64>(op.a, lane),
                if multicast { w.read_lane::<u32>(op.e, lane) & 0xffff } else { 1 },
            )
        };
        // SAFETY: as above.
        let loaded = unsafe { plan(w, op, lane, to) }.and_then(|plan| {
            for rank in lanes_of(ctas) {
                let to = if multicast { in_cta(to, rank as u32, w.cta.rank) } else { to };
                load_box(w, op, lane, &plan, to)?;
            }
            Ok(plan.bytes())
        });
        match loaded {
            // SAFETY: `d` is a 32-bit row.
            Ok(bytes) => unsafe { w.write_lane(op.d, lane, bytes) },
            Err(fault) => return w.fault(fault),
        }
    }
    Flow::Next
}

fn load_box(w: &mut WarpContext<'_>, op: &Op, lane: usize, plan: &Plan, to: u64) -> Result<(), FaultKind> {
    let outside = |address: u64| FaultKind::IllegalAddress { address, width: 8, lane: lane as u32 };
    let stretch = ClusterShared::stretch(w, op.slot, to).ok_or(outside(to))?;
    for (n, row) in plan.rows.iter().enumerate() {
        let bytes = load_row(w, op, lane, &plan.map, row)?;
        for (address, piece) in plan.pieces(to, n).zip(bytes.chunks_exact(8)) {
            let place = stretch.place(address, 8).ok_or(outside(address))?;
            // SAFETY: eight bytes there were checked.
            unsafe { place.copy_from_nonoverlapping(piece.as_ptr(), 8) };
        }
    }
    Ok(())
}

/// Copies shared memory at `a` to the box given by map `b` and the coordinates, or combines their elements.
unsafe fn store(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    for lane in lanes_of(w.mask) {
        // SAFETY: the binder allocated the rows.
        let (from, planned) = unsafe {
            let from = w.read_lane::<u64>(op.a, lane);
            (from, plan(w, op, lane, from))
        };
        let stored = planned.and_then(|plan| store_box(w, op, lane, &plan, from));
        if let Err(fault) = stored {
            return w.fault(fault);
        }
    }
    Flow::Next
}

fn store_box(
    w: &mut WarpContext<'_>,
    op: &Op,
    lane: usize,
    plan: &Plan,
    from_shared: u64,
) -> Result<(), FaultKind> {
    let map = &plan.map;
    let outside = |address: u64, width: u32| FaultKind::IllegalAddress { address, width, lane: lane as u32 };
    let stretch = <Shared<u64>>::stretch(w, op.slot, from_shared).ok_or(outside(from_shared, 8))?;
    let update = match Form::decode(op.immediate).operation {
        0 => None,
        operation => Some(reduction(OPERATIONS[operation], map.element)?),
    };
    let (to, from) = (map.element.bytes() as usize, map.element.shared_bytes() as usize);
    for (n, row) in plan.rows.iter().enumerate() {
        let mut bytes = [0; MAXIMUM_ROW];
        for (address, piece) in plan.pieces(from_shared, n).zip(bytes.chunks_exact_mut(8)) {
            let place = stretch.place(address, 8).ok_or(outside(address, 8))?;
            // SAFETY: eight bytes there were checked.
            unsafe { place.copy_to_nonoverlapping(piece.as_mut_ptr(), 8) };
        }
        if from != to {
            let spread = bytes;
            for (to, from) in bytes.chunks_exact_mut(to).zip(spread.chunks_exact(from)) {
                to.copy_from_slice(&from[..to.len()]);
            }
        }
        let Some((skipped, address, count)) = inside(map, row) else { continue };
        let width = count as u32;
        let place =
            Global::resolve(w, op.slot, lane as u32, address, width).ok_or(outside(address, width))?;
        let Some(part) = bytes.get(skipped..skipped + count) else { continue };
        match update {
            // SAFETY: the bytes were checked for this lane and do not overlap the buffer.
            None => unsafe { place.copy_from_nonoverlapping(part.as_ptr(), part.len()) },
            Some(_) if !address.is_multiple_of(to as u64) => {
                return Err(FaultKind::MisalignedAddress { address, width: to as u32, lane: lane as u32 });
            }
            Some(update) => {
                for (at, element) in part.chunks_exact(to).enumerate() {
                    let mut aligned = [0_u64];
                    let value = aligned.as_mut_ptr().cast::<u8>();
                    // SAFETY: the element fits a double word; its address was checked and is a multiple of
                    // its size.
                    unsafe {
                        value.copy_from_nonoverlapping(element.as_ptr(), to);
                        update(place.add(at * to), value);
                    }
                }
            }
        }
    }
    Ok(())
}

/// Update of one element by a reduction.
fn reduction(operation: Modifier, element: Element) -> Result<unsafe fn(*mut u8, *const u8), FaultKind> {
    let unsupported =
        || FaultKind::Unsupported(format!("no reduction .{} of elements {element:?}", operation.name()));
    let scalar = element.scalar().ok_or_else(unsupported)?;
    let bitwise = matches!(operation, Modifier::And | Modifier::Or | Modifier::Xor);
    let scalar = match (bitwise, scalar.bits()) {
        (true, 32) => ScalarType::B32,
        (true, 64) => ScalarType::B64,
        _ => scalar,
    };
    element_update(operation, scalar).ok_or_else(unsupported)
}

/// Adjacent rows with the coordinates, followed by the offsets of pixels.
fn coordinate_rows(
    b: &mut Binder<'_, '_>,
    coordinates: &[Operand],
    offsets: Option<&Operand>,
) -> Result<u32, BindError> {
    let rows: Vec<u32> = (0..MAXIMUM_RANK + 3).map(|_| b.scratch(false)).collect();
    if rows.windows(2).any(|pair| pair[1] != pair[0] + ROW) || coordinates.len() > MAXIMUM_RANK {
        return Err(b.error("the tensor operand has too many coordinates"));
    }
    for (operand, &row) in coordinates.iter().zip(&rows) {
        let source = b.source(operand, ScalarType::S32)?;
        push_copy(b, row, source, false);
    }
    if let Some(Operand::Vector(offsets)) = offsets {
        for (operand, &row) in offsets.iter().zip(&rows[MAXIMUM_RANK..]) {
            let source = b.source(operand, ScalarType::U16)?;
            push_copy(b, row, source, false);
        }
    }
    Ok(rows[0])
}

/// Binds a copy between a tensor and shared memory; returns the row of its bytes.
fn bind_copy(
    b: &mut Binder<'_, '_>,
    i: &Instruction,
    run: Run,
    (tensor, shared): (&Operand, &Operand),
    (offsets, ctas): (Option<&Operand>, Option<u32>),
) -> Result<u32, BindError> {
    let Operand::Texel { handle, coordinates, .. } = tensor else {
        return Err(b.error("the operand is not a tensor"));
    };
    let c = coordinate_rows(b, coordinates, offsets)?;
    let (a, map) = (wide_address(b, shared)?, wide_address(b, handle)?);
    let d = b.scratch(false);
    let (slot, immediate) = (b.next_slot(), Form::of(i).encode());
    let op = Op { d, a, b: map, c, e: ctas.unwrap_or(0), immediate, slot, ..b.op(run) };
    b.push(op);
    Ok(d)
}

/// Binds a copy to shared memory with the operands address, tensor, barrier, and optional offsets of
/// pixels.
fn bind_load(b: &mut Binder<'_, '_>, i: &Instruction, offsets: Option<&Operand>) -> Bound {
    let bytes = bind_copy(b, i, load, (&i.operands[1], &i.operands[0]), (offsets, None))?;
    bind_transactions_of(b, i, &i.operands[2], bytes)
}

/// [`bind_load`] to the CTAs in operand `ctas`.
fn bind_multicast(b: &mut Binder<'_, '_>, i: &Instruction, offsets: Option<&Operand>, ctas: usize) -> Bound {
    let ctas = b.source(&i.operands[ctas], ScalarType::B16)?;
    let bytes = bind_copy(b, i, load, (&i.operands[1], &i.operands[0]), (offsets, Some(ctas)))?;
    bind_transactions_in(b, &i.operands[2], bytes, ctas)
}

/// `cp.async.bulk.tensor` of a box to shared memory.
pub fn cp_async_bulk_tensor(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_load(b, i, None)
}

/// `cp.async.bulk.tensor` of a box to several CTAs.
pub fn cp_async_bulk_tensor_multicast(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_multicast(b, i, None, 3)
}

/// `cp.async.bulk.tensor` of pixels to shared memory.
pub fn cp_async_bulk_tensor_image(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_load(b, i, Some(&i.operands[3]))
}

/// `cp.async.bulk.tensor` of pixels to several CTAs.
pub fn cp_async_bulk_tensor_image_multicast(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_multicast(b, i, Some(&i.operands[3]), 4)
}

/// `cp.async.bulk.tensor` to global memory.
pub fn cp_async_bulk_tensor_store(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_copy(b, i, store, (&i.operands[0], &i.operands[1]), (None, None)).map(|_| ())
}

/// `cp.reduce.async.bulk.tensor`.
pub fn cp_reduce_async_bulk_tensor(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    cp_async_bulk_tensor_store(b, i)
}

/// The field of `immediate` bytes at byte `e` of the map at `a` = `b`.
unsafe fn replace<S: Space>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    for lane in lanes_of(w.mask) {
        // SAFETY: `a` is a 64-bit row; `b` is a 32-bit row, or a 64-bit row for a field of eight bytes.
        let (address, value) = unsafe {
            let wide = op.immediate == 8;
            let value =
                if wide { w.read_lane(op.b, lane) } else { u64::from(w.read_lane::<u32>(op.b, lane)) };
            (w.read_lane::<u64>(op.a, lane), value)
        };
        match map_place::<S>(w, op, lane, address) {
            // SAFETY: the map was checked, and the field lies in it.
            Ok(place) => unsafe {
                let bytes = value.to_le_bytes();
                place.add(op.e as usize).copy_from_nonoverlapping(bytes.as_ptr(), op.immediate as usize);
            },
            Err(fault) => return w.fault(fault),
        }
    }
    Flow::Next
}

fn bind_replace(b: &mut Binder<'_, '_>, i: &Instruction, field: Field, value: &Operand) -> Bound {
    let wide = field.width == 8;
    let a = wide_address(b, &i.operands[0])?;
    let value = b.source(value, if wide { ScalarType::B64 } else { ScalarType::B32 })?;
    let run = match named_space(i) {
        None => replace::<Generic> as Run,
        Some(_) if i.has(Modifier::Global) => replace::<Global>,
        Some(_) => replace::<Shared<u64>>,
    };
    let (slot, immediate) = (b.next_slot(), field.width as u64);
    let op = Op { a, b: value, e: field.offset as u32, immediate, slot, ..b.op(run) };
    b.push(op);
    Ok(())
}

/// Binds a change of the field for the dimension in operand 1, out of `dimensions`.
fn bind_dimension(b: &mut Binder<'_, '_>, i: &Instruction, first: Field, dimensions: usize) -> Bound {
    match i.operands[1] {
        Operand::Immediate(n) if n < dimensions as u64 => {
            bind_replace(b, i, first.nth(n as usize), &i.operands[2])
        }
        _ => Err(b.error(format!("the dimension must be a constant below {dimensions}"))),
    }
}

/// `tensormap.replace.tile.global_address`.
pub fn tensormap_replace_address(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_replace(b, i, Field::ADDRESS, &i.operands[1])
}

/// `tensormap.replace.tile.global_stride`.
pub fn tensormap_replace_stride(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_dimension(b, i, Field::STRIDE, MAXIMUM_RANK - 1)
}

/// `tensormap.replace.tile.box_dim`, `.global_dim`, `.element_stride`.
pub fn tensormap_replace_dimension(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let field = if i.has(Modifier::BoxDim) {
        Field::EXTENT
    } else if i.has(Modifier::GlobalDim) {
        Field::SIZE
    } else {
        Field::STEP
    };
    bind_dimension(b, i, field, MAXIMUM_RANK)
}

/// `tensormap.replace.tile.rank`, `.elemtype`, and the other properties.
pub fn tensormap_replace_property(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let field = i.modifiers().find_map(|modifier| {
        Some(match modifier {
            Modifier::Rank => Field::RANK,
            Modifier::Elemtype => Field::ELEMENT,
            Modifier::InterleaveLayout => Field::INTERLEAVE,
            Modifier::SwizzleMode => Field::SWIZZLE,
            Modifier::FillMode => Field::FILL,
            Modifier::SwizzleAtomicity => Field::ATOMICITY,
            _ => return None,
        })
    });
    let field = field.ok_or_else(|| b.error("the instruction names no field"))?;
    bind_replace(b, i, field, &i.operands[1])
}

/// The map at global address `a` = the map at shared address `b`. Lanes name equal addresses.
unsafe fn copy_map(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    for lane in lanes_of(w.mask) {
        // SAFETY: `a` and `b` are 64-bit rows.
        let (to, from) = unsafe { (w.read_lane::<u64>(op.a, lane), w.read_lane::<u64>(op.b, lane)) };
        let places = map_place::<Shared<u64>>(w, op, lane, from)
            .and_then(|from| Ok((map_place::<Global>(w, op, lane, to)?, from)));
        match places {
            // SAFETY: both were checked for this lane and lie in different spaces.
            Ok((to, from)) => unsafe { to.copy_from_nonoverlapping(from, BYTES) },
            Err(fault) => return w.fault(fault),
        }
    }
    Flow::Next
}

/// `tensormap.cp_fenceproxy`.
pub fn tensormap_cp_fenceproxy(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    if i.operands[2] != Operand::Immediate(BYTES as u64) {
        return Err(b.error(format!("the size of a tensor map must be {BYTES} bytes")));
    }
    let (a, from) = (wide_address(b, &i.operands[0])?, wide_address(b, &i.operands[1])?);
    let slot = b.next_slot();
    let op = Op { a, b: from, slot, ..b.op(copy_map) };
    b.push(op);
    Ok(())
}
