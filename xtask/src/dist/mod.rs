//! `cargo xtask dist`: the artefacts that users install.
//!
//! Every artefact holds the same [`stage`]: `bin/voltsim`, `lib/voltsim` with the libraries that
//! programs load, and `share`. The command finds the libraries relative to its own path, so a
//! prefix may lie anywhere.

mod action_test;
mod archive;
mod debian_package;
mod image;
mod install_test;
mod licences;
mod stage;
mod wheel;

use crate::error::{Error, Result};
use crate::process;
use crate::workspace::Workspace;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Options of `cargo xtask dist`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Install each artefact into an empty folder as an ordinary user without HOME and network, and
    /// run it there.
    #[arg(long)]
    test: bool,
    /// Artefacts to make; all without.
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Kind>,
    /// Take the release build as it is.
    #[arg(long)]
    built: bool,
    /// Root file system of the image; without one, the image holds Voltsim alone.
    #[arg(long, value_name = "FOLDER")]
    base: Option<PathBuf>,
}

/// Kinds of artefacts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// Python wheel.
    Wheel,
    /// Archive with an install script.
    Archive,
    /// Debian package.
    Debian,
    /// OCI image.
    Image,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Wheel, Self::Archive, Self::Debian, Self::Image];
}

/// Facts that all artefacts share.
struct Build<'a> {
    workspace: &'a Workspace,
    /// Folder of the artefacts.
    output: PathBuf,
    /// Prefix tree that the artefacts hold.
    stage: PathBuf,
    version: &'static str,
    /// Seconds since 1970 of the commit; all files of the artefacts have this time.
    time: u64,
}

impl Build<'_> {
    fn artefact(&self, name: &str) -> PathBuf {
        self.output.join(name)
    }
}

/// Makes the artefacts in `target/dist`, with their checksums.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find();
    if !arguments.built && !workspace.build()? {
        return Err(Error::Steps("the release build".to_owned()));
    }
    let output = workspace.target.join("dist");
    fs::create_dir_all(&output).map_err(Error::file(&output))?;
    let build = Build {
        stage: output.join("stage"),
        output,
        version: env!("CARGO_PKG_VERSION"),
        time: commit_time(&workspace)?,
        workspace: &workspace,
    };
    stage::make(&build)?;
    let mut artefacts = vec![stage::debug_symbols(&build)?];
    let wanted = |kind: &Kind| arguments.only.is_empty() || arguments.only.contains(kind);
    for kind in Kind::ALL.into_iter().filter(wanted) {
        let artefact = match kind {
            Kind::Wheel => wheel::make(&build)?,
            Kind::Archive => archive::make(&build)?,
            Kind::Debian => debian_package::make(&build)?,
            Kind::Image => image::make(&build, arguments.base.as_deref())?,
        };
        println!("{}", artefact.display());
        if arguments.test {
            install_test::run(kind, &artefact, &build)?;
        }
        artefacts.push(artefact);
    }
    write_checksums(&build.output, &artefacts)
}

/// `SHA256SUMS`, as `sha256sum --check` reads it.
fn write_checksums(folder: &Path, artefacts: &[PathBuf]) -> Result<()> {
    let mut lines = String::new();
    for artefact in artefacts {
        let bytes = fs::read(artefact).map_err(Error::file(artefact))?;
        let name = artefact.file_name().unwrap_or_default().to_string_lossy();
        let _ = writeln!(lines, "{}  {name}", image::digest(&bytes));
    }
    let file = folder.join("SHA256SUMS");
    fs::write(&file, lines).map_err(Error::file(&file))
}

fn commit_time(workspace: &Workspace) -> Result<u64> {
    let time = git(workspace, &["log", "-1", "--format=%ct"])?;
    Ok(time.parse().unwrap_or_default())
}

/// Output of git in the checkout, trimmed.
fn git(workspace: &Workspace, arguments: &[&str]) -> Result<String> {
    let mut git = Command::new("git");
    git.current_dir(&workspace.root).args(arguments);
    process::quiet(&mut git).map(|text| text.trim().to_owned())
}

/// A `tar` that gives the same bytes for the same files.
fn tar(build: &Build<'_>, folder: &Path, archive: &Path) -> Command {
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=posix"])
        .args(["--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime"])
        .arg(format!("--mtime=@{}", build.time))
        .arg("--directory")
        .arg(folder)
        .arg("--create")
        .arg("--file")
        .arg(archive);
    tar
}
