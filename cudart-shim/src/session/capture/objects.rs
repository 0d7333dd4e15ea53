//! Texture and surface objects of a capture.

use crate::abi::texture::{
    NORMALIZED_COORDINATES, READ_AS_INTEGER, SEAMLESS_CUBEMAP, SRGB, driver_format_code,
};
use functional::texture::{AddressMode, Filter, Format, Image, ImageKind, Level, Sampler, Table, Texture};
use launch_capture::{self as capture, Address, Texels};
use std::sync::Arc;

/// Objects reachable by a launch.
pub(super) struct Objects {
    table: Arc<Table>,
    /// Images of arrays. The index is the array's number in the capture.
    arrays: Vec<Image>,
    pub(super) images: Vec<capture::Image>,
    pub(super) textures: Vec<capture::Texture>,
    pub(super) surfaces: Vec<capture::Surface>,
}

impl Objects {
    pub(super) fn new(table: &Arc<Table>) -> Self {
        let table = Arc::clone(table);
        Self { table, arrays: Vec::new(), images: Vec::new(), textures: Vec::new(), surfaces: Vec::new() }
    }

    /// Adds the object with a handle. Returns the address of its memory, or `None` for other
    /// values.
    pub(super) fn reach(&mut self, handle: u64) -> Option<u64> {
        self.reach_as(handle, None)
    }

    /// [`Objects::reach`] for a module variable that is a texture or surface reference.
    pub(super) fn reach_reference(&mut self, name: &str, address: u64) -> Option<u64> {
        self.reach_as(address, Some(name))
    }

    fn reach_as(&mut self, handle: u64, reference: Option<&str>) -> Option<u64> {
        let table = Arc::clone(&self.table);
        let reference = reference.map(str::to_owned);
        if let Some(texture) = table.textures.get(&handle) {
            if self.textures.iter().all(|known| known.handle.0 != handle) {
                let texture = capture::Texture { reference, ..self.texture(handle, texture)? };
                self.textures.push(texture);
            }
            return texture.image.level(0).map(|level| level.address);
        }
        let surface = table.surfaces.get(&handle)?;
        if self.surfaces.iter().all(|known| known.handle.0 != handle) {
            let image = self.image(surface);
            self.surfaces.push(capture::Surface { handle: Address(handle), reference, image });
        }
        surface.level(0).map(|level| level.address)
    }

    fn texture(&mut self, handle: u64, texture: &Texture) -> Option<capture::Texture> {
        let image = &texture.image;
        let Level { address, width, height, pitch, .. } = *image.level(0)?;
        let (address, (format, channels)) = (Address(address), code(image.format));
        let texels = match image.kind {
            ImageKind::Array => Texels::Image(self.image(image)),
            ImageKind::Linear => Texels::Linear { address, format, channels, bytes: pitch },
            ImageKind::Pitched => Texels::Pitched { address, format, channels, size: [width, height], pitch },
        };
        Some(capture::Texture { handle: Address(handle), reference: None, texels, sampler: sampler(texture) })
    }

    /// The image's number. Objects of the same array share it.
    fn image(&mut self, image: &Image) -> usize {
        if let Some(known) = self.arrays.iter().position(|known| known == image) {
            return known;
        }
        let (format, channels) = code(image.format);
        let levels = image.levels.iter().map(|level| capture::Level {
            address: Address(level.address),
            size: [level.width, level.height, level.depth],
            pitch: level.pitch,
            slice: level.slice,
        });
        self.images.push(capture::Image {
            format,
            channels,
            texel_bytes: image.format.bytes(),
            dimensions: image.dimensions,
            layers: image.layers,
            cube: image.cube,
            levels: levels.collect(),
        });
        self.arrays.push(image.clone());
        self.images.len() - 1
    }
}

/// The `CUarray_format` and the number of channels.
fn code(format: Format) -> (u32, u32) {
    (driver_format_code(format).cast_unsigned(), format.channels)
}

fn filter_code(filter: Filter) -> u32 {
    match filter {
        Filter::Point => 0,
        Filter::Linear => 1,
    }
}

/// `CUDA_TEXTURE_DESC`.
fn sampler(texture: &Texture) -> capture::Sampler {
    let Sampler { address, filter, level_filter, normalized_coordinates, .. } = texture.sampler;
    let Sampler { border, bias, level_range, anisotropy, seamless, .. } = texture.sampler;
    let mode = |mode| match mode {
        AddressMode::Wrap => 0,
        AddressMode::Clamp => 1,
        AddressMode::Mirror => 2,
        AddressMode::Border => 3,
    };
    let flag = |given: bool, flag| if given { flag } else { 0 };
    capture::Sampler {
        address: address.map(mode),
        filter: filter_code(filter),
        level_filter: filter_code(level_filter),
        flags: flag(!texture.normalized_reads, READ_AS_INTEGER)
            | flag(normalized_coordinates, NORMALIZED_COORDINATES)
            | flag(texture.srgb, SRGB)
            | flag(seamless, SEAMLESS_CUBEMAP),
        anisotropy,
        bias,
        level_range: level_range.into(),
        border,
    }
}
