//! Memory partitions at work: each is a DRAM channel with its L2 slices, behind a lock.

mod cells;
mod group;
mod unit;

pub use cells::{PartitionCell, Partitions};
pub use unit::{Clocks, Partition};
