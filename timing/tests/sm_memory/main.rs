//! The memory side of an SM, with instructions and a far side of memory made for the purpose.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that meets an error has failed")]

mod bench;
mod l1;
mod latency;
mod order;
mod statistics;
mod throughput;
mod watchdog;
