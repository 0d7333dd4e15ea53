//! Tests of crates that use CUDA. Cargo takes a crate's source from crates.io and checks it against
//! the checksum in `tests/clients/NAME/Cargo.lock`. The tests are compiled in the cache folder and
//! open libraries of PyPI's packages.

use super::pass_list::{self, Outcomes};
use super::{Part, left_out, lists, pytest, read};
use crate::error::{Error, Result};
use crate::files;
use crate::process;
use crate::python::Beside;
use crate::stamp::Ingredients;
use crate::workspace::Workspace;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Time after which a run counts as hung.
const TIME_LIMIT: &str = "15m";

/// A crate with tests.
pub(super) struct CrateTests {
    /// The suite's name.
    name: &'static str,
    /// The crate's name on crates.io.
    package: &'static str,
    /// cargo's arguments that choose features.
    features: &'static [&'static str],
    /// Folders of the environment's packages with libraries.
    libraries: &'static [&'static str],
    /// Folders of the environment's packages with headers that the tests compile kernels with.
    headers: &'static [&'static str],
    /// Options of `voltsim run`; a name that ends in `.toml` is a file of `tests/clients`.
    options: &'static [&'static str],
    /// Arguments of the test program.
    arguments: &'static [&'static str],
    /// Prefixes of the tests that CI has time for.
    small: &'static [&'static str],
}

/// cudarc: every library is opened at run time.
pub(super) const CUDARC: CrateTests = CrateTests {
    name: "cudarc",
    package: "cudarc",
    features: &[
        "--no-default-features",
        "--features",
        "std,driver,runtime,nvrtc,curand,f16,dynamic-loading,cuda-12090",
    ],
    libraries: &["nvidia/cuda_nvrtc/lib", "nvidia/cu13/lib"],
    headers: &[],
    options: &["--devices", "2", "--device", "curand/device.toml"],
    arguments: &[],
    small: &[
        "driver::safe::core::",
        "driver::safe::graph::",
        "driver::safe::launch::tests::test_launch_",
        "nvrtc::",
    ],
};

/// CubeCL's CUDA runtime. The crate has too many dependencies for CI.
pub(super) const CUBECL: CrateTests = CrateTests {
    name: "cubecl",
    package: "cubecl-cuda",
    features: &[],
    libraries: &["nvidia/cuda_nvrtc/lib"],
    headers: &["nvidia/cuda_runtime/include", "nvidia/cuda_cccl/include", "nvidia/cuda_nvcc/include"],
    options: &["--device", "h100"],
    arguments: &["--test-threads", "2"],
    small: &[],
};

impl CrateTests {
    /// Runs the tests, compares with the pass list and, if `accept`, updates it.
    pub(super) fn run(
        &'static self,
        workspace: &Workspace,
        command: &Path,
        part: Part,
        accept: bool,
    ) -> Result<bool> {
        if part == Part::Small && self.small.is_empty() {
            return Ok(true);
        }
        let suite = Compiled::set_up(self, workspace, command)?;
        let path = lists(workspace).join(format!("{}.txt", self.name));
        let text = read(&path)?;
        let mut listed = pass_list::parse(&text);
        let outcomes = match part {
            Part::Whole => suite.whole()?,
            Part::Small => {
                let outcomes = suite.outcomes(self.small)?;
                // A test that needs its own process runs in the whole suite only.
                listed.retain(|test| {
                    self.small.iter().any(|start| test.starts_with(start))
                        && !outcomes.left_out.contains(test)
                });
                outcomes
            }
        };
        let kept = pass_list::report(self.name, &listed, &outcomes);
        if accept && part == Part::Whole {
            pass_list::write(&path, &text, &outcomes)?;
            return Ok(true);
        }
        Ok(kept)
    }
}

/// A crate's tests, compiled.
struct Compiled {
    tests: &'static CrateTests,
    /// Test program.
    program: PathBuf,
    /// Search path of the libraries it opens.
    libraries: OsString,
    /// Folder with a CUDA toolkit's headers.
    toolkit: PathBuf,
    /// Options of `voltsim run`.
    options: Vec<OsString>,
    command: PathBuf,
    left_out: Vec<String>,
}

impl Compiled {
    /// Fetches sources and libraries and compiles the tests, unless up to date.
    fn set_up(tests: &'static CrateTests, workspace: &Workspace, command: &Path) -> Result<Self> {
        let CrateTests { name, package, .. } = tests;
        let own = lists(workspace).join(name);
        let folder = workspace.cache.join(format!("clients/{name}-sources"));
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
        let packages = pytest::environment(workspace, name, Beside::Nothing)?.join(pytest::PACKAGES);
        let libraries = env::join_paths(tests.libraries.iter().map(|folder| packages.join(folder)));
        let of_lists = |option: &&str| match option.ends_with(".toml") {
            true => lists(workspace).join(option).into_os_string(),
            false => option.into(),
        };
        let toolkit = workspace.cache.join(format!("clients/{name}-toolkit"));
        for headers in tests.headers {
            link_all(&packages.join(headers), &toolkit.join("include"))?;
        }
        Ok(Self {
            tests,
            // The cache serves new checkouts too.
            program: compile(
                tests,
                &folder.join(package),
                &workspace.cache.join(format!("clients/{name}-target")),
            )?,
            libraries: libraries.map_err(|_| Error::Steps(format!("the path of {name}'s libraries")))?,
            toolkit,
            options: tests.options.iter().map(of_lists).collect(),
            command: command.to_owned(),
            left_out: left_out(workspace, name)?,
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
        tests.arg(TIME_LIMIT).arg(&self.command).arg("run").args(&self.options).arg("--").arg(&self.program);
        tests.args(self.tests.arguments).args(arguments).env("LD_LIBRARY_PATH", &self.libraries);
        if !self.tests.headers.is_empty() {
            tests.env("CUDA_PATH", &self.toolkit);
        }
        for test in &self.left_out {
            tests.args(["--skip", test]);
        }
        let mut outcomes = Outcomes::default();
        // The pass list judges failures.
        process::seen(&mut tests, |line| note(line, &mut outcomes))?;
        Ok(outcomes)
    }
}

/// Makes links in `folder` to all that lies in another one.
fn link_all(from: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(Error::file(folder))?;
    for entry in fs::read_dir(from).map_err(Error::file(from))? {
        let entry = entry.map_err(Error::file(from))?;
        files::link(entry.path(), &folder.join(entry.file_name()))?;
    }
    Ok(())
}

/// Compiles the tests of the crate in `sources` and returns the program.
fn compile(tests: &CrateTests, sources: &Path, target: &Path) -> Result<PathBuf> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["test", "--no-run", "--lib", "--locked", "--quiet", "--message-format", "json"]);
    cargo.args(tests.features);
    let messages = process::quiet(cargo.current_dir(sources).env("CARGO_TARGET_DIR", target))?;
    let mut programs = messages.lines().filter_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(PathBuf::from(message.get("executable")?.as_str()?))
    });
    programs.next_back().ok_or_else(|| Error::Steps(format!("compiling {}'s tests", tests.name)))
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
