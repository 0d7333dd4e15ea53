//! Structures of textures, surfaces and arrays. Their layouts differ between CUDA 11, 12 and 13.

use super::{Address, ArrayHandle, MipmappedArrayHandle};
use crate::abi::error::{Error, Result};
use functional::texture::{Format, Numeric};
use std::ffi::{c_int, c_uint};

/// `cudaChannelFormatDesc`: bits per channel, and a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(C)]
pub(crate) struct ChannelFormat {
    pub(crate) bits: [c_int; 4],
    pub(crate) kind: c_int,
}

impl ChannelFormat {
    /// Texel format, if supported.
    pub(crate) fn format(self) -> Result<Format> {
        let numeric = match self.kind {
            0 => Numeric::Signed,
            1 => Numeric::Unsigned,
            2 => Numeric::Float,
            5..=10 => Numeric::UnsignedNormalized,
            11..=16 => Numeric::SignedNormalized,
            // Compressed and planar images.
            4 | 17.. => return Err(Error::NotSupported),
            _ => return Err(Error::InvalidChannelDescriptor),
        };
        let channels = self.bits.iter().take_while(|bits| **bits != 0).count();
        let first = self.bits.first().copied().unwrap_or(0);
        let equal = self.bits.iter().take(channels).all(|bits| *bits == first)
            && self.bits.iter().skip(channels).all(|bits| *bits == 0);
        let bits = u32::try_from(first).map_err(|_| Error::InvalidChannelDescriptor)?;
        let format = u32::try_from(channels).ok().and_then(|channels| Format::new(numeric, bits, channels));
        format.filter(|_| equal).ok_or(Error::InvalidChannelDescriptor)
    }
}

impl From<Format> for ChannelFormat {
    fn from(format: Format) -> Self {
        let width = match format.channels {
            1 => 0,
            2 => 1,
            _ => 2,
        };
        let wide = if format.bits == 16 { 3 } else { 0 };
        let kind = match format.numeric {
            Numeric::Signed => 0,
            Numeric::Unsigned => 1,
            Numeric::Float => 2,
            Numeric::UnsignedNormalized => 5 + width + wide,
            Numeric::SignedNormalized => 11 + width + wide,
        };
        let bits = |channel: u32| if channel < format.channels { format.bits.cast_signed() } else { 0 };
        Self { bits: [0, 1, 2, 3].map(bits), kind }
    }
}

/// Format of a `CUarray_format` and a channel count.
pub(crate) fn driver_format(code: c_int, channels: c_uint) -> Result<Format> {
    let (numeric, bits, fixed) = match code {
        0x01 => (Numeric::Unsigned, 8, None),
        0x02 => (Numeric::Unsigned, 16, None),
        0x03 => (Numeric::Unsigned, 32, None),
        0x08 => (Numeric::Signed, 8, None),
        0x09 => (Numeric::Signed, 16, None),
        0x0a => (Numeric::Signed, 32, None),
        0x10 => (Numeric::Float, 16, None),
        0x20 => (Numeric::Float, 32, None),
        0xc0..=0xc2 => (Numeric::UnsignedNormalized, 8, Some(1 << (code - 0xc0))),
        0xc3..=0xc5 => (Numeric::UnsignedNormalized, 16, Some(1 << (code - 0xc3))),
        0xc6..=0xc8 => (Numeric::SignedNormalized, 8, Some(1 << (code - 0xc6))),
        0xc9..=0xcb => (Numeric::SignedNormalized, 16, Some(1 << (code - 0xc9))),
        _ => return Err(Error::InvalidValue),
    };
    if fixed.is_some_and(|fixed| fixed != channels) {
        return Err(Error::InvalidValue);
    }
    Format::new(numeric, bits, channels).ok_or(Error::InvalidValue)
}

/// `CUarray_format` of a format.
pub(crate) fn driver_format_code(format: Format) -> c_int {
    let width = match format.channels {
        1 => 0,
        2 => 1,
        _ => 2,
    };
    let wide = if format.bits == 16 { 3 } else { 0 };
    match (format.numeric, format.bits) {
        (Numeric::Unsigned, 8) => 0x01,
        (Numeric::Unsigned, 16) => 0x02,
        (Numeric::Unsigned, _) => 0x03,
        (Numeric::Signed, 8) => 0x08,
        (Numeric::Signed, 16) => 0x09,
        (Numeric::Signed, _) => 0x0a,
        (Numeric::Float, 16) => 0x10,
        (Numeric::Float, _) => 0x20,
        (Numeric::UnsignedNormalized, _) => 0xc0 + width + wide,
        (Numeric::SignedNormalized, _) => 0xc6 + width + wide,
    }
}

