//! The `voltsim` command: one file per subcommand under `commands/`.
//!
//! Standard output carries a command's own report and nothing else. Failures go to standard error with the file,
//! the place and a remedy, and the process exits with status 2.

mod checkpoint;
mod checksums;
mod commands;
mod difference;
mod environment;
mod failure;
mod image;
mod instrumented;
mod libraries;
mod model;
mod program;
mod setup;
mod supervise;
mod table;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::Parser;

use crate::commands::Command;

/// Runs unmodified CUDA programs on a machine with no GPU.
#[derive(Parser)]
#[command(name = "voltsim", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    let command = Cli::parse().command;
    let mut out = BufWriter::new(io::stdout());
    let result = command.run(&mut out).and_then(|code| Ok(out.flush().map(|()| code)?));
    match result {
        Ok(code) => code,
        Err(failure) if failure.is_closed_output() => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("voltsim: {failure}");
            ExitCode::from(failure::EXIT_STATUS)
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn no_command_has_an_option_twice() {
        Cli::command().debug_assert();
    }
}
