//! Textures and surfaces: what a handle stands for, as data, and what reading through it gives.
//!
//! A device has a [`Table`] of textures, samplers and surfaces by handle. A handle is a number that the API made up, or
//! the address of the module's variable that a reference is bound to. A launch sees the table as it was when it was made.
//! Sampling turns coordinates into addresses of texels, reads those through [`Texels`], which checks them as any other
//! access, and computes with the values: [`sample`] over [`address`], [`filter`], [`format`], [`cube`] and [`level`].

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
pub use sample::{Lod, Place, Value};

use crate::fault::FaultKind;

/// How coordinates lead to texels, and texels to a value (CUDA programming guide, texture memory).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampler {
    /// For each coordinate, what lies outside of the image.
    pub address: [AddressMode; 3],
    /// Within a level.
    pub filter: Filter,
    /// Between levels.
    pub level_filter: Filter,
    /// The image's extent is 1 along each axis, not its number of texels.
    pub normalized_coordinates: bool,
    /// What lies outside with [`AddressMode::Border`].
    pub border: [f32; 4],
    /// Added to the level asked for.
    pub bias: f32,
    /// The finest and the coarsest level that are used.
    pub level_range: (f32, f32),
    /// Samples along a stretched footprint, at most.
    pub anisotropy: u32,
    /// Filtering goes on across the edges of a cube.
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

/// What a texture handle stands for.
#[derive(Debug, Clone, PartialEq)]
pub struct Texture {
    /// The texels.
    pub image: Image,
    /// How they are read where the instruction names no sampler.
    pub sampler: Sampler,
    /// Integers of 8 and 16 bits are read as numbers from 0 or -1 to 1.
    pub normalized_reads: bool,
    /// Colours of 8 bits are stored by the sRGB curve.
    pub srgb: bool,
}

/// Textures, samplers and surfaces by handle.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// Textures with their own samplers.
    pub textures: FxHashMap<u64, Arc<Texture>>,
    /// Samplers of their own.
    pub samplers: FxHashMap<u64, Sampler>,
    /// Surfaces.
    pub surfaces: FxHashMap<u64, Arc<Image>>,
}

impl Table {
    /// The sampler of a handle; that of a texture serves too.
    pub fn sampler(&self, handle: u64) -> Option<&Sampler> {
        let own = self.samplers.get(&handle);
        own.or_else(|| self.textures.get(&handle).map(|texture| &texture.sampler))
    }

    /// Forgets what a handle stands for; says whether it stood for something.
    pub fn remove(&mut self, handle: u64) -> bool {
        let texture = self.textures.remove(&handle).is_some();
        let sampler = self.samplers.remove(&handle).is_some();
        self.surfaces.remove(&handle).is_some() || texture || sampler
    }
}

/// A device's table.
#[derive(Debug, Default)]
pub struct Textures(RwLock<Arc<Table>>);

impl Textures {
    /// The table as it is now.
    pub fn snapshot(&self) -> Arc<Table> {
        Arc::clone(&self.0.read())
    }

    /// Changes the table for launches to come.
    pub fn change<T>(&self, change: impl FnOnce(&mut Table) -> T) -> T {
        change(Arc::make_mut(&mut self.0.write()))
    }
}

/// Memory that texels are read from.
pub trait Texels {
    /// Bytes at an address.
    fn read<const BYTES: usize>(&mut self, address: u64) -> Result<[u8; BYTES], FaultKind>;
}

pub use reference::sampler_of;
