//! Constant caches.

use crate::specification::{Document, SpecificationError};

crate::specification! {
    /// Constant caches of an SM.
    pub struct ConstantSpec in "constant" {
        /// From the lookup of a hit to the data at the write-back latch.
        latency: u32 ["core cycles"],
    }
}

impl ConstantSpec {
    pub(crate) fn check(&self, _: &Document) -> Result<(), SpecificationError> {
        Ok(())
    }
}
