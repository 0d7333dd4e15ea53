//! Fidelities of the block scheduler, and of warp schedulers and issue. Both are simulated in
//! cycles in every mode.

crate::choice! {
    /// Fidelity of the block scheduler.
    pub enum BlockScheduler {
        /// One CTA starts on an SM a cycle, in turn, as resources become free.
        Detailed = "detailed",
    }
}

crate::choice! {
    /// Fidelity of warp schedulers and issue.
    pub enum Issue {
        /// Each warp scheduler picks among its ready warps every cycle.
        Detailed = "detailed",
    }
}
