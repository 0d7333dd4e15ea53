//! The timing model in a checkpoint: the state of the GPU, and the launches that were timed so far.
//!
//! The bytes name the version of each unit's state. A unit whose state has another version is
//! refused by name before anything is read. Counters are part of no version: [they are saved by
//! name](timing::statistics::saved).

use voltsim_checkpoint::codec::{self, CodecError};

use crate::Report;
use timing::gpu::GpuState;

/// Version of the bytes as a whole: the table of units, and a value behind it.
pub const VERSION: u32 = 22;

/// Units with the versions of their states. A version is raised when the fields of the unit's
/// `State` change, or their meaning.
const UNITS: &[(&str, u32)] =
    &[("the GPU", 4), ("SMs", 2), ("the crossbar", 2), ("L2 slices", 1), ("DRAM channels", 2)];

/// Most bytes of a state in memory.
const LIMIT: usize = 1 << 32;

/// Why bytes hold no state that this build can read.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The bytes hold no value.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// A unit's state has another version.
    #[error("the state of {unit} has version {saved}; this build reads version {here}")]
    Unit {
        /// The unit.
        unit: &'static str,
        /// Version in the bytes; 0 if they have no such unit.
        saved: u32,
        /// Version of this build.
        here: u32,
    },
}

/// The state as bytes.
///
/// # Errors
/// A record of the report cannot be read from its temporary file.
pub fn encode(gpu: &GpuState, report: &Report) -> Result<Vec<u8>, CodecError> {
    encode_as(UNITS, gpu, report)
}

fn encode_as(units: &[(&str, u32)], gpu: &GpuState, report: &Report) -> Result<Vec<u8>, CodecError> {
    codec::encode(&(units, codec::encode(&(gpu, report))?))
}

/// The state in bytes; [`Gpu::restore`](timing::gpu::Gpu::restore) checks whether the GPU can be in
/// that state.
///
/// # Errors
/// The bytes hold no state, or one with another version of a unit.
pub fn decode(bytes: &[u8]) -> Result<(GpuState, Report), DecodeError> {
    let (units, state) = codec::decode::<LIMIT, (Vec<(String, u32)>, Vec<u8>)>(bytes)?;
    for &(unit, here) in UNITS {
        let saved = units.iter().find(|(name, _)| name == unit).map_or(0, |(_, version)| *version);
        if saved != here {
            return Err(DecodeError::Unit { unit, saved, here });
        }
    }
    Ok(codec::decode::<LIMIT, _>(&state)?)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::hash::{Hash, Hasher};
    use std::sync::Arc;

    use super::*;
    use timing::gpu::Gpu;
    use timing::specification::GpuSpec;
    use voltsim_checkpoint::layout;
    use warp_stream::LaunchShape;

    /// Units with the versions of their states and the hashes of their layouts. Where a hash
    /// differs, the version in [`UNITS`] has to be raised. The version stays where a test shows that
    /// fields only moved into a struct and have the same bytes, as with [`LaunchShape`].
    const LAYOUTS: &[(&str, u32, u64)] = &[
        ("DRAM channels", 2, 15_519_396_562_806_585_006),
        ("L2 slices", 1, 16_223_511_641_234_986_281),
        ("SMs", 2, 16_065_437_701_365_762_404),
        ("the GPU", 4, 16_953_146_786_861_978_227),
        ("the crossbar", 2, 6_414_986_854_158_108_563),
    ];

    /// The unit whose state has a field, by the fields that lead there.
    fn unit_of(path: &str) -> &'static str {
        let has = |field: &str| path.split('.').any(|name| name.ends_with(&format!(":{field}")));
        match () {
            () if has("sms") => "SMs",
            () if has("partitions") && has("slices") => "L2 slices",
            () if has("partitions") && has("channels") => "DRAM channels",
            () if has("memory") && (has("requests") || has("replies")) => "the crossbar",
            () => "the GPU",
        }
    }

    #[test]
    fn a_unit_whose_layout_changes_has_another_version() {
        let mut hashers = BTreeMap::new();
        for line in layout::of::<(GpuState, Report)>().unwrap().lines() {
            let path = line.split(": ").next().unwrap_or_default();
            line.hash(hashers.entry(unit_of(path)).or_insert(Fnv(0xcbf2_9ce4_8422_2325)));
        }
        let version = |unit| UNITS.iter().find(|(name, _)| *name == unit).unwrap().1;
        let found: Vec<_> =
            hashers.iter().map(|(unit, hash)| (*unit, version(*unit), hash.finish())).collect();
        assert_eq!(found, LAYOUTS);
    }

    #[test]
    fn a_shape_has_the_bytes_of_grid_and_block() {
        let (grid, block) = ([1_u32, 70_000, 3], [300_u32, 2, 1]);
        let shape = codec::encode(&LaunchShape::new(grid, block)).unwrap();
        assert_eq!(shape, codec::encode(&(grid, block)).unwrap());
    }

    #[test]
    fn a_unit_of_another_version_is_refused_by_name() {
        let gpu = Gpu::new(&Arc::new(GpuSpec::built_in("tiny").unwrap())).state();
        let report = Report::new("tiny");
        let refused = |units: &[(&str, u32)]| {
            let bytes = encode_as(units, &gpu, &report).unwrap();
            decode(&bytes).map(|_| ()).map_err(|error| error.to_string())
        };
        assert_eq!(refused(UNITS), Ok(()));
        let others: Vec<_> = UNITS
            .iter()
            .map(|(unit, version)| (*unit, version + u32::from(unit.starts_with("DRAM"))))
            .collect();
        let said = "the state of DRAM channels has version 3; this build reads version 2";
        assert_eq!(refused(&others), Err(said.to_owned()));
        assert!(refused(&UNITS[1..]).unwrap_err().starts_with("the state of the GPU has version 0"));
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
