//! What launches, copies and fills cost beside their work.

use crate::specification::{Document, GpuSpec, SpecificationError};

crate::specification! {
    /// Launches.
    pub struct LaunchSpec in "launch" {
        /// From the start of a launch to the start of its first CTA.
        launch: u32 ["core cycles"],
        /// From the end of the last CTA to the end of the launch.
        drain: u32 ["core cycles"],
        /// All caches are empty when a launch starts, as under a profiler.
        cold: bool ["flag"],
    }
}

impl LaunchSpec {
    pub(crate) fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        match self {
            LaunchSpec { launch, .. } if *launch > 1 << 24 => {
                Err(document.wrong("launch", "launch", "more than 16,777,216 cycles"))
            }
            LaunchSpec { drain, .. } if *drain > 1 << 24 => {
                Err(document.wrong("launch", "drain", "more than 16,777,216 cycles"))
            }
            _ => Ok(()),
        }
    }
}

crate::specification! {
    /// Copy engines.
    pub struct CopySpec in "copy" {
        /// Bytes a second between host and device.
        bandwidth: u32 ["MB/s"],
        /// From the start of a copy to its first byte.
        latency: u32 ["core cycles"],
        /// Copies go through L2 and leave their lines there.
        through_l2: bool ["flag"],
    }
}

impl CopySpec {
    pub(crate) fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        match self.bandwidth {
            0 => Err(document.wrong("copy", "bandwidth", "no copy would end")),
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
    /// Copies within the device, and fills: kernels of the driver, which begin and end like launches.
    pub struct TransferSpec in "transfer" {
        /// Lines under way, reads and writes, for each SM.
        lines: u32 ["lines"],
        /// Bytes of lines that are read and written each cycle, at most, for each SM.
        rate: u32 ["B"],
    }
}

impl TransferSpec {
    pub(crate) fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        match self {
            TransferSpec { lines: 0, .. } => {
                Err(document.wrong("transfer", "lines", "no copy or fill would end"))
            }
            TransferSpec { rate: 0, .. } => {
                Err(document.wrong("transfer", "rate", "no copy or fill would end"))
            }
            _ => Ok(()),
        }
    }
}

impl GpuSpec {
    /// Lines of a copy within the device, or of a fill, that are under way at most.
    pub(super) fn transfer_lines(&self) -> u64 {
        u64::from(self.transfer.lines) * u64::from(self.chip.sms)
    }

    /// Bytes that it reads and writes in a core cycle at most.
    pub(super) fn transfer_rate(&self) -> u64 {
        u64::from(self.transfer.rate) * u64::from(self.chip.sms)
    }
}
