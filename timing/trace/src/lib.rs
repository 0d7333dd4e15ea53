//! Warps from files: what kernels executed, recorded while a model ran them or traced on a card.
//!
//! A [`Recording`] is a kernel's machine code and, for each warp, the instructions it executed with their lanes and
//! addresses. It implements [`KernelSource`](warp_stream::KernelSource), so a model cannot tell it from the live engine.
//! Recordings are made by a [`Recorder`] around any other source, or from the text traces of Accel-Sim ([`accelsim`]).

pub mod accelsim;
mod recording;

pub use recording::{Recorder, Recording, RecordingError};
