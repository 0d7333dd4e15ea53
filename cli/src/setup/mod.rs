//! Making environments for `voltsim setup`.
//!
//! To add one: a file here with a [`Recipe`], its pinned downloads as TOML beside it, and its name
//! in [`RECIPES`].

mod debian_13;
pub(crate) mod download;
mod nvcc;
mod python;
mod pytorch_1_5;

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::environment::{self, Description, Environment};
use crate::failure::Failure;
use download::{Download, Downloads};

/// How an environment is made.
pub(crate) struct Recipe {
    /// Name for users.
    pub(crate) name: &'static str,
    /// Counts the changes that environments made earlier lack.
    pub(crate) version: u32,
    /// Contents, in a line.
    pub(crate) contents: &'static str,
    /// Bytes that its folder takes.
    pub(crate) bytes: u64,
    /// The environment is a compiler, and no program runs in it.
    pub(crate) is_compiler: bool,
    /// All that it fetches.
    pub(crate) downloads: fn() -> Result<Vec<Download>, Failure>,
    /// Fills the folder. Called again after an interruption, in the folder as it was left.
    pub(crate) make: fn(&Site<'_>) -> Result<Contents, Failure>,
}

/// All recipes.
pub(crate) const RECIPES: [&Recipe; 3] = [&nvcc::RECIPE, &pytorch_1_5::RECIPE, &debian_13::RECIPE];

/// Resources of a recipe.
pub(crate) struct Site<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) downloads: &'a Downloads,
    /// The Python that the user wants.
    pub(crate) python: Option<&'a Path>,
}

/// Paths of a recipe's results, relative to the folder.
pub(crate) struct Contents {
    pub(crate) device: PathBuf,
    pub(crate) preload: Vec<PathBuf>,
}

/// There while a folder is being made.
const BEGUN: &str = "voltsim-setup-begun";

/// Outcome of a set-up.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Made,
    /// An environment of an earlier version of the recipe was renewed.
    Renewed,
    WasThere,
}

/// The recipe of that name.
pub(crate) fn recipe(name: &str) -> Result<&'static Recipe, Failure> {
    RECIPES.into_iter().find(|recipe| recipe.name == name).ok_or_else(|| {
        let names: Vec<_> = RECIPES.iter().map(|recipe| recipe.name).collect();
        Failure::new(format_args!("no set-up `{name}`; there are {}", names.join(", ")))
    })
}

/// Makes an environment in a folder, or what is missing of it.
pub(crate) fn make(
    recipe: &Recipe,
    folder: &Path,
    downloads: Option<&Path>,
    python: Option<&Path>,
) -> Result<Outcome, Failure> {
    let present = Environment::in_folder(folder)?;
    match &present {
        Some(present) if present.name() != recipe.name => {
            return Err(Failure::in_file(folder, format_args!("is an environment `{}`", present.name()))
                .remedy("Name another folder"));
        }
        Some(present) if present.version() == recipe.version => return Ok(Outcome::WasThere),
        Some(_) => begin_again(folder)?,
        None => begin(folder)?,
    }
    let downloads = Downloads::open(downloads)?;
    let wanted = (recipe.downloads)()?;
    check_space(folder, recipe.bytes, &downloads, downloads.missing_bytes(&wanted))?;
    for download in &wanted {
        downloads.fetch(download)?;
    }
    let Contents { device, preload } = (recipe.make)(&Site { folder, downloads: &downloads, python })?;
    finish(folder, &Description { name: recipe.name.into(), version: recipe.version, device, preload })?;
    Ok(if present.is_some() { Outcome::Renewed } else { Outcome::Made })
}

/// Makes the folder; one that has something else in it is left alone.
fn begin(folder: &Path) -> Result<(), Failure> {
    let failed = |error| Failure::in_file(folder, error);
    fs::create_dir_all(folder).map_err(failed)?;
    let mark = folder.join(BEGUN);
    if !mark.exists() && fs::read_dir(folder).map_err(failed)?.next().is_some() {
        return Err(Failure::in_file(folder, "the folder is not empty").remedy("Name a new folder"));
    }
    fs::write(&mark, "").map_err(|error| Failure::in_file(&mark, error))
}

/// Makes what was an environment a folder that is being made.
fn begin_again(folder: &Path) -> Result<(), Failure> {
    let (mark, file) = (folder.join(BEGUN), folder.join(environment::FILE));
    fs::write(&mark, "").map_err(|error| Failure::in_file(&mark, error))?;
    fs::remove_file(&file).map_err(|error| Failure::in_file(&file, error))
}

/// Writes the environment's file, which makes it one.
fn finish(folder: &Path, description: &Description) -> Result<(), Failure> {
    let text = toml::to_string(description).map_err(Failure::new)?;
    write_whole(&folder.join(environment::FILE), &text)?;
    let mark = folder.join(BEGUN);
    fs::remove_file(&mark).map_err(|error| Failure::in_file(&mark, error))
}

