//! The libraries of CUDA 10.2 that CuPy links: those of PyTorch's wheel, and stand-ins for what is in no package.

use super::{lists, pytest, read};
use crate::error::{Error, Result};
use crate::python::Python;
use crate::stamp::Ingredients;
use crate::workspace::Workspace;
use crate::{files, process};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version of Python that the wheel is for.
const PYTHON: &str = "3.8";
/// What the wheel's name begins with.
const WHEEL: &str = "torch-1.12.1-";

/// Puts the libraries into a folder of the cache, quick when nothing changed; gives the folder.
pub(super) fn libraries(workspace: &Workspace, environment: &Path) -> Result<PathBuf> {
    let folder = workspace.cache.join("clients/cupy-libraries");
    let script = lists(workspace).join("cupy/libraries.py");
    let requirements = lists(workspace).join("cupy-libraries.txt");
    let mut ingredients = Ingredients::default();
    ingredients.text(&read(&script)?);
    ingredients.text(&read(&requirements)?);
    ingredients.text(&read(&lists(workspace).join("cupy-requirements.txt"))?);
    let stamp = ingredients.stamp(&folder);
    if !stamp.is_current() {
        // Where `voltsim setup` keeps it too.
        let downloads = workspace.cache.join("downloads");
        let python = Python::at(environment.to_owned(), downloads.clone());
        python.download_for(PYTHON, &requirements, &downloads)?;
        files::remove_folder(&folder)?;
        fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
        let mut take = Command::new(environment.join("bin/python"));
        take.arg(&script).arg(wheel(&downloads)?).arg(environment.join(pytest::PACKAGES)).arg(&folder);
        process::quiet(&mut take)?;
        stamp.write()?;
    }
    Ok(folder)
}

/// The wheel in the folder of downloads.
fn wheel(downloads: &Path) -> Result<PathBuf> {
    let entries = fs::read_dir(downloads).map_err(Error::file(downloads))?;
    let mut found = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let name = found.find(|name| name.starts_with(WHEEL) && name.ends_with(".whl"));
    name.map(|name| downloads.join(name)).ok_or_else(|| Error::Steps(format!("finding {WHEEL}*.whl")))
}
