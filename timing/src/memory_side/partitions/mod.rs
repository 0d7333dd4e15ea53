//! Memory partitions: DRAM channels with their L2 slices, each behind a lock.

mod cells;
mod group;
mod unit;

pub use cells::{Held, PartitionCell, Partitions};
pub use unit::{Clocks, Partition};
