//! Refresh schedule.

use serde::{Deserialize, Serialize};

/// The next refresh.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Refresh {
    /// Due cycle.
    pub(super) due: u64,
    /// The bank, for per-bank refresh.
    pub(super) bank: u8,
    /// Set if the refresh is due and not executed.
    pub(super) pending: bool,
}

impl Refresh {
    /// The first refresh is due after one interval.
    pub(super) fn new(interval: u64) -> Refresh {
        Refresh { due: interval, bank: 0, pending: false }
    }

    /// Schedules the next refresh.
    pub(super) fn done(&mut self, interval: u64, banks: u32) {
        self.due += interval;
        self.bank = ((u32::from(self.bank) + 1) % banks) as u8;
        self.pending = false;
    }
}
