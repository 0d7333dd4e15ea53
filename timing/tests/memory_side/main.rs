//! The memory side with synthetic requests.

#![allow(clippy::unwrap_used, clippy::panic)]

mod conservation;
mod crossbar;
mod dram;
mod dram_alike;
mod dram_checker;
mod dramsim3;
mod harness;
mod latency;
mod statistics;
mod throughput;
mod watchdog;
mod write_policy;
