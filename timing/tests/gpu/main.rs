//! A whole GPU with synthetic kernels.

#![allow(clippy::unwrap_used, clippy::panic)]

mod bench;
mod copies;
mod cost;
mod counted;
mod determinism;
mod dispatch;
mod errors;
mod held;
mod hybrid;
mod latency;
mod memory;
mod overlap;
mod policies;
mod power;
mod recall;
mod script;
mod series;
mod source_counts;
mod stable;
mod state;
mod statistics;
mod stop;
mod throughput;
mod transfers;
mod warm;
mod watchdog;
