//! tinygrad gives the driver API its own PTX, or PTX that NVRTC generates from CUDA C++. `cargo
//! xtask test` runs the small suite of the source package and a LeNet training. Tests of
//! operations, types and the JIT exist in the repository only, and compare with PyTorch on the
//! processor.

use super::pass_list::{self, Outcomes};
use super::{Part, lists, pytest, read};
use crate::error::{Error, Result};
use crate::python::{Beside, Python};
use crate::stamp::Ingredients;
use crate::toolchain::Toolchain;
use crate::workspace::Workspace;
use crate::{files, process};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Folder of the unpacked source package.
const TINYGRAD: &str = "tinygrad-0.14.0";
/// Debian's Python, which has Debian's PyTorch.
const PYTHON: &str = "/usr/bin/python3";
/// Debian's clang.
const CLANG: &str = "clang-19";
/// Time after which a suite counts as hung.
const TIME_LIMIT: &str = "3h";
/// Tests run from a checkout of the repository.
const TESTS: [&str; 4] = [
    "test/test_tiny.py",
    "test/backend/test_ops.py",
    "test/backend/test_dtype.py",
    "test/backend/test_jit.py",
];

/// Value of `DEV` for tinygrad's own PTX.
const PTX: &str = "CUDA:PTX";
/// Value of `DEV` for CUDA C++ compiled by NVRTC.
const NVRTC: &str = "CUDA:CUDA";

/// An installed tinygrad.
pub(super) struct Tinygrad {
    sources: PathBuf,
    nvrtc: PathBuf,
    /// CUDA 12.9, whose headers NVRTC reads.
    cuda12: PathBuf,
    command: PathBuf,
    /// Folder of the pytest plugin.
    lists: PathBuf,
}

impl Tinygrad {
    /// Installs tinygrad into `target/clients` for this `voltsim`, unless up to date.
    pub(crate) fn set_up(workspace: &Workspace, command: &Path) -> Result<Self> {
        let folder = workspace.target.join("clients");
        let lists = workspace.root.join("tests/clients");
        let (tools, tinygrad) = (lists.join("requirements.txt"), lists.join("tinygrad-source.txt"));
        let packages = folder.join("packages");
        let mut ingredients = Ingredients::default();
        ingredients.file(&tools)?;
        ingredients.file(&tinygrad)?;
        let stamp = ingredients.stamp(&packages);
        if !stamp.is_current() {
            files::remove_folder(&packages)?;
            let archive = workspace.downloads().join(format!("{TINYGRAD}.tar.gz"));
            let python = Python::create(folder.join("venv"), Beside::Nothing, workspace.downloads())?;
            python.install(&tools, &packages)?;
            if !archive.exists() {
                python.download_sources(&tinygrad, &packages)?;
            }
            process::quiet(Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(&folder))?;
            stamp.write()?;
        }
        Ok(Self {
            sources: folder.join(TINYGRAD),
            cuda12: Toolchain::set_up(workspace)?.cuda12,
            nvrtc: packages.join("nvidia/cuda_nvrtc/lib/libnvrtc.so.12"),
            command: command.to_owned(),
            lists,
        })
    }

    /// Runs the small suite with both renderers and trains LeNet; the small part uses tinygrad's
    /// own PTX only. True if everything passes.
    pub(crate) fn run(&self, part: Part) -> Result<bool> {
        let small_suite = self.sources.join("test/test_tiny.py");
        let lenet = self.lists.join("tinygrad/lenet.py");
        let mut passed = true;
        for (renderer, program, runs) in [
            (PTX, &small_suite, true),
            (NVRTC, &small_suite, true),
            (PTX, &lenet, true),
            (NVRTC, &lenet, part == Part::Whole),
        ] {
            if runs {
                println!("tinygrad with DEV={renderer}: {}", program.display());
                passed &= process::shown(self.python(PYTHON.as_ref(), &self.sources, renderer).arg(program))?;
            }
        }
        Ok(passed)
    }

    /// Runs a checkout's tests with both renderers, compares with the pass list and, if `accept`,
    /// updates it; true if every listed test passes.
    pub(crate) fn checkout(&self, workspace: &Workspace, checkout: &Path, accept: bool) -> Result<bool> {
        let python = pytest::environment(workspace, "tinygrad", Beside::Debian)?.join("bin/python");
        process::quiet(Command::new(&python).args(["-c", "import hypothesis, numpy, torch"]))?;
        let file = workspace.target.join("clients/tinygrad-outcomes.tsv");
        let mut all = Outcomes::default();
        for renderer in [PTX, NVRTC] {
            println!("tinygrad with DEV={renderer}");
            fs::write(&file, "").map_err(Error::file(&file))?;
            let mut tests = self.python(&python, checkout, renderer);
            tests.args(["-m", "pytest", "-p", "outcomes", "-p", "no:cacheprovider"]);
            tests.args(["--quiet", "--no-header", "--disable-warnings", "--tb=short"]);
            tests.args(["--numprocesses", pytest::WORKERS, "--timeout", pytest::TEST_TIME_LIMIT]).args(TESTS);
            // The pass list judges failures.
            process::shown(tests.env("OUTCOMES", &file))?;
            let Outcomes { passed, failed, left_out } = pytest::parse(&read(&file)?);
            let named =
                |names: BTreeSet<String>| names.into_iter().map(move |name| format!("{renderer} {name}"));
            all.passed.extend(named(passed));
            all.failed.extend(named(failed));
            all.left_out.extend(named(left_out));
        }
        pass_list::judge("tinygrad", &lists(workspace).join("tinygrad.txt"), &all, accept)
    }

    /// A Python program in `folder` with the tinygrad there.
    fn python(&self, python: &Path, folder: &Path, renderer: &str) -> Command {
        let mut program = Command::new("timeout");
        program.arg(TIME_LIMIT).arg(&self.command).args(["run", "--"]).arg(python).current_dir(folder);
        let path = env::join_paths([folder, &self.lists.join("plugin")]).unwrap_or_default();
        program.env("PYTHONPATH", path).env("PYTHONDONTWRITEBYTECODE", "1").env("DEV", renderer);
        program.env("NVRTC_PATH", &self.nvrtc).env("CUDA_PATH", &self.cuda12);
        // clang compiles the reference that runs on the processor.
        program.env("CC", CLANG);
        // Reproducible examples.
        program.env("DERANDOMIZE_CI", "1");
        // No cache of compiled kernels, and no line per operation.
        program.env("CACHELEVEL", "0").env("CI", "1");
        // No compiler processes: each takes longer to start than to compile.
        program.env("PARALLEL", "0");
        program
    }
}
