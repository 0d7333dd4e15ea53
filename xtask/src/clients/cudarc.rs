//! cudarc's own tests. cargo takes the crate's source from crates.io, checks it against the
//! checksum in `tests/clients/cudarc/Cargo.lock`, and compiles its tests in the cache folder; they
//! open NVRTC and cuRAND of PyPI.

use super::pass_list::{self, Outcomes};
use super::{Part, left_out, lists, pytest, read};
use crate::error::{Error, Result};
use crate::process;
use crate::python::Beside;
use crate::stamp::Ingredients;
use crate::workspace::Workspace;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

const NAME: &str = "cudarc";
/// Features of the crate whose libraries are available; all are opened at run time.
const FEATURES: &str = "std,driver,runtime,nvrtc,curand,f16,dynamic-loading,cuda-12090";
/// Folders of the environment's packages with libraries.
const LIBRARIES: [&str; 2] = ["nvidia/cuda_nvrtc/lib", "nvidia/cu13/lib"];
/// Prefixes of the tests that CI has time for.
const SMALL: [&str; 4] =
    ["driver::safe::core::", "driver::safe::graph::", "driver::safe::launch::tests::test_launch_", "nvrtc::"];
/// Time after which a run counts as hung.
const TIME_LIMIT: &str = "15m";

/// Runs the tests, compares with the pass list and, if `accept`, updates it.
pub(super) fn run(workspace: &Workspace, command: &Path, part: Part, accept: bool) -> Result<bool> {
    let suite = Cudarc::set_up(workspace, command)?;
    let path = lists(workspace).join(format!("{NAME}.txt"));
    let text = read(&path)?;
    let mut listed = pass_list::parse(&text);
    let outcomes = match part {
        Part::Whole => suite.whole()?,
        Part::Small => {
            let outcomes = suite.outcomes(&SMALL)?;
            // A test that needs its own process runs in the whole suite only.
            listed.retain(|test| {
                SMALL.iter().any(|start| test.starts_with(start)) && !outcomes.left_out.contains(test)
            });
            outcomes
        }
    };
    let kept = pass_list::report(NAME, &listed, &outcomes);
    if accept && part == Part::Whole {
        pass_list::write(&path, &text, &outcomes)?;
        return Ok(true);
    }
    Ok(kept)
}

/// The crate's tests, compiled.
struct Cudarc {
    /// Test program.
    program: PathBuf,
    /// Search path of the libraries it opens.
    libraries: OsString,
    device: PathBuf,
    command: PathBuf,
    left_out: Vec<String>,
}

impl Cudarc {
    /// Fetches sources and libraries and compiles the tests, unless up to date.
    fn set_up(workspace: &Workspace, command: &Path) -> Result<Self> {
        let own = lists(workspace).join(NAME);
        let folder = workspace.cache.join("clients/cudarc-sources");
        let mut ingredients = Ingredients::default();
        for file in ["Cargo.toml", "Cargo.lock"] {
            ingredients.text(&read(&own.join(file))?);
        }
        let stamp = ingredients.stamp(&folder);
        if !stamp.is_current() {
            let mut vendor = workspace.cargo(&["vendor", "--quiet", "--locked", "--manifest-path"]);
            process::quiet(vendor.arg(own.join("Cargo.toml")).arg(&folder))?;
            stamp.write()?;
        }
        let packages = pytest::environment(workspace, NAME, Beside::Nothing)?.join(pytest::PACKAGES);
        let libraries = env::join_paths(LIBRARIES.map(|folder| packages.join(folder)));
        Ok(Self {
            // The cache serves new checkouts too.
            program: compile(&folder.join(NAME), &workspace.cache.join("clients/cudarc-target"))?,
            libraries: libraries.map_err(|_| Error::Steps("the path of cudarc's libraries".to_owned()))?,
            device: lists(workspace).join("curand/device.toml"),
            command: command.to_owned(),
            left_out: left_out(workspace, NAME)?,
        })
    }

    /// All tests: shareable ones in one process, the others each in its own.
    fn whole(&self) -> Result<Outcomes> {
        let mut outcomes = self.outcomes(&[])?;
        let ignored = std::mem::take(&mut outcomes.left_out);
        for test in &ignored {
            let alone = self.outcomes(&["--ignored", "--exact", test])?;
            outcomes.passed.extend(alone.passed);
            outcomes.failed.extend(alone.failed);
        }
        outcomes.left_out = self.left_out.iter().cloned().collect();
        Ok(outcomes)
    }

    /// Runs the tests selected by these arguments.
    fn outcomes(&self, arguments: &[&str]) -> Result<Outcomes> {
        let mut tests = Command::new("timeout");
        tests.arg(TIME_LIMIT).arg(&self.command).args(["run", "--devices", "2", "--device"]);
        tests
            .arg(&self.device)
            .arg("--")
            .arg(&self.program)
            .args(arguments)
            .env("LD_LIBRARY_PATH", &self.libraries);
        for test in &self.left_out {
            tests.args(["--skip", test]);
        }
        let mut outcomes = Outcomes::default();
        // The pass list judges failures.
        process::seen(&mut tests, |line| note(line, &mut outcomes))?;
        Ok(outcomes)
    }
}

/// Compiles the tests of the crate in `sources` and returns the program.
fn compile(sources: &Path, target: &Path) -> Result<PathBuf> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["test", "--no-run", "--lib", "--locked", "--quiet", "--message-format", "json"]);
    cargo.args(["--no-default-features", "--features", FEATURES]);
    let messages = process::quiet(cargo.current_dir(sources).env("CARGO_TARGET_DIR", target))?;
    let mut programs = messages.lines().filter_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(PathBuf::from(message.get("executable")?.as_str()?))
    });
    programs.next_back().ok_or_else(|| Error::Steps("compiling cudarc's tests".to_owned()))
}

/// Parses a line of a test program: `test NAME ... ok`, possibly after a kernel's output.
fn note(line: &str, outcomes: &mut Outcomes) {
    let Some((start, outcome)) = line.rsplit_once(" ... ") else { return };
    let Some((_, name)) = start.rsplit_once("test ") else { return };
    let name = name.trim_end_matches(" - should panic").to_owned();
    match outcome.split([',', ' ']).next() {
        Some("ok") => outcomes.passed.insert(name),
        Some("FAILED") => outcomes.failed.insert(name),
        Some("ignored") => outcomes.left_out.insert(name),
        _ => false,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_test_program_names_the_test_and_its_outcome() {
        let mut outcomes = Outcomes::default();
        for line in [
            "running 4 tests",
            "test core::waits ... ok",
            "printed by a kernel test core::copies - should panic ... ok",
            "test core::adds ... FAILED",
            "test core::peers ... ignored, must be executed with multiple gpus",
            "test result: ok. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s",
        ] {
            note(line, &mut outcomes);
        }
        assert!(outcomes.passed.iter().eq(["core::copies", "core::waits"]));
        assert!(outcomes.failed.iter().eq(["core::adds"]));
        assert!(outcomes.left_out.iter().eq(["core::peers"]));
    }
}
