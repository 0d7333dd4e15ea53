//! Installs an artefact into an empty folder and uses it there as an ordinary user would.
//!
//! The environment has no HOME, no network and no path to the checkout.

use super::{Build, Kind, action_test, image};
use crate::error::{Error, Result};
use crate::{files, process};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// User and group `nobody` of Debian.
const NOBODY: &str = "65534";

/// Installs `artefact` and runs the self-check, the demo, `doctor` and a timed run.
pub(super) fn run(kind: Kind, artefact: &Path, build: &Build<'_>) -> Result<()> {
    let folder = build.output.join("installed");
    files::remove_folder(&folder)?;
    let work = folder.join("work");
    for folder in [&folder, &work] {
        fs::create_dir_all(folder).map_err(Error::file(folder))?;
        // The user of the test writes here, and the packages' files belong to this process's user.
        fs::set_permissions(folder, fs::Permissions::from_mode(0o1777)).map_err(Error::file(folder))?;
    }
    let prefix = install(kind, artefact, &folder)?;
    let voltsim = prefix.join("bin/voltsim");
    let demo = prefix.join("lib/voltsim/voltsim-demo");
    let demo = demo.to_string_lossy().into_owned();
    let expect = |arguments: &[&str], text: &str| {
        let output = process::quiet(as_user(&voltsim, &work).args(arguments))?;
        if output.contains(text) {
            return Ok(());
        }
        let reason = format!("`voltsim {}` does not print `{text}`:\n{output}", arguments.join(" "));
        Err(Error::Artefact { artefact: artefact.to_owned(), reason })
    };
    expect(&["version"], "commit")?;
    expect(&["self-check"], "ok: ")?;
    expect(&["demo"], "0 of 307200 points wrong")?;
    expect(&["doctor", &demo], "nothing is missing")?;
    let timed = ["run", "--mode", "detailed", "--report", "run.html", "--statistics"];
    for (name, begin) in [("run.json", "{\n"), ("run.parquet", "PAR1")] {
        expect(&[&timed[..], &[name, "--", &demo]].concat(), "0 of 307200 points wrong")?;
        holds(&work.join(name), begin, "mandelbrot")?;
    }
    holds(&work.join("run.html"), "<!", "mandelbrot")?;
    if kind == Kind::Wheel {
        let python = prefix.join("bin/python");
        let script = "import sys, voltsim\n\
            run = voltsim.run([sys.argv[1]], mode='detailed', gpu='v100')\n\
            print(len(run.launches), run.launches[0]['kernel'])";
        let output = process::quiet(as_user(&python, &work).args(["-c", script, &demo]))?;
        if !output.contains("2 mandelbrot") {
            return Err(Error::Artefact { artefact: artefact.to_owned(), reason: output });
        }
        action_test::run(&build.workspace.root.join("action.yml"), artefact, &work)?;
    }
    println!("{}: installed and used", artefact.display());
    files::remove_folder(&folder)
}

/// Checks how a file begins, and that it names a kernel.
fn holds(file: &Path, begin: &str, kernel: &str) -> Result<()> {
    let bytes = fs::read(file).map_err(Error::file(file))?;
    let names_kernel = bytes.windows(kernel.len()).any(|window| window == kernel.as_bytes());
    if bytes.starts_with(begin.as_bytes()) && names_kernel {
        return Ok(());
    }
    let reason = format!("does not begin with `{begin}`, or has no launch of {kernel}");
    Err(Error::Artefact { artefact: file.to_owned(), reason })
}

/// Installs into `folder`; returns the prefix.
fn install(kind: Kind, artefact: &Path, folder: &Path) -> Result<PathBuf> {
    match kind {
        Kind::Wheel => {
            let venv = folder.join("venv");
            process::quiet(Command::new("/usr/bin/python3").args(["-m", "venv"]).arg(&venv))?;
            let mut pip = Command::new(venv.join("bin/pip"));
            process::quiet(pip.args(["install", "--quiet", "--no-index", "--no-deps"]).arg(artefact))?;
            Ok(venv)
        }
        Kind::Archive => {
            process::quiet(Command::new("tar").arg("-C").arg(folder).arg("-xzf").arg(artefact))?;
            let name = artefact.file_name().unwrap_or_default().to_string_lossy();
            let script = folder.join(name.trim_end_matches(".tar.gz")).join("install.sh");
            let prefix = folder.join("prefix");
            process::quiet(as_user(&script, folder).env_clear().env("PATH", "/usr/bin:/bin").arg(&prefix))?;
            Ok(prefix)
        }
        Kind::Debian => {
            let mut dpkg = Command::new("dpkg-deb");
            process::quiet(dpkg.arg("--extract").arg(artefact).arg(folder))?;
            Ok(folder.join("usr"))
        }
        Kind::Image => {
            image::unpack(artefact, folder)?;
            Ok(folder.join("usr/local"))
        }
    }
}

/// A command as user `nobody`, where this process is root, without a network and with an empty
/// environment.
pub(super) fn as_user(program: &Path, work: &Path) -> Command {
    let is_root = process::quiet(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    let mut command = Command::new("unshare");
    if is_root {
        command.args(["--net", "setpriv", "--clear-groups"]);
        command.arg(format!("--reuid={NOBODY}")).arg(format!("--regid={NOBODY}"));
    } else {
        command.args(["--net", "--map-current-user"]);
    }
    command.arg(program).current_dir(work).env_clear().env("PATH", "/usr/bin:/bin");
    command
}
