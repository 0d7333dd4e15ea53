//! The core behind `libcudart.so.*`, `libcuda.so.1` and `libnvidia-ml.so.1`: the CUDA API over the simulator.
//!
//! The front libraries hold nothing but jumps; [`bind`] fills their tables with the functions of [`runtime`],
//! [`driver`] and [`nvml`], one file per area of the API. What these share lies beside them: errors, registration, log.

#![allow(unsafe_code)]

mod abi;
mod allocation;
mod array;
mod batch;
pub mod bind;
mod both;
mod caller;
mod capture;
mod check;
mod checkpoint;
mod checksums;
mod chosen;
mod cluster;
mod code_cache;
mod context;
mod copy;
mod coverage;
mod deferred;
mod device_runtime;
mod direct;
mod driver;
mod ending;
mod entry;
mod environment;
mod error;
mod error_log;
mod export_table;
mod external_memory;
mod function;
mod graph;
mod host_pages;
mod image;
mod interprocess;
mod jit;
mod kernel_stream;
mod launch;
mod launch_attribute;
mod library;
mod limits;
mod log;
mod managed;
mod mapped;
mod marks;
mod memory_operation;
mod model;
mod module;
mod multicast;
mod notification;
mod nvml;
mod nvtx;
mod occupancy;
mod operation;
mod outputs;
mod owned;
mod peer;
mod pool;
mod process;
mod profile;
mod recording;
mod refused;
mod registry;
mod runtime;
mod signals;
mod simulator;
mod stream_attribute;
mod streams;
mod summary;
mod tensor_map;
mod texture;
mod texture_reference;
mod thread_exit;
mod trace;
mod unresolved;
mod virtual_memory;
mod visible;

pub use error::Error;
