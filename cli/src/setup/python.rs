//! A Python of a certain version: one that is installed, or one that pyenv builds.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::run;
use crate::failure::Failure;

/// A version such as 3.8, and the release that pyenv is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Version {
    pub(crate) name: &'static str,
    pub(crate) release: &'static str,
}

/// Finds a Python of this version, or has pyenv build one; `given` is the user's choice.
pub(crate) fn find(version: Version, given: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(given) = given {
        let fits = is_usable(given, version);
        let wrong =
            || Failure::in_file(given, format_args!("is no Python {} with venv and pip", version.name));
        return if fits { Ok(given.to_owned()) } else { Err(wrong()) };
    }
    if let Some(found) = installed(version) {
        return Ok(found);
    }
    let Some(pyenv) = pyenv() else {
        return Err(Failure::new(format_args!("there is no Python {}", version.name)).remedy(
            "Install pyenv (curl https://pyenv.run | bash), which builds it, or name one with --python",
        ));
    };
    eprintln!("building Python {} with pyenv; this takes some minutes", version.release);
    let mut build = Command::new(&pyenv);
    build.args(["install", "--skip-existing", version.release]);
    run(build, "building Python").map_err(|failure| {
        failure.remedy("Install what Python is built from: apt-get install build-essential libssl-dev zlib1g-dev libbz2-dev libffi-dev liblzma-dev libsqlite3-dev")
    })?;
    installed(version).ok_or_else(|| {
        Failure::in_file(&pyenv, format_args!("Python {} was built and is not found", version.release))
    })
}

fn installed(version: Version) -> Option<PathBuf> {
    let name = format!("python{}", version.name);
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path: Vec<PathBuf> = env::split_paths(&path).map(|folder| folder.join(&name)).collect();
    let built = pyenv_root().map(|root| of_pyenv(&root.join("versions"), version)).unwrap_or_default();
    on_path.into_iter().chain(built).find(|python| python.is_file() && is_usable(python, version))
}

fn pyenv_root() -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("PYENV_ROOT").or_else(|| Some(set("HOME")?.join(".pyenv")))
}

/// Releases of a version that pyenv has built, the newest first.
fn of_pyenv(versions: &Path, version: Version) -> Vec<PathBuf> {
    let prefix = format!("{}.", version.name);
    let release = |folder: fs::DirEntry| {
        let number: u32 = folder.file_name().to_str()?.strip_prefix(&prefix)?.parse().ok()?;
        Some((number, folder.path().join("bin").join(format!("python{}", version.name))))
    };
    let mut releases: Vec<_> =
        fs::read_dir(versions).into_iter().flatten().flatten().filter_map(release).collect();
    releases.sort();
    releases.into_iter().rev().map(|(_, python)| python).collect()
}

fn pyenv() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&path).map(|folder| folder.join("pyenv"));
    let own = pyenv_root().map(|root| root.join("bin/pyenv"));
    on_path.chain(own).find(|pyenv| pyenv.is_file())
}

/// Is it of this version, and can it make environments?
fn is_usable(python: &Path, version: Version) -> bool {
    let question = "import ensurepip, sys, venv, zlib; print('%d.%d' % sys.version_info[:2])";
    let answer = Command::new(python).args(["-c", question]).output();
    answer.is_ok_and(|answer| String::from_utf8_lossy(&answer.stdout).trim() == version.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_release_that_pyenv_has_comes_first() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["3.8.9", "3.8.18", "3.9.1", "3.8-dev", "3.80.1"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        let found = of_pyenv(folder.path(), Version { name: "3.8", release: "3.8.20" });
        let expected = ["3.8.18", "3.8.9"].map(|name| folder.path().join(name).join("bin/python3.8"));
        assert_eq!(found, expected);
    }

    #[test]
    fn a_python_of_another_version_is_refused_by_name() {
        let failure = find(Version { name: "2.1", release: "2.1.3" }, Some(Path::new("/usr/bin/python3")));
        let failure = failure.expect_err("not this version").to_string();
        assert!(failure.contains("/usr/bin/python3") && failure.contains("2.1"), "{failure}");
    }
}