/// Storage of a texture or surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    Array(ArrayHandle),
    Mipmapped(MipmappedArrayHandle),
    Linear { address: Address, format: Format, bytes: usize },
    Pitched { address: Address, format: Format, width: usize, height: usize, pitch: usize },
}

/// `cudaResourceDesc` of CUDA 11 and 12: a kind, and a union whose members all start with an
/// address or handle.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct ResourceDescription {
    kind: c_int,
    address: usize,
    channels: ChannelFormat,
    sizes: [usize; 3],
}

/// `cudaResourceDesc` of CUDA 13.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct ResourceDescription13 {
    resource: ResourceDescription,
    reserved: [u64; 9],
    flags: c_uint,
}

impl ResourceDescription {
    pub(crate) fn resource(self) -> Result<Resource> {
        let [first, height, pitch] = self.sizes;
        let address = Address(self.address);
        Ok(match self.kind {
            0 => Resource::Array(ArrayHandle(self.address)),
            1 => Resource::Mipmapped(MipmappedArrayHandle(self.address)),
            2 => Resource::Linear { address, format: self.channels.format()?, bytes: first },
            3 => Resource::Pitched { address, format: self.channels.format()?, width: first, height, pitch },
            _ => return Err(Error::InvalidValue),
        })
    }
}

impl From<Resource> for ResourceDescription {
    fn from(resource: Resource) -> Self {
        let none = ChannelFormat::default();
        let (kind, address, channels, sizes) = match resource {
            Resource::Array(array) => (0, array.0, none, [0; 3]),
            Resource::Mipmapped(array) => (1, array.0, none, [0; 3]),
            Resource::Linear { address, format, bytes } => (2, address.0, format.into(), [bytes, 0, 0]),
            Resource::Pitched { address, format, width, height, pitch } => {
                (3, address.0, format.into(), [width, height, pitch])
            }
        };
        Self { kind, address, channels, sizes }
    }
}

impl ResourceDescription13 {
    pub(crate) fn resource(self) -> Result<Resource> {
        self.resource.resource()
    }
}

impl From<Resource> for ResourceDescription13 {
    fn from(resource: Resource) -> Self {
        Self { resource: resource.into(), ..Self::default() }
    }
}

/// `CUDA_RESOURCE_DESC`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct DriverResource {
    kind: c_int,
    address: usize,
    format: c_int,
    channels: c_uint,
    sizes: [usize; 3],
    reserved: [u64; 11],
    flags: c_uint,
}

impl DriverResource {
    pub(crate) fn resource(self) -> Result<Resource> {
        let [first, height, pitch] = self.sizes;
        let address = Address(self.address);
        let format = || driver_format(self.format, self.channels);
        Ok(match self.kind {
            0 => Resource::Array(ArrayHandle(self.address)),
            1 => Resource::Mipmapped(MipmappedArrayHandle(self.address)),
            2 => Resource::Linear { address, format: format()?, bytes: first },
            3 => Resource::Pitched { address, format: format()?, width: first, height, pitch },
            _ => return Err(Error::InvalidValue),
        })
    }
}

impl From<Resource> for DriverResource {
    fn from(resource: Resource) -> Self {
        let common = ResourceDescription::from(resource);
        let (format, channels) = match resource {
            Resource::Linear { format, .. } | Resource::Pitched { format, .. } => {
                (driver_format_code(format), format.channels)
            }
            _ => (0, 0),
        };
        let ResourceDescription { kind, address, sizes, .. } = common;
        Self { kind, address, format, channels, sizes, ..Self::default() }
    }
}

