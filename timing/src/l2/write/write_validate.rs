//! Write validate (Jouppi 1993): a write makes its sector valid without a fetch. Readers are
//! assumed to read written bytes only.

/// A write fetches nothing.
pub(super) fn fetched() -> u8 {
    0
}

/// All written sectors.
pub(super) fn readable(sectors: u8) -> u8 {
    sectors
}
