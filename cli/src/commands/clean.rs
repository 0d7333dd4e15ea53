//! `voltsim clean`: shows and removes caches and environments.

use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use run_options::system;

use crate::environment;
use crate::failure::Failure;
use crate::setup::RECIPES;
use crate::table;

/// Show what Voltsim keeps in the user's folders, and remove it
///
/// Without an option, the command lists the folders with their sizes and removes nothing. Folders
/// that were named by the user, such as the folder of `voltsim setup NAME FOLDER`, are not known to
/// the command.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Remove the cache of decoded functions and kept downloads
    #[arg(long)]
    caches: bool,

    /// Remove an environment that `voltsim setup NAME` made; may be repeated
    #[arg(long, value_name = "NAME")]
    environment: Vec<String>,

    /// Remove all caches and environments
    #[arg(long, conflicts_with_all = ["caches", "environment"])]
    all: bool,
}

/// A folder that Voltsim made.
struct Kept {
    /// Contents, for a person.
    contents: String,
    /// Environment that the folder is, if it is one.
    environment: Option<&'static str>,
    folder: PathBuf,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    if let Some(unknown) =
        args.environment.iter().find(|name| RECIPES.iter().all(|known| known.name != **name))
    {
        let names: Vec<_> = RECIPES.iter().map(|recipe| recipe.name).collect();
        return Err(Failure::new(format_args!("no environment `{unknown}`; there are {}", names.join(", "))));
    }
    let mut rows = Vec::new();
    for kept in kept() {
        let is_wanted = args.all
            || match kept.environment {
                Some(name) => args.environment.iter().any(|wanted| wanted == name),
                None => args.caches,
            };
        let bytes = size(&kept.folder)?;
        if is_wanted {
            fs::remove_dir_all(&kept.folder).map_err(|error| Failure::in_file(&kept.folder, error))?;
        }
        let state = if is_wanted { "removed" } else { "kept" };
        let size = format!("{:.1} MB", bytes as f64 / 1e6);
        rows.push([kept.folder.display().to_string(), kept.contents, size, state.to_owned()]);
    }
    if rows.is_empty() {
        writeln!(out, "Voltsim keeps nothing in the user's folders")?;
    } else {
        table::write(out, ["folder", "contents", "size", "state"], &rows)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The folders that are there.
fn kept() -> Vec<Kept> {
    let cache = |name: &str, contents: &str| {
        let folder = system::cache_folder()?.join("voltsim").join(name);
        Some(Kept { contents: contents.to_owned(), environment: None, folder })
    };
    let caches = [cache("functions", "decoded functions"), cache("downloads", "downloads of setup")];
    let environments = RECIPES.iter().filter_map(|recipe| {
        let folder = environment::usual_folder(recipe.name).ok()?;
        let contents = format!("environment {}", recipe.name);
        Some(Kept { contents, environment: Some(recipe.name), folder })
    });
    caches.into_iter().flatten().chain(environments).filter(|kept| kept.folder.is_dir()).collect()
}

/// Bytes that a folder takes on disk; links are not followed.
fn size(folder: &Path) -> Result<u64, Failure> {
    let failed = |error| Failure::in_file(folder, error);
    let mut bytes = 0;
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        match entry.metadata() {
            Ok(file) if file.is_dir() => bytes += size(&entry.path())?,
            Ok(file) => bytes += file.blocks() * 512,
            // Another process may clear the cache.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(Failure::in_file(&entry.path(), error)),
        }
    }
    Ok(bytes)
}
