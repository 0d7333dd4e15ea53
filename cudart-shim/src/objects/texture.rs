//! Texture and surface objects of both APIs: conversion from descriptors to the engine's table
//! entries.

use crate::abi::error::{Error, Result};
use crate::abi::handle::DEVICE_SHIFT;
use crate::abi::texture::{Resource, TextureDescription, ViewDescription};
use crate::abi::{SurfaceObject, TextureObject};
use crate::objects::array::SURFACE_LOAD_STORE;
use crate::objects::device::DeviceObjects;
use crate::objects::ownership::{self, Object};
use crate::profile::Attribute;
use functional::texture::{AddressMode, Filter, Format, Image, ImageKind, Level, Sampler, Texture};
use rustc_hash::FxHashMap;
use std::ffi::c_int;

/// Handle values lie outside the address space of any process.
const TEXTURES: u64 = 0x5800_0000_0000_0000;
const SURFACES: u64 = 0x5900_0000_0000_0000;

/// Descriptors that a texture object was created from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextureParts {
    pub(crate) resource: Resource,
    pub(crate) texture: TextureDescription,
    pub(crate) view: Option<ViewDescription>,
}

/// All texture and surface objects of a device.
#[derive(Default)]
pub(crate) struct Objects {
    textures: FxHashMap<TextureObject, TextureParts>,
    surfaces: FxHashMap<SurfaceObject, Resource>,
    created: u64,
}

impl Objects {
    /// The table of one device. Handles are unique across devices.
    pub(crate) fn of_device(ordinal: usize) -> Self {
        Self { created: (ordinal as u64) << DEVICE_SHIFT, ..Self::default() }
    }

    fn next(&mut self) -> u64 {
        self.created += 1;
        self.created << 4
    }
}

fn address_mode(mode: c_int) -> Result<AddressMode> {
    Ok(match mode {
        0 => AddressMode::Wrap,
        1 => AddressMode::Clamp,
        2 => AddressMode::Mirror,
        3 => AddressMode::Border,
        _ => return Err(Error::InvalidValue),
    })
}

fn filter(filter: c_int) -> Result<Filter> {
    match filter {
        0 => Ok(Filter::Point),
        1 => Ok(Filter::Linear),
        _ => Err(Error::InvalidValue),
    }
}

fn sampler(TextureDescription { common, seamless }: &TextureDescription) -> Result<Sampler> {
    let [x, y, z] = common.address_modes;
    Ok(Sampler {
        address: [address_mode(x)?, address_mode(y)?, address_mode(z)?],
        filter: filter(common.filter)?,
        level_filter: filter(common.level_filter)?,
        normalized_coordinates: common.normalized != 0,
        border: common.border,
        bias: common.bias,
        level_range: (common.least_level, common.most_level),
        anisotropy: common.anisotropy,
        seamless: *seamless != 0,
    })
}

/// Pitched or one-dimensional linear memory.
fn linear(kind: ImageKind, format: Format, level: Level) -> Image {
    let dimensions = if kind == ImageKind::Pitched { 2 } else { 1 };
    Image { kind, format, dimensions, layers: 1, cube: false, levels: vec![level] }
}

/// The part of an array's image that a resource view selects.
fn viewed(image: &Image, view: &ViewDescription) -> Result<Image> {
    let format = view.format()?.unwrap_or(image.format);
    let levels = image.levels.get(view.first_level as usize..=view.last_level as usize);
    let levels = levels.filter(|levels| !levels.is_empty()).ok_or(Error::InvalidValue)?;
    let layers = view.last_layer.checked_sub(view.first_layer).and_then(|more| more.checked_add(1));
    let layers = layers.filter(|_| view.last_layer < image.layers).ok_or(Error::InvalidValue)?;
    if format.bytes() != image.format.bytes() {
        return Err(Error::InvalidValue);
    }
    let moved = |level: &Level| Level {
        address: level.address + u64::from(view.first_layer) * level.slice,
        ..*level
    };
    Ok(Image { format, layers, levels: levels.iter().map(moved).collect(), ..image.clone() })
}

impl DeviceObjects {
    /// Alignment of linear texture memory in bytes.
    pub(crate) fn texture_alignment(&self) -> usize {
        self.profile.amount(Attribute::TextureAlignment).max(1) as usize
    }

