//! What accesses leave in a cache.

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
