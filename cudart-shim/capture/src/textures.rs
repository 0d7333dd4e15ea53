//! Textures and surfaces in `launch.toml`. Formats, modes and flags carry the driver API's numbers,
//! since a replay recreates the objects.

use crate::manifest::Address;
use serde::{Deserialize, Serialize};

/// An array or mipmapped array, whose texels lie in a buffer row by row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Image {
    /// `CUarray_format`.
    pub format: u32,
    /// Channels of a texel.
    pub channels: u32,
    /// Bytes of a texel.
    pub texel_bytes: u32,
    /// Coordinates within a layer: 1 to 3.
    pub dimensions: u32,
    /// Layers; the faces of a cube count as layers.
    pub layers: u32,
    /// True for cubes.
    pub cube: bool,
    /// Levels, finest first; a mipmapped array has several.
    pub levels: Vec<Level>,
}

/// A level of an array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// Address in a buffer of the launch.
    pub address: Address,
    /// Texels per row, rows per slice, slices per layer.
    pub size: [u32; 3],
    /// Bytes between row starts.
    pub pitch: u64,
    /// Bytes between slice or layer starts; a multiple of `pitch`.
    pub slice: u64,
}

/// A texture object or bound texture reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Texture {
    /// Handle, or the variable's address for a reference.
    pub handle: Address,
    /// Module variable of a reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Texels read.
    pub texels: Texels,
    /// Sampler.
    pub sampler: Sampler,
}

/// Texels of a texture object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum Texels {
    /// A numbered image.
    Image(usize),
    /// Linear memory.
    Linear {
        /// Address in a buffer of the launch.
        address: Address,
        /// `CUarray_format`.
        format: u32,
        /// Channels of a texel.
        channels: u32,
        /// Size in bytes.
        bytes: u64,
    },
    /// Rows in pitched linear memory.
    Pitched {
        /// Address in a buffer of the launch.
        address: Address,
        /// `CUarray_format`.
        format: u32,
        /// Channels of a texel.
        channels: u32,
        /// Texels per row, and rows.
        size: [u32; 2],
        /// Bytes between row starts.
        pitch: u64,
    },
}

/// `CUDA_TEXTURE_DESC`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sampler {
    /// `CUaddress_mode` of each coordinate.
    pub address: [u32; 3],
    /// `CUfilter_mode` within a level.
    pub filter: u32,
    /// `CUfilter_mode` between levels.
    pub level_filter: u32,
    /// `CU_TRSF_…`.
    pub flags: u32,
    /// Most samples along an anisotropic footprint.
    pub anisotropy: u32,
    /// Level bias.
    pub bias: f32,
    /// Finest and coarsest level used.
    pub level_range: [f32; 2],
    /// Border colour.
    pub border: [f32; 4],
}

/// A surface object or bound surface reference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Surface {
    /// Handle, or the variable's address for a reference.
    pub handle: Address,
    /// Module variable of a reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Number of the image.
    pub image: usize,
}

impl Image {
    /// Slices of a level, over its depth or layers.
    pub fn slices(&self, level: &Level) -> u32 {
        if self.dimensions == 3 { level.size[2] } else { self.layers.max(1) }
    }

    /// Bytes of a level; `None` on 64-bit overflow.
    pub fn bytes(&self, level: &Level) -> Option<u64> {
        let [width, height, _] = level.size;
        let slices = level.slice.checked_mul(self.slices(level).checked_sub(1)?.into())?;
        let rows = level.pitch.checked_mul(height.checked_sub(1)?.into())?;
        let row = u64::from(width).checked_mul(self.texel_bytes.into())?;
        slices.checked_add(rows)?.checked_add(row)
    }
}
