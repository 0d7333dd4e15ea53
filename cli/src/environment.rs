//! Folders in which a program finds all that it needs to run: made by `voltsim setup`, found by
//! `voltsim run`.
//!
//! An environment is a folder with the file [`FILE`] in it. A program that lies in its `bin` runs
//! in it.

use std::env;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::gpu_file;

/// Name of the file that makes a folder an environment. Set-up writes the file last.
pub(crate) const FILE: &str = "voltsim-environment.toml";

/// Contents of an environment's file. Paths are relative to the folder.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Description {
    /// Name of the recipe it was made by.
    pub(crate) name: String,
    /// Version of that recipe.
    #[serde(default)]
    pub(crate) version: u32,
    /// Device profile of programs that are given no other.
    pub(crate) device: PathBuf,
    /// Libraries that are loaded before all but our own, in this order.
    pub(crate) preload: Vec<PathBuf>,
}

/// An environment and where it lies.
#[derive(Debug)]
pub(crate) struct Environment {
    folder: PathBuf,
    description: Description,
}

impl Environment {
    /// The environment that a program lies in, given by the path it is started by.
    pub(crate) fn of_program(program: &Path) -> Result<Option<Self>, Failure> {
        let program = std::path::absolute(program).map_err(|error| Failure::in_file(program, error))?;
        match program.parent().and_then(Path::parent) {
            Some(folder) => Self::in_folder(folder),
            None => Ok(None),
        }
    }

    /// The environment of a recipe in its usual place.
    pub(crate) fn named(name: &str) -> Result<Self, Failure> {
        let folder = usual_folder(name)?;
        Self::in_folder(&folder)?.ok_or_else(|| {
            Failure::in_file(&folder, format_args!("there is no environment `{name}`"))
                .remedy(format!("Make it: voltsim setup {name}; one in another folder is found by its program: voltsim run -- FOLDER/bin/python"))
        })
    }

    /// The environment that a folder is, if it is one.
    pub(crate) fn in_folder(folder: &Path) -> Result<Option<Self>, Failure> {
        let file = folder.join(FILE);
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) => return Err(Failure::in_file(&file, error)),
        };
        let description: Description = toml::from_str(&text).map_err(|error| {
            Failure::in_file(&file, error).remedy("Make the environment again with voltsim setup")
        })?;
        let environment = Self { folder: folder.to_owned(), description };
        let mut needed = environment.preload();
        needed.push(environment.device());
        match needed.into_iter().find(|path| !path.exists()) {
            Some(missing) => Err(Failure::in_file(&file, format_args!("{} is not there", missing.display()))
                .remedy("Make the environment again with voltsim setup")),
            None => Ok(Some(environment)),
        }
    }

    /// Name of the recipe it was made by.
    pub(crate) fn name(&self) -> &str {
        &self.description.name
    }

    /// Version of that recipe.
    pub(crate) fn version(&self) -> u32 {
        self.description.version
    }

    /// Where it lies.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Device profile of the environment.
    pub(crate) fn device(&self) -> PathBuf {
        self.folder.join(&self.description.device)
    }

    /// The libraries to be loaded first.
    pub(crate) fn preload(&self) -> Vec<PathBuf> {
        self.description.preload.iter().map(|library| self.folder.join(library)).collect()
    }

    /// Compute capability that its programs are told, ten times, if its device can be read.
    pub(crate) fn capability(&self) -> Option<u32> {
        let document = gpu_file::document(&self.device().to_string_lossy()).ok()?;
        let spec = gpu_file::spec(&document).ok()?;
        let [major, minor] =
            ["compute_capability_major", "compute_capability_minor"].map(|part| spec.answer(part));
        u32::try_from(major * 10 + minor).ok()
    }

    /// Libraries that its programs load or may open.
    pub(crate) fn libraries(&self) -> Vec<PathBuf> {
        let mut libraries = self.preload();
        let mut folders = vec![self.folder.join("lib")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                let name = entry.file_name();
                let name = name.to_string_lossy();
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => folders.push(path),
                    Ok(kind) if kind.is_file() && (name.ends_with(".so") || name.contains(".so.")) => {
                        libraries.push(path);
                    }
                    _ => {}
                }
            }
        }
        libraries.sort();
        libraries.dedup();
        libraries
    }

    /// Where its programs lie.
    pub(crate) fn programs(&self) -> PathBuf {
        self.folder.join("bin")
    }
}

/// Where the environment of a recipe lies unless told otherwise: `$XDG_DATA_HOME/voltsim/NAME`.
pub(crate) fn usual_folder(name: &str) -> Result<PathBuf, Failure> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let data = set("XDG_DATA_HOME").or_else(|| Some(set("HOME")?.join(".local/share")));
    let data =
        data.ok_or_else(|| Failure::new("neither XDG_DATA_HOME nor HOME is set").remedy("Name a folder"))?;
    Ok(data.join("voltsim").join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(text: &str, files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("bin")).expect("bin");
        fs::write(folder.path().join(FILE), text).expect("the file");
        for file in files {
            fs::write(folder.path().join(file), "").expect("a file");
        }
        folder
    }

    const TEXT: &str = "name = \"x\"\ndevice = \"device.toml\"\npreload = [\"b.so\", \"a.so\"]\n";

    #[test]
    fn a_program_in_the_folder_of_programs_runs_in_its_environment() {
        let folder = made(TEXT, &["device.toml", "a.so", "b.so"]);
        let environment = Environment::of_program(&folder.path().join("bin/python")).expect("readable");
        let environment = environment.expect("found");
        assert_eq!(environment.name(), "x");
        assert_eq!(environment.device(), folder.path().join("device.toml"));
        assert_eq!(environment.preload(), [folder.path().join("b.so"), folder.path().join("a.so")]);
        assert!(Environment::of_program(&folder.path().join("python")).expect("readable").is_none());
    }

    #[test]
    fn a_missing_library_is_told_with_its_path() {
        let folder = made(TEXT, &["device.toml", "a.so"]);
        let failure = Environment::in_folder(folder.path()).expect_err("b.so is missing").to_string();
        assert!(failure.contains("b.so is not there") && failure.contains("voltsim setup"), "{failure}");
    }

    #[test]
    fn a_wrong_key_is_told_with_file_and_line() {
        let folder = made("nome = \"x\"\n", &[]);
        let failure = Environment::in_folder(folder.path()).expect_err("a wrong key").to_string();
        assert!(
            failure.contains(FILE) && failure.contains("nome") && failure.contains("line 1"),
            "{failure}"
        );
    }
}
