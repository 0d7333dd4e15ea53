//! Names of streams, events and submitted items, and what a stream or event was created with.

use std::fmt;

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub(crate) u64);

        impl $name {
            /// The number behind the handle.
            pub const fn to_raw(self) -> u64 {
                self.0
            }

            /// The handle with this number; one that was never given out is refused where it is used.
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
    /// Whether the legacy default stream waits for this stream's work, and this stream for the legacy one's.
    pub fn is_blocking(self) -> bool {
        matches!(self, Self::PerThread | Self::Blocking)
    }
}

/// What a stream was created with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamInfo {
    /// How it is ordered against other streams.
    pub kind: StreamKind,
    /// CUDA's convention: the smaller the number, the more urgent; 0 is the default.
    pub priority: i32,
}

/// What an event was created with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventFlags {
    /// `cudaEventDisableTiming`: no timestamps, and elapsed time is refused.
    pub disable_timing: bool,
    /// `cudaEventBlockingSync`: kept for the caller to read back; every wait of the engine blocks.
    pub blocking_sync: bool,
}
