//! What lanes of a warp do that have parted. Whoever executes them follows it; recordings and traces stay as they are.

use crate::specification::{Document, SpecificationError};

crate::choice! {
    /// What lanes of a warp do that have parted.
    pub enum Divergence {
        /// All make progress; they meet again where their ways do, if they do not wait for one another (independent thread
        /// scheduling).
        Independent = "independent",
        /// One side after the other goes to where the ways meet, and those that are there wait (a SIMT stack). Lanes that spin
        /// for others of their warp never end.
        Stack = "stack",
    }
}

crate::specification! {
    /// An SM as a whole.
    pub struct SmSpec in "sm" {
        /// What lanes of a warp do that have parted, where warps are executed and not read from a file.
        divergence: Divergence ["choice"],
    }
}

impl SmSpec {
    pub(crate) fn check(&self, _: &Document) -> Result<(), SpecificationError> {
        Ok(())
    }
}
