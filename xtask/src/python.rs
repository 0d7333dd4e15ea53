//! Python packages, pinned by hash, from the download cache or PyPI.

use crate::error::{Error, Result};
use crate::{files, process};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// System packages visible in an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beside {
    Nothing,
    /// The packages of Debian.
    Debian,
}

/// A Python environment.
pub(crate) struct Python {
    venv: PathBuf,
    /// The download cache.
    downloads: PathBuf,
}

impl Python {
    /// Creates the environment in `venv` afresh.
    pub(crate) fn create(venv: PathBuf, beside: Beside, downloads: PathBuf) -> Result<Self> {
        fs::create_dir_all(&downloads).map_err(Error::file(&downloads))?;
        files::remove_folder(&venv)?;
        let mut create = Command::new("/usr/bin/python3");
        create.args(["-m", "venv"]).arg(&venv);
        if beside == Beside::Debian {
            create.arg("--system-site-packages");
        }
        process::quiet(&mut create)?;
        Ok(Self { venv, downloads })
    }

    /// The existing environment in `venv`.
    pub(crate) fn at(venv: PathBuf, downloads: PathBuf) -> Self {
        Self { venv, downloads }
    }

    /// Installs `requirements` into `folder`.
    pub(crate) fn install(&self, requirements: &Path, folder: &Path) -> Result<()> {
        self.install_with(requirements, &["--target".as_ref(), folder.as_os_str()])
    }

    /// Installs `requirements` into the environment itself.
    pub(crate) fn install_into_itself(&self, requirements: &Path) -> Result<()> {
        self.install_with(requirements, &[])
    }

    fn install_with(&self, requirements: &Path, options: &[&OsStr]) -> Result<()> {
        let install = || {
            let mut pip = self.pip("install", requirements);
            pip.arg("--no-index").arg("--find-links").arg(&self.downloads);
            process::quiet(pip.args(options))
        };
        if install().is_err() {
            process::quiet(self.download(requirements).args(["--only-binary", ":all:"]))?;
            install()?;
        }
        Ok(())
    }

    /// Fetches source packages into the download cache. pip reads their metadata with the
    /// setuptools in `tools`.
    pub(crate) fn download_sources(&self, requirements: &Path, tools: &Path) -> Result<()> {
        let mut pip = self.download(requirements);
        process::quiet(pip.args(["--no-build-isolation", "--no-binary", ":all:"]).env("PYTHONPATH", tools))
            .map(drop)
    }

    /// Fetches packages for another Python version into `folder`, unless present.
    pub(crate) fn download_for(&self, version: &str, requirements: &Path, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder).map_err(Error::file(folder))?;
        let mut pip = self.download_to(requirements, folder);
        process::quiet(pip.args(["--only-binary", ":all:", "--python-version", version])).map(drop)
    }

    fn download(&self, requirements: &Path) -> Command {
        self.download_to(requirements, &self.downloads)
    }

    fn download_to(&self, requirements: &Path, folder: &Path) -> Command {
        println!("downloading to {}", folder.display());
        let mut pip = self.pip("download", requirements);
        pip.arg("--dest").arg(folder);
        pip
    }

    fn pip(&self, task: &str, requirements: &Path) -> Command {
        let mut pip = Command::new(self.venv.join("bin/pip"));
        pip.args(["--disable-pip-version-check", "--quiet", task, "--no-deps", "--require-hashes"]);
        pip.arg("--requirement").arg(requirements);
        pip
    }
}
