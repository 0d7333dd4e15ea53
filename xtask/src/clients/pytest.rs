//! Suites run by pytest, each in an environment with pinned packages in the cache folder.

use super::checkout::{CUDA_PYTHON, Checkout};
use super::pass_list::{self, Outcomes};
use super::{Part, cupy, left_out, lists, plugin, read};
use crate::error::{Error, Result};
use crate::process;
use crate::python::{Beside, Python};
use crate::stamp::Ingredients;
use crate::workspace::Workspace;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Location of a suite's tests.
enum Home {
    /// In the package; test names are relative to this folder of the environment's packages.
    Package(&'static str),
    /// In the suite's folder in `tests/clients`.
    Ours,
    /// In a folder of the project's repository.
    Checkout(&'static Checkout, &'static str),
}

/// Prepares the libraries that an environment needs beside its packages, for a part of the suite.
type MakeLibraries = fn(&Workspace, &Path, Part) -> Result<OsString>;

/// A suite run by pytest.
pub(super) struct Pytest {
    /// Name of the suite and its files in `tests/clients`.
    name: &'static str,
    /// Name of its environment, possibly shared, and of the package list.
    environment: &'static str,
    home: Home,
    /// Device that the tests see: a name or a file in the suite's folder.
    device: &'static str,
    /// Options of pytest.
    options: &'static [&'static str],
    /// Ignored files and folders of the home.
    ignored: &'static [&'static str],
    /// Arguments of pytest for the whole suite.
    whole: &'static [&'static str],
    /// Arguments for the small part, with the prefix of its tests' names.
    small: &'static [(&'static str, &'static str)],
    /// Prepares the libraries that the environment needs beside its packages and returns the search
    /// path.
    libraries: Option<MakeLibraries>,
}

/// Base of Voltsim's own suites.
const OURS: Pytest = Pytest {
    name: "",
    environment: "",
    home: Home::Ours,
    device: "device.toml",
    options: &[],
    ignored: &[],
    whole: &["."],
    small: &[(".", "")],
    libraries: None,
};

/// Device tests in numba-cuda's package.
pub(super) const NUMBA_CUDA: Pytest = Pytest {
    name: "numba-cuda",
    environment: "numba-cuda",
    home: Home::Package("numba_cuda/numba/cuda/tests"),
    device: "device.toml",
    options: &["-o", "consider_namespace_packages=true", "--pyargs"],
    ignored: &[],
    whole: &["numba.cuda.tests.cudadrv", "numba.cuda.tests.cudapy"],
    small: &[
        ("numba.cuda.tests.cudadrv.test_linker", "cudadrv/test_linker.py"),
        ("numba.cuda.tests.cudadrv.test_cuda_driver", "cudadrv/test_cuda_driver.py"),
        ("numba.cuda.tests.cudadrv.test_cuda_memory", "cudadrv/test_cuda_memory.py"),
        ("numba.cuda.tests.cudapy.test_warp_ops", "cudapy/test_warp_ops.py"),
        ("numba.cuda.tests.cudapy.test_cooperative_groups", "cudapy/test_cooperative_groups.py"),
        ("numba.cuda.tests.cudapy.test_print", "cudapy/test_print.py"),
    ],
    libraries: None,
};

/// Device tests of numba-cuda with CUDA 13 as pip installs it: nvJitLink links every kernel.
pub(super) const NUMBA_CUDA_13: Pytest = Pytest {
    name: "numba-cuda-13",
    environment: "numba-cuda-13",
    small: &[
        ("numba.cuda.tests.cudadrv.test_linker", "cudadrv/test_linker.py"),
        ("numba.cuda.tests.cudadrv.test_nvjitlink", "cudadrv/test_nvjitlink.py"),
    ],
    ..NUMBA_CUDA
};

/// Voltsim's Triton kernels, without PyTorch, with Voltsim's `ptxas`.
pub(super) const TRITON: Pytest = Pytest { name: "triton", environment: "triton", device: "titan-v", ..OURS };

/// cuRAND's device generators compared with its host generators.
pub(super) const CURAND: Pytest = Pytest {
    name: "curand",
    environment: "curand",
    small: &[
        (
            "test_curand.py::test_a_second_call_goes_on_where_the_first_ended",
            "test_curand.py::test_a_second_call",
        ),
        ("test_curand.py::test_sobol_numbers_of_several_dimensions_are_equal", "test_curand.py::test_sobol"),
    ],
    ..OURS
};

/// Arrays, products and kernels of CuPy for CUDA 10.2, compared with numpy.
pub(super) const CUPY: Pytest = Pytest {
    name: "cupy",
    environment: "cupy",
    small: &[
        ("test_kernels.py", "test_kernels.py"),
        ("test_arrays.py::test_sorting", "test_arrays.py::test_sorting"),
        ("test_arrays.py::test_scans", "test_arrays.py::test_scans"),
        ("test_standins.py", "test_standins.py"),
    ],
    libraries: Some(cupy::libraries),
    ..OURS
};

/// Voltsim's Taichi kernels, and two of Taichi's examples.
pub(super) const TAICHI: Pytest = Pytest {
    name: "taichi",
    environment: "taichi",
    small: &[
        ("test_numbers.py", "test_numbers.py"),
        ("test_examples.py::test_fractal", "test_examples.py::test_fractal"),
    ],
    ..OURS
};

/// Voltsim's NVRTC front under cuda-core.
pub(super) const NVRTC: Pytest = Pytest { name: "nvrtc", environment: "cuda-python", device: "h100", ..OURS };

