//! `voltsim man`: the manual pages of this command.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::CommandFactory as _;
use clap_mangen::Man;

use crate::Cli;
use crate::failure::Failure;
use crate::outputs;

/// Write manual pages of the command and its subcommands to a folder
///
/// A folder man1 on the MANPATH makes them readable: `voltsim man ~/.local/share/man/man1`, and
/// then `man voltsim-run`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder for the pages, which is made
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Writes the pages, and names how many there are.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    fs::create_dir_all(&args.folder).map_err(|error| Failure::in_file(&args.folder, error))?;
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let pages = write(&command, &args.folder)?;
    writeln!(out, "{}: {pages} pages", args.folder.display())?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the page of a command and those of its subcommands; gives their number. A page has the
/// name of the whole command, as in `voltsim-checkpoint-info.1`.
fn write(command: &clap::Command, folder: &Path) -> Result<usize, Failure> {
    let page = Man::new(command.clone());
    let mut text = Vec::new();
    page.render(&mut text)?;
    outputs::write(&folder.join(page.get_filename()), &text)?;
    let mut subcommands = command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set());
    subcommands.try_fold(1, |pages, subcommand| Ok(pages + write(subcommand, folder)?))
}
