//! Queries about unfinished work.

use super::{Scope, State};
use crate::error::Error;
use crate::handles::{ItemId, StreamId};
use crate::lanes::Lane;

impl<W, F: Clone> State<W, F> {
    /// Last unfinished items of the streams in `scope`: once they retire, so has all work pending
    /// now.
    pub fn last_items(&self, scope: Scope) -> Result<Vec<ItemId>, Error<F>> {
        match scope {
            Scope::Stream(StreamId::LEGACY) => Ok(self.last_of_legacy_and_blocking()),
            Scope::Stream(id) => Ok(self.live_stream(id)?.queue.back().copied().into_iter().collect()),
            Scope::Context => Ok(self.streams.keys().filter_map(|id| self.last_item(id)).collect()),
        }
    }

    pub(super) fn last_of_legacy_and_blocking(&self) -> Vec<ItemId> {
        [&StreamId::LEGACY]
            .into_iter()
            .chain(&self.busy_blocking)
            .filter_map(|id| self.last_item(id))
            .collect()
    }

    pub(super) fn last_item(&self, stream: &StreamId) -> Option<ItemId> {
        self.streams.get(stream)?.queue.back().copied()
    }

    /// True while a kernel or copy runs.
    pub(crate) fn is_device_busy(&self) -> bool {
        [Lane::Kernel, Lane::Transfer, Lane::Caller].into_iter().any(|lane| self.running(lane) > 0)
    }

    /// True if work of a lane runs or is ready.
    pub(crate) fn has_work(&self, lane: Lane) -> bool {
        self.running(lane) > 0 || self.first_ready(lane).is_some()
    }

    /// True if a synchronisation with `scope` waits for items of `stream`.
    pub fn covers(&self, scope: Scope, stream: StreamId) -> bool {
        match scope {
            Scope::Context => true,
            Scope::Stream(StreamId::LEGACY) => {
                stream == StreamId::LEGACY || self.busy_blocking.contains(&stream)
            }
            Scope::Stream(id) => id == stream,
        }
    }
}
