//! What a program has asked a device for, and what came of it: the steps that a resumed run does not execute again.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// 128 bits of BLAKE3.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Digest([u8; 16]);

impl Digest {
    /// Of bytes.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest::so_far(blake3::Hasher::new().update(bytes))
    }

    /// Of what a file holds.
    pub fn of_file(file: &Path) -> io::Result<Digest> {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(File::open(file)?)?;
        Ok(Digest::so_far(&hasher))
    }

    /// Of what a hasher has been given so far.
    pub(crate) fn so_far(hasher: &blake3::Hasher) -> Digest {
        let mut digest = [0; 16];
        hasher.finalize_xof().fill(&mut digest);
        Digest(digest)
    }
}

/// Text that is no digest.
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

/// An address that devices reach, by what is the same in each run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Address {
    /// In memory that lies where it lay.
    Same(u64),
    /// In memory of the program's own, which may lie elsewhere in the next run.
    Registered {
        /// Number of the device that it was registered with.
        device: u64,
        /// Counts what was registered with the device, from 1.
        number: u64,
        /// Bytes from the first one.
        offset: u64,
    },
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Same(address) => write!(f, "{address:#x}"),
            Address::Registered { device, number, offset } => {
                write!(f, "byte {offset} of what was registered as number {number} with device {device}")
            }
        }
    }
}

/// One end of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// Memory of a device, or memory of the host that devices reach.
    Device(Address),
    /// Other memory of the program, which may lie elsewhere in the next run.
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

/// A launch's arguments: what is the same in each run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arguments {
    /// Offsets of the bytes that count: those that the launch has read, where only that tells it. Without, what the kernel's code
    /// says that it may read.
    pub read: Option<Vec<Range<u64>>>,
    /// Of these bytes.
    pub digest: Digest,
}

impl fmt::Display for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "arguments {}", self.digest)?;
        let bytes = |read: &Vec<Range<u64>>| {
            let lengths = read.iter().map(|range| range.end.saturating_sub(range.start));
            lengths.fold(0, u64::saturating_add)
        };
        self.read.as_ref().map_or(Ok(()), |read| write!(f, " (of {} bytes that count)", bytes(read)))
    }
}

/// What a program asks for: it is the same in each run, or the runs are not the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Asked {
    /// A launch.
    Kernel {
        /// Its number, from 1.
        launch: u64,
        /// The kernel's name in the PTX.
        name: String,
        /// CTAs along x, y, z.
        grid: [u32; 3],
        /// Threads of a CTA along x, y, z.
        block: [u32; 3],
        /// Dynamic shared memory, bytes.
        shared: u64,
        /// Its arguments.
        arguments: Arguments,
        /// Of the PTX of the kernel's module.
        code: Digest,
    },
    /// A copy.
    Copy {
        /// Where to.
        to: End,
        /// Where from.
        from: End,
        /// Bytes of a row, rows, slices.
        extent: [u64; 3],
        /// Of the bytes, if they come from the host.
        sent: Option<Digest>,
    },
    /// A fill.
    Fill {
        /// First byte.
        address: u64,
        /// Bytes of a row, rows, slices.
        extent: [u64; 3],
        /// What with.
        value: u32,
    },
    /// Which body a conditional node of a graph runs.
    Choice,
    /// A wait of a stream for a word in memory.
    Wait {
        /// The word's address.
        address: Address,
    },
}

impl Asked {
    /// Whether two are launches that have other arguments, and differ in nothing else.
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
            Asked::Kernel { launch, name, grid, block, shared, arguments, code } => write!(
                f,
                "launch {launch}, kernel {name}, grid {grid:?}, CTA {block:?}, {shared} bytes of dynamic shared memory, \
                 {arguments}, code {code}"
            ),
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

/// What the host has got from a step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// What a copy has brought to the host: its rows without gaps.
    pub received: Option<Vec<u8>>,
    /// What a kernel has written to memory that the host sees: addresses and bytes.
    pub written: Vec<(Address, Vec<u8>)>,
    /// What a kernel has printed.
    pub printed: Vec<u8>,
    /// The body that a conditional node has chosen.
    pub choice: Option<u64>,
    /// The code of the error (`cudaError_t`) that it has failed with, which every later call returned.
    pub fault: Option<i32>,
    /// Simulated time when it was over, nanoseconds; 0 without a model.
    pub nanoseconds: u64,
}

/// A step of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Counts, from 1, what the program asks for, in the order of its calls.
    pub number: u64,
    /// What it has asked for.
    pub asked: Asked,
    /// What came of it.
    pub outcome: Outcome,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_written_as_it_is_read() {
        let digest = Digest::of(b"volta");
        assert_eq!(digest.to_string().parse(), Ok(digest));
        for text in ["", "0", "+0000000000000000000000000000001", &digest.to_string()[1..], "é"] {
            assert_eq!(text.parse::<Digest>(), Err(NoDigest), "{text}");
        }
    }
}
