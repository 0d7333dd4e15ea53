//! All partitions, each behind a lock, so that threads can run different ones at the same time.
//!
//! A partition's cycles depend on nothing but itself and what has come to it before, so results do not depend on who runs it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Clocks, Partition};
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
}

impl Partitions {
    /// These, one for each channel.
    pub fn new(gpu: &Arc<GpuSpec>, clocks: Clocks, partitions: Vec<Partition>) -> Partitions {
        let bay = |partition| Mutex::new(Bay { partition, outbox: Outbox::default() });
        Partitions { gpu: Arc::clone(gpu), clocks, bays: partitions.into_iter().map(bay).collect() }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.bays.len()
    }

    /// The partition of a channel. One whose thread panicked is as it was then; the panic goes on elsewhere.
    pub fn lock(&self, channel: usize) -> MutexGuard<'_, Bay> {
        self.bays[channel].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those that are wanted one after the other, in any order.
    pub fn hold(&self) -> Held<'_> {
        Held { partitions: self, bays: Vec::new() }
    }

    /// All of them, one after the other.
    pub fn each(&self) -> impl Iterator<Item = MutexGuard<'_, Bay>> {
        (0..self.bays.len()).map(|channel| self.lock(channel))
    }

    /// Runs a channel's partition to a core cycle.
    pub fn run(&self, channel: usize, until: u64) {
        let Bay { partition, outbox } = &mut *self.lock(channel);
        partition.run(&self.gpu, &self.clocks, until, outbox);
    }
}

/// Partitions that are locked when they are first wanted, until this goes: a lock for each request would take longer than what is
/// done with it.
pub struct Held<'p> {
    partitions: &'p Partitions,
    /// One for each, once one is wanted: in most epochs of an idle GPU none is.
    bays: Vec<Option<MutexGuard<'p, Bay>>>,
}

impl Held<'_> {
    /// The partition of a channel.
    pub fn get(&mut self, channel: usize) -> &mut Bay {
        if self.bays.is_empty() {
            self.bays.resize_with(self.partitions.count(), || None);
        }
        self.bays[channel].get_or_insert_with(|| self.partitions.lock(channel))
    }
}
