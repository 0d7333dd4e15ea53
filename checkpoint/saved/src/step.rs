//! Steps: operations that a program requested of a device, with their results. A resumed run skips
//! them.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use warp_stream::LaunchShape;

/// 128 bits of BLAKE3.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Digest([u8; 16]);

impl Digest {
    /// Digest of bytes.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest::so_far(blake3::Hasher::new().update(bytes))
    }

    /// Digest of a file's contents.
    pub fn of_file(file: &Path) -> io::Result<Digest> {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(File::open(file)?)?;
        Ok(Digest::so_far(&hasher))
    }

    /// Digest of a hasher's input so far.
    pub(crate) fn so_far(hasher: &blake3::Hasher) -> Digest {
        let mut digest = [0; 16];
        hasher.finalize_xof().fill(&mut digest);
        Digest(digest)
    }
}

/// Malformed digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoDigest;

impl FromStr for Digest {
    type Err = NoDigest;

    fn from_str(text: &str) -> Result<Digest, NoDigest> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let number = u128::from_str_radix(text, 16).map_err(|_| NoDigest)?;
        let is_whole = text.len() == 32 && text.bytes().all(is_digit);
        is_whole.then_some(Digest(number.to_be_bytes())).ok_or(NoDigest)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// An address that devices reach, in a form equal in every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Address {
    /// Address in memory that keeps its place.
    Same(u64),
    /// Address in host memory, which may move in the next run.
    Registered {
        /// Device of the registration.
        device: u64,
        /// Number of the registration on the device, from 1.
        number: u64,
        /// Offset in bytes.
        offset: u64,
    },
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Same(address) => write!(f, "{address:#x}"),
            Address::Registered { device, number, offset } => {
                write!(f, "byte {offset} of registration {number} with device {device}")
            }
        }
    }
}

/// One end of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// Device memory, or host memory that devices reach.
    Device(Address),
    /// Other host memory, which may move in the next run.
    Host,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Device(address) => address.fmt(f),
            End::Host => f.write_str("the host"),
        }
    }
}

/// Arguments of a launch, in a form equal in every run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arguments {
    /// Offsets of the relevant bytes: those that the launch read, if only execution shows them;
    /// else `None`, for those that the kernel's code may read.
    pub read: Option<Vec<Range<u64>>>,
    /// Digest of these bytes.
    pub digest: Digest,
}

impl fmt::Display for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "arguments {}", self.digest)?;
        let bytes = |read: &Vec<Range<u64>>| {
            let lengths = read.iter().map(|range| range.end.saturating_sub(range.start));
            lengths.fold(0, u64::saturating_add)
        };
        self.read.as_ref().map_or(Ok(()), |read| write!(f, " (of {} relevant bytes)", bytes(read)))
    }
}

/// A requested operation; equal in every run, or the runs differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Asked {
    /// A launch.
    Kernel {
        /// Launch number, from 1.
        launch: u64,
        /// Mangled name of the kernel.
        name: String,
        /// CTAs of the grid and threads of a CTA.
        shape: LaunchShape,
        /// Dynamic shared memory in bytes.
        shared: u64,
        /// Arguments of the call.
        arguments: Arguments,
        /// Digest of the module's PTX.
        code: Digest,
    },
    /// A copy.
    Copy {
        /// Destination.
        to: End,
        /// Source.
        from: End,
        /// Bytes per row, rows, slices.
        extent: [u64; 3],
        /// Digest of the bytes, if they come from the host.
        sent: Option<Digest>,
    },
    /// A fill.
    Fill {
        /// First byte.
        address: u64,
        /// Bytes per row, rows, slices.
        extent: [u64; 3],
        /// Fill value.
        value: u32,
    },
    /// Choice of a conditional graph node's body.
    Choice,
    /// A stream's wait for a word in memory.
    Wait {
        /// Address of the word.
        address: Address,
    },
}

impl Asked {
    /// True for launches that differ in their arguments alone.
    pub fn differs_by_arguments(&self, other: &Asked) -> bool {
        let mut same = self.clone();
        if let (Asked::Kernel { arguments, .. }, Asked::Kernel { arguments: theirs, .. }) = (&mut same, other)
        {
            arguments.clone_from(theirs);
        }
        self != other && same == *other
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Asked::Kernel { launch, name, shape: LaunchShape { grid, block }, shared, arguments, code } => {
                write!(
                    f,
                    "launch {launch}, kernel {name}, grid {grid:?}, CTA {block:?}, {shared} bytes of dynamic shared memory, \
                 {arguments}, code {code}"
                )
            }
            Asked::Copy { to, from, extent, sent } => {
                write!(f, "copy of {extent:?} bytes, rows, slices from {from} to {to}")?;
                sent.map_or(Ok(()), |sent| write!(f, ", contents {sent}"))
            }
            Asked::Fill { address, extent, value } => {
                write!(f, "fill of {extent:?} bytes, rows, slices at {address:#x} with {value:#x}")
            }
            Asked::Choice => f.write_str("choice of a conditional node"),
            Asked::Wait { address } => write!(f, "wait for the word at {address}"),
        }
    }
}

/// Results of a step for the host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Rows that a copy brought to the host, without gaps.
    pub received: Option<Vec<u8>>,
    /// Writes of a kernel to memory that the host sees: addresses and bytes.
    pub written: Vec<(Address, Vec<u8>)>,
    /// Output printed by a kernel.
    pub printed: Vec<u8>,
    /// Body chosen by a conditional node.
    pub choice: Option<u64>,
    /// Sticky error code (`cudaError_t`) of the step.
    pub fault: Option<i32>,
    /// Simulated time at completion in nanoseconds; 0 without a model.
    pub nanoseconds: u64,
}

/// A step of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Number of the request, from 1, in the order of calls.
    pub number: u64,
    /// Request.
    pub asked: Asked,
    /// Result.
    pub outcome: Outcome,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_round_trips_as_text() {
        let digest = Digest::of(b"volta");
        assert_eq!(digest.to_string().parse(), Ok(digest));
        for text in ["", "0", "+0000000000000000000000000000001", &digest.to_string()[1..], "é"] {
            assert_eq!(text.parse::<Digest>(), Err(NoDigest), "{text}");
        }
    }
}
