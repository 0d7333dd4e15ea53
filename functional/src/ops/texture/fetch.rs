//! Sampled reads: `tex` and `tld4` (PTX manual 9.7.10.3, 9.7.10.4).

use half::f16;
use ptx_frontend::ir::{Instruction, Operand};
use ptx_frontend::isa::{Modifier, ScalarType};

use super::{Coordinates, LookUp, coordinates, elements, handle, rows};
use crate::bind::{BindError, Binder};
use crate::engine::address_translation::{Global, Space, lanes_of};
use crate::engine::op::{Flow, Op};
use crate::engine::warp_context::WarpContext;
use crate::fault::FaultKind;
use crate::ops::{Bound, forms};
use crate::texture::sample::{self, Lod, SamplePosition, Sampling, Value};
use crate::texture::{Table, Texels};

/// Operands of a sampled read.
#[derive(Debug)]
pub struct Fetch {
    texture: u32,
    /// Row of the sampler's handle; `None` for the texture's own sampler.
    sampler: Option<u32>,
    coordinates: Coordinates,
    /// True if coordinates are texel indices.
    by_texel: bool,
    lod: LodRows,
    /// Rows of the offsets.
    offsets: Vec<u32>,
    /// Component of a gathering read.
    component: Option<usize>,
    results: Vec<u32>,
    packing: Packing,
    slot: u32,
}

/// Rows that select the level of detail.
#[derive(Debug)]
enum LodRows {
    Base,
    Level(u32),
    Gradient([Vec<u32>; 2]),
}

/// Content of a result register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    /// One channel.
    Word,
    /// One channel in half precision.
    Half,
    /// Two channels in half precision.
    Halves,
}

/// Memory as a lane sees it; `TOLD` records the texels.
struct LaneMemory<'r, 'a, const TOLD: bool> {
    w: &'r mut WarpContext<'a>,
    slot: u32,
    lane: u32,
}

impl<const TOLD: bool> Texels for LaneMemory<'_, '_, TOLD> {
    #[inline(always)]
    fn read<const BYTES: usize>(&mut self, address: u64) -> Result<[u8; BYTES], FaultKind> {
        let (lane, width) = (self.lane, BYTES as u32);
        if TOLD {
            self.w.cta.touch_texel(address);
        }
        match Global::resolve(self.w, self.slot, lane, address, width) {
            // SAFETY: the range lies in an allocation.
            Some(place) => Ok(unsafe { place.cast::<[u8; BYTES]>().read() }),
            None => Err(FaultKind::IllegalAddress { address, width, lane }),
        }
    }
}

impl Fetch {
    /// Location that a lane reads.
    ///
    /// # Safety
    /// The binder allocated the rows, and `lane` is below 32.
    unsafe fn place(&self, w: &WarpContext<'_>, lane: usize) -> SamplePosition {
        // SAFETY: guaranteed by the caller.
        let ((layer, words), offsets) =
            unsafe { (self.coordinates.of_lane(w, lane), words(w, &self.offsets, lane)) };
        let coordinates = if self.by_texel {
            sample::Coordinates::Texel(words.map(u32::cast_signed))
        } else if self.coordinates.geometry.cube {
            sample::Coordinates::Cube(words.map(f32::from_bits))
        } else {
            sample::Coordinates::Image(words.map(f32::from_bits))
        };
        SamplePosition { layer, coordinates, offsets: offsets.map(u32::cast_signed) }
    }

    /// Level of detail that a lane reads.
    ///
    /// # Safety
    /// As for [`Fetch::place`].
    unsafe fn lod(&self, w: &WarpContext<'_>, lane: usize) -> Lod {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match &self.lod {
                LodRows::Base => Lod::Base,
                LodRows::Level(row) => {
                    let word: u32 = w.read_lane(*row, lane);
                    Lod::Level(if self.by_texel { word.cast_signed() as f32 } else { f32::from_bits(word) })
                }
                LodRows::Gradient([x, y]) => {
                    Lod::Gradient([words(w, x, lane), words(w, y, lane)].map(|by| by.map(f32::from_bits)))
                }
            }
        }
    }

    /// Writes a lane's result.
    ///
    /// # Safety
    /// As for [`Fetch::place`].
    unsafe fn write(&self, w: &mut WarpContext<'_>, lane: usize, value: Value) {
        let half = |channel: usize| match value {
            Value::Integers(words) => words[channel] & 0xffff,
            Value::Numbers(numbers) => f16::from_f32(numbers[channel]).to_bits().into(),
        };
        for (number, &row) in self.results.iter().enumerate() {
            let word = match self.packing {
                Packing::Word => value.words()[number & 3],
                Packing::Half => half(number & 3),
                Packing::Halves => half((2 * number) & 3) | half((2 * number + 1) & 3) << 16,
            };
            // SAFETY: guaranteed by the caller.
            unsafe { w.write_lane(row, lane, word) };
        }
    }
}

/// A lane's words of up to three rows; missing ones are 0.
///
/// # Safety
/// The rows are 32-bit rows of the frame, and `lane` is below 32.
unsafe fn words(w: &WarpContext<'_>, rows: &[u32], lane: usize) -> [u32; 3] {
    let mut words = [0; 3];
    for (word, &row) in words.iter_mut().zip(rows) {
        // SAFETY: guaranteed by the caller.
        *word = unsafe { w.read_lane(row, lane) };
    }
    words
}

