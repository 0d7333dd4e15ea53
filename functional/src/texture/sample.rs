//! Sampling: from coordinates to a value, for `tex` and `tld4` of one lane.

use super::address::AddressMode;
use super::filter::{Between, Filter, PARTS, between, nearest, weight};
use super::image::{ImageKind, Level};
use super::level::{Levels, footprint};
use super::{Sampler, Texels, Texture, cube};
use crate::fault::FaultKind;

/// Location of a texture read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SamplePosition {
    /// Layer, or cube in an array of cubes, clamped to the range.
    pub layer: u32,
    /// Coordinates within the layer.
    pub coordinates: Coordinates,
    /// Offsets in texels, added to the coordinates.
    pub offsets: [i32; 3],
}

/// Coordinates within a layer; 0 along absent axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Coordinates {
    /// Texel indices.
    Texel([i32; 3]),
    /// Positions on the image.
    Image([f32; 3]),
    /// Direction into a cube.
    Cube([f32; 3]),
}

/// Level of detail.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lod {
    /// Finest level.
    Base,
    /// Explicit level, possibly between two.
    Level(f32),
    /// Level for a pixel with these derivatives of the coordinates.
    Gradient([[f32; 3]; 2]),
}

/// Result of a read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// Raw channels, extended to 32 bits.
    Integers([u32; 4]),
    /// Channels as numbers.
    Numbers([f32; 4]),
}

impl Value {
    /// Bits of the channels.
    pub fn words(self) -> [u32; 4] {
        match self {
            Value::Integers(words) => words,
            Value::Numbers(numbers) => numbers.map(f32::to_bits),
        }
    }

    fn channel(self, number: usize) -> Value {
        let number = number.min(3);
        match self {
            Value::Integers(words) => Value::Integers([words[number]; 4]),
            Value::Numbers(numbers) => Value::Numbers([numbers[number]; 4]),
        }
    }
}

/// Texture and sampler, with properties that hold for all reads.
pub struct Sampling<'a> {
    texture: &'a Texture,
    sampler: &'a Sampler,
    /// Address mode of each coordinate. An absent axis has one texel.
    modes: [AddressMode; 3],
    filter: Filter,
    /// True if texels read as numbers.
    reads_numbers: bool,
}

impl<'a> Sampling<'a> {
    /// Sampling of the texture with the sampler.
    pub fn new(texture: &'a Texture, sampler: &'a Sampler) -> Sampling<'a> {
        let image = &texture.image;
        let reads_numbers = image.format.is_float() || (texture.normalized_reads && image.format.bits < 32);
        let can_filter = reads_numbers && image.kind != ImageKind::Linear;
        let mode = |axis: usize| match image.kind {
            _ if axis >= image.dimensions as usize => AddressMode::Clamp,
            ImageKind::Linear => AddressMode::Border,
            _ => sampler.address[axis].of_coordinates(sampler.normalized_coordinates),
        };
        Sampling {
            texture,
            sampler,
            modes: [mode(0), mode(1), mode(2)],
            filter: if can_filter { sampler.filter } else { Filter::Point },
            reads_numbers,
        }
    }
}

/// A texture under read by one lane.
struct Reader<'a, M> {
    sampling: &'a Sampling<'a>,
    texture: &'a Texture,
    sampler: &'a Sampler,
    memory: &'a mut M,
}

/// Location on an image, in texels of a level.
#[derive(Clone, Copy)]
struct Spot {
    /// Cell of texels along x, y, z.
    cell: [Between; 3],
    /// Layer; for cubes, the first layer of the cube.
    layer: u32,
    /// Face of a cube.
    face: Option<u32>,
}

