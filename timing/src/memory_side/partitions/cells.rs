//! All partitions, each behind a lock, so that threads can run them in parallel.
//!
//! A partition's cycles depend only on itself and its inputs, so results do not depend on threads.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Clocks, Partition};
use crate::l2::Outbox;
use crate::specification::GpuSpec;

/// A partition with its output.
#[derive(Debug)]
pub struct PartitionCell {
    /// The partition.
    pub partition: Partition,
    /// Output not yet collected.
    pub outbox: Outbox,
}

/// All partitions. Clones are handles of the same ones.
#[derive(Debug, Clone)]
pub struct Partitions {
    gpu: Arc<GpuSpec>,
    clocks: Clocks,
    cells: Arc<[Mutex<PartitionCell>]>,
}

impl Partitions {
    /// Partitions, one per channel.
    pub fn new(gpu: &Arc<GpuSpec>, clocks: Clocks, partitions: Vec<Partition>) -> Partitions {
        let cell = |partition| Mutex::new(PartitionCell { partition, outbox: Outbox::default() });
        Partitions { gpu: Arc::clone(gpu), clocks, cells: partitions.into_iter().map(cell).collect() }
    }

    /// Number of partitions.
    pub fn count(&self) -> usize {
        self.cells.len()
    }

    /// Partition of a channel. After a panic the state stays as it was; the panic propagates
    /// elsewhere.
    pub fn lock(&self, channel: usize) -> MutexGuard<'_, PartitionCell> {
        self.cells[channel].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Partitions locked on first use, in any order.
    pub fn hold(&self) -> Held<'_> {
        Held { partitions: self, cells: Vec::new() }
    }

    /// All partitions, one after the other.
    pub fn each(&self) -> impl Iterator<Item = MutexGuard<'_, PartitionCell>> {
        (0..self.cells.len()).map(|channel| self.lock(channel))
    }

    /// Runs a channel's partition to a core cycle.
    pub fn run(&self, channel: usize, until: u64) {
        let PartitionCell { partition, outbox } = &mut *self.lock(channel);
        partition.run(&self.gpu, &self.clocks, until, outbox);
    }
}

/// Partitions locked on first use until dropped: a lock per request would cost more than the work
/// under it.
pub struct Held<'p> {
    partitions: &'p Partitions,
    /// One entry per partition after the first use; in most epochs of an idle GPU there is none.
    cells: Vec<Option<MutexGuard<'p, PartitionCell>>>,
}

impl Held<'_> {
    /// Partition of a channel.
    pub fn get(&mut self, channel: usize) -> &mut PartitionCell {
        if self.cells.is_empty() {
            self.cells.resize_with(self.partitions.count(), || None);
        }
        self.cells[channel].get_or_insert_with(|| self.partitions.lock(channel))
    }
}
