//! Textures and surfaces: objects behind handles, and reads through them.
//!
//! A device has a [`Table`] of textures, samplers and surfaces by handle. A handle is a number from the
//! API, or the address of the module variable to which a reference is bound. A launch uses a snapshot of
//! the table. Sampling ([`sample`]) converts coordinates to texel addresses and reads them through
//! [`Texels`], which checks them like any access. The value is computed with [`address`], [`filter`],
//! [`format`](mod@format), `cube` and [`level`].

pub mod address;
mod cube;
pub mod filter;
pub mod format;
pub mod image;
pub mod level;
mod reference;
pub mod sample;
pub mod surface;

use std::sync::Arc;

use parking_lot::RwLock;
use rustc_hash::FxHashMap;

pub use address::AddressMode;
pub use filter::Filter;
pub use format::{Format, Numeric};
pub use image::{Image, ImageKind, Level};
pub use sample::{Lod, SamplePosition, Value};

use crate::fault::FaultKind;

/// Mapping from coordinates to texels, and from texels to a value (CUDA programming guide, texture memory).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampler {
    /// Address mode of each coordinate.
    pub address: [AddressMode; 3],
    /// Filter within a level.
    pub filter: Filter,
    /// Filter between levels.
    pub level_filter: Filter,
    /// True if the image has extent 1 along each axis instead of its number of texels.
    pub normalized_coordinates: bool,
    /// Colour for [`AddressMode::Border`].
    pub border: [f32; 4],
    /// Offset added to the requested level.
    pub bias: f32,
    /// Finest and coarsest level used.
    pub level_range: (f32, f32),
    /// Maximum samples along an anisotropic footprint.
    pub anisotropy: u32,
    /// True to filter across the edges of a cube.
    pub seamless: bool,
}

impl Default for Sampler {
    fn default() -> Sampler {
        Sampler {
            address: [AddressMode::Clamp; 3],
            filter: Filter::Point,
            level_filter: Filter::Point,
            normalized_coordinates: false,
            border: [0.0; 4],
            bias: 0.0,
            level_range: (0.0, 0.0),
            anisotropy: 0,
            seamless: false,
        }
    }
}

/// Texture behind a handle.
#[derive(Debug, Clone, PartialEq)]
pub struct Texture {
    /// The texels.
    pub image: Image,
    /// Default sampler, for instructions without one.
    pub sampler: Sampler,
    /// True to read 8-bit and 16-bit integers as numbers from 0 or -1 to 1.
    pub normalized_reads: bool,
    /// True if 8-bit colours are sRGB values.
    pub srgb: bool,
}

/// Textures, samplers and surfaces by handle.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// Textures with their default samplers.
    pub textures: FxHashMap<u64, Arc<Texture>>,
    /// Separate samplers.
    pub samplers: FxHashMap<u64, Sampler>,
    /// Surfaces.
    pub surfaces: FxHashMap<u64, Arc<Image>>,
}

impl Table {
    /// Sampler of a handle; a texture's handle gives its default sampler.
    pub fn sampler(&self, handle: u64) -> Option<&Sampler> {
        let own = self.samplers.get(&handle);
        own.or_else(|| self.textures.get(&handle).map(|texture| &texture.sampler))
    }

    /// Removes a handle; returns whether it existed.
    pub fn remove(&mut self, handle: u64) -> bool {
        let texture = self.textures.remove(&handle).is_some();
        let sampler = self.samplers.remove(&handle).is_some();
        self.surfaces.remove(&handle).is_some() || texture || sampler
    }
}

/// Table of a device.
#[derive(Debug, Default)]
pub struct Textures(RwLock<Arc<Table>>);

impl Textures {
    /// Snapshot of the table.
    pub fn snapshot(&self) -> Arc<Table> {
        Arc::clone(&self.0.read())
    }

    /// Changes the table for later launches.
    pub fn change<T>(&self, change: impl FnOnce(&mut Table) -> T) -> T {
        change(Arc::make_mut(&mut self.0.write()))
    }
}

/// Memory with texels.
pub trait Texels {
    /// Bytes at an address.
    fn read<const BYTES: usize>(&mut self, address: u64) -> Result<[u8; BYTES], FaultKind>;
}

pub use reference::sampler_of;
