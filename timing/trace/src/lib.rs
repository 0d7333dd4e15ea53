//! Warps from files: what kernels executed, recorded while a model ran them or traced on a card.
//!
//! A [`Recording`] is a kernel's machine code and, for each warp, the instructions it executed with their lanes and
//! addresses. It implements [`KernelSource`](warp_stream::KernelSource), so a model cannot tell it from the live engine.
//! Recordings are made by a [`Recorder`] around any other source, or from the text traces of Accel-Sim ([`accelsim`]).

pub mod accelsim;
mod recording;

use std::fs;
use std::path::Path;

pub use recording::{Recorder, Recording, RecordingError};

use accelsim::TraceError;

/// How the names of files with recordings in the form of their own end.
pub const ENDING: &str = "vrec";

/// Reads the file of a launch: a recording if its name ends in [`ENDING`], else a trace of Accel-Sim.
///
/// # Errors
/// The file cannot be read, or is not whole.
pub fn read_launch(file: &Path) -> Result<Recording, TraceError> {
    if file.extension().is_none_or(|ending| ending != ENDING) {
        return accelsim::read_kernel(file);
    }
    let bytes = fs::read(file).map_err(|error| TraceError::File { file: file.to_owned(), error })?;
    Recording::read(&bytes).map_err(|error| TraceError::Recording { file: file.to_owned(), error })
}