/// Texture and sampler of a lane's handles.
fn sampling(
    table: &Table,
    texture: u64,
    sampler: Option<u64>,
    lane: usize,
) -> Result<Sampling<'_>, FaultKind> {
    let unknown = |handle, what| FaultKind::UnknownHandle { handle, what, lane: lane as u32 };
    let found = table.textures.get(&texture).ok_or(unknown(texture, "texture"))?;
    let sampler = match sampler {
        Some(handle) => table.sampler(handle).ok_or(unknown(handle, "sampler"))?,
        None => &found.sampler,
    };
    Ok(Sampling::new(found, sampler))
}

/// Fetch of table entry `immediate`; `e` is the predicate for residency.
fn fetch<const TOLD: bool>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let grid = w.grid;
    let Some(fetch) = grid.program.textures.fetches.get(op.immediate as usize) else { return Flow::Next };
    let mut samplings: LookUp<(u64, Option<u64>), Sampling<'_>> = LookUp::new();
    for lane in lanes_of(w.mask) {
        // SAFETY: the binder allocated the rows.
        let value = unsafe {
            let texture = w.read_lane(fetch.texture, lane);
            let sampler = fetch.sampler.map(|row| w.read_lane(row, lane));
            let found = || sampling(&grid.textures, texture, sampler, lane);
            let sampling = match samplings.get((texture, sampler), found) {
                Ok(sampling) => sampling,
                Err(fault) => return w.fault(fault),
            };
            let (place, lod) = (fetch.place(w, lane), fetch.lod(w, lane));
            let mut memory = LaneMemory::<TOLD> { w, slot: fetch.slot, lane: lane as u32 };
            match fetch.component {
                Some(component) => sample::gather(sampling, &place, component, &mut memory),
                None => sample::sample(sampling, &place, lod, &mut memory),
            }
        };
        match value {
            // SAFETY: as above.
            Ok(value) => unsafe { fetch.write(w, lane, value) },
            Err(fault) => return w.fault(fault),
        }
    }
    // SAFETY: a word of the predicate area.
    unsafe { w.write_predicate(op.e, u32::MAX) };
    Flow::Next
}

/// Binds a fetch; operands 3 to `offsets` select the level of detail.
fn bind(
    b: &mut Binder<'_, '_>,
    i: &Instruction,
    component: Option<usize>,
    offsets: usize,
    lod: impl FnOnce(&mut Binder<'_, '_>) -> Result<LodRows, BindError>,
) -> Bound {
    let Operand::Texel { handle: texture, sampler, coordinates: at } = &i.operands[2] else {
        return Err(b.error("the operand is not a texture"));
    };
    if i.operands[offsets + 1] != Operand::Absent {
        return Err(b.error("depth textures are not supported: only graphics APIs create them"));
    }
    let ty = b.last_type(i)?;
    let coordinates = coordinates(b, i, at, ty)?;
    if coordinates.geometry.cube && i.operands[offsets] != Operand::Absent {
        return Err(b.error("offsets on a cube texture are not allowed"));
    }
    let result = i.ty(0).unwrap_or(ScalarType::B32);
    let fetch = Fetch {
        texture: handle(b, texture)?,
        sampler: match &**sampler {
            Operand::Absent => None,
            named => Some(handle(b, named)?),
        },
        coordinates,
        by_texel: ty == ScalarType::S32,
        lod: lod(b)?,
        offsets: rows(b, &i.operands[offsets], ScalarType::S32)?,
        component,
        results: elements(&i.operands[0]).iter().map(|d| b.result(d, result)).collect::<Result<_, _>>()?,
        packing: match result {
            ScalarType::F16 => Packing::Half,
            ScalarType::F16x2 => Packing::Halves,
            _ => Packing::Word,
        },
        slot: b.next_slot(),
    };
    let e = b.predicate_result(&i.operands[1])?;
    let fetches = &mut b.textures().fetches;
    fetches.push(fetch);
    let immediate = fetches.len() as u64 - 1;
    b.note_texels();
    let run = if b.tells_texels() { self::fetch::<true> } else { self::fetch::<false> };
    let op = Op { e, immediate, ..b.op(run) };
    b.push(op);
    Ok(())
}

fn bind_base(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, None, 3, |_| Ok(LodRows::Base))
}

fn bind_level(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    bind(b, i, None, 4, |b| Ok(LodRows::Level(b.source(&i.operands[3], ty)?)))
}

fn bind_gradient(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, None, 5, |b| {
        let x = rows(b, &i.operands[3], ScalarType::F32)?;
        Ok(LodRows::Gradient([x, rows(b, &i.operands[4], ScalarType::F32)?]))
    })
}

/// `tld4`.
pub fn tld4(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let component = i.modifiers().find_map(|modifier| match modifier {
        Modifier::Right => Some(0),
        Modifier::Green => Some(1),
        Modifier::B => Some(2),
        Modifier::A => Some(3),
        _ => None,
    });
    bind(b, i, component, 3, |_| Ok(LodRows::Base))
}

forms! {
    bind_base: tex tex_f16 tex_f16x2;
    bind_level: tex_level tex_level_f16 tex_level_f16x2;
    bind_gradient: tex_grad tex_grad_f16 tex_grad_f16x2;
}
