//! Surfaces: `suld`, `sust`, `sured` (PTX manual 9.7.11).

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering};

use ptx_frontend::ir::{Instruction, Operand};
use ptx_frontend::isa::{Modifier, ScalarType};

use super::{Coordinates, LookUp, coordinates, elements, handle};
use crate::bind::{BindError, Binder};
use crate::engine::address_translation::{Global, lanes_of, resolve_aligned};
use crate::engine::op::{Flow, Op, Run};
use crate::engine::warp_context::WarpContext;
use crate::fault::FaultKind;
use crate::ops::Bound;
use crate::texture::surface::{Boundary, ElementAccess, Target, locate};
use crate::texture::{Image, Numeric};

/// Operands of a surface access.
#[derive(Debug)]
pub struct SurfaceAccess {
    surface: u32,
    coordinates: Coordinates,
    /// True if x counts elements of the surface's format instead of bytes.
    formatted: bool,
    /// Bytes per element of the vector.
    bytes: u32,
    boundary: Boundary,
    /// Rows of the vector's elements.
    values: Vec<u32>,
    slot: u32,
    /// True if a probe records the texels.
    is_told: bool,
}

impl SurfaceAccess {
    /// Host address of a lane's access of `bytes` bytes; `None` outside of the surface.
    ///
    /// # Safety
    /// The binder allocated the rows, and `lane` is below 32.
    unsafe fn place(
        &self,
        w: &mut WarpContext<'_>,
        lane: usize,
        surface: &Image,
        bytes: u32,
    ) -> Result<Option<*mut u8>, FaultKind> {
        // SAFETY: guaranteed by the caller.
        let (layer, words) = unsafe { self.coordinates.of_lane(w, lane) };
        let coordinates = words.map(u32::cast_signed);
        let unit = if self.formatted { surface.format.bytes() } else { 1 };
        let access = ElementAccess { layer, coordinates, unit, bytes, boundary: self.boundary };
        match locate(surface, &access) {
            Target::Nothing => Ok(None),
            Target::Outside => {
                let [x, y, z] = coordinates;
                let z = if self.coordinates.geometry.layered { layer.cast_signed() } else { z };
                Err(FaultKind::OutsideSurface { x, y, z, lane: lane as u32 })
            }
            Target::Address(address) => {
                if self.is_told {
                    w.cta.touch_texel(address);
                }
                resolve_aligned::<Global>(w, self.slot, lane, address, bytes).map(Some)
            }
        }
    }

    fn is_wide(&self) -> bool {
        self.bytes == 8
    }

    /// Bytes of the whole vector.
    fn vector_bytes(&self) -> u32 {
        self.bytes * self.values.len() as u32
    }

    /// A lane's element of the vector.
    ///
    /// # Safety
    /// As for [`SurfaceAccess::place`].
    unsafe fn value(&self, w: &WarpContext<'_>, lane: usize, row: u32) -> u64 {
        // SAFETY: guaranteed by the caller.
        unsafe { if self.is_wide() { w.read_lane(row, lane) } else { w.read_lane::<u32>(row, lane).into() } }
    }
}

