//! Options of commands that write checksums of memory.

use std::path::PathBuf;
use std::process::Command;

use crate::failure::Failure;
use crate::outputs;

/// Whether memory's checksums are written.
#[derive(clap::Args)]
#[group(id = "memory-checksums")]
pub(crate) struct Options {
    /// Write checksums of all allocations after each launch: voltsim checkpoint diff finds the first launch after which two runs differ, and the allocation. Launches are executed one after the other
    #[arg(long, value_name = "FILE")]
    checksums: Option<PathBuf>,

    /// Write them after each so many launches
    #[arg(long, value_name = "LAUNCHES", requires = "checksums")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    checksums_every: Option<u64>,
}

impl Options {
    /// Tells the program's libraries.
    pub(crate) fn set(&self, command: &mut Command) -> Result<(), Failure> {
        let Some(file) = &self.checksums else { return Ok(()) };
        outputs::name(command, "VOLTSIM_CHECKSUMS", "--checksums", file)?;
        if let Some(launches) = self.checksums_every {
            command.env("VOLTSIM_CHECKSUMS_EVERY", launches.to_string());
        }
        Ok(())
    }
}
