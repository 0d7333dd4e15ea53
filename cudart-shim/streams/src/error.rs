//! Errors of engine calls.

use std::io;

use thiserror::Error;

use crate::handles::{EventId, StreamId};

/// A rejected or failed call; `F` is the fault type of work items.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error<F> {
    /// The stream was never created or has been destroyed.
    #[error("stream {0} does not exist")]
    UnknownStream(StreamId),
    /// Default streams cannot be destroyed.
    #[error("stream {0} is a default stream and cannot be destroyed")]
    DefaultStream(StreamId),
    /// The event was never created or has been destroyed.
    #[error("event {0} does not exist")]
    UnknownEvent(EventId),
    /// Elapsed time of an event that was never recorded.
    #[error("event {0} has not been recorded")]
    NotRecorded(EventId),
    /// Elapsed time of an event without timestamps.
    #[error("event {0} was created without timing")]
    TimingDisabled(EventId),
    /// Elapsed time of an event the device has not reached yet.
    #[error("event {0} has not completed")]
    NotReady(EventId),
    /// A work item failed; the context executes nothing until it is reset.
    #[error("the context is in an error state: {0:?}")]
    Fault(F),
    /// The context is being reset or the engine has been shut down.
    #[error("the engine is shut down or being reset")]
    ShutDown,
    /// This process is a fork of the one that used the engine, and has none of its threads.
    #[error("the engine was used before this process was forked")]
    Forked,
    /// The operating system refused the first executor thread.
    #[error("no executor thread could be started: {0}")]
    ThreadStart(io::ErrorKind),
}