/// Tests of cuda-bindings for driver, runtime, NVRTC and NVML.
pub(super) const CUDA_BINDINGS: Pytest = Pytest {
    name: "cuda-bindings",
    environment: "cuda-python",
    home: Home::Checkout(&CUDA_PYTHON, "cuda_bindings"),
    device: "h100",
    options: &[],
    ignored: &[
        "tests/cython",
        "tests/cudla",
        "tests/test_cufile.py",
        "tests/test_nvfatbin.py",
        "tests/test_nvjitlink.py",
    ],
    whole: &["tests"],
    small: &[],
    libraries: None,
};

/// Tests and examples of cuda-core.
pub(super) const CUDA_CORE: Pytest = Pytest {
    name: "cuda-core",
    environment: "cuda-python",
    home: Home::Checkout(&CUDA_PYTHON, "cuda_core"),
    device: "h100",
    options: &[],
    ignored: &["tests/cython"],
    whole: &["tests"],
    small: &[],
    libraries: None,
};

/// Two workers keep a whole suite under ten minutes on two cores.
pub(super) const WORKERS: &str = "2";
/// Seconds after which a test counts as hung.
pub(super) const TEST_TIME_LIMIT: &str = "300";
/// Time after which a suite counts as hung.
const TIME_LIMIT: &str = "1h";
/// Package folder of an environment.
pub(super) const PACKAGES: &str = "lib/python3.11/site-packages";

impl Pytest {
    /// Runs the suite, compares with the pass list and, if `accept`, updates it; true if every
    /// listed test passes.
    pub(super) fn run(
        &self,
        workspace: &Workspace,
        command: &Path,
        part: Part,
        accept: bool,
    ) -> Result<bool> {
        if part == Part::Small && self.small.is_empty() {
            return Ok(true);
        }
        let environment = environment(workspace, self.environment, Beside::Nothing)?;
        let path = lists(workspace).join(format!("{}.txt", self.name));
        let text = read(&path)?;
        let mut listed = pass_list::parse(&text);
        if part == Part::Small {
            listed.retain(|test| self.small.iter().any(|(_, file)| test.starts_with(file)));
        }
        let outcomes = self.outcomes(workspace, &environment, command, part)?;
        let kept = pass_list::report(self.name, &listed, &outcomes);
        if accept && part == Part::Whole {
            pass_list::write(&path, &text, &outcomes)?;
            return Ok(true);
        }
        Ok(kept)
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
        let own = lists(workspace).join(self.name);
        let device = match self.device.ends_with(".toml") {
            true => own.join(self.device),
            false => self.device.into(),
        };
        let root = match self.home {
            Home::Package(root) => environment.join(PACKAGES).join(root),
            Home::Ours => own,
            Home::Checkout(checkout, part) => checkout.folder(workspace)?.join(part),
        };
        let mut tests = Command::new("timeout");
        tests.arg(TIME_LIMIT).arg(command).args(["run", "--device"]).arg(device).arg("--");
        tests.arg(environment.join("bin/python")).args(["-m", "pytest", "-p", "outcomes", "--quiet"]);
        tests.args(["--no-header", "-p", "no:cacheprovider", "--disable-warnings", "--tb=short"]);
        tests.args(["--numprocesses", WORKERS, "--dist", "loadfile", "--timeout", TEST_TIME_LIMIT]);
        tests.arg("--rootdir").arg(&root).args(self.options);
        for path in self.ignored {
            tests.arg("--ignore").arg(root.join(path));
        }
        for name in left_out(workspace, self.name)? {
            tests.arg("--deselect").arg(name);
        }
        let subjects: Vec<&str> = match part {
            Part::Whole => self.whole.to_vec(),
            Part::Small => self.small.iter().map(|(subject, _)| *subject).collect(),
        };
        match self.home {
            Home::Package(_) => tests.args(subjects),
            Home::Ours | Home::Checkout(..) => tests.args(subjects.iter().map(|subject| root.join(subject))),
        };
        tests.current_dir(&folder).env("PYTHONPATH", plugin(workspace)).env("OUTCOMES", &file);
        tests.env("PYTHONDONTWRITEBYTECODE", "1");
        // Headers for NVRTC's compilations.
        let toolkit = environment.join(PACKAGES).join("nvidia/cu13");
        if toolkit.exists() {
            tests.env("CUDA_PATH", toolkit);
        }
        if let Some(libraries) = self.libraries {
            tests.env("LD_LIBRARY_PATH", libraries(workspace, environment, part)?);
        }
        // Triton's cache of compiled kernels would bypass its compiler and Voltsim's assembler.
        tests.env("TRITON_CACHE_DIR", folder.join("cache")).env("TRITON_ALWAYS_COMPILE", "1");
        // Triton 3.9 warns without the variable.
        tests.env("TRITON_DEFAULT_FP_FUSION", "1");
        // The pass list judges failures.
        process::shown(&mut tests)?;
        Ok(parse(&read(&file)?))
    }
}

/// Folder of a suite's environment, rebuilt after a change.
pub(super) fn environment(workspace: &Workspace, suite: &str, beside: Beside) -> Result<PathBuf> {
    let environment = workspace.cache.join("clients").join(suite);
    let requirements = lists(workspace).join(format!("{suite}-requirements.txt"));
    let mut ingredients = Ingredients::default();
    // Checkouts share the environment, so the stamp excludes its path.
    ingredients.text(&read(&requirements)?);
    let stamp = ingredients.stamp(&environment);
    if !stamp.is_current() {
        Python::create(environment.clone(), beside, workspace.downloads())?
            .install_into_itself(&requirements)?;
        stamp.write()?;
    }
    Ok(environment)
}

/// Parses the lines of `tests/clients/plugin/outcomes.py`: outcome, seconds, name.
pub(super) fn parse(text: &str) -> Outcomes {
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
