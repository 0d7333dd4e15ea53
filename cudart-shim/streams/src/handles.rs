//! Handles of streams, events and submitted items, and properties of streams and events.

use std::fmt;

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub(crate) u64);

        impl $name {
            /// Number of the handle.
            pub const fn to_raw(self) -> u64 {
                self.0
            }

            /// Handle with this number; a call rejects numbers never issued.
            pub const fn from_raw(raw: u64) -> Self {
                Self(raw)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

handle!(
    /// A stream. Numbers are never reused, so a destroyed stream stays unknown.
    StreamId
);
handle!(
    /// An event. Numbers are never reused.
    EventId
);
handle!(
    /// One submission; a later submission has a greater number.
    ItemId
);

impl StreamId {
    /// The legacy default stream, which exists in every context.
    pub const LEGACY: Self = Self(0);
}

/// How a stream orders its work against other streams (CUDA programming guide, "Default Stream").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    /// The legacy default stream: ordered against every stream but the non-blocking ones.
    Legacy,
    /// A thread's own default stream; ordered as a blocking stream.
    PerThread,
    /// `cudaStreamDefault`: ordered against the legacy default stream.
    Blocking,
    /// `cudaStreamNonBlocking`: ordered against no other stream.
    NonBlocking,
}

impl StreamKind {
    /// True if this stream and the legacy default stream wait for each other.
    pub fn is_blocking(self) -> bool {
        matches!(self, Self::PerThread | Self::Blocking)
    }
}

/// Properties of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamInfo {
    /// Order against other streams.
    pub kind: StreamKind,
    /// Priority in CUDA's convention: a smaller number is more urgent, 0 the default.
    pub priority: i32,
}

/// Properties of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventFlags {
    /// `cudaEventDisableTiming`: no timestamps, and elapsed time is refused.
    pub disable_timing: bool,
    /// `cudaEventBlockingSync`: kept for the caller to read back; every wait of the engine blocks.
    pub blocking_sync: bool,
}
