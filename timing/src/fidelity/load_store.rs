//! Fidelities of the load/store pipeline and the coalescer.

use crate::statistics::Counter;

crate::choice! {
    /// Fidelity of memory pipelines, coalescer, shared memory and L1 TLB.
    pub enum LoadStore {
        /// Dispatch latches, address stages, request buffers, arbitration and L1 TLB.
        Detailed = "detailed",
        /// An access takes its latency, and waits for the passes of earlier ones. The L1 TLB always
        /// hits.
        Analytical = "analytical",
    }
}

impl LoadStore {
    /// Tells whether the fidelity leaves a counter without value.
    pub fn leaves_out(self, counter: &Counter) -> bool {
        self == LoadStore::Analytical && counter.section == "tlb"
    }
}