/// Runs `access` for each lane with its surface.
fn for_lanes(
    w: &mut WarpContext<'_>,
    op: &Op,
    access: impl Fn(&SurfaceAccess, &mut WarpContext<'_>, usize, &Image) -> Result<(), FaultKind>,
) -> Flow {
    let grid = w.grid;
    let Some(line) = grid.program.textures.surfaces.get(op.immediate as usize) else { return Flow::Next };
    let mut surfaces: LookUp<u64, &Image> = LookUp::new();
    for lane in lanes_of(w.mask) {
        // SAFETY: the binder allocated a 64-bit row.
        let handle = unsafe { w.read_lane(line.surface, lane) };
        let unknown = FaultKind::UnknownHandle { handle, what: "surface", lane: lane as u32 };
        let find = || grid.textures.surfaces.get(&handle).map(Arc::as_ref).ok_or(unknown);
        let found = surfaces.get(handle, find);
        if let Err(fault) = found.and_then(|surface| access(line, w, lane, surface)) {
            return w.fault(fault);
        }
    }
    Flow::Next
}

fn load(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    for_lanes(w, op, |access, w, lane, surface| {
        let mut bytes = [0; 16];
        let count = access.vector_bytes();
        // SAFETY: the binder allocated the rows, and the address was checked.
        unsafe {
            if let Some(place) = access.place(w, lane, surface, count)? {
                place.copy_to_nonoverlapping(bytes.as_mut_ptr(), count as usize);
            }
            for (&row, element) in access.values.iter().zip(bytes.chunks_exact(access.bytes as usize)) {
                let mut wide = [0; 8];
                wide[..element.len()].copy_from_slice(element);
                let value = u64::from_le_bytes(wide);
                if access.is_wide() {
                    w.write_lane(row, lane, value);
                } else {
                    w.write_lane(row, lane, value as u32);
                }
            }
        }
        Ok(())
    })
}

fn store(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    for_lanes(w, op, |access, w, lane, surface| {
        let mut bytes = [0; 16];
        let count = access.vector_bytes();
        // SAFETY: the binder allocated the rows, and the address was checked.
        unsafe {
            for (&row, element) in access.values.iter().zip(bytes.chunks_exact_mut(access.bytes as usize)) {
                let value = access.value(w, lane, row).to_le_bytes();
                element.copy_from_slice(&value[..element.len()]);
            }
            if let Some(place) = access.place(w, lane, surface, count)? {
                place.copy_from_nonoverlapping(bytes.as_ptr(), count as usize);
            }
        }
        Ok(())
    })
}

fn store_formatted(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    for_lanes(w, op, |access, w, lane, surface| {
        // SAFETY: the binder allocated the rows, and the address was checked.
        unsafe {
            let mut words = [0; 4];
            for (word, &row) in words.iter_mut().zip(&access.values) {
                *word = w.read_lane(row, lane);
            }
            let count = surface.format.bytes();
            let texel = surface.format.texel(words);
            if let Some(place) = access.place(w, lane, surface, count)? {
                place.copy_from_nonoverlapping(texel.as_ptr(), count as usize);
            }
        }
        Ok(())
    })
}

/// Operation of `sured` on a value in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reduction {
    Add,
    Min,
    Max,
    And,
    Or,
}

/// Updates the value at `place` atomically.
///
/// # Safety
/// `place` is aligned and points to a live value of `bytes` bytes.
unsafe fn reduce(place: *mut u8, reduction: Reduction, value: u64, bytes: u32, signed: bool) {
    macro_rules! update {
        ($word:ty, $unsigned:ty, $signed_word:ty, $signed:ty) => {{
            // SAFETY: guaranteed by the caller.
            let unsigned = unsafe { <$unsigned>::from_ptr(place.cast()) };
            // SAFETY: as above.
            let signed_cell = unsafe { <$signed>::from_ptr(place.cast()) };
            let word = value as $word;
            match (reduction, signed) {
                (Reduction::Add, _) => _ = unsigned.fetch_add(word, Ordering::SeqCst),
                (Reduction::And, _) => _ = unsigned.fetch_and(word, Ordering::SeqCst),
                (Reduction::Or, _) => _ = unsigned.fetch_or(word, Ordering::SeqCst),
                (Reduction::Min, false) => _ = unsigned.fetch_min(word, Ordering::SeqCst),
                (Reduction::Max, false) => _ = unsigned.fetch_max(word, Ordering::SeqCst),
                (Reduction::Min, true) => {
                    _ = signed_cell.fetch_min(word as $signed_word, Ordering::SeqCst);
                }
                (Reduction::Max, true) => {
                    _ = signed_cell.fetch_max(word as $signed_word, Ordering::SeqCst);
                }
            }
        }};
    }
    if bytes == 8 {
        update!(u64, AtomicU64, i64, AtomicI64);
    } else {
        update!(u32, AtomicU32, i32, AtomicI32);
    }
}