/// `cudaTextureDesc` of CUDA 11.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub(crate) struct TextureDescription11 {
    /// 0 wrap, 1 clamp, 2 mirror, 3 border.
    pub(crate) address_modes: [c_int; 3],
    /// 0 point, 1 linear.
    pub(crate) filter: c_int,
    /// 0 as stored, 1 normalized.
    pub(crate) read_mode: c_int,
    pub(crate) srgb: c_int,
    pub(crate) border: [f32; 4],
    pub(crate) normalized: c_int,
    pub(crate) anisotropy: c_uint,
    pub(crate) level_filter: c_int,
    pub(crate) bias: f32,
    pub(crate) least_level: f32,
    pub(crate) most_level: f32,
    pub(crate) no_trilinear_optimization: c_int,
}

/// `cudaTextureDesc` of CUDA 12 and 13, `cudaTextureDesc_v2` of CUDA 11.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub(crate) struct TextureDescription {
    pub(crate) common: TextureDescription11,
    pub(crate) seamless: c_int,
}

impl From<TextureDescription11> for TextureDescription {
    fn from(common: TextureDescription11) -> Self {
        Self { common, seamless: 0 }
    }
}

/// Flags of `CUDA_TEXTURE_DESC` and of texture references (`CU_TRSF_…`).
pub(crate) const READ_AS_INTEGER: c_uint = 0x01;
pub(crate) const NORMALIZED_COORDINATES: c_uint = 0x02;
pub(crate) const SRGB: c_uint = 0x10;
const NO_TRILINEAR_OPTIMIZATION: c_uint = 0x20;
pub(crate) const SEAMLESS_CUBEMAP: c_uint = 0x40;

/// `CUDA_TEXTURE_DESC`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub(crate) struct DriverTexture {
    pub(crate) address_modes: [c_int; 3],
    pub(crate) filter: c_int,
    pub(crate) flags: c_uint,
    pub(crate) anisotropy: c_uint,
    pub(crate) level_filter: c_int,
    pub(crate) bias: f32,
    pub(crate) least_level: f32,
    pub(crate) most_level: f32,
    pub(crate) border: [f32; 4],
    pub(crate) reserved: [c_int; 12],
}

impl From<DriverTexture> for TextureDescription {
    fn from(texture: DriverTexture) -> Self {
        let flag = |flag| c_int::from(texture.flags & flag != 0);
        Self {
            common: TextureDescription11 {
                address_modes: texture.address_modes,
                filter: texture.filter,
                read_mode: 1 - flag(READ_AS_INTEGER),
                srgb: flag(SRGB),
                border: texture.border,
                normalized: flag(NORMALIZED_COORDINATES),
                anisotropy: texture.anisotropy,
                level_filter: texture.level_filter,
                bias: texture.bias,
                least_level: texture.least_level,
                most_level: texture.most_level,
                no_trilinear_optimization: flag(NO_TRILINEAR_OPTIMIZATION),
            },
            seamless: flag(SEAMLESS_CUBEMAP),
        }
    }
}

impl From<TextureDescription> for DriverTexture {
    fn from(TextureDescription { common, seamless }: TextureDescription) -> Self {
        let flag = |given: bool, flag| if given { flag } else { 0 };
        Self {
            address_modes: common.address_modes,
            filter: common.filter,
            flags: flag(common.read_mode == 0, READ_AS_INTEGER)
                | flag(common.normalized != 0, NORMALIZED_COORDINATES)
                | flag(common.srgb != 0, SRGB)
                | flag(common.no_trilinear_optimization != 0, NO_TRILINEAR_OPTIMIZATION)
                | flag(seamless != 0, SEAMLESS_CUBEMAP),
            anisotropy: common.anisotropy,
            level_filter: common.level_filter,
            bias: common.bias,
            least_level: common.least_level,
            most_level: common.most_level,
            border: common.border,
            reserved: [0; 12],
        }
    }
}

/// `cudaResourceViewDesc` of CUDA 11 and 12.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct ViewDescription {
    /// 0 for the resource's format; 1 to 24 unsigned char 1, 2, 4 channels, char, …, float; then
    /// compressed ones.
    pub(crate) format: c_int,
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) depth: usize,
    pub(crate) first_level: c_uint,
    pub(crate) last_level: c_uint,
    pub(crate) first_layer: c_uint,
    pub(crate) last_layer: c_uint,
}

/// `cudaResourceViewDesc` of CUDA 13, `CUDA_RESOURCE_VIEW_DESC`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct ViewDescription13 {
    pub(crate) view: ViewDescription,
    pub(crate) reserved: [c_uint; 16],
}

