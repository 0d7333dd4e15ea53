//! From coordinates to a value: `tex` and `tld4` for one lane.

use super::address::AddressMode;
use super::filter::{Between, Filter, PARTS, between, nearest, weight};
use super::image::{ImageKind, Level};
use super::level::{Levels, footprint};
use super::{Sampler, Texels, Texture, cube};
use crate::fault::FaultKind;

/// Where a texture is read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// Layer, or cube of an array of cubes; the nearest one there is.
    pub layer: u32,
    /// The coordinates.
    pub coordinates: Coordinates,
    /// Texels added to the coordinates.
    pub offsets: [i32; 3],
}

/// Coordinates within a layer; 0 along an axis that the geometry does not have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Coordinates {
    /// Indices of texels.
    Texel([i32; 3]),
    /// Places on the image.
    Image([f32; 3]),
    /// A direction into a cube.
    Cube([f32; 3]),
}

/// Which level of a mipmap is read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lod {
    /// The finest.
    Base,
    /// This one, perhaps between two.
    Level(f32),
    /// What a pixel with these derivatives of the coordinates calls for.
    Gradient([[f32; 3]; 2]),
}

/// What is read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// Channels as they are, extended to 32 bits.
    Integers([u32; 4]),
    /// Channels as numbers.
    Numbers([f32; 4]),
}

impl Value {
    /// The channels' bits.
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

/// A texture with a sampler: what is the same for all places that are read.
pub struct Sampling<'a> {
    texture: &'a Texture,
    sampler: &'a Sampler,
    /// For each coordinate, what lies outside. An axis that the image does not have has one texel.
    modes: [AddressMode; 3],
    filter: Filter,
    /// Texels are read as numbers.
    reads_numbers: bool,
}

impl<'a> Sampling<'a> {
    /// The texture read by the sampler.
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

/// A texture being read by one lane.
struct Reader<'a, M> {
    sampling: &'a Sampling<'a>,
    texture: &'a Texture,
    sampler: &'a Sampler,
    memory: &'a mut M,
}

/// A place on one image, in texels of a level.
#[derive(Clone, Copy)]
struct Spot {
    /// Cell of texels along x, y, z.
    cell: [Between; 3],
    /// Layer; of cubes the first layer of the cube.
    layer: u32,
    /// Face of a cube.
    face: Option<u32>,
}

/// The texture at a place.
pub fn sample<M: Texels>(
    sampling: &Sampling<'_>,
    place: &Place,
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

/// One component of the four texels around a place, counter-clockwise from the lower left (PTX manual, `tld4`).
pub fn gather<M: Texels>(
    sampling: &Sampling<'_>,
    place: &Place,
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

/// Number of the axis's coordinate in texels of a level.
fn texels(coordinate: f64, size: u32, normalized: bool) -> f64 {
    if normalized { coordinate * f64::from(size) } else { coordinate }
}

impl<M: Texels> Reader<'_, M> {
    fn nothing(&self) -> Value {
        if self.sampling.reads_numbers { Value::Numbers([0.0; 4]) } else { Value::Integers([0; 4]) }
    }

    /// What 1 along each axis is as a part of the image.
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
        place: &Place,
        at: Option<[f32; 3]>,
        derivatives: [[f64; 3]; 2],
    ) -> Result<Value, FaultKind> {
        let Some(level) = self.texture.image.level(0) else { return Ok(self.nothing()) };
        let anisotropy = if self.sampling.reads_numbers { self.sampler.anisotropy } else { 1 };
        let footprint = footprint(level, derivatives, anisotropy);
        let levels = Levels::of(self.sampler, footprint.detail, self.texture.image.levels.len());
        // A direction into a cube is not moved along the face.
        let Some(at) = at.filter(|_| footprint.samples > 1) else { return self.levels(place, levels) };
        let scale = self.image_units();
        let mut sum = [0.0; 4];
        for number in 1..=footprint.samples {
            let part = f64::from(number) / f64::from(footprint.samples + 1) - 0.5;
            let moved = [0, 1, 2]
                .map(|axis| (f64::from(at[axis]) + part * footprint.axis[axis] * scale[axis]) as f32);
            let moved = Place { coordinates: Coordinates::Image(moved), ..*place };
            let value = self.levels(&moved, levels)?.words().map(f32::from_bits);
            for (sum, channel) in sum.iter_mut().zip(value) {
                *sum += f64::from(channel) / f64::from(footprint.samples);
            }
        }
        Ok(Value::Numbers(sum.map(|channel| channel as f32)))
    }

    /// One level, or two weighted.
    fn levels(&mut self, place: &Place, levels: Levels) -> Result<Value, FaultKind> {
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

    fn level(&mut self, place: &Place, level: &Level) -> Result<Value, FaultKind> {
        let filter = self.sampling.filter;
        let spot = self.spot(place, level, filter);
        if filter == Filter::Point {
            return self.texel(level, &spot, spot.cell.map(|between| between.index));
        }
        if spot.face.is_some() { self.corners_of_face(level, &spot) } else { self.corners(level, &spot) }
    }

    /// The weighted sum of the corners of a cell. A texel of weight 0 is not read.
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

    /// The same on a face of a cube, where texels beside it may lie on another face.
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

    /// The cell of texels that a place lies in.
    fn spot(&self, place: &Place, level: &Level, filter: Filter) -> Spot {
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

    /// The texel with these indices, perhaps outside of the image.
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

    /// A texel of the image.
    #[inline(always)]
    fn read(&mut self, level: &Level, texel: [u32; 3]) -> Result<Value, FaultKind> {
        let (format, bytes) = (self.texture.image.format, self.bytes(level, texel)?);
        Ok(if self.sampling.reads_numbers {
            Value::Numbers(format.numbers(bytes, self.texture.srgb))
        } else {
            Value::Integers(format.integers(bytes))
        })
    }

    /// The bytes of a texel of the image, the first in the lowest bits.
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

    /// The border's value, as an integer where texels are integers.
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

/// The texel beside a face, on the face that it really lies on: indices and layer.
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
