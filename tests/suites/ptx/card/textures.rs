//! Textures and surfaces of file tests in a driver's arrays.

use cuda_driver::{Driver, Module, Texels};
use functional::texture::{self, AddressMode, Numeric};
use launch_capture::{Address, Image, Level, Sampler};

use super::{Complaint, ParameterLocation, failed, left_out};
use crate::textures::Declared;

/// `CU_TRSF_READ_AS_INTEGER`, `…_NORMALIZED_COORDINATES`, `…_SRGB`, `…_SEAMLESS_CUBEMAP`.
const AS_INTEGERS: u32 = 1;
const NORMALIZED: u32 = 2;
const SRGB: u32 = 0x10;
const SEAMLESS: u32 = 0x40;

/// Creates the array. Returns the kernel's argument, which is empty if the module has a reference of this
/// name.
pub(super) fn place(
    declared: &Declared,
    driver: &Driver,
    module: Module,
    text: &str,
    name: &str,
    bytes: &[u8],
) -> Result<(Vec<u8>, ParameterLocation), Complaint> {
    let code = format(declared.format).ok_or_else(|| left_out("no array has this format"))?;
    let sampler = sampler(declared);
    if declared.memory == texture::ImageKind::Linear {
        if declared.extent.height > 0 {
            return Err(left_out("it has two dimensions in linear memory"));
        }
        let address = driver.allocate(bytes.len() as u64).map_err(failed)?;
        driver.write(address, bytes).map_err(failed)?;
        let channels = declared.format.channels;
        let texels = Texels::Linear { address, format: code, channels, bytes: bytes.len() as u64 };
        let object = driver.texture(&texels, &sampler).map_err(left_out)?;
        return Ok((object.to_le_bytes().to_vec(), ParameterLocation::Memory(address)));
    }
    let image = image(declared, code);
    let array = driver.array(&image, declared.is_surface).map_err(failed)?;
    let mut rest = bytes;
    for (number, level) in image.levels.iter().enumerate() {
        let size = level.slice as usize * image.slices(level) as usize;
        let (level, others) = rest.split_at_checked(size).ok_or_else(|| left_out("it has too few texels"))?;
        driver.fill_level(&array, &image, number, level).map_err(failed)?;
        rest = others;
    }
    let is_reference = |kind| text.contains(&format!("{kind} {name}"));
    if is_reference(".texref") {
        driver.bind_texture(module, name, &Texels::Array(&array), &sampler).map_err(failed)?;
        return Ok((Vec::new(), ParameterLocation::Array(array, image)));
    }
    if is_reference(".surfref") {
        driver.bind_surface(module, name, &array).map_err(failed)?;
        return Ok((Vec::new(), ParameterLocation::Array(array, image)));
    }
    // A driver may refuse a texture object for its properties, such as filtering of integers.
    let object = match declared.is_surface {
        true => driver.surface(&array),
        false => driver.texture(&Texels::Array(&array), &sampler),
    };
    Ok((object.map_err(left_out)?.to_le_bytes().to_vec(), ParameterLocation::Array(array, image)))
}

/// Returns the array with consecutive texels.
fn image(declared: &Declared, format: u32) -> Image {
    let extent = declared.extent;
    let texel_bytes = declared.format.bytes();
    let level = |number: u32| {
        let size = [extent.width, extent.height, extent.depth].map(|extent| (extent >> number).max(1));
        let pitch = u64::from(size[0] * texel_bytes);
        Level { address: Address(0), size, pitch, slice: pitch * u64::from(size[1]) }
    };
    Image {
        format,
        channels: declared.format.channels,
        texel_bytes,
        dimensions: 1 + u32::from(extent.height > 0) + u32::from(extent.depth > 0),
        layers: declared.layers,
        cube: declared.cube,
        levels: (0..declared.levels).map(level).collect(),
    }
}

fn sampler(declared: &Declared) -> Sampler {
    let sampler = &declared.sampler;
    let filter = |filter: texture::Filter| match filter {
        texture::Filter::Point => 0,
        texture::Filter::Linear => 1,
    };
    let mode = |mode: AddressMode| match mode {
        AddressMode::Wrap => 0,
        AddressMode::Clamp => 1,
        AddressMode::Mirror => 2,
        AddressMode::Border => 3,
    };
    let flag = |is_set: bool, flag: u32| if is_set { flag } else { 0 };
    let are_integers = matches!(declared.format.numeric, Numeric::Signed | Numeric::Unsigned);
    Sampler {
        address: sampler.address.map(mode),
        filter: filter(sampler.filter),
        level_filter: filter(sampler.level_filter),
        flags: flag(are_integers && !declared.normalized_reads, AS_INTEGERS)
            | flag(sampler.normalized_coordinates, NORMALIZED)
            | flag(declared.srgb, SRGB)
            | flag(sampler.seamless, SEAMLESS),
        anisotropy: sampler.anisotropy,
        bias: sampler.bias,
        level_range: sampler.level_range.into(),
        border: sampler.border,
    }
}

/// Returns the `CUarray_format` of an engine format.
fn format(format: texture::Format) -> Option<u32> {
    let normalized = |first: u32| Some(first + format.channels.ilog2());
    match (format.numeric, format.bits) {
        (Numeric::Unsigned, 8) => Some(1),
        (Numeric::Unsigned, 16) => Some(2),
        (Numeric::Unsigned, 32) => Some(3),
        (Numeric::Signed, 8) => Some(8),
        (Numeric::Signed, 16) => Some(9),
        (Numeric::Signed, 32) => Some(0xa),
        (Numeric::Float, 16) => Some(0x10),
        (Numeric::Float, 32) => Some(0x20),
        (Numeric::UnsignedNormalized, 8) => normalized(0xc0),
        (Numeric::UnsignedNormalized, 16) => normalized(0xc3),
        (Numeric::SignedNormalized, 8) => normalized(0xc6),
        (Numeric::SignedNormalized, 16) => normalized(0xc9),
        _ => None,
    }
}
