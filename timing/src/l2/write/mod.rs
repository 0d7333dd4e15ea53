//! Write allocation policies, one file each.

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

    /// Sectors among those just written that are valid without a fetch.
    pub(super) fn readable(self, line: &Line, sectors: u8) -> u8 {
        match self {
            WriteAllocation::LazyFetchOnRead => lazy_fetch_on_read::readable(line, sectors),
            WriteAllocation::FetchOnWrite => fetch_on_write::readable(),
            WriteAllocation::WriteValidate => write_validate::readable(sectors),
        }
    }
}
