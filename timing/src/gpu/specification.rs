//! What a launch and a copy cost beside their work.

use crate::specification::{Document, SpecificationError};

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
        /// Bytes a second between host and device. A copy within the device is as fast as its memory.
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
