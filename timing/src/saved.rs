//! What a checkpoint has of a device's timing model: the GPU, and the launches that were timed so far.

use voltsim_checkpoint::codec::{self, CodecError};

use crate::gpu::GpuState;
use crate::report::Report;

/// Version of the bytes. The next one is due whenever a `State` of a unit, or a record of a launch, has other fields, or fields that
/// mean something else: a file of the version before is refused then, and not misread.
pub const VERSION: u32 = 21;

/// Bytes of it in memory, at most.
const LIMIT: usize = 1 << 32;

/// As bytes.
///
/// # Errors
/// There are none that say it.
pub fn encode(gpu: &GpuState, report: &Report) -> Result<Vec<u8>, CodecError> {
    codec::encode(&(gpu, report))
}

/// What bytes of this version say; [`Gpu::restore`](crate::gpu::Gpu::restore) finds out whether it can be.
///
/// # Errors
/// They say nothing.
pub fn decode(bytes: &[u8]) -> Result<(GpuState, Report), CodecError> {
    codec::decode::<LIMIT, _>(bytes)
}

#[cfg(test)]
mod tests {
    use std::hash::{Hash, Hasher};

    use super::*;
    use voltsim_checkpoint::layout;

    /// The version, and what tells its layout from others. Where that is another, the version has to be the next one.
    const LAYOUT: (u32, u64) = (21, 2_560_696_036_608_100_099);

    #[test]
    fn a_state_that_is_laid_out_otherwise_has_another_version() {
        let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
        layout::of::<(GpuState, Report)>().unwrap().hash(&mut hasher);
        assert_eq!((VERSION, hasher.finish()), LAYOUT);
    }

    /// FNV-1a, which is the same everywhere.
    struct Fnv(u64);

    impl Hasher for Fnv {
        fn finish(&self) -> u64 {
            self.0
        }

        fn write(&mut self, bytes: &[u8]) {
            for byte in bytes {
                self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
    }
}
