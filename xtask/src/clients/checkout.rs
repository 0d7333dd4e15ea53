//! Tests in a project's repository that its packages lack.

use crate::error::{Error, Result};
use crate::stamp::Ingredients;
use crate::workspace::Workspace;
use crate::{files, process};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A project's repository at one commit.
pub(super) struct Checkout {
    /// Folder name in the cache.
    name: &'static str,
    commit: &'static str,
    /// Files and folders that the tests need.
    parts: &'static [&'static str],
}

/// Repository of cuda-bindings and cuda-core (github.com/NVIDIA/cuda-python), as of the release of
/// cuda-core 1.1.0.
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
    /// Extracts the files from a clone, bare or not, unless they exist.
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

    /// Folder of the extracted files, if they exist.
    pub(super) fn folder(&self, workspace: &Workspace) -> Result<PathBuf> {
        let folder = self.path(workspace);
        if folder.exists() { Ok(folder) } else { Err(Error::NoCheckout(self.name)) }
    }

    fn path(&self, workspace: &Workspace) -> PathBuf {
        workspace.cache.join("clients").join(format!("{}-tests", self.name))
    }
}
