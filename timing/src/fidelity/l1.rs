//! Fidelities of the L1 data cache.

use crate::statistics::Counter;

crate::choice! {
    /// Fidelity of the L1 data cache.
    pub enum L1 {
        /// Tags, MSHRs and reservation failures.
        Detailed = "detailed",
        /// Tags and outstanding lines. No load waits for a resource of the cache.
        Analytical = "analytical",
        /// Every load that does not bypass the cache hits.
        Ideal = "ideal",
    }
}

impl L1 {
    /// Tells whether the fidelity leaves a counter without value.
    pub fn leaves_out(self, counter: &Counter) -> bool {
        let of_resources =
            || counter.name.ends_with("reservation_failures") || counter.name.starts_with("miss_");
        match self {
            L1::Detailed => false,
            L1::Analytical => counter.section == "l1" && of_resources(),
            L1::Ideal => counter.section == "l1",
        }
    }
}
