//! The memory unit of an SM with scripted instructions and memory.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that meets an error has failed")]

mod bench;
mod l1;
mod latency;
mod order;
mod statistics;
mod throughput;
mod watchdog;
