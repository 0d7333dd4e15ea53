//! A captured kernel launch: a small folder with all that the kernel can reach, which runs again
//! anywhere.
//!
//! ```text
//! 0003-saxpy/
//!   launch.toml       the kernel, its sizes and parameters, and what is in the other files
//!   module.ptx        the PTX that holds the kernel
//!   buffers/0.zst     memory that a pointer may reach, as it was before the launch
//!   results/          the same memory after the launch, and how the launch ended
//! ```
//! A kernel stream holds many captures in one file. The simulator writes folders and streams;
//! `voltsim replay`, `compare`, `resume` and `sweep` read them. This crate does not depend on the
//! simulator.

mod accessible;
mod capture;
mod entry;
mod error;
mod folder;
mod held;
mod manifest;
mod past;
mod plan;
mod ranges;
mod selection;
mod stream;
mod textures;
mod until_stable;
mod warm_up;
mod words;

pub use accessible::Accessible;
pub use capture::Capture;
pub use entry::Entry;
pub use error::Error;
pub use folder::{MANIFEST, RESULTS, Results, ResultsWriter, Writer, is_capture};
pub use held::{HeldLaunch, Holder, Sink};
pub use manifest::{Address, Buffer, FORMAT, Heap, Launch, Parameter, ResultBuffer, ResultList};
pub use plan::{
    Configuration, Copies, Group, Groups, Launched, PLAN_FORMAT, Plan, REPRESENTATIVES, Representative,
    TOLERANCE,
};
pub use ranges::{Place, Ranges};
pub use selection::{BadSelection, Marks, Selection, matches_glob};
pub use stream::{About, KernelStream, StreamWriter, is_stream};
pub use textures::{Image, Level, Sampler, Surface, Texels, Texture};
pub use until_stable::{BadUntilStable, UntilStable};
pub use warm_up::{BadWarmUp, WarmUp};
pub use words::{Words, word_at};
