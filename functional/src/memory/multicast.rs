//! Addresses that stand for memory of several devices at once (CUDA driver API, "Multicast Object Management"). They are
//! no memory of their own, so that only the `multimem` instructions reach anything there.

use std::fmt;

use super::Memory;

/// Finds the places that bytes from an address on stand for: the address of the first byte in each device's memory.
/// Nothing where the address is no such address, or the bytes are not in memory everywhere.
pub type FindReplicas = Box<dyn Fn(u64, u32) -> Vec<u64> + Send + Sync>;

pub(super) struct Multicast(FindReplicas);

impl fmt::Debug for Multicast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Multicast")
    }
}

impl Memory {
    /// Says what addresses stand for several devices' memory; set once. What is found must stay in memory while kernels
    /// run.
    pub fn find_replicas_by(&self, find: FindReplicas) {
        let _ = self.multicast.set(Multicast(find));
    }

    /// The places that bytes from an address on stand for; none if it is an ordinary address.
    pub(crate) fn replicas(&self, address: u64, bytes: u32) -> Vec<u64> {
        self.multicast.get().map_or_else(Vec::new, |multicast| (multicast.0)(address, bytes))
    }
}
