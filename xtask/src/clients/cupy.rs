//! Libraries of CUDA 10.2 that CuPy links: some from wheels of other projects, stand-ins for the
//! rest.

use super::{Part, lists, pytest, read};
use crate::error::{Error, Result};
use crate::python::Python;
use crate::stamp::Ingredients;
use crate::workspace::Workspace;
use crate::{files, process};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Python version of the wheels.
const PYTHON: &str = "3.8";

/// A wheel with libraries.
struct Wheel {
    /// Name of the pinning list and of the cache folder for its content.
    name: &'static str,
    /// Prefix of the wheel's file name.
    start: &'static str,
}

/// Runtime and NVRTC; cuRAND and the stand-ins, including cuBLAS's, are added.
const LIBRARIES: Wheel = Wheel { name: "cupy-libraries", start: "cumm_cu102-0.5.3-cp38-" };
/// cuBLAS, in a wheel of 776 MB.
const CUBLAS: Wheel = Wheel { name: "cupy-cublas", start: "torch-1.12.1-cp38-" };

/// Prepares the library folders unless up to date and returns the search path. The small part uses
/// a stand-in for cuBLAS.
pub(super) fn libraries(workspace: &Workspace, environment: &Path, part: Part) -> Result<OsString> {
    let packages = environment.join(pytest::PACKAGES);
    let mut folders = vec![LIBRARIES.unpack(workspace, environment, &[&packages])?];
    if part == Part::Whole {
        folders.insert(0, CUBLAS.unpack(workspace, environment, &[])?);
    }
    env::join_paths(folders).map_err(|_| Error::Steps("the path of CuPy's libraries".to_owned()))
}

impl Wheel {
    /// Downloads the wheel, runs `cupy/libraries.py` on it and returns the library folder.
    fn unpack(&self, workspace: &Workspace, environment: &Path, arguments: &[&Path]) -> Result<PathBuf> {
        let folder = workspace.cache.join("clients").join(self.name);
        let script = lists(workspace).join("cupy/libraries.py");
        let requirements = lists(workspace).join(format!("{}.txt", self.name));
        let mut ingredients = Ingredients::default();
        for file in [&script, &requirements, &lists(workspace).join("cupy-requirements.txt")] {
            ingredients.text(&read(file)?);
        }
        let stamp = ingredients.stamp(&folder);
        if !stamp.is_current() {
            // `voltsim setup` keeps PyTorch's wheels in the same folder.
            let downloads = workspace.cache.join("downloads");
            let python = Python::at(environment.to_owned(), downloads.clone());
            python.download_for(PYTHON, &requirements, &downloads)?;
            files::remove_folder(&folder)?;
            fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
            let mut take = Command::new(environment.join("bin/python"));
            take.arg(&script).arg(self.find(&downloads)?).arg(&folder).args(arguments);
            process::quiet(&mut take)?;
            stamp.write()?;
        }
        Ok(folder)
    }

    /// The wheel in the download folder.
    fn find(&self, downloads: &Path) -> Result<PathBuf> {
        let entries = fs::read_dir(downloads).map_err(Error::file(downloads))?;
        let mut names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let name = names.find(|name| name.starts_with(self.start) && name.ends_with(".whl"));
        name.map(|name| downloads.join(name))
            .ok_or_else(|| Error::Steps(format!("finding {}*.whl", self.start)))
    }
}
