//! How writes allocate: one file for each policy.

mod fetch_on_write;
mod lazy_fetch_on_read;
mod write_validate;

use super::WriteAllocation;
use super::tags::Line;

impl WriteAllocation {
    /// Sectors to fetch for a write to `sectors` of a line.
    pub(super) fn fetched(self, line: &Line, sectors: u8) -> u8 {
        match self {
            WriteAllocation::LazyFetchOnRead => lazy_fetch_on_read::fetched(),
            WriteAllocation::FetchOnWrite => fetch_on_write::fetched(line, sectors),
            WriteAllocation::WriteValidate => write_validate::fetched(),
        }
    }

    /// Those of the `sectors` just written that can be read without fetching.
    pub(super) fn readable(self, line: &Line, sectors: u8) -> u8 {
        match self {
            WriteAllocation::LazyFetchOnRead => lazy_fetch_on_read::readable(line, sectors),
            WriteAllocation::FetchOnWrite => fetch_on_write::readable(),
            WriteAllocation::WriteValidate => write_validate::readable(sectors),
        }
    }
}
