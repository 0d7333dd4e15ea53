//! Fidelities of the banks of shared memory and L1.

crate::choice! {
    /// Fidelity of banks under loads and stores.
    pub enum Banks {
        /// Conflicts take a pass each.
        Detailed = "detailed",
        /// An access needs the passes of its width alone. Atomic operations keep theirs.
        Ideal = "ideal",
    }
}
