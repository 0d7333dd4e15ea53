//! An SM with scripted warps and memory.

#![allow(clippy::unwrap_used, reason = "a test that meets an error has failed")]

mod bench;
mod ctas;
mod front_end;
mod issue;
mod latency;
mod memory;
mod speed;
mod throughput;