    fn image(&self, resource: &Resource, view: Option<&ViewDescription>) -> Result<Image> {
        let limit = |attribute| self.profile.amount(attribute) as usize;
        let size = |size: usize| u32::try_from(size).map_err(|_| Error::InvalidValue);
        let image = match *resource {
            Resource::Array(array) => self.array(array)?.image.clone(),
            Resource::Mipmapped(array) => self.mipmapped_array(array)?.image.clone(),
            Resource::Linear { address, format, bytes } => {
                let width = bytes / format.bytes() as usize;
                if width == 0
                    || width > limit(Attribute::MaxTexture1dLinearWidth)
                    || !address.0.is_multiple_of(self.texture_alignment())
                    || view.is_some()
                {
                    return Err(Error::InvalidValue);
                }
                self.device.memory.check_range(address.0 as u64, bytes as u64)?;
                let (address, pitch) = (address.0 as u64, bytes as u64);
                let level = Level { address, width: size(width)?, height: 1, depth: 1, pitch, slice: pitch };
                linear(ImageKind::Linear, format, level)
            }
            Resource::Pitched { address, format, width, height, pitch } => {
                let row = width.checked_mul(format.bytes() as usize).ok_or(Error::InvalidValue)?;
                let bytes =
                    pitch.checked_mul(height.saturating_sub(1)).and_then(|rows| rows.checked_add(row));
                let alignment = limit(Attribute::TexturePitchAlignment).max(1);
                if row == 0
                    || height == 0
                    || (pitch < row && height > 1)
                    || !pitch.is_multiple_of(alignment)
                    || !address.0.is_multiple_of(self.texture_alignment())
                    || width > limit(Attribute::MaxTexture2dLinearWidth)
                    || height > limit(Attribute::MaxTexture2dLinearHeight)
                    || pitch > limit(Attribute::MaxTexture2dLinearPitch)
                    || view.is_some()
                {
                    return Err(Error::InvalidValue);
                }
                let bytes = bytes.ok_or(Error::InvalidValue)?;
                self.device.memory.check_range(address.0 as u64, bytes as u64)?;
                let (address, pitch) = (address.0 as u64, pitch as u64);
                let slice = pitch * height as u64;
                let level =
                    Level { address, width: size(width)?, height: size(height)?, depth: 1, pitch, slice };
                linear(ImageKind::Pitched, format, level)
            }
        };
        view.map_or(Ok(image.clone()), |view| viewed(&image, view))
    }

    /// The engine's table entry for a texture.
    pub(crate) fn texture(&self, parts: &TextureParts) -> Result<Texture> {
        let image = self.image(&parts.resource, parts.view.as_ref())?;
        let common = &parts.texture.common;
        let mut sampler = sampler(&parts.texture)?;
        let normalized_reads = common.read_mode != 0;
        let numbers = image.format.is_float() || (normalized_reads && image.format.bits < 32);
        if image.kind == ImageKind::Linear {
            sampler.filter = Filter::Point;
        }
        if sampler.filter == Filter::Linear && !numbers {
            return Err(Error::InvalidFilterSetting);
        }
        if matches!(parts.resource, Resource::Mipmapped(_)) && !sampler.normalized_coordinates {
            return Err(Error::InvalidValue);
        }
        Ok(Texture { image, sampler, normalized_reads, srgb: common.srgb != 0 })
    }

    /// Creates a texture object.
    pub(crate) fn create_texture(&self, parts: TextureParts) -> Result<TextureObject> {
        let normalized = parts.texture.common.read_mode != 0;
        let texture = self.texture(&parts)?;
        if normalized && texture.image.format.bits == 32 && !texture.image.format.is_float() {
            return Err(Error::InvalidNormSetting);
        }
        let mut objects = self.objects.lock();
        let object = TextureObject((TEXTURES | objects.next()) as usize);
        objects.textures.insert(object, parts);
        self.device.textures.change(|table| table.textures.insert(object.0 as u64, texture.into()));
        ownership::adopt(self.shared, Object::Texture(object));
        Ok(object)
    }

    /// Descriptors that a texture object was created from.
    pub(crate) fn texture_parts(&self, object: TextureObject) -> Result<TextureParts> {
        self.objects.lock().textures.get(&object).copied().ok_or(Error::InvalidValue)
    }

    /// Destroys a texture object. Destroying 0 does nothing.
    pub(crate) fn destroy_texture(&self, object: TextureObject) -> Result<()> {
        if object.0 == 0 {
            return Ok(());
        }
        self.objects.lock().textures.remove(&object).ok_or(Error::InvalidValue)?;
        ownership::disown(self.shared, Object::Texture(object));
        self.device.textures.change(|table| table.remove(object.0 as u64));
        Ok(())
    }

    /// The engine's table entry for a surface. The resource must be an array created for surface
    /// access.
    pub(crate) fn surface(&self, resource: &Resource) -> Result<Image> {
        let Resource::Array(array) = resource else { return Err(Error::InvalidValue) };
        let array = self.array(*array)?;
        if array.flags & SURFACE_LOAD_STORE == 0 {
            return Err(Error::InvalidValue);
        }
        Ok(array.image.clone())
    }

    /// Creates a surface object.
    pub(crate) fn create_surface(&self, resource: Resource) -> Result<SurfaceObject> {
        let surface = self.surface(&resource)?;
        let mut objects = self.objects.lock();
        let object = SurfaceObject((SURFACES | objects.next()) as usize);
        objects.surfaces.insert(object, resource);
        self.device.textures.change(|table| table.surfaces.insert(object.0 as u64, surface.into()));
        ownership::adopt(self.shared, Object::Surface(object));
        Ok(object)
    }

    /// Resource that a surface object was created from.
    pub(crate) fn surface_resource(&self, object: SurfaceObject) -> Result<Resource> {
        self.objects.lock().surfaces.get(&object).copied().ok_or(Error::InvalidValue)
    }

    /// Destroys a surface object. Destroying 0 does nothing.
    pub(crate) fn destroy_surface(&self, object: SurfaceObject) -> Result<()> {
        if object.0 == 0 {
            return Ok(());
        }
        self.objects.lock().surfaces.remove(&object).ok_or(Error::InvalidValue)?;
        ownership::disown(self.shared, Object::Surface(object));
        self.device.textures.change(|table| table.remove(object.0 as u64));
        Ok(())
    }
}
