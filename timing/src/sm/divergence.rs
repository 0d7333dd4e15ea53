//! Divergence of lanes within a warp. Executed warps follow this policy; recordings and traces keep
//! their order.

use crate::gpu_file::{Document, SpecificationError};

crate::choice! {
    /// Order in which diverged lanes of a warp run.
    pub enum Divergence {
        /// All lanes make progress and reconverge where their paths meet, unless they wait for one
        /// another (independent thread scheduling).
        Independent = "independent",
        /// One path runs to the reconvergence point after the other (a SIMT stack). Lanes that spin
        /// on lanes of their warp never end.
        Stack = "stack",
    }
}

crate::specification! {
    /// An SM as a whole.
    pub struct SmSpec in "sm" {
        /// Order in which diverged lanes run, for executed warps; recorded warps keep their order.
        divergence: Divergence ["choice"],
    }
}

impl SmSpec {
    pub(crate) fn check(&self, _: &Document) -> Result<(), SpecificationError> {
        Ok(())
    }
}
