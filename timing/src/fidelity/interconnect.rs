//! Fidelities of the interconnect.

use crate::statistics::Counter;

crate::choice! {
    /// Fidelity of the crossbar between SMs and L2.
    pub enum Interconnect {
        /// Buffers, credits and arbitration.
        Detailed = "detailed",
        /// The latency, and a queue at each port.
        Analytical = "analytical",
        /// The latency alone, at any bandwidth.
        Ideal = "ideal",
    }
}

impl Interconnect {
    /// Tells whether the fidelity leaves a counter without value.
    pub fn leaves_out(self, counter: &Counter) -> bool {
        self != Interconnect::Detailed && counter.section == "crossbar"
    }
}
