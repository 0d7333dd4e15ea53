//! tinygrad hands PTX of its own, or PTX that NVRTC makes of its CUDA C++, to the driver API. The source package holds a
//! small suite, which is part of `cargo xtask test`; its tests of every operation are in its repository only, and compare
//! with PyTorch on the processor.

use crate::error::Result;
use crate::python::Python;
use crate::stamp::Ingredients;
use crate::toolchain::Toolchain;
use crate::workspace::Workspace;
use crate::{files, process};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folder that the source package unpacks to.
const TINYGRAD: &str = "tinygrad-0.14.0";
/// Python of Debian, which has Debian's PyTorch.
const PYTHON: &str = "/usr/bin/python3";
/// Debian's clang.
const CLANG: &str = "clang-19";
/// A suite that takes longer hangs.
const TIME_LIMIT: &str = "3h";

/// What `DEV` makes tinygrad use: its own PTX, or CUDA C++ and NVRTC.
const RENDERERS: [&str; 2] = ["CUDA:PTX", "CUDA:CUDA"];

/// tinygrad, installed.
pub(super) struct Tinygrad {
    sources: PathBuf,
    nvrtc: PathBuf,
    /// CUDA 12.9, whose headers NVRTC reads.
    cuda12: PathBuf,
    command: PathBuf,
}

impl Tinygrad {
    /// Installs it into `target/clients`, to run with this `voltsim`; quick when nothing changed.
    pub(crate) fn set_up(workspace: &Workspace, command: &Path) -> Result<Self> {
        let folder = workspace.target.join("clients");
        let lists = workspace.root.join("tests/clients");
        let (tools, tinygrad) = (lists.join("requirements.txt"), lists.join("tinygrad.txt"));
        let packages = folder.join("packages");
        let mut ingredients = Ingredients::default();
        ingredients.file(&tools)?;
        ingredients.file(&tinygrad)?;
        let stamp = ingredients.stamp(&packages);
        if !stamp.is_current() {
            files::remove_folder(&packages)?;
            let archive = workspace.downloads().join(format!("{TINYGRAD}.tar.gz"));
            let python = Python::create(folder.join("venv"), workspace.downloads())?;
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
        })
    }

    /// Runs the small suite with both renderers; whether all of it passes.
    pub(crate) fn small(&self) -> Result<bool> {
        self.run(&self.sources, &["test/test_tiny.py"])
    }

    /// Runs the tests of all operations of a checkout of the repository with both renderers; whether all pass.
    pub(crate) fn all_operations(&self, checkout: &Path) -> Result<bool> {
        process::quiet(Command::new(PYTHON).args(["-c", "import numpy, torch"]))?;
        self.run(checkout, &["test/test_tiny.py", "test/backend/test_ops.py"])
    }

    /// Runs test programs of a checkout with both renderers.
    fn run(&self, checkout: &Path, programs: &[&str]) -> Result<bool> {
        let mut passed = true;
        for (renderer, program) in
            RENDERERS.iter().flat_map(|renderer| programs.iter().map(move |program| (renderer, program)))
        {
            println!("tinygrad with DEV={renderer}: {program}");
            let mut tests = Command::new("timeout");
            tests.arg(TIME_LIMIT).arg(&self.command).args(["run", "--", PYTHON, program]);
            tests.current_dir(checkout).env("PYTHONPATH", checkout).env("DEV", renderer);
            tests.env("NVRTC_PATH", &self.nvrtc).env("CUDA_PATH", &self.cuda12);
            // What runs on the processor beside it is compiled by clang.
            tests.env("CC", CLANG);
            // Without its own cache of compiled kernels, and without a line for each operation.
            tests.env("CACHELEVEL", "0").env("CI", "1");
            passed &= process::shown(&mut tests)?;
        }
        Ok(passed)
    }
}
