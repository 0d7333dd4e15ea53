//! Kernels that somebody else executes instruction by instruction: what they leave behind, and what he is told.

#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "timed/ahead.rs"]
mod ahead;
#[path = "timed/bench.rs"]
mod bench;
#[path = "timed/held.rs"]
mod held;
#[path = "timed/results.rs"]
mod results;
#[path = "timed/source.rs"]
mod source;
#[path = "timed/stack.rs"]
mod stack;
#[path = "timed/told.rs"]
mod told;
