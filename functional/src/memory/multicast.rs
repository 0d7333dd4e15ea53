//! Multicast addresses, which stand for memory of several devices at once (CUDA driver API, "Multicast
//! Object Management"). Only `multimem` instructions can access them.

use std::fmt;

use super::Memory;

/// Looks up the replicas of `bytes` bytes at a multicast address: one address per device. Empty for other
/// addresses, or if a replica is not allocated.
pub type FindReplicas = Box<dyn Fn(u64, u32) -> Vec<u64> + Send + Sync>;

pub(super) struct Multicast(FindReplicas);

impl fmt::Debug for Multicast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Multicast")
    }
}

impl Memory {
    /// Sets the lookup of multicast addresses; callable once. Replicas must stay allocated while kernels
    /// run.
    pub fn find_replicas_by(&self, find: FindReplicas) {
        let _ = self.multicast.set(Multicast(find));
    }

    /// Addresses of the replicas of `bytes` bytes at `address`; empty for an ordinary address.
    pub(crate) fn replicas(&self, address: u64, bytes: u32) -> Vec<u64> {
        self.multicast.get().map_or_else(Vec::new, |multicast| (multicast.0)(address, bytes))
    }
}
