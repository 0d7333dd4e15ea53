//! Tests that are in a project's repository and in none of its packages.

use crate::error::{Error, Result};
use crate::stamp::Ingredients;
use crate::workspace::Workspace;
use crate::{files, process};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A project's repository at one commit.
pub(super) struct Checkout {
    /// Name of its folder in the cache.
    name: &'static str,
    commit: &'static str,
    /// The files and folders that the tests need.
    parts: &'static [&'static str],
}

/// The repository of cuda-bindings and cuda-core (github.com/NVIDIA/cuda-python), on the day cuda-core 1.1.0 was released.
pub(super) const CUDA_PYTHON: Checkout = Checkout {
    name: "cuda-python",
    commit: "e83d43417562fb5a31d46060e1c93c0d00104b7e",
    parts: &[
        "cuda_bindings/examples",
        "cuda_bindings/pyproject.toml",
        "cuda_bindings/tests",
        "cuda_core/examples",
        "cuda_core/pyproject.toml",
        "cuda_core/pytest.ini",
        "cuda_core/tests",
        "cuda_python_test_helpers",
    ],
};

impl Checkout {
    /// Takes the files out of a clone, which may be bare; quick when they are there.
    pub(super) fn unpack(&self, workspace: &Workspace, clone: &Path) -> Result<()> {
        let folder = self.path(workspace);
        let mut ingredients = Ingredients::default();
        ingredients.text(self.commit);
        self.parts.iter().for_each(|part| ingredients.text(part));
        let stamp = ingredients.stamp(&folder);
        if stamp.is_current() {
            return Ok(());
        }
        files::remove_folder(&folder)?;
        fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
        let archive = folder.with_extension("tar");
        let mut git = Command::new("git");
        git.arg("-C")
            .arg(clone)
            .args(["archive", "--output"])
            .arg(&archive)
            .arg(self.commit)
            .args(self.parts);
        process::quiet(&mut git)?;
        process::quiet(Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(&folder))?;
        fs::remove_file(&archive).map_err(Error::file(&archive))?;
        stamp.write()
    }

    /// The folder with the files, if they have been unpacked.
    pub(super) fn folder(&self, workspace: &Workspace) -> Result<PathBuf> {
        let folder = self.path(workspace);
        if folder.exists() { Ok(folder) } else { Err(Error::NoCheckout(self.name)) }
    }

    fn path(&self, workspace: &Workspace) -> PathBuf {
        workspace.cache.join("clients").join(format!("{}-tests", self.name))
    }
}