/// Value of the texture at a location.
pub fn sample<M: Texels>(
    sampling: &Sampling<'_>,
    place: &SamplePosition,
    lod: Lod,
    memory: &mut M,
) -> Result<Value, FaultKind> {
    let Sampling { texture, sampler, .. } = *sampling;
    let mut reader = Reader { sampling, texture, sampler, memory };
    let count = texture.image.levels.len();
    match (lod, place.coordinates) {
        (Lod::Base, _) => reader.levels(place, Levels::FINEST),
        (Lod::Level(level), _) => reader.levels(place, Levels::of(sampler, level.into(), count)),
        (Lod::Gradient(_), Coordinates::Texel(_)) => reader.levels(place, Levels::FINEST),
        (Lod::Gradient(derivatives), Coordinates::Image(at)) => {
            let scale = reader.image_units();
            let derivatives = derivatives.map(|by| [0, 1, 2].map(|axis| f64::from(by[axis]) / scale[axis]));
            reader.footprint(place, Some(at), derivatives)
        }
        (Lod::Gradient(derivatives), Coordinates::Cube(at)) => {
            let direction = at.map(f64::from);
            let derivatives = derivatives.map(|by| cube::derivative(direction, by.map(f64::from)));
            reader.footprint(place, None, derivatives)
        }
    }
}

/// One component of the four texels around a location, counter-clockwise from the lower left (PTX manual,
/// `tld4`).
pub fn gather<M: Texels>(
    sampling: &Sampling<'_>,
    place: &SamplePosition,
    component: usize,
    memory: &mut M,
) -> Result<Value, FaultKind> {
    let Sampling { texture, sampler, .. } = *sampling;
    let mut reader = Reader { sampling, texture, sampler, memory };
    let Some(level) = texture.image.level(0) else { return Ok(reader.nothing()) };
    let spot = reader.spot(place, level, Filter::Linear);
    let mut gathered = [Value::Numbers([0.0; 4]); 4];
    for (value, [x, y]) in gathered.iter_mut().zip([[0, 1], [1, 1], [1, 0], [0, 0]]) {
        let [across, down, into] = spot.cell.map(|between| between.index);
        *value = reader.texel(level, &spot, [across + x, down + y, into])?.channel(component);
    }
    Ok(match gathered {
        [
            Value::Integers([a, ..]),
            Value::Integers([b, ..]),
            Value::Integers([c, ..]),
            Value::Integers([d, ..]),
        ] => Value::Integers([a, b, c, d]),
        values => Value::Numbers(values.map(|value| f32::from_bits(value.words()[0]))),
    })
}

/// Coordinate in texels of a level.
fn texels(coordinate: f64, size: u32, normalized: bool) -> f64 {
    if normalized { coordinate * f64::from(size) } else { coordinate }
}

