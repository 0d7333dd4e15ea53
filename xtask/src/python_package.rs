//! The Python package in `python/`: tests, types and format, on the release build.

use crate::error::{Error, Result};
use crate::process;
use crate::python::{Beside, Python};
use crate::workspace::Workspace;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Checks the package; true if every check passes.
pub(crate) fn check(workspace: &Workspace) -> Result<bool> {
    let venv = tools(workspace)?;
    let package = workspace.root.join("python");
    let tool = |name: &str, arguments: &[&str]| {
        let mut command = Command::new(venv.join("bin").join(name));
        command.args(arguments).current_dir(&package);
        process::shown(&mut command)
    };
    let mut passed = tool("ruff", &["check", "--no-cache", "--quiet", "voltsim", "tests"])?;
    passed &= tool("ruff", &["format", "--no-cache", "--quiet", "--check", "voltsim", "tests"])?;
    let cache = workspace.target.join("mypy");
    passed &= tool("mypy", &["--cache-dir", &cache.to_string_lossy(), "voltsim", "tests"])?;
    let mut tests = Command::new(venv.join("bin/python"));
    // The installed plug-in is loaded by its entry point; a checkout names it.
    tests.args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider", "-p", "voltsim.pytest_plugin", "tests"]);
    tests.env("VOLTSIM_COMMAND", workspace.command()).env("PYTHONPATH", &package);
    tests.env("PYTHONDONTWRITEBYTECODE", "1");
    passed &= process::shown(tests.current_dir(&package))?;
    Ok(passed)
}

/// An environment with the tools, made anew when their list changes.
fn tools(workspace: &Workspace) -> Result<PathBuf> {
    let requirements = workspace.root.join("python/tests/requirements.txt");
    let wanted = fs::read_to_string(&requirements).map_err(Error::file(&requirements))?;
    let venv = workspace.target.join("python-tools");
    let made = venv.join("requirements.txt");
    if fs::read_to_string(&made).is_ok_and(|present| present == wanted) {
        return Ok(venv);
    }
    let python = Python::create(venv.clone(), Beside::Nothing, workspace.downloads())?;
    python.install_into_itself(&requirements)?;
    fs::write(&made, wanted).map_err(Error::file(&made))?;
    Ok(venv)
}
