//! Texture path: texels are read through the L1 data cache.

use crate::gpu_file::{Document, SpecificationError};

crate::specification! {
    /// Texture unit of an SM.
    pub struct TextureSpec in "texture" {
        /// Lanes sampled a cycle.
        lanes: u32 ["lanes per core cycle"],
        /// Tag lookup of a hit to result at the write-back latch.
        latency: u32 ["core cycles"],
    }
}

impl TextureSpec {
    pub(crate) fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        match self.lanes {
            0 => Err(document.wrong("texture", "lanes", "must be at least 1")),
            _ => Ok(()),
        }
    }
}
