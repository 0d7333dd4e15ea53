//! Map from addresses to stored pages.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::chunks::Chunk;
use super::{ImageError, PAGE, Reason, section};
use crate::codec;
use crate::frame::{File, Schema, TableHash};

/// Limit of a decoded map in bytes, for 200 GB without adjacent pages.
const LIMIT: usize = 1 << 31;

pub fn schema() -> Schema {
    Schema::of("map of memory: regions, bases, runs of address, file, chunk, slot, pages; version 1")
}

/// Earlier file in the same folder that holds pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// Name in the folder.
    pub file: String,
    /// Hash that distinguishes the file from a replacement.
    pub hash: TableHash,
}

/// Position of a stored page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StoredPosition {
    /// File index: 0 is the map's file, and 1 and above are the bases.
    pub file: u32,
    /// Chunk index in the file.
    pub chunk: u64,
    /// Page index in the chunk.
    pub slot: u32,
}

/// Pages that are consecutive in memory and in storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Address of the first page.
    pub address: u64,
    /// Stored position of the first page.
    pub place: StoredPosition,
    /// Number of pages.
    pub pages: u32,
}

impl Run {
    fn end(&self) -> Option<u64> {
        self.address.checked_add(u64::from(self.pages) * PAGE as u64)
    }

    /// Adds the page stored at `place` if it continues the run in memory and in storage.
    pub fn extend(&mut self, address: u64, place: StoredPosition) -> bool {
        let next = StoredPosition { slot: self.place.slot + self.pages, ..self.place };
        let extends = place == next && self.end() == Some(address);
        self.pages += u32::from(extends);
        extends
    }
}

/// Image without its pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Map {
    /// Address ranges, ascending.
    pub regions: Vec<Range<u64>>,
    /// Earlier files that hold pages.
    pub bases: Vec<Base>,
    /// Nonzero pages, by ascending address.
    pub runs: Vec<Run>,
}

impl Map {
    /// Reads the map of an image in a file and checks regions and bases.
    pub fn read(file: &File, name: &str) -> Result<Self, ImageError> {
        let described = section(name, "map");
        let bytes = file.section(&described, schema())?;
        Self::decode(&bytes).map_err(|reason| ImageError::description(file, described, reason))
    }

    fn decode(bytes: &[u8]) -> Result<Self, Reason> {
        let map: Self = codec::decode::<LIMIT, _>(bytes)?;
        check_ranges(map.regions.iter()).map_err(|(index, reason)| Reason::Entry {
            what: "region",
            index,
            reason,
        })?;
        for (index, base) in map.bases.iter().enumerate() {
            if base.file.is_empty()
                || base.file == ".."
                || base.file == "."
                || base.file.contains(['/', '\0'])
            {
                return Err(Reason::Entry { what: "base", index, reason: "its name is not a file name" });
            }
        }
        Ok(map)
    }

    /// Checks the runs against the regions and the chunks of each file.
    pub fn check_runs<'a>(&self, chunk: impl Fn(&StoredPosition) -> Option<&'a Chunk>) -> Result<(), Reason> {
        let mut regions = self.regions.iter().peekable();
        let mut last = 0;
        for (index, run) in self.runs.iter().enumerate() {
            let wrong = |reason| Err(Reason::Entry { what: "run", index, reason });
            let Some(end) = run.end() else { return wrong("it ends after the last address") };
            if run.address < last || run.pages == 0 || !run.address.is_multiple_of(PAGE as u64) {
                return wrong("it is empty, misaligned, or not after the previous one");
            }
            last = end;
            while regions.next_if(|region| region.end <= run.address).is_some() {}
            if !regions.peek().is_some_and(|region| region.start <= run.address && end <= region.end) {
                return wrong("it is outside of all regions");
            }
            let Some(chunk) = chunk(&run.place) else { return wrong("its chunk does not exist") };
            if u64::from(run.place.slot) + u64::from(run.pages) > u64::from(chunk.pages) {
                return wrong("it exceeds its chunk");
            }
        }
        Ok(())
    }
}

/// Checks that ranges consist of whole pages, ascend, and do not overlap.
pub fn check_ranges<'a>(ranges: impl Iterator<Item = &'a Range<u64>>) -> Result<(), (usize, &'static str)> {
    let mut last = 0;
    for (index, range) in ranges.enumerate() {
        let whole = |address: u64| address.is_multiple_of(PAGE as u64);
        if range.is_empty() {
            return Err((index, "it is empty"));
        } else if !whole(range.start) || !whole(range.end) {
            return Err((index, "it does not consist of whole pages"));
        } else if range.start < last {
            return Err((index, "it overlaps the previous one"));
        }
        last = range.end;
    }
    Ok(())
}
