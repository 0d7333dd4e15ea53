//! Fidelities of the L2 slices.

use crate::statistics::Counter;

crate::choice! {
    /// Fidelity of the L2 slices.
    pub enum L2 {
        /// Tags, MSHRs, queues and stalls.
        Detailed = "detailed",
        /// Tags in the order of requests, and a queue of one sector a cycle.
        Analytical = "analytical",
        /// Every request hits, and nothing is written back.
        Ideal = "ideal",
    }
}

impl L2 {
    /// Tells whether the fidelity leaves a counter without value.
    pub fn leaves_out(self, counter: &Counter) -> bool {
        let of_resources = || {
            counter.name.ends_with("_stalls")
                || counter.name.contains("mshr")
                || counter.name == "pending_hits"
        };
        match self {
            L2::Detailed => false,
            L2::Analytical => counter.section == "l2" && of_resources(),
            L2::Ideal => counter.section == "l2",
        }
    }
}
