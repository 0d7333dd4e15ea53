//! Stepped execution of kernels: results, and reported effects.

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
