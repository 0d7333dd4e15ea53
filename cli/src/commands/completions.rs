//! `voltsim completions`: a shell's completions of this command.

use std::io::Write;
use std::process::ExitCode;

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::Cli;
use crate::failure::Failure;

/// Write completions of the command for a shell
///
/// bash reads them from a file in ~/.local/share/bash-completion/completions, zsh from a folder of
/// its fpath, fish from ~/.config/fish/completions: `voltsim completions fish >
/// ~/.config/fish/completions/voltsim.fish`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Writes the completions.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "voltsim", &mut text);
    out.write_all(&text)?;
    Ok(ExitCode::SUCCESS)
}
