//! GPUs as data: one file has what programs are told (`[device]`) and what is simulated
//! (`[timing]`). Every value has a unit and a source.
//!
//! [`GpuSpec`] reads the sections of all units, in the format of [`gpu_file`](crate::gpu_file).
//! [`DeviceSpec`] reads `[device]` and derives the rest.

mod data_sheet;
pub mod device;
pub mod gpu;
mod launch;

pub use crate::gpu_file::{Document, Entry, Key, Place, Section, SpecificationError, Value};
pub use data_sheet::DataSheet;
pub use device::DeviceSpec;
pub use gpu::GpuSpec;
pub use launch::{CopySpec, LaunchSpec, TransferSpec};
