//! Suites that pytest runs, each in an environment of its own with pinned packages, in the cache folder.

use super::pass_list::{self, Outcomes};
use super::{Part, lists, read};
use crate::error::{Error, Result};
use crate::process;
use crate::python::Python;
use crate::stamp::Ingredients;
use crate::workspace::Workspace;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A suite of a Python package.
pub(crate) struct Pytest {
    /// Name of the suite, of its files in `tests/clients` and of its environment.
    name: &'static str,
    /// Device that the tests see.
    device: &'static str,
    /// Options of pytest.
    options: &'static [&'static str],
    /// Folder of the tests, in the environment's packages; test names are relative to it.
    root: &'static str,
    /// What pytest is told to run.
    whole: &'static [&'static str],
    /// A part of that, and what the names of its tests begin with.
    small: &'static [(&'static str, &'static str)],
}

/// The tests with a device of numba-cuda's package, on a device that skips none of them for its age.
pub(crate) const NUMBA_CUDA: Pytest = Pytest {
    name: "numba-cuda",
    device: "h100",
    options: &["-o", "consider_namespace_packages=true", "--pyargs"],
    root: "numba_cuda/numba/cuda/tests",
    whole: &["numba.cuda.tests.cudadrv", "numba.cuda.tests.cudapy"],
    small: &[
        ("numba.cuda.tests.cudadrv.test_linker", "cudadrv/test_linker.py"),
        ("numba.cuda.tests.cudadrv.test_cuda_driver", "cudadrv/test_cuda_driver.py"),
        ("numba.cuda.tests.cudadrv.test_cuda_memory", "cudadrv/test_cuda_memory.py"),
        ("numba.cuda.tests.cudapy.test_warp_ops", "cudapy/test_warp_ops.py"),
        ("numba.cuda.tests.cudapy.test_cooperative_groups", "cudapy/test_cooperative_groups.py"),
        ("numba.cuda.tests.cudapy.test_print", "cudapy/test_print.py"),
    ],
};

/// Two workers, as a whole suite is to take less than ten minutes on two cores.
const WORKERS: &str = "2";
/// Seconds after which a test hangs.
const TEST_TIME_LIMIT: &str = "300";
/// A suite that takes longer hangs.
const TIME_LIMIT: &str = "1h";
const PACKAGES: &str = "lib/python3.11/site-packages";

impl Pytest {
    /// Runs the suite, reports what changed against the pass list and, where that is wanted, accepts it; whether every
    /// listed test passes.
    pub(crate) fn run(
        &self,
        workspace: &Workspace,
        command: &Path,
        part: Part,
        accept: bool,
    ) -> Result<bool> {
        let environment = self.environment(workspace)?;
        let path = lists(workspace).join(format!("{}.txt", self.name));
        let text = read(&path)?;
        let mut listed = pass_list::parse(&text);
        if part == Part::Small {
            listed.retain(|test| self.small.iter().any(|(_, file)| test.starts_with(file)));
        }
        let outcomes = self.outcomes(workspace, &environment, command, part)?;
        let comparison = pass_list::compare(&listed, &outcomes);
        for name in &comparison.gained {
            println!("{}: passes now: {name}", self.name);
        }
        for name in &comparison.lost {
            println!("{}: no longer passes: {name}", self.name);
        }
        println!(
            "{}: {} passed, {} failed, {} left out by their authors",
            self.name,
            outcomes.passed.len(),
            outcomes.failed.len(),
            outcomes.left_out.len()
        );
        if accept && part == Part::Whole {
            pass_list::write(&path, &text, &outcomes)?;
            return Ok(true);
        }
        Ok(comparison.lost.is_empty())
    }

    /// The environment's folder; quick when nothing changed.
    fn environment(&self, workspace: &Workspace) -> Result<PathBuf> {
        let environment = workspace.cache.join("clients").join(self.name);
        let requirements = lists(workspace).join(format!("{}-requirements.txt", self.name));
        let mut ingredients = Ingredients::default();
        // Checkouts share the environment, so its path is no ingredient.
        ingredients.text(&read(&requirements)?);
        let stamp = ingredients.stamp(&environment);
        if !stamp.is_current() {
            Python::create(environment.clone(), workspace.downloads())?.install_into_itself(&requirements)?;
            stamp.write()?;
        }
        Ok(environment)
    }

    fn outcomes(
        &self,
        workspace: &Workspace,
        environment: &Path,
        command: &Path,
        part: Part,
    ) -> Result<Outcomes> {
        let folder = workspace.target.join("clients").join(self.name);
        fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
        let file = folder.join("outcomes.tsv");
        fs::write(&file, "").map_err(Error::file(&file))?;
        let mut tests = Command::new("timeout");
        tests.arg(TIME_LIMIT).arg(command).args(["run", "--device", self.device, "--"]);
        tests.arg(environment.join("bin/python")).args(["-m", "pytest", "-p", "outcomes", "--quiet"]);
        tests.args(["--no-header", "-p", "no:cacheprovider", "--disable-warnings", "--tb=short"]);
        tests.args(["--numprocesses", WORKERS, "--dist", "loadfile", "--timeout", TEST_TIME_LIMIT]);
        tests.arg("--rootdir").arg(environment.join(PACKAGES).join(self.root)).args(self.options);
        match part {
            Part::Whole => tests.args(self.whole),
            Part::Small => tests.args(self.small.iter().map(|(module, _)| module)),
        };
        tests.current_dir(&folder).env("PYTHONPATH", lists(workspace)).env("OUTCOMES", &file);
        // Failures are judged by the list.
        process::shown(&mut tests)?;
        Ok(parse(&read(&file)?))
    }
}

/// Reads the lines of `tests/clients/outcomes.py`: outcome, seconds, name.
fn parse(text: &str) -> Outcomes {
    let mut outcomes = Outcomes::default();
    for line in text.lines() {
        let mut fields = line.splitn(3, '\t');
        let (Some(outcome), Some(_), Some(name)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        match outcome {
            "passed" => outcomes.passed.insert(name.to_owned()),
            "failed" => outcomes.failed.insert(name.to_owned()),
            _ => outcomes.left_out.insert(name.to_owned()),
        };
    }
    outcomes
}
