//! Launch pipeline: operations in stream order, and the observers that count, capture, record, save
//! and time them.

pub(crate) mod accesses;
pub(crate) mod annotations;
pub(crate) mod batch;
pub(crate) mod capture;
pub(crate) mod checkpoint;
pub(crate) mod checksums;
pub(crate) mod context;
pub(crate) mod copy;
pub(crate) mod coverage;
pub(crate) mod device_runtime;
pub(crate) mod ending;
pub(crate) mod graphs;
pub(crate) mod kernel_stream;
pub(crate) mod launch;
pub(crate) mod memory_operation;
pub(crate) mod model;
pub(crate) mod nvtx;
pub(crate) mod operation;
pub(crate) mod process;
pub(crate) mod recording;
pub(crate) mod sanitizer_report;
pub(crate) mod shared_event;
pub(crate) mod signals;
pub(crate) mod simulator;
pub(crate) mod state;
pub(crate) mod stepped_launch;
pub(crate) mod stream_attribute;
pub(crate) mod stream_memory;
pub(crate) mod streams;
pub(crate) mod summary;
pub(crate) mod trace;
pub(crate) mod unmatched_selections;
