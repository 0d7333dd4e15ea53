//! Costs of launches, copies and fills beside their work.

use crate::gpu_file::{Document, SpecificationError};
use crate::specification::GpuSpec;

crate::specification! {
    /// Launch overhead.
    pub struct LaunchSpec in "launch" {
        /// Start of a launch to start of its first CTA.
        launch: u32 ["core cycles"],
        /// End of the last CTA to end of the launch.
        drain: u32 ["core cycles"],
        /// Data caches, constant caches and the L2 TLB are empty at every launch start, and
        /// instruction caches hold the kernel, as under a profiler.
        cold: bool ["flag"],
    }
}

impl LaunchSpec {
    pub(crate) fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        match self {
            LaunchSpec { launch, .. } if *launch > 1 << 24 => {
                Err(document.wrong("launch", "launch", "must be at most 16,777,216 cycles"))
            }
            LaunchSpec { drain, .. } if *drain > 1 << 24 => {
                Err(document.wrong("launch", "drain", "must be at most 16,777,216 cycles"))
            }
            _ => Ok(()),
        }
    }
}

crate::specification! {
    /// Copy engines.
    pub struct CopySpec in "copy" {
        /// Bandwidth between host and device.
        bandwidth: u32 ["MB/s"],
        /// Start of a copy to its first byte.
        latency: u32 ["core cycles"],
        /// Copies pass through L2 and leave their lines there.
        through_l2: bool ["flag"],
    }
}

impl CopySpec {
    pub(crate) fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        match self.bandwidth {
            0 => Err(document.wrong("copy", "bandwidth", "must be at least 1")),
            _ => Ok(()),
        }
    }

    /// Core cycles between the first and the last of so many bytes.
    pub(crate) fn cycles(&self, bytes: u64, core: u32) -> u64 {
        // Bytes over MB/s are microseconds, MHz are cycles in one of them.
        let cycles = u128::from(bytes) * u128::from(core) / u128::from(self.bandwidth);
        u64::try_from(cycles).unwrap_or(u64::MAX)
    }
}

crate::specification! {
    /// Copies within the device and fills. The driver runs them as kernels, so they begin and end
    /// like launches.
    pub struct TransferSpec in "transfer" {
        /// Outstanding lines per SM, reads and writes.
        lines: u32 ["lines"],
        /// Bytes that a copy reads and writes each cycle per SM, at most.
        rate: u32 ["B"],
    }
}

impl TransferSpec {
    pub(crate) fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        match self {
            TransferSpec { lines: 0, .. } => Err(document.wrong("transfer", "lines", "must be at least 1")),
            TransferSpec { rate: 0, .. } => Err(document.wrong("transfer", "rate", "must be at least 1")),
            _ => Ok(()),
        }
    }
}

impl GpuSpec {
    /// Lines of a copy within the device, or of a fill, that are under way at most.
    pub(crate) fn transfer_lines(&self) -> u64 {
        u64::from(self.transfer.lines) * u64::from(self.chip.sms)
    }

    /// Bytes that it reads and writes in a core cycle at most.
    pub(crate) fn transfer_rate(&self) -> u64 {
        u64::from(self.transfer.rate) * u64::from(self.chip.sms)
    }
}
