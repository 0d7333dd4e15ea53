//! Fidelities of the coalescer.

crate::choice! {
    /// Fidelity of the addresses of loads and stores to global and local memory.
    pub enum Coalescer {
        /// The addresses of the lanes.
        Detailed = "detailed",
        /// The distinct values of a warp stand beside each other, from its first address on.
        /// Atomic operations and textures keep their addresses.
        Ideal = "ideal",
    }
}
