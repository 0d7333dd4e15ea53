//! Minimum gaps between commands, derived from the specification.

use super::DramSpec;

/// Cycles between commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Length of a burst on the bus.
    pub burst: u64,
    /// Read command to end of data.
    pub read_data: u64,
    /// Read to write.
    pub read_to_write: u64,
    /// Write to read.
    pub write_to_read: u64,
    /// Write to precharge.
    pub write_to_precharge: u64,
    /// Refresh command to refresh command.
    pub refresh_interval: u64,
}

impl Timing {
    /// The gaps for a specification.
    pub fn new(spec: &DramSpec) -> Timing {
        let burst = u64::from(spec.burst / spec.beats_per_cycle);
        let refi = u64::from(spec.refi);
        let read_data = u64::from(spec.cl) + burst;
        let write_data = u64::from(spec.wl) + burst;
        Timing {
            burst,
            read_data,
            read_to_write: (read_data + u64::from(spec.turnaround)).saturating_sub(u64::from(spec.wl)).max(1),
            write_to_read: write_data + u64::from(spec.wtr),
            write_to_precharge: write_data + u64::from(spec.wr),
            refresh_interval: match spec.refresh {
                super::RefreshMode::PerBank => refi / u64::from(spec.banks),
                _ => refi,
            },
        }
    }
}
