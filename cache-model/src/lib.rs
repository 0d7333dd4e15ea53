//! Reuse-distance model of GPU caches (Nugteren et al., "A Detailed GPU Cache Model Based on Reuse
//! Distance Theory", HPCA 2014).
//!
//! The model needs no cycles. A functional run leaves the accesses of each warp ([`accesses`]).
//! The model finds an order for the accesses: CTAs on cores, a FIFO queue of warps per core,
//! half-normal latencies, MSHRs. Reuse stacks per set then tell hits from misses, and the
//! kind of each miss. Beyond the paper the model has sectors, an L2, barriers and stores.

pub mod accesses;
pub mod column_copy;
pub mod model;
pub mod rates;
pub mod report;
pub mod runner;
pub mod sweep;
