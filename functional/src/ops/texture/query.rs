//! Properties of textures, samplers and surfaces: `txq`, `suq`, `istypep` (PTX manual 9.7.10.5, 9.7.10.6,
//! 9.7.11.4).

use ptx_frontend::ir::{Instruction, Operand};
use ptx_frontend::isa::{Modifier, ScalarType};

use super::handle;
use crate::bind::Binder;
use crate::engine::address_translation::lanes_of;
use crate::engine::op::{Flow, Op, Run};
use crate::engine::warp_context::WarpContext;
use crate::fault::FaultKind;
use crate::ops::Bound;
use crate::texture::{AddressMode, Filter, Image, ImageKind, Sampler, Texture};

/// Queries, by the index in their ops.
const QUERIES: &[Modifier] = &[
    Modifier::Width,
    Modifier::Height,
    Modifier::Depth,
    Modifier::ChannelDataType,
    Modifier::ChannelOrder,
    Modifier::NormalizedCoords,
    Modifier::ArraySize,
    Modifier::NumMipmapLevels,
    Modifier::NumSamples,
    Modifier::ForceUnnormalizedCoords,
    Modifier::FilterMode,
    Modifier::AddrMode0,
    Modifier::AddrMode1,
    Modifier::AddrMode2,
    Modifier::MemoryLayout,
];

/// Property of an image's level; sizes along missing axes are 0.
fn of_image(image: &Image, query: Modifier, level: usize) -> u32 {
    let size = image.level(level).map_or([0; 3], |level| [level.width, level.height, level.depth]);
    let axis = |axis: usize| if axis < image.dimensions as usize { size[axis] } else { 0 };
    match query {
        Modifier::Width => axis(0),
        Modifier::Height => axis(1),
        Modifier::Depth => axis(2),
        Modifier::ChannelDataType => image.format.data_type_code(),
        Modifier::ChannelOrder => image.format.order_code(),
        Modifier::ArraySize => image.layers / if image.cube { 6 } else { 1 },
        Modifier::NumMipmapLevels => image.levels.len() as u32,
        Modifier::NumSamples => 1,
        Modifier::MemoryLayout => u32::from(image.kind != ImageKind::Array),
        _ => 0,
    }
}

fn of_texture(texture: &Texture, query: Modifier, level: usize) -> u32 {
    match query {
        Modifier::NormalizedCoords => texture.sampler.normalized_coordinates.into(),
        _ => of_image(&texture.image, query, level),
    }
}

/// Modes are numbered in the manual's order.
fn of_sampler(sampler: &Sampler, query: Modifier) -> u32 {
    let mode = |axis: usize| match sampler.address[axis] {
        AddressMode::Wrap => 0,
        AddressMode::Mirror => 1,
        AddressMode::Clamp => 3,
        AddressMode::Border => 4,
    };
    match query {
        Modifier::FilterMode => u32::from(sampler.filter == Filter::Linear),
        Modifier::ForceUnnormalizedCoords => (!sampler.normalized_coordinates).into(),
        Modifier::AddrMode0 => mode(0),
        Modifier::AddrMode1 => mode(1),
        Modifier::AddrMode2 => mode(2),
        _ => 0,
    }
}

/// d = answer for the handle in each lane of `a`.
fn query(
    w: &mut WarpContext<'_>,
    op: &Op,
    what: &'static str,
    answer: impl Fn(&WarpContext<'_>, u64, Modifier, usize) -> Option<u32>,
) -> Flow {
    let Some(&query) = QUERIES.get(op.immediate as usize) else { return Flow::Next };
    for lane in lanes_of(w.mask) {
        // SAFETY: the binder allocated the rows.
        unsafe {
            let handle = w.read_lane(op.a, lane);
            let level: u32 = w.read_lane(op.b, lane);
            match answer(w, handle, query, level as usize) {
                Some(word) => w.write_lane(op.d, lane, word),
                None => return w.fault(FaultKind::UnknownHandle { handle, what, lane: lane as u32 }),
            }
        }
    }
    Flow::Next
}

fn query_texture(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    query(w, op, "texture", |w, handle, query, level| {
        w.grid.textures.textures.get(&handle).map(|texture| of_texture(texture, query, level))
    })
}

fn query_sampler(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    query(w, op, "sampler", |w, handle, query, _| {
        w.grid.textures.sampler(handle).map(|sampler| of_sampler(sampler, query))
    })
}

fn query_surface(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    query(w, op, "surface", |w, handle, query, _| {
        w.grid.textures.surfaces.get(&handle).map(|surface| of_image(surface, query, 0))
    })
}

/// Binds d = property of a, for the level in operand 2 if given.
fn bind(b: &mut Binder<'_, '_>, i: &Instruction, run: Run) -> Bound {
    let named = i.modifiers().find_map(|modifier| QUERIES.iter().position(|query| *query == modifier));
    let immediate = named.ok_or_else(|| b.error("the instruction names no query"))? as u64;
    let a = handle(b, &i.operands[1])?;
    let level = match i.operands.get(2) {
        Some(level) => b.source(level, ScalarType::B32)?,
        None => b.constant(0, false),
    };
    let d = b.result(&i.operands[0], ScalarType::B32)?;
    let op = Op { d, a, b: level, immediate, ..b.op(run) };
    b.push(op);
    Ok(())
}

/// `txq`.
pub fn txq(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, query_texture)
}

/// `txq.level`.
pub fn txq_level(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, query_texture)
}

/// `txq` of a sampler.
pub fn txq_sampler(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, query_sampler)
}

/// `suq`.
pub fn suq(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, query_surface)
}

/// `d` = lanes whose handle in `a` has the kind in `immediate`: texture, sampler, surface.
fn is_type(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let table = &w.grid.textures;
    let mut truth = 0;
    for lane in lanes_of(w.mask) {
        // SAFETY: a 64-bit row.
        let handle: u64 = unsafe { w.read_lane(op.a, lane) };
        let holds = match op.immediate {
            0 => table.textures.contains_key(&handle),
            1 => table.samplers.contains_key(&handle),
            _ => table.surfaces.contains_key(&handle),
        };
        truth |= u32::from(holds) << lane;
    }
    // SAFETY: a word of the predicate area.
    unsafe { w.write_predicate(op.d, truth) };
    Flow::Next
}

/// `istypep`.
pub fn istypep(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let immediate = match i.ty(0) {
        Some(ScalarType::Texref) => 0,
        Some(ScalarType::Samplerref) => 1,
        _ => 2,
    };
    let a = match &i.operands[1] {
        address @ Operand::Address { .. } => handle(b, address)?,
        value => b.source(value, ScalarType::B64)?,
    };
    let d = b.predicate_result(&i.operands[0])?;
    let op = Op { d, a, immediate, ..b.op(is_type) };
    b.push(op);
    Ok(())
}
