//! Which pages stand at which addresses.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::chunks::Chunk;
use super::{ImageError, PAGE, Reason, section};
use crate::codec;
use crate::frame::{File, Schema, TableHash};

/// Bytes of a map that is decoded: one of 200 GB in which no two pages are together.
const LIMIT: usize = 1 << 31;

pub fn schema() -> Schema {
    Schema::of("map of memory: regions, bases, runs of address, file, chunk, slot, pages; version 1")
}

/// A file of before, in the same folder, that holds pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// Its name in the folder.
    pub file: String,
    /// What tells it from a file that has taken its name.
    pub hash: TableHash,
}

/// Where a page is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// The file: 0 is the one that the map is in, others are the bases from 1 on.
    pub file: u32,
    /// The chunk of the file.
    pub chunk: u64,
    /// The page of the chunk.
    pub slot: u32,
}

/// Pages at consecutive addresses that are stored together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Where the first stands in memory.
    pub address: u64,
    /// Where the first is stored.
    pub place: Place,
    /// How many there are.
    pub pages: u32,
}

impl Run {
    fn end(&self) -> Option<u64> {
        self.address.checked_add(u64::from(self.pages) * PAGE as u64)
    }

    /// Adds the page that is stored at `place` if it stands behind the last and is stored there too.
    pub fn extend(&mut self, address: u64, place: Place) -> bool {
        let next = Place { slot: self.place.slot + self.pages, ..self.place };
        let extends = place == next && self.end() == Some(address);
        self.pages += u32::from(extends);
        extends
    }
}

/// All of an image but its pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Map {
    /// The address ranges, ascending.
    pub regions: Vec<Range<u64>>,
    /// Files of before that hold pages.
    pub bases: Vec<Base>,
    /// Pages that are not zero, by ascending address.
    pub runs: Vec<Run>,
}

impl Map {
    /// That of an image in a file, with regions and bases checked.
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
                return Err(Reason::Entry { what: "base", index, reason: "it has no name of a file" });
            }
        }
        Ok(map)
    }

    /// Checks the runs against the regions and the chunks of each file, the map's own first.
    pub fn check_runs<'a>(&self, chunk: impl Fn(&Place) -> Option<&'a Chunk>) -> Result<(), Reason> {
        let mut regions = self.regions.iter().peekable();
        let mut last = 0;
        for (index, run) in self.runs.iter().enumerate() {
            let wrong = |reason| Err(Reason::Entry { what: "run", index, reason });
            let Some(end) = run.end() else { return wrong("it ends behind the last address") };
            if run.address < last || run.pages == 0 || !run.address.is_multiple_of(PAGE as u64) {
                return wrong("it is empty, misaligned, or not behind the one before it");
            }
            last = end;
            while regions.next_if(|region| region.end <= run.address).is_some() {}
            if !regions.peek().is_some_and(|region| region.start <= run.address && end <= region.end) {
                return wrong("it is in no region");
            }
            let Some(chunk) = chunk(&run.place) else { return wrong("its chunk is not there") };
            if u64::from(run.place.slot) + u64::from(run.pages) > u64::from(chunk.pages) {
                return wrong("its chunk has fewer pages");
            }
        }
        Ok(())
    }
}

/// Ranges must be of whole pages, ascending, and none may be in another.
pub fn check_ranges<'a>(ranges: impl Iterator<Item = &'a Range<u64>>) -> Result<(), (usize, &'static str)> {
    let mut last = 0;
    for (index, range) in ranges.enumerate() {
        let whole = |address: u64| address.is_multiple_of(PAGE as u64);
        if range.is_empty() {
            return Err((index, "it is empty"));
        } else if !whole(range.start) || !whole(range.end) {
            return Err((index, "it does not begin and end at multiples of a page"));
        } else if range.start < last {
            return Err((index, "it begins before the end of the one before it"));
        }
        last = range.end;
    }
    Ok(())
}
