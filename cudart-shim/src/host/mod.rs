//! The host process: environment, memory, threads, output files.
//!
//! This module does not depend on CUDA.

pub(crate) mod call_site;
pub(crate) mod caller;
pub(crate) mod environment;
pub(crate) mod host_pages;
pub(crate) mod log;
pub(crate) mod mapped;
pub(crate) mod output_files;
pub(crate) mod present_call;
pub(crate) mod standard_output;
pub(crate) mod thread_exit;
pub(crate) mod visible_devices;
