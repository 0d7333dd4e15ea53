//! Fidelities of DRAM.

use crate::statistics::Counter;

crate::choice! {
    /// Fidelity of the DRAM channels.
    pub enum Dram {
        /// Commands of banks under all timing rules.
        Detailed = "detailed",
        /// The latency of a closed row, and a queue with the bandwidth of each channel.
        Analytical = "analytical",
        /// The latency of a closed row, at any bandwidth.
        Ideal = "ideal",
    }
}

impl Dram {
    /// Tells whether the fidelity leaves a counter without value.
    pub fn leaves_out(self, counter: &Counter) -> bool {
        let is_kept = matches!(counter.name, "reads" | "writes");
        self != Dram::Detailed && counter.section == "dram" && !is_kept
    }
}
