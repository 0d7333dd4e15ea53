//! What was executed before a launch, as far as caches have traces of it.

use serde::{Deserialize, Serialize};

/// Accesses to a line of 128 bytes of device memory; its four sectors are bits, the lowest that of the lowest address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// Address of the line.
    pub line: u64,
    /// Sectors that were read.
    pub read: u8,
    /// Sectors that were written.
    pub written: u8,
}

/// What came before a launch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    /// Lines that were accessed, the last one at the end.
    pub traces: Vec<Trace>,
    /// Addresses of the pages of [`Past::PAGE`] bytes that kernels, not copies, have accessed.
    pub pages: Vec<u64>,
    /// Whether the kernel was executed.
    pub has_code: bool,
}

impl Past {
    /// Bytes of a page; GPUs may have smaller ones.
    pub const PAGE: u64 = 2 << 20;

    /// Addresses of the pages that have some of these bytes.
    pub fn pages_of(address: u64, bytes: u64) -> impl Iterator<Item = u64> {
        let last = address.saturating_add(bytes.max(1) - 1) / Past::PAGE;
        (address / Past::PAGE..=last).map(|page| page * Past::PAGE)
    }
}
