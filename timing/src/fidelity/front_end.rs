//! Fidelities of the front end.

use crate::statistics::Counter;

crate::choice! {
    /// Fidelity of fetch, decode, instruction caches and constant caches.
    pub enum FrontEnd {
        /// Instruction buffers, L0 and L1 instruction caches, constant cache.
        Detailed = "detailed",
        /// A warp's next instruction is always in its buffer, and every constant hits.
        Ideal = "ideal",
    }
}

impl FrontEnd {
    /// Tells whether the fidelity leaves a counter without value.
    pub fn leaves_out(self, counter: &Counter) -> bool {
        self == FrontEnd::Ideal && matches!(counter.section, "front_end" | "constant")
    }
}
