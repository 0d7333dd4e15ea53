//! Textures and surfaces of file tests in a driver's arrays.

use cuda_driver::{Address, Driver, Filter, Format, Image, Module, Reading, Shape};
use functional::texture::{self, AddressMode, Numeric};

use super::{Complaint, Place, failed, left_out};
use crate::textures::Declared;

/// Makes the array and gives the kernel's argument, which is empty if the module has a reference of this name.
pub(super) fn place(
    declared: &Declared,
    driver: &Driver,
    module: Module,
    name: &str,
    bytes: &[u8],
) -> Result<(Vec<u8>, Place), Complaint> {
    let format = format(declared.format).ok_or_else(|| left_out("no array has this format"))?;
    let extent = declared.extent;
    let reading = reading(declared);
    if declared.memory == texture::ImageKind::Linear {
        if extent.height > 0 {
            return Err(left_out("it is of two dimensions in linear memory"));
        }
        let address = driver.allocate(bytes.len()).map_err(failed)?;
        driver.write(address, bytes).map_err(failed)?;
        let texels = bytes.len() / format.bytes;
        let object = driver.texture(Image::Linear { address, texels, format }, &reading).map_err(left_out)?;
        return Ok((object.to_le_bytes().to_vec(), Place::Memory(address)));
    }
    let shape = Shape {
        extent: [extent.width, extent.height, extent.depth],
        layers: declared.layers,
        cube: declared.cube,
        levels: declared.levels,
    };
    let (image, levels) = driver.array(shape, format).map_err(failed)?;
    let mut rest = bytes;
    let mut first = None;
    for (number, level) in levels.iter().enumerate() {
        let shrunk = |extent: u32| (extent >> number).max(1) as usize;
        let slices = shrunk(extent.depth) * declared.layers as usize;
        let packed = [shrunk(extent.width) * format.bytes, shrunk(extent.height), slices];
        let (filling, others) = rest.split_at(packed.iter().product());
        driver.fill(*level, packed, filling).map_err(failed)?;
        rest = others;
        first.get_or_insert(Place::Array(*level, packed));
    }
    let place = first.ok_or_else(|| left_out("it has no levels"))?;
    if let Some(reference) = driver.reference(module, name, declared.is_surface) {
        driver.bind(reference, image, &reading).map_err(failed)?;
        return Ok((Vec::new(), place));
    }
    // A driver may refuse an object for what its texture is, such as integers that are to be filtered.
    let object = if declared.is_surface { driver.surface(image) } else { driver.texture(image, &reading) };
    Ok((object.map_err(left_out)?.to_le_bytes().to_vec(), place))
}

fn reading(declared: &Declared) -> Reading {
    let sampler = &declared.sampler;
    let filter = |filter: texture::Filter| match filter {
        texture::Filter::Point => Filter::Point,
        texture::Filter::Linear => Filter::Linear,
    };
    let address = |mode: AddressMode| match mode {
        AddressMode::Wrap => Address::Wrap,
        AddressMode::Clamp => Address::Clamp,
        AddressMode::Mirror => Address::Mirror,
        AddressMode::Border => Address::Border,
    };
    let are_integers = matches!(declared.format.numeric, Numeric::Signed | Numeric::Unsigned);
    let (least, most) = sampler.level_range;
    Reading {
        address: sampler.address.map(address),
        filter: filter(sampler.filter),
        level_filter: filter(sampler.level_filter),
        as_integers: are_integers && !declared.normalized_reads,
        normalized: sampler.normalized_coordinates,
        srgb: declared.srgb,
        seamless: sampler.seamless,
        anisotropy: sampler.anisotropy,
        bias: sampler.bias,
        level_range: [least, most],
        border: sampler.border,
    }
}

/// The `CUarray_format` of a format of ours.
fn format(format: texture::Format) -> Option<Format> {
    let normalized = |first: u32| Some(first + format.channels.ilog2());
    let code = match (format.numeric, format.bits) {
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
    }?;
    Some(Format { code, channels: format.channels, bytes: format.bytes() as usize })
}
