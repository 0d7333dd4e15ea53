//! Stepped execution of kernels: results, and reported effects.

#![allow(clippy::unwrap_used, clippy::panic)]

mod ahead;
mod bench;
mod bursts;
mod held;
mod loops;
mod results;
mod source;
mod stack;
mod told;
