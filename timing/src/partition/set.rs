//! All partitions, each behind a lock, so that threads can run different ones at the same time.
//!
//! A partition's cycles depend on nothing but itself and what has come to it before, so results do not depend on who runs it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Clocks, Partition};
use crate::dram::Timing;
use crate::l2::Outbox;
use crate::specification::GpuSpec;

/// A partition, with what it tells the rest of the memory side.
#[derive(Debug)]
pub struct Bay {
    /// The partition.
    pub partition: Partition,
    /// What it has said since this was last emptied.
    pub outbox: Outbox,
}

/// All partitions. Copies of this are handles of the same ones.
#[derive(Debug, Clone)]
pub struct Partitions {
    gpu: Arc<GpuSpec>,
    clocks: Clocks,
    bays: Arc<[Mutex<Bay>]>,
    /// Core cycle from which on they run.
    from: Arc<AtomicU64>,
}

impl Partitions {
    /// Idle ones with cold caches.
    pub fn new(gpu: &Arc<GpuSpec>, clocks: Clocks, timing: &Timing) -> Partitions {
        let bay =
            |channel| Bay { partition: Partition::new(gpu, timing, channel), outbox: Outbox::default() };
        Partitions {
            gpu: Arc::clone(gpu),
            clocks,
            bays: (0..gpu.partition.channels).map(|channel| Mutex::new(bay(channel))).collect(),
            from: Arc::default(),
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.bays.len()
    }

    /// The partition of a channel. One whose thread panicked is as it was then; the panic goes on elsewhere.
    pub fn lock(&self, channel: usize) -> MutexGuard<'_, Bay> {
        self.bays[channel].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All of them, one after the other.
    pub fn each(&self) -> impl Iterator<Item = MutexGuard<'_, Bay>> {
        (0..self.bays.len()).map(|channel| self.lock(channel))
    }

    /// They run from a core cycle on now.
    pub fn begin(&self, cycle: u64) {
        self.from.store(cycle, Ordering::Relaxed);
    }

    /// Runs a channel's partition to a core cycle.
    pub fn run(&self, channel: usize, until: u64) {
        let Bay { partition, outbox } = &mut *self.lock(channel);
        partition.run(&self.gpu, &self.clocks, self.from.load(Ordering::Relaxed), until, outbox);
    }
}