impl<M: Texels> Reader<'_, M> {
    fn nothing(&self) -> Value {
        if self.sampling.reads_numbers { Value::Numbers([0.0; 4]) } else { Value::Integers([0; 4]) }
    }

    /// Units of the coordinates along each axis, as fractions of the image.
    fn image_units(&self) -> [f64; 3] {
        match self.texture.image.level(0) {
            Some(level) if !self.sampler.normalized_coordinates => {
                [level.width, level.height, level.depth].map(|size| f64::from(size.max(1)))
            }
            _ => [1.0; 3],
        }
    }

    /// Averages samples along the longer derivative.
    fn footprint(
        &mut self,
        place: &SamplePosition,
        at: Option<[f32; 3]>,
        derivatives: [[f64; 3]; 2],
    ) -> Result<Value, FaultKind> {
        let Some(level) = self.texture.image.level(0) else { return Ok(self.nothing()) };
        let anisotropy = if self.sampling.reads_numbers { self.sampler.anisotropy } else { 1 };
        let footprint = footprint(level, derivatives, anisotropy);
        let levels = Levels::of(self.sampler, footprint.detail, self.texture.image.levels.len());
        // A direction into a cube cannot move along a face.
        let Some(at) = at.filter(|_| footprint.samples > 1) else { return self.levels(place, levels) };
        let scale = self.image_units();
        let mut sum = [0.0; 4];
        for number in 1..=footprint.samples {
            let part = f64::from(number) / f64::from(footprint.samples + 1) - 0.5;
            let moved = [0, 1, 2]
                .map(|axis| (f64::from(at[axis]) + part * footprint.axis[axis] * scale[axis]) as f32);
            let moved = SamplePosition { coordinates: Coordinates::Image(moved), ..*place };
            let value = self.levels(&moved, levels)?.words().map(f32::from_bits);
            for (sum, channel) in sum.iter_mut().zip(value) {
                *sum += f64::from(channel) / f64::from(footprint.samples);
            }
        }
        Ok(Value::Numbers(sum.map(|channel| channel as f32)))
    }

    /// Value of one level, or of two weighted levels.
    fn levels(&mut self, place: &SamplePosition, levels: Levels) -> Result<Value, FaultKind> {
        let image = &self.texture.image;
        let Some(level) = image.level(levels.first) else { return Ok(self.nothing()) };
        let finer = self.level(place, level)?;
        let coarser = image.levels.get(levels.first + 1).filter(|_| levels.fraction > 0);
        let (Value::Numbers(finer), Some(coarser)) = (finer, coarser) else { return Ok(finer) };
        let coarser = self.level(place, coarser)?.words().map(f32::from_bits);
        let part = f64::from(levels.fraction) / f64::from(PARTS);
        let mixed = |channel: usize| {
            (f64::from(finer[channel]) * (1.0 - part) + f64::from(coarser[channel]) * part) as f32
        };
        Ok(Value::Numbers([0, 1, 2, 3].map(mixed)))
    }

    fn level(&mut self, place: &SamplePosition, level: &Level) -> Result<Value, FaultKind> {
        let filter = self.sampling.filter;
        let spot = self.spot(place, level, filter);
        if filter == Filter::Point {
            return self.texel(level, &spot, spot.cell.map(|between| between.index));
        }
        if spot.face.is_some() { self.corners_of_face(level, &spot) } else { self.corners(level, &spot) }
    }

    /// Weighted sum of a cell's corners. Texels of weight 0 are not read.
    fn corners(&mut self, level: &Level, spot: &Spot) -> Result<Value, FaultKind> {
        let size = [level.width, level.height, level.depth];
        let mut next = [[None; 2]; 3];
        for axis in 0..3 {
            let Between { index, fraction } = spot.cell[axis];
            let texel = |index| self.sampling.modes[axis].texel(index, size[axis]);
            next[axis] = [texel(index), if fraction > 0 { texel(index + 1) } else { None }];
        }
        let texture = self.texture;
        let (image, srgb) = (&texture.image, texture.srgb);
        if image.dimensions < 3 {
            next[2] = [Some(spot.layer); 2];
        }
        let mut sum = [0.0; 4];
        for corner in 0..8 {
            let Some(weight) = weight(spot.cell, corner) else { continue };
            let indices = [0, 1, 2].map(|axis| next[axis][(corner >> axis & 1) as usize]);
            let texel = match indices {
                [Some(x), Some(y), Some(z)] => image.format.numbers(self.bytes(level, [x, y, z])?, srgb),
                _ => self.border().words().map(f32::from_bits),
            };
            for (sum, channel) in sum.iter_mut().zip(texel) {
                *sum += weight * f64::from(channel);
            }
        }
        Ok(Value::Numbers(sum.map(|channel| channel as f32)))
    }

    /// Weighted sum of a cell's corners on a cube face, whose neighbouring texels may be on other faces.
    fn corners_of_face(&mut self, level: &Level, spot: &Spot) -> Result<Value, FaultKind> {
        let mut sum = [0.0; 4];
        for corner in 0..8 {
            let Some(weight) = weight(spot.cell, corner) else { continue };
            let indices = [0, 1, 2].map(|axis| spot.cell[axis].index + i64::from(corner >> axis & 1));
            let texel = self.texel(level, spot, indices)?.words().map(f32::from_bits);
            for (sum, channel) in sum.iter_mut().zip(texel) {
                *sum += weight * f64::from(channel);
            }
        }
        Ok(Value::Numbers(sum.map(|channel| channel as f32)))
    }

    /// Cell of texels that contains a location.
    fn spot(&self, place: &SamplePosition, level: &Level, filter: Filter) -> Spot {
        let image = &self.texture.image;
        let size = [level.width, level.height, level.depth];
        let exact = |index: i64| Between { index, fraction: 0 };
        let find = |x: f64| if filter == Filter::Linear { between(x) } else { nearest(x) };
        let last_layer = image.layers.saturating_sub(1);
        let mut spot = Spot { cell: [exact(0); 3], layer: place.layer.min(last_layer), face: None };
        match place.coordinates {
            Coordinates::Texel(indices) => spot.cell = indices.map(|index| exact(index.into())),
            Coordinates::Image(at) => {
                let normalized = self.sampler.normalized_coordinates;
                for axis in 0..(image.dimensions as usize).min(3) {
                    spot.cell[axis] = find(texels(at[axis].into(), size[axis], normalized));
                }
            }
            Coordinates::Cube(direction) => {
                let hit = cube::hit(direction.map(f64::from));
                let [across, down] = hit.place;
                spot.cell[0] = find(texels(across, level.width, true));
                spot.cell[1] = find(texels(down, level.height, true));
                spot.face = Some(hit.face);
                spot.layer = place.layer.min((image.layers / 6).saturating_sub(1)) * 6;
            }
        }
        for (between, offset) in spot.cell.iter_mut().zip(place.offsets) {
            between.index += i64::from(offset);
        }
        spot
    }

    /// Texel with these indices, possibly outside of the image.
    fn texel(&mut self, level: &Level, spot: &Spot, indices: [i64; 3]) -> Result<Value, FaultKind> {
        let image = &self.texture.image;
        let (indices, layer) = match spot.face {
            Some(face) if self.sampler.seamless => across_edges(level, face, indices, spot.layer),
            Some(face) => (indices, spot.layer + face),
            None => (indices, spot.layer),
        };
        let size = [level.width, level.height, level.depth];
        let mut texel = [0; 3];
        for axis in 0..3 {
            let mode = if spot.face.is_some() { AddressMode::Clamp } else { self.sampling.modes[axis] };
            match mode.texel(indices[axis], size[axis]) {
                Some(index) => texel[axis] = index,
                None => return Ok(self.border()),
            }
        }
        if image.dimensions < 3 {
            texel[2] = layer;
        }
        self.read(level, texel)
    }

    /// Texel inside the image.
    #[inline(always)]
    fn read(&mut self, level: &Level, texel: [u32; 3]) -> Result<Value, FaultKind> {
        let (format, bytes) = (self.texture.image.format, self.bytes(level, texel)?);
        Ok(if self.sampling.reads_numbers {
            Value::Numbers(format.numbers(bytes, self.texture.srgb))
        } else {
            Value::Integers(format.integers(bytes))
        })
    }

    /// Bytes of a texel inside the image, the first in the lowest bits.
    #[inline(always)]
    fn bytes(&mut self, level: &Level, texel: [u32; 3]) -> Result<u128, FaultKind> {
        let bytes = self.texture.image.format.bytes();
        let address = level.texel(texel, bytes);
        Ok(match bytes {
            1 => u8::from_le_bytes(self.memory.read(address)?).into(),
            2 => u16::from_le_bytes(self.memory.read(address)?).into(),
            4 => u32::from_le_bytes(self.memory.read(address)?).into(),
            8 => u64::from_le_bytes(self.memory.read(address)?).into(),
            _ => u128::from_le_bytes(self.memory.read(address)?),
        })
    }

    /// Border colour, as an integer for integer texels.
    fn border(&self) -> Value {
        if self.texture.image.kind == ImageKind::Linear {
            return self.nothing();
        }
        let border = self.sampler.border;
        match (self.sampling.reads_numbers, self.texture.image.format.numeric) {
            (true, _) => Value::Numbers(border),
            (_, super::Numeric::Signed) => {
                Value::Integers(border.map(|channel| (channel as i32).cast_unsigned()))
            }
            _ => Value::Integers(border.map(|channel| channel as u32)),
        }
    }
}

/// Texel beside a face, mapped to the adjacent face: indices and layer.
fn across_edges(level: &Level, face: u32, [x, y, z]: [i64; 3], first: u32) -> ([i64; 3], u32) {
    let (width, height) = (i64::from(level.width), i64::from(level.height));
    if (0..width).contains(&x) && (0..height).contains(&y) {
        return ([x, y, z], first + face);
    }
    let middle = |index: i64, size: i64| (index as f64 + 0.5) / size as f64;
    let hit = cube::hit(cube::direction(face, [middle(x, width), middle(y, height)]));
    let [across, down] = hit.place;
    let index = |place: f64, size: i64| (place * size as f64).floor() as i64;
    ([index(across, width), index(down, height), z], first + hit.face)
}
