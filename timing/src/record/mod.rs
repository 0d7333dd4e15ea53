//! Records of what was timed: launches, and copies and fills of device memory.

mod source_counts;
mod transfer;
mod written;

use serde::{Deserialize, Serialize};
use warp_stream::{LaunchShape, RegisterSource};

use crate::dram::ChannelCounts;
use crate::series::Series;
use crate::sm::Occupancy;
use crate::statistics::Counts;
pub use source_counts::{PcRow, SourceCounts, stalls};
pub use transfer::TransferRecord;
pub use written::not_modelled;

/// Statistics of one launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchRecord {
    /// Number of the launch in the run, from 1.
    pub launch: u64,
    /// Mangled name of the kernel.
    pub kernel: String,
    /// Number of the stream.
    pub stream: u64,
    /// CTAs of the grid and threads of a CTA.
    pub shape: LaunchShape,
    /// 32-bit registers of a thread.
    pub registers: u32,
    /// Origin of the number of registers.
    pub register_source: RegisterSource,
    /// Bytes of shared memory of a CTA.
    pub shared_bytes: u32,
    /// CTAs that fit an SM, and the limiting resource.
    pub occupancy: Occupancy,
    /// Core cycle of the start.
    pub start: u64,
    /// Duration in core cycles.
    pub cycles: u64,
    /// Warp instructions issued.
    pub warp_instructions: u64,
    /// Other launches or transfers ran at the same time; the counts then cover all of them since
    /// the previous end.
    pub shared: bool,
    /// Simulated part of an extrapolated launch. Cycles, instructions and counts are then
    /// extrapolated to the whole launch.
    pub simulated: Option<Simulated>,
    /// Counts during the launch, in the order of units.
    #[serde(with = "written")]
    pub counters: Counts,
    /// Counts of each DRAM channel, by pseudo-channel; empty if DRAM was idle.
    pub channels: Vec<ChannelCounts>,
    /// Counts over time of the simulated part. A report keeps them apart; a checkpoint has none.
    #[serde(skip)]
    pub series: Option<Series>,
    /// Counts by program counter of the simulated part, kept as the series are.
    #[serde(skip)]
    pub source_counts: Option<SourceCounts>,
}

/// Simulated part of an extrapolated launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Simulated {
    /// CTAs simulated, from the first.
    pub ctas: u64,
    /// Core cycles simulated.
    pub cycles: u64,
    /// Warp instructions issued.
    pub warp_instructions: u64,
    /// Error bound of the extrapolated core cycles.
    pub unsure: u64,
}

impl LaunchRecord {
    /// Core cycles simulated.
    pub fn simulated_cycles(&self) -> u64 {
        self.simulated.map_or(self.cycles, |simulated| simulated.cycles)
    }

    /// Error bound of the core cycles.
    pub fn unsure_cycles(&self) -> u64 {
        self.simulated.map_or(0, |simulated| simulated.unsure)
    }
}
