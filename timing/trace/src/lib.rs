//! Recorded warps: kernels' executed instructions, recorded under a model or traced on a card.
//!
//! A [`Recording`] holds a kernel's machine code and each warp's executed instructions with lanes
//! and addresses. A recording implements [`KernelSource`](warp_stream::KernelSource), so a model
//! cannot tell it from the live engine. A [`Recorder`] around another source makes recordings;
//! [`accelsim`] reads Accel-Sim's text traces.

pub mod accelsim;
mod recording;

use std::fs;
use std::path::Path;

pub use recording::{Recorder, Recording, RecordingError};

use accelsim::TraceError;

/// File ending of recordings.
pub const ENDING: &str = "vrec";

/// Reads a launch: a recording if the name ends in [`ENDING`], else an Accel-Sim trace.
///
/// # Errors
/// The file is unreadable or incomplete.
pub fn read_launch(file: &Path) -> Result<Recording, TraceError> {
    if file.extension().is_none_or(|ending| ending != ENDING) {
        return accelsim::read_kernel(file);
    }
    let bytes = fs::read(file).map_err(|error| TraceError::File { file: file.to_owned(), error })?;
    Recording::read(&bytes).map_err(|error| TraceError::Recording { file: file.to_owned(), error })
}
