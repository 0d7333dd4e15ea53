//! When which bank has to be refreshed.

use serde::{Deserialize, Serialize};

/// The next refresh.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Refresh {
    /// Cycle at which it is due.
    pub(super) due: u64,
    /// The bank, where banks are refreshed one by one.
    pub(super) bank: u8,
    /// The refresh is due and has not been done.
    pub(super) pending: bool,
}

impl Refresh {
    /// Nothing is due before an interval has passed.
    pub(super) fn new(interval: u64) -> Refresh {
        Refresh { due: interval, bank: 0, pending: false }
    }

    /// Notes a completed refresh.
    pub(super) fn done(&mut self, interval: u64, banks: u32) {
        self.due += interval;
        self.bank = ((u32::from(self.bank) + 1) % banks) as u8;
        self.pending = false;
    }
}