impl ViewDescription {
    /// Format of the view; `None` for the resource's.
    pub(crate) fn format(&self) -> Result<Option<Format>> {
        let number = match self.format {
            0 => return Ok(None),
            1..=24 => (self.format - 1).cast_unsigned(),
            25..=34 => return Err(Error::NotSupported),
            _ => return Err(Error::InvalidValue),
        };
        let channels = 1 << (number % 3);
        let (numeric, bits) = match number / 3 {
            0 => (Numeric::Unsigned, 8),
            1 => (Numeric::Signed, 8),
            2 => (Numeric::Unsigned, 16),
            3 => (Numeric::Signed, 16),
            4 => (Numeric::Unsigned, 32),
            5 => (Numeric::Signed, 32),
            6 => (Numeric::Float, 16),
            _ => (Numeric::Float, 32),
        };
        Format::new(numeric, bits, channels).map(Some).ok_or(Error::InvalidValue)
    }
}

/// `textureReference`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct TextureReference {
    normalized: c_int,
    filter: c_int,
    address_modes: [c_int; 3],
    channels: ChannelFormat,
    srgb: c_int,
    anisotropy: c_uint,
    level_filter: c_int,
    bias: f32,
    least_level: f32,
    most_level: f32,
    no_trilinear_optimization: c_int,
    reserved: [c_int; 14],
}

impl TextureReference {
    /// Description of the reference as a texture; the compiler registered the read mode.
    pub(crate) fn description(&self, normalized_reads: bool) -> TextureDescription {
        let common = TextureDescription11 {
            address_modes: self.address_modes,
            filter: self.filter,
            read_mode: normalized_reads.into(),
            srgb: self.srgb,
            border: [0.0; 4],
            normalized: self.normalized,
            anisotropy: self.anisotropy,
            level_filter: self.level_filter,
            bias: self.bias,
            least_level: self.least_level,
            most_level: self.most_level,
            no_trilinear_optimization: self.no_trilinear_optimization,
        };
        common.into()
    }
}

/// `CUDA_ARRAY_DESCRIPTOR`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct ArrayDescription {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) format: c_int,
    pub(crate) channels: c_uint,
}

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct ArrayDescription3d {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) depth: usize,
    pub(crate) format: c_int,
    pub(crate) channels: c_uint,
    pub(crate) flags: c_uint,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channel_formats_round_trip() {
        for numeric in [
            Numeric::Signed,
            Numeric::Unsigned,
            Numeric::Float,
            Numeric::UnsignedNormalized,
            Numeric::SignedNormalized,
        ] {
            for (bits, channels) in [(8, 1), (8, 4), (16, 2), (16, 4), (32, 1), (32, 4)] {
                let Some(format) = Format::new(numeric, bits, channels) else { continue };
                assert_eq!(ChannelFormat::from(format).format(), Ok(format));
                assert_eq!(driver_format(driver_format_code(format), channels), Ok(format));
            }
        }
    }

    #[test]
    fn three_channels_are_rejected() {
        let three = ChannelFormat { bits: [8, 8, 8, 0], kind: 1 };
        assert_eq!(three.format(), Err(Error::InvalidChannelDescriptor));
        let gap = ChannelFormat { bits: [8, 0, 8, 0], kind: 1 };
        assert_eq!(gap.format(), Err(Error::InvalidChannelDescriptor));
    }

    #[test]
    fn descriptions_round_trip_through_the_driver() {
        let common = TextureDescription11 {
            address_modes: [0, 2, 3],
            filter: 1,
            read_mode: 1,
            normalized: 1,
            ..TextureDescription11::default()
        };
        let texture = TextureDescription { common, seamless: 1 };
        assert_eq!(TextureDescription::from(DriverTexture::from(texture)), texture);
    }

    #[test]
    fn views_number_formats_in_enumeration_order() {
        let format = |format| ViewDescription { format, ..ViewDescription::default() }.format();
        assert_eq!(format(0), Ok(None));
        assert_eq!(format(3), Ok(Format::new(Numeric::Unsigned, 8, 4)));
        assert_eq!(format(20), Ok(Format::new(Numeric::Float, 16, 2)));
        assert_eq!(format(24), Ok(Format::new(Numeric::Float, 32, 4)));
        assert_eq!(format(99), Err(Error::InvalidValue));
    }
}
