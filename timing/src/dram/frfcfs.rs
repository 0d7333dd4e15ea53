//! First ready, first come first served (Rixner et al., "Memory Access Scheduling", ISCA 2000): accesses to a bank's open
//! row before others; among banks the oldest that is ready. Sets of banks are masks.

/// Banks whose oldest access to the open row may have a column command, of those that have one.
pub(super) fn column_banks(open: u64) -> u64 {
    open
}

/// Banks whose rows may be changed for their oldest accesses, of those that have some, and some to their open row.
pub(super) fn row_banks(occupied: u64, open: u64) -> u64 {
    occupied & !open
}
