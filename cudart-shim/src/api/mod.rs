//! Bodies of the exported functions, one file per area: convert arguments to objects and results to
//! codes.

pub(crate) mod driver;
pub(crate) mod entry;
pub(crate) mod error_log;
pub(crate) mod export_table;
pub(crate) mod graph;
pub(crate) mod nvjitlink;
pub(crate) mod nvml;
mod nvtx;
mod replay_access;
pub(crate) mod runtime;
pub(crate) mod shared;
pub(crate) mod tables;
