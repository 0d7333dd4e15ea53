//! Checksums of memory after launches, by which two runs are compared: the first launch after which they differ, and where.
//!
//! A file of lines with tabs between words, so that it can be looked at: of each launch what has changed since the one before it. Each
//! launch ends with a digest of the file so far, and the file with a line that counts the launches; what was damaged or cut off is found.

mod difference;
mod digest;
mod reader;
mod writer;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use functional::memory::{Allocation, AllocationKind};

use crate::step::Digest;

pub use difference::{Compared, first_difference};
pub use digest::{MemoryDigester, Unreadable};
pub use reader::{ChecksumsError, ChecksumsReader, Launch};
pub use writer::ChecksumsWriter;

/// How each such file begins.
const MAGIC: &str = "voltsim checksums";
/// The format's version.
const FORMAT: u64 = 1;

/// Words with which lines begin.
mod word {
    pub(super) const PROGRAM: &str = "program";
    pub(super) const EVERY: &str = "every";
    pub(super) const LAUNCH: &str = "launch";
    pub(super) const HAS: &str = "has";
    pub(super) const LOST: &str = "lost";
    pub(super) const SUM: &str = "sum";
    pub(super) const END: &str = "end";
}

/// Is this a file of checksums, by how it begins?
pub fn is_checksums(file: &Path) -> bool {
    let mut beginning = [0; MAGIC.len()];
    let read =
        std::fs::File::open(file).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut beginning));
    read.is_ok() && beginning == *MAGIC.as_bytes()
}

/// An allocation, by what is the same in each run of a program that makes the same calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// Number of the device.
    pub device: u64,
    /// Who asked for it.
    pub kind: AllocationKind,
    /// Of a kind that calls of the program ask for, how many of it they have asked for on the device, this one counted. Kernels
    /// ask in any order: of theirs, which one it is of those that are there, from the highest address, where they begin.
    pub number: u64,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "device {}, {:?} allocation {}", self.device, self.kind, self.number)
    }
}

/// What an allocation is and holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// Where it lies.
    pub address: u64,
    /// Bytes.
    pub size: u64,
    /// Of what is in it.
    pub digest: Digest,
}

/// What is in memory, by allocation.
pub type Sums = BTreeMap<Name, Sum>;

/// Names the allocations of a device, which are in the order of their addresses. What holds nothing and parameters of launches are
/// left out.
fn named(device: u64, allocations: &[Allocation]) -> Vec<(Name, Allocation)> {
    let counts = |allocation: &&Allocation| allocation.kind != AllocationKind::Parameters && !allocation.idle;
    let mut of_kernels = 0;
    let named = allocations.iter().rev().filter(counts).map(|allocation| {
        let kind = allocation.kind;
        of_kernels += u64::from(kind.is_of_kernels());
        let number = if kind.is_of_kernels() { of_kernels } else { allocation.number };
        (Name { device, kind, number }, *allocation)
    });
    named.collect()
}
