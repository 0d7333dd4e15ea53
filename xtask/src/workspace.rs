//! Folders of the checkout and the cache.

use crate::error::Result;
use crate::process;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use voltsim_tests::catalogue;

/// Cargo profile and folder name of the profile-guided build.
pub(crate) const GUIDED: &str = "guided";

pub(crate) struct Workspace {
    /// Root of the checkout.
    pub(crate) root: PathBuf,
    /// Cargo's output folder.
    pub(crate) target: PathBuf,
    /// Cache of downloads, shared by checkouts.
    pub(crate) cache: PathBuf,
}

impl Workspace {
    pub(crate) fn find() -> Self {
        let root = catalogue::checkout();
        let folder = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let target = folder("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |path| root.join(path));
        let user_cache = || folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
        let cache = folder("VOLTSIM_CACHE")
            .or_else(|| Some(user_cache()?.join("voltsim")))
            .unwrap_or_else(|| target.join("cache"));
        Self { root, target, cache }
    }

    /// The `voltsim` command of the release build.
    pub(crate) fn command(&self) -> PathBuf {
        self.target.join("release/voltsim")
    }

    /// Packages downloaded from PyPI.
    pub(crate) fn downloads(&self) -> PathBuf {
        self.cache.join("wheels")
    }

    /// Builds the command and the libraries.
    pub(crate) fn build(&self) -> Result<bool> {
        process::shown(self.build_command().arg("--release"))
    }

    /// Builds them with another code generation option into a folder of `target`.
    pub(crate) fn build_guided(&self, target: &Path, option: &str) -> Result<bool> {
        let mut build = self.build_command();
        // Environment flags would replace the configured ones.
        build.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
        build.args(["--profile", GUIDED]).arg("--target-dir").arg(target);
        build.arg("--config").arg(format!("target.'cfg(all())'.rustflags = ['-C', {option:?}]"));
        process::shown(&mut build)
    }

    fn build_command(&self) -> Command {
        let mut build = self.cargo(&["build", "--workspace"]);
        for tests in ["xtask", "voltsim-tests", "isa-oracle"] {
            build.args(["--exclude", tests]);
        }
        build.args(is_ci().then_some("--locked"));
        build
    }

    /// Cargo in this checkout.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.current_dir(&self.root).args(arguments);
        cargo
    }
}

/// True in a CI run, which must not skip tests.
pub(crate) fn is_ci() -> bool {
    env::var_os("VOLTSIM_CI").is_some_and(|value| !value.is_empty())
}
