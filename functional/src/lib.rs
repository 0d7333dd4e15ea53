//! Functional engine: executes decoded PTX on the CPU. A kernel is bound to warp-wide ops for this host,
//! and a launch runs the ops over the register rows of each warp.

pub mod assembled;
pub mod bind;
pub mod coverage;
pub mod device;
pub mod dynamic_parallelism;
pub mod engine;
pub mod fault;
pub mod host;
pub mod launch;
pub mod memory;
pub mod module;
mod number;
mod ops;
mod parameter_reads;
pub mod parameters;
pub mod printed;
pub mod reserved_addresses;
pub mod sanitizer;
pub mod suspend;
pub mod tensor;
pub mod texture;
pub mod timed;
pub mod workload_profile;
