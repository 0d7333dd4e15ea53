//! A captured kernel launch: a small folder with all that the kernel can reach, which runs again anywhere.
//!
//! ```text
//! 0003-saxpy/
//!   launch.toml       the kernel, its sizes and parameters, and what is in the other files
//!   module.ptx        the PTX that holds the kernel
//!   buffers/0.zst     memory that a pointer may reach, as it was before the launch
//!   results/          the same memory after the launch, and how the launch ended
//! ```
//!
//! The simulator writes such folders, `voltsim replay` and `voltsim compare` read them. Nothing here knows the simulator.

mod error;
mod folder;
mod manifest;
mod ranges;
mod selection;
mod textures;
mod words;

pub use error::Error;
pub use folder::{Capture, MANIFEST, RESULTS, Results, ResultsWriter, Writer, is_capture};
pub use manifest::{Address, Buffer, FORMAT, Launch, Parameter, ResultBuffer, ResultList};
pub use ranges::{Place, Ranges};
pub use selection::{BadSelection, Selection};
pub use textures::{Image, Level, Sampler, Surface, Texels, Texture};
pub use words::{Words, word_at};
