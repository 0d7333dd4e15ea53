//! Instruction issue of a sub-core: width and policy.

use crate::gpu_file::{Document, SpecificationError};
use crate::policy::warp_scheduler;
pub use crate::policy::warp_scheduler::Scheduling;

crate::specification! {
    /// Warp schedulers of an SM, one per sub-core.
    pub struct IssueSpec in "issue" {
        /// Warp scheduling policy.
        policy: Scheduling [""],
        /// Instructions that a warp scheduler issues a cycle.
        width: u32 ["instructions per core cycle"],
        /// Memory instructions with operands that may wait for the memory pipeline.
        memory_queue: u32 ["instructions"],
    } with {
        /// Parameters of the policies.
        scheduling: warp_scheduler::Parameters,
    }
}

impl IssueSpec {
    pub(crate) fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        let positive = [("width", self.width), ("memory_queue", self.memory_queue)];
        match positive.iter().find(|(_, value)| *value == 0) {
            Some((name, _)) => Err(document.wrong("issue", name, "must be at least 1")),
            None => self.scheduling.check(document),
        }
    }
}
