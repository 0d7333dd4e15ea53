//! The native tier against the interpreter: same bytes, same counts, same faults.

#![allow(clippy::unwrap_used, clippy::panic)]

mod accesses;
mod control;
mod forms;
mod tiers;