/// Runs reduction number `d`; `e` is 1 for signed values, 2 if the surface's format decides.
fn update(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let reductions = [Reduction::Add, Reduction::Min, Reduction::Max, Reduction::And, Reduction::Or];
    let Some(&reduction) = reductions.get(op.d as usize) else { return Flow::Next };
    for_lanes(w, op, |access, w, lane, surface| {
        let signed = op.e == 1 || (op.e == 2 && surface.format.numeric == Numeric::Signed);
        // SAFETY: the binder allocated the rows, and address and alignment were checked.
        unsafe {
            let Some(&row) = access.values.first() else { return Ok(()) };
            let value = access.value(w, lane, row);
            if let Some(place) = access.place(w, lane, surface, access.bytes)? {
                reduce(place, reduction, value, access.bytes, signed);
            }
        }
        Ok(())
    })
}

/// Adds a surface access with these operands to the program's table; returns its index.
fn access(
    b: &mut Binder<'_, '_>,
    i: &Instruction,
    surface: usize,
    values: usize,
    formatted: bool,
) -> Result<u64, BindError> {
    let Operand::Texel { handle: named, coordinates: at, .. } = &i.operands[surface] else {
        return Err(b.error("the operand is not a surface"));
    };
    let ty = b.last_type(i)?;
    let written = values < surface;
    let access = SurfaceAccess {
        surface: handle(b, named)?,
        coordinates: coordinates(b, i, at, ScalarType::S32)?,
        formatted,
        bytes: ty.bytes(),
        boundary: if i.has(Modifier::Clamp) {
            Boundary::Clamp
        } else if i.has(Modifier::Zero) {
            Boundary::Zero
        } else {
            Boundary::Trap
        },
        values: elements(&i.operands[values])
            .iter()
            .map(|value| if written { b.result(value, ty) } else { b.source(value, ty) })
            .collect::<Result<_, _>>()?,
        slot: b.next_slot(),
        is_told: b.tells_texels(),
    };
    let surfaces = &mut b.textures().surfaces;
    surfaces.push(access);
    Ok(surfaces.len() as u64 - 1)
}

fn bind_store(b: &mut Binder<'_, '_>, i: &Instruction, run: Run, formatted: bool) -> Bound {
    let immediate = access(b, i, 0, 1, formatted)?;
    b.note_texels();
    let op = Op { immediate, ..b.op(run) };
    b.push(op);
    Ok(())
}

/// `suld.b`.
pub fn suld_b(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let immediate = access(b, i, 1, 0, false)?;
    b.note_texels();
    let op = Op { immediate, ..b.op(load) };
    b.push(op);
    Ok(())
}

/// `sust.b`.
pub fn sust_b(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_store(b, i, store, false)
}

/// `sust.p`.
pub fn sust_p(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_store(b, i, store_formatted, true)
}

fn bind_reduction(b: &mut Binder<'_, '_>, i: &Instruction, formatted: bool) -> Bound {
    let ty = b.last_type(i)?;
    let d = i.modifiers().find_map(|modifier| match modifier {
        Modifier::Add => Some(0),
        Modifier::Min => Some(1),
        Modifier::Max => Some(2),
        Modifier::And => Some(3),
        Modifier::Or => Some(4),
        _ => None,
    });
    let d = d.ok_or_else(|| b.error("the instruction has no operation"))?;
    let e = if formatted { 2 } else { u32::from(ty.is_signed()) };
    let immediate = access(b, i, 0, 1, formatted)?;
    b.note_texels();
    let op = Op { d, e, immediate, ..b.op(update) };
    b.push(op);
    Ok(())
}

/// `sured.b`.
pub fn sured_b(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_reduction(b, i, false)
}

/// `sured.p`.
pub fn sured_p(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_reduction(b, i, true)
}
