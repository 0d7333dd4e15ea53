//! Textures and surfaces of file tests: `f32x2[8x4] layers=3 filter=linear normalized`.

use functional::device::Device;
use functional::memory::AllocationKind;
use functional::texture::image::Extent;
use functional::texture::{AddressMode, Filter, Format, Image, ImageKind, Level, Numeric, Sampler, Texture};

use crate::values::Kind;

/// Texture or surface as declared.
#[derive(Debug, Clone)]
pub(crate) struct Declared {
    pub(crate) is_surface: bool,
    /// Type of a channel.
    pub(crate) kind: Kind,
    pub(crate) format: Format,
    pub(crate) extent: Extent,
    pub(crate) layers: u32,
    pub(crate) cube: bool,
    pub(crate) levels: u32,
    pub(crate) memory: ImageKind,
    pub(crate) sampler: Sampler,
    pub(crate) normalized_reads: bool,
    pub(crate) srgb: bool,
}

/// Texture or surface in memory.
pub(crate) struct Placed {
    /// Handle for the kernel.
    pub(crate) handle: u64,
    image: Image,
    channel_bytes: u32,
}

/// Base of handles, outside of all addresses.
const HANDLES: u64 = 0x7e00_0000_0000_0000;

impl Declared {
    /// Parses `TYPExCHANNELS[WxHxD] PROPERTIES`.
    pub(crate) fn parse(text: &str, is_surface: bool) -> Option<Declared> {
        let (head, properties) = text.split_once(']')?;
        let (format, size) = head.split_once('[')?;
        let (ty, channels) = format.trim().split_once("x").unwrap_or((format.trim(), "1"));
        let kind = Kind::from_name(ty)?;
        let numeric = match ty.as_bytes().first()? {
            b'u' | b'b' => Numeric::Unsigned,
            b's' => Numeric::Signed,
            _ => Numeric::Float,
        };
        let mut sizes = size.split('x').map(|size| size.trim().parse::<u32>());
        let mut next = || sizes.next().transpose().ok().map(Option::unwrap_or_default);
        let extent = Extent { width: next()?, height: next()?, depth: next()? };
        let mut declared = Declared {
            is_surface,
            kind,
            format: Format::new(numeric, 8 * kind.size as u32, channels.parse().ok()?)?,
            extent,
            layers: 1,
            cube: false,
            levels: 1,
            memory: ImageKind::Array,
            sampler: Sampler { level_range: (0.0, 100.0), ..Sampler::default() },
            normalized_reads: false,
            srgb: false,
        };
        properties.split_whitespace().try_for_each(|property| declared.property(property))?;
        Some(declared)
    }

    fn property(&mut self, property: &str) -> Option<()> {
        let (name, value) = property.split_once('=').unwrap_or((property, ""));
        let sampler = &mut self.sampler;
        match name {
            "layers" => self.layers = value.parse().ok()?,
            "cube" => (self.cube, self.layers) = (true, 6 * self.layers),
            "levels" => self.levels = value.parse().ok()?,
            "linear-memory" => self.memory = ImageKind::Linear,
            "normalized" => sampler.normalized_coordinates = true,
            "normalized-reads" => self.normalized_reads = true,
            "stored-normalized" => {
                let signed = self.format.numeric == Numeric::Signed;
                let numeric = if signed { Numeric::SignedNormalized } else { Numeric::UnsignedNormalized };
                self.format = Format::new(numeric, self.format.bits, self.format.channels)?;
            }
            "srgb" => self.srgb = true,
            "seamless" => sampler.seamless = true,
            "filter" => sampler.filter = filter(value)?,
            "level-filter" => sampler.level_filter = filter(value)?,
            "address" => {
                let modes = value.split(',').map(address_mode).collect::<Option<Vec<_>>>()?;
                let last = *modes.last()?;
                sampler.address = [0, 1, 2].map(|axis| modes.get(axis).copied().unwrap_or(last));
            }
            "border" => sampler.border = numbers(value)?.try_into().ok()?,
            "bias" => sampler.bias = value.parse().ok()?,
            "range" => {
                let [least, most] = numbers(value)?.try_into().ok()?;
                sampler.level_range = (least, most);
            }
            "anisotropy" => sampler.anisotropy = value.parse().ok()?,
            _ => return None,
        }
        Some(())
    }

    fn image(&self) -> Option<(Image, u64)> {
        let (image, bytes) = Image::array(self.format, self.extent, self.layers, self.cube, self.levels)?;
        Some((Image { kind: self.memory, ..image }, bytes))
    }

    /// Returns the number of channels of all texels.
    pub(crate) fn count(&self) -> Option<usize> {
        let (image, _) = self.image()?;
        let texels =
            |level: &Level| u64::from(level.width) * u64::from(level.height) * u64::from(level.depth);
        let texels = image.levels.iter().map(texels).sum::<u64>() * u64::from(image.layers);
        usize::try_from(texels * u64::from(self.format.channels)).ok()
    }

    /// Places the texture in the device's memory and table. `channels` contains the channels' bytes by
    /// level, layer, slice and row. `variable` is the address of the bound reference.
    pub(crate) fn place(
        &self,
        device: &Device,
        channels: &[u8],
        variable: Option<u64>,
        number: usize,
    ) -> Result<Placed, Box<dyn std::error::Error>> {
        let (image, bytes) = self.image().ok_or("the texture is too large")?;
        let image = image.moved(device.memory.allocate(bytes, 256, AllocationKind::Array)?);
        let handle = variable.unwrap_or(HANDLES + number as u64);
        let placed = Placed { handle, image, channel_bytes: self.kind.size as u32 };
        for (texel, bytes) in placed.texels().zip(channels.chunks(self.format.bytes() as usize)) {
            device.memory.write(texel, bytes)?;
        }
        let texture = Texture {
            image: placed.image.clone(),
            sampler: self.sampler,
            normalized_reads: self.normalized_reads,
            srgb: self.srgb,
        };
        device.textures.change(|table| {
            if self.is_surface {
                table.surfaces.insert(handle, placed.image.clone().into());
            } else {
                table.textures.insert(handle, texture.into());
            }
        });
        Ok(placed)
    }
}

impl Placed {
    /// Returns the addresses of the texels.
    fn texels(&self) -> impl Iterator<Item = u64> + '_ {
        let bytes = self.image.format.bytes();
        self.image.levels.iter().flat_map(move |level| {
            let slices = level.depth * self.image.layers;
            (0..slices).flat_map(move |z| {
                (0..level.height)
                    .flat_map(move |y| (0..level.width).map(move |x| level.texel([x, y, z], bytes)))
            })
        })
    }

    /// Returns the addresses of the channels.
    pub(crate) fn channels(&self) -> impl Iterator<Item = u64> + '_ {
        let channels = u64::from(self.image.format.channels);
        let bytes = u64::from(self.channel_bytes);
        self.texels().flat_map(move |texel| (0..channels).map(move |channel| texel + channel * bytes))
    }
}

fn filter(name: &str) -> Option<Filter> {
    match name {
        "point" => Some(Filter::Point),
        "linear" => Some(Filter::Linear),
        _ => None,
    }
}

fn address_mode(name: &str) -> Option<AddressMode> {
    match name {
        "wrap" => Some(AddressMode::Wrap),
        "clamp" => Some(AddressMode::Clamp),
        "mirror" => Some(AddressMode::Mirror),
        "border" => Some(AddressMode::Border),
        _ => None,
    }
}

fn numbers(list: &str) -> Option<Vec<f32>> {
    list.split(',').map(|number| number.parse().ok()).collect()
}
