//! Timing model: execution time of GPU code, and its causes.
//!
//! Each unit of the machine is a module with an immutable Spec, a State, counters, and behaviour as
//! functions over them. The Spec is a section of the GPU's file.

pub mod clock;
pub mod crossbar;
pub mod dram;
pub mod fidelity;
pub mod gpu;
pub mod gpu_file;
pub mod hang_report;
pub mod l2;
pub mod memory_side;
pub mod message;
mod page_walks;
pub mod partition;
pub mod policy;
pub mod power;
pub mod record;
mod restore;
pub mod series;
pub mod slab;
pub mod sm;
pub mod specification;
pub mod statistics;
mod timed_queue;
pub mod totals;
pub mod wheel;

pub use restore::RestoreError;
