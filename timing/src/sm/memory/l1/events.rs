//! L1 events for warp schedulers that observe L1.

use super::L1;
use crate::policy::warp_scheduler::{L1Event, L1EventKind};

/// Events since the last query; empty without an observer.
#[derive(Debug, Clone, Default)]
pub(super) struct Events {
    pub(super) watched: bool,
    list: Vec<L1Event>,
}

impl Events {
    /// Records an event of a line.
    #[inline(always)]
    pub(super) fn note(&mut self, kind: L1EventKind, warp: u8, line: u64) {
        if self.watched {
            self.add(L1Event { kind, warp, line });
        }
    }

    #[cold]
    #[inline(never)]
    fn add(&mut self, event: L1Event) {
        self.list.push(event);
    }
}

impl L1 {
    /// Enables or disables recording.
    pub fn watch(&mut self, watched: bool) {
        self.events.watched = watched;
    }

    /// Takes the events since the last call.
    pub fn take_events(&mut self) -> impl Iterator<Item = L1Event> {
        self.events.list.drain(..)
    }
}
