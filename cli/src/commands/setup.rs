//! `voltsim setup`: makes an environment with a framework that uses CUDA, or with a compiler.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::environment::usual_folder;
use crate::failure::Failure;
use crate::setup::{self, Outcome, RECIPES};

/// Make an environment with a framework that uses CUDA or with nvcc, from unmodified packages
///
/// Without a name, the command lists the environments. Downloads are kept, and an interrupted
/// set-up continues where it stopped. `voltsim run` knows an environment by its folder: `voltsim
/// run -- FOLDER/bin/python program.py`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Name of the environment
    name: Option<String>,

    /// Folder to make; ~/.local/share/voltsim/NAME by default
    folder: Option<PathBuf>,

    /// Folder for downloads; ~/.cache/voltsim/downloads by default
    #[arg(long, value_name = "FOLDER")]
    downloads: Option<PathBuf>,

    /// Python to use, instead of one on the search path or of pyenv
    #[arg(long, value_name = "FILE")]
    python: Option<PathBuf>,
}

/// Makes an environment.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let Some(name) = &args.name else { return list(out) };
    let recipe = setup::recipe(name)?;
    let given = args.folder.as_ref().map(|folder| crate::paths::absolute(folder)).transpose()?;
    let usual = usual_folder(name);
    let is_usual = given.is_none() || usual.as_ref().is_ok_and(|usual| given.as_ref() == Some(usual));
    let folder = given.map_or(usual, Ok)?;
    let outcome = setup::make(recipe, &folder, args.downloads.as_deref(), args.python.as_deref())?;
    let state = match outcome {
        Outcome::Made => "is ready",
        Outcome::Renewed => "is brought up to date",
        Outcome::WasThere => "was there already",
    };
    writeln!(out, "{} ({}) {state}: {}", recipe.name, recipe.contents, folder.display())?;
    if recipe.is_compiler {
        writeln!(out, "export PATH={}/bin:$PATH", folder.display())?;
        return Ok(ExitCode::SUCCESS);
    }
    if is_usual {
        writeln!(out, "voltsim run --profile {name} -- python program.py")?;
    }
    writeln!(out, "voltsim run -- {}/bin/python program.py", folder.display())?;
    Ok(ExitCode::SUCCESS)
}

fn list(out: &mut dyn Write) -> Result<ExitCode, Failure> {
    for recipe in RECIPES {
        let fetched: u64 = (recipe.downloads)()?.iter().map(|download| download.bytes).sum();
        writeln!(
            out,
            "{:<12} {} ({} MB to fetch, {} MB on disk)",
            recipe.name,
            recipe.contents,
            fetched >> 20,
            recipe.bytes >> 20
        )?;
    }
    Ok(ExitCode::SUCCESS)
}
