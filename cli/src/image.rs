//! Options of commands that write a kernel stream.

use std::path::PathBuf;
use std::process::Command;

use crate::commands::check_selection;
use crate::failure::Failure;
use crate::model::follow_ranges;
use crate::outputs;

/// Whether the launches of a run are written to a kernel stream.
#[derive(clap::Args)]
#[group(id = "kernel-stream")]
pub(crate) struct Options {
    /// Write all launches, with the memory that they can reach, to a file: voltsim resume runs them again on any machine, without the program
    #[arg(long, value_name = "FILE")]
    image: Option<PathBuf>,

    /// Write only these launches: kernel=GLOB,launch=A..B
    #[arg(long, value_name = "SELECTION", requires = "image")]
    image_only: Option<String>,
}

impl Options {
    /// Tells the program's libraries.
    pub(crate) fn set(&self, command: &mut Command) -> Result<(), Failure> {
        let Some(file) = &self.image else { return Ok(()) };
        outputs::name(command, "VOLTSIM_IMAGE", "--image", file)?;
        if let Some(only) = &self.image_only {
            follow_ranges(command, &check_selection("--image-only", only)?)?;
            command.env("VOLTSIM_IMAGE_ONLY", only);
        }
        Ok(())
    }
}
