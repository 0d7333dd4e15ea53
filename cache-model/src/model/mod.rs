//! The model: an order of a launch's accesses, and hits and misses in that order.

mod core;
mod counts;
mod l2;
mod latency;
mod lines;
mod log;
mod queue;
mod run;
mod spec;
mod stack;
mod wheel;

pub use counts::{BUCKETS, Counts, LevelCounts, Miss, OrderCounts, bucket};
pub use l2::{L2, L2Spec, Level};
pub use latency::HalfNormal;
pub use log::{Request, Status};
pub use run::{Group, LaunchResult, run, run_logged};
pub use spec::{Divergence, Geometry, LatencySpec, ModelSpec, OrderSpec};
pub use stack::{ABSENT, ReuseStack};
