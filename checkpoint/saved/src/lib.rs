//! The file of a saved run: origin, steps that a resumed run skips, and the devices at the point.
//!
//! The file is a frame of `voltsim-checkpoint` with a section for each part. `cudart-shim` writes
//! and resumes it; the command shows, verifies and compares it. The crate also holds the checksums
//! of memory after launches.

mod about;
pub mod checksums;
pub mod convert;
mod difference;
mod file;
pub mod outputs;
mod pages;
mod point;
pub mod refusals;
mod section;
mod step;
mod turns;

pub use about::{About, Foreign};
pub use difference::{Unreadable, differences};
pub use file::{
    BegunLaunch, DeviceState, KernelCounts, ModelState, Registration, SavedError, SavedRun, State,
    StepWriter, write,
};
pub use point::{BadPoint, Inside, Point, Window};
pub use step::{Address, Arguments, Asked, Digest, End, Outcome, Step};
pub use turns::{Run, Turns};
pub use voltsim_checkpoint::image::Series;
