//! CUDA's ordering of streams and events, free of any simulator or ABI type.
//!
//! The engine orders opaque work items and runs them on threads of its own. Kernels, copies and
//! host functions have the order of the CUDA programming guide ("Asynchronous Concurrent
//! Execution"). [`state`] holds the rules as plain data and functions without threads or clocks;
//! [`Engine`] adds the lock, the waiting and the executor threads.

mod clock;
mod condition;
mod engine;
mod error;
mod executor;
mod handles;
mod lanes;
mod per_thread;
mod quiescence;
pub mod state;
mod wait;
mod work;

pub use clock::{Clock, HostClock, Timestamp};
pub use engine::{Config, Engine, Shutdown, Start};
pub use error::Error;
pub use executor::is_engine_thread;
pub use handles::{EventFlags, EventId, ItemId, StreamId, StreamInfo, StreamKind};
pub use lanes::{Lane, Limits};
pub use quiescence::{Running, running_item};
pub use state::{Node, Scope, Step};
pub use work::{Context, Fault, Submission, Work, WorkKind};
