//! Statistics of device copies and fills.

use serde::{Deserialize, Serialize};

use super::written;
use crate::dram::ChannelCounts;
use crate::statistics::Counts;

/// Statistics of one device copy or fill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferRecord {
    /// True for a fill.
    pub is_fill: bool,
    /// Number of the stream.
    pub stream: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Core cycle of the start.
    pub start: u64,
    /// Duration in core cycles.
    pub cycles: u64,
    /// Launches or other transfers ran at the same time; the counts cover all of them.
    pub shared: bool,
    /// Counts during the transfer, in the order of units.
    #[serde(with = "written")]
    pub counters: Counts,
    /// Counts of each DRAM channel; empty if DRAM was idle.
    pub channels: Vec<ChannelCounts>,
}

impl TransferRecord {
    /// Name in the kernel column.
    pub fn name(&self) -> &'static str {
        if self.is_fill { "[fill]" } else { "[copy within the device]" }
    }
}
