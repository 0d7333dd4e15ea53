//! Checksums of memory after launches. A comparison of two runs finds the first launch after which
//! they differ, and the allocations.
//!
//! The file is readable text: lines of words with tabs between, which list the changes of each
//! launch. A launch ends with a digest of the file so far, the file with a count of launches, so
//! damage and truncation are detected.

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

/// First word of every such file.
const MAGIC: &str = "voltsim checksums";
/// Version of the format.
const FORMAT: u64 = 1;

/// First words of lines.
mod word {
    pub(super) const PROGRAM: &str = "program";
    pub(super) const EVERY: &str = "every";
    pub(super) const LAUNCH: &str = "launch";
    pub(super) const HAS: &str = "has";
    pub(super) const LOST: &str = "lost";
    pub(super) const SUM: &str = "sum";
    pub(super) const END: &str = "end";
}

/// True if the file begins like a file of checksums.
pub fn is_checksums(file: &Path) -> bool {
    let mut beginning = [0; MAGIC.len()];
    let read =
        std::fs::File::open(file).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut beginning));
    read.is_ok() && beginning == *MAGIC.as_bytes()
}

/// Identity of an allocation in every run of a program that makes the same calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// Number of the device.
    pub device: u64,
    /// Origin of the allocation.
    pub kind: AllocationKind,
    /// For API allocations: their count of this kind on the device, this one included. For kernel
    /// allocations, which come in any order: position from the highest address down.
    pub number: u64,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "device {}, {:?} allocation {}", self.device, self.kind, self.number)
    }
}

/// Address, size and contents of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// Address.
    pub address: u64,
    /// Bytes.
    pub size: u64,
    /// Digest of the contents.
    pub digest: Digest,
}

/// Allocations and their contents.
pub type Sums = BTreeMap<Name, Sum>;

/// Names a device's allocations, given in address order. Empty ones and launch parameters are left
/// out.
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