/// Writes a file that is there with all of its text or not at all.
fn write_whole(path: &Path, text: &str) -> Result<(), Failure> {
    let temporary = path.with_extension("part");
    let written = fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, path));
    written.map_err(|error| Failure::in_file(path, error))
}

/// Sees to it that a full disk is met before hours of downloading.
fn check_space(folder: &Path, bytes: u64, downloads: &Downloads, to_fetch: u64) -> Result<(), Failure> {
    let device = |path: &Path| fs::metadata(path).map(|file| file.dev()).unwrap_or_default();
    let needs: Vec<(PathBuf, u64)> = if device(folder) == device(downloads.folder()) {
        vec![(folder.to_owned(), bytes + to_fetch)]
    } else {
        vec![(folder.to_owned(), bytes), (downloads.folder().to_owned(), to_fetch)]
    };
    for (path, needed) in needs {
        let space = rustix::fs::statvfs(&path).map_err(|error| Failure::in_file(&path, error))?;
        let available = space.f_bavail * space.f_frsize;
        if available < needed {
            return Err(Failure::in_file(
                &path,
                format_args!("{} MB are needed, {} MB are free", needed >> 20, available >> 20),
            )
            .remedy("Make room, or name a folder on another disk; --downloads places what is fetched"));
        }
    }
    Ok(())
}

/// Runs a command, whose output goes to standard error; a failure has what it was for.
fn run(mut command: std::process::Command, purpose: &str) -> Result<(), Failure> {
    let program = PathBuf::from(command.get_program());
    match command.stdout(std::io::stderr()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::in_file(&program, format_args!("{purpose}: {status}"))),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(Failure::in_file(&program, format_args!("{purpose}: not found")))
        }
        Err(error) => Err(Failure::in_file(&program, format_args!("{purpose}: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST: Recipe = Recipe {
        name: "test",
        version: 1,
        contents: "nothing",
        bytes: 0,
        is_compiler: false,
        downloads: || Ok(Vec::new()),
        make: |site| {
            fs::write(site.folder.join("device.toml"), "base = \"titan-v\"\n").map_err(Failure::new)?;
            Ok(Contents { device: "device.toml".into(), preload: Vec::new() })
        },
    };

    const FAILING: Recipe = Recipe { make: |_| Err(Failure::new("stopped half way")), ..TEST };

    fn make(recipe: &Recipe, folder: &Path) -> Result<Outcome, Failure> {
        let downloads = tempfile::tempdir().expect("a folder");
        super::make(recipe, folder, Some(downloads.path()), None)
    }

    #[test]
    fn an_environment_that_is_there_is_left_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(make(&TEST, folder.path()).expect("made"), Outcome::Made);
        assert_eq!(make(&FAILING, folder.path()).expect("there"), Outcome::WasThere);
    }

    #[test]
    fn an_environment_of_an_earlier_version_is_made_again() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(make(&TEST, folder.path()).expect("made"), Outcome::Made);
        let newer = Recipe { version: 2, ..TEST };
        assert!(make(&Recipe { version: 2, ..FAILING }, folder.path()).is_err());
        assert!(Environment::in_folder(folder.path()).expect("readable").is_none());
        assert_eq!(make(&newer, folder.path()).expect("made"), Outcome::Made);
        assert_eq!(make(&TEST, folder.path()).expect("made"), Outcome::Renewed);
    }

    #[test]
    fn an_interrupted_setup_is_no_environment_and_goes_on() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(make(&FAILING, folder.path()).is_err());
        assert!(Environment::in_folder(folder.path()).expect("readable").is_none());
        assert_eq!(make(&TEST, folder.path()).expect("made"), Outcome::Made);
        assert!(!folder.path().join(BEGUN).exists());
    }

    #[test]
    fn a_folder_with_other_files_is_not_touched() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("thesis.tex"), "").expect("a file");
        let failure = make(&TEST, folder.path()).expect_err("refused").to_string();
        assert!(failure.contains("not empty"), "{failure}");
        assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 1);
    }

    #[test]
    fn too_little_space_is_told_before_anything_is_fetched() {
        let folder = tempfile::tempdir().expect("a folder");
        let failure =
            make(&Recipe { bytes: 1 << 60, ..TEST }, folder.path()).expect_err("refused").to_string();
        assert!(failure.contains("MB are needed"), "{failure}");
    }

    #[test]
    fn every_recipe_has_its_downloads_pinned() {
        for recipe in RECIPES {
            for download in (recipe.downloads)().expect("the recipe's data can be read") {
                assert!(download.sha256.len() == 64 && download.bytes > 0, "{download:?}");
                assert!(download.url.starts_with("https://"), "{download:?}");
            }
        }
    }
}
