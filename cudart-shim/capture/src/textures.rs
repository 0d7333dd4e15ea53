//! What `launch.toml` says of textures and surfaces. Numbers of formats, modes and flags are the driver API's, since a
//! replay makes the objects by it.

use crate::manifest::Address;
use serde::{Deserialize, Serialize};

/// An array, or a mipmapped one, whose texels lie in a buffer row by row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Image {
    /// `CUarray_format`.
    pub format: u32,
    /// Channels of a texel.
    pub channels: u32,
    /// Bytes of a texel.
    pub texel_bytes: u32,
    /// Coordinates of a texel within a layer: 1, 2, 3.
    pub dimensions: u32,
    /// Layers; faces of a cube are layers.
    pub layers: u32,
    /// Made of cubes.
    pub cube: bool,
    /// The finest first; several are a mipmapped array.
    pub levels: Vec<Level>,
}

/// A level of an array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// Where it was, in a buffer of the launch.
    pub address: Address,
    /// Texels of a row, rows of a slice, and slices of a layer.
    pub size: [u32; 3],
    /// Bytes from one row to the next.
    pub pitch: u64,
    /// Bytes from one slice, or layer, to the next; a multiple of `pitch`.
    pub slice: u64,
}

/// A texture object, or what a texture reference is bound to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Texture {
    /// Its handle; the variable's address, if it is a reference.
    pub handle: Address,
    /// The module's variable, if it is a reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// What it reads.
    pub texels: Texels,
    /// How it reads.
    pub sampler: Sampler,
}

/// What a texture object reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum Texels {
    /// The image of this number.
    Image(usize),
    /// Linear memory.
    Linear {
        /// Where it was, in a buffer of the launch.
        address: Address,
        /// `CUarray_format`.
        format: u32,
        /// Channels of a texel.
        channels: u32,
        /// Bytes of it.
        bytes: u64,
    },
    /// Rows in linear memory.
    Pitched {
        /// Where they were, in a buffer of the launch.
        address: Address,
        /// `CUarray_format`.
        format: u32,
        /// Channels of a texel.
        channels: u32,
        /// Texels of a row, and rows.
        size: [u32; 2],
        /// Bytes from one row to the next.
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
    /// Samples along a stretched footprint, at most.
    pub anisotropy: u32,
    /// Added to the level asked for.
    pub bias: f32,
    /// The finest and the coarsest level that are used.
    pub level_range: [f32; 2],
    /// What lies outside with border addressing.
    pub border: [f32; 4],
}

/// A surface object, or what a surface reference is bound to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Surface {
    /// Its handle; the variable's address, if it is a reference.
    pub handle: Address,
    /// The module's variable, if it is a reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Number of its image.
    pub image: usize,
}

impl Image {
    /// Slices that a level of it has in all: of its depth, or its layers.
    pub fn slices(&self, level: &Level) -> u32 {
        if self.dimensions == 3 { level.size[2] } else { self.layers.max(1) }
    }

    /// Bytes from the start of a level to its end; `None` if they pass 64 bits.
    pub fn bytes(&self, level: &Level) -> Option<u64> {
        let [width, height, _] = level.size;
        let slices = level.slice.checked_mul(self.slices(level).checked_sub(1)?.into())?;
        let rows = level.pitch.checked_mul(height.checked_sub(1)?.into())?;
        let row = u64::from(width).checked_mul(self.texel_bytes.into())?;
        slices.checked_add(rows)?.checked_add(row)
    }
}
