//! `cargo xtask projects`: the worked examples of `docs/guide/projects.md`, run as users would.

use crate::clients::{self, Part};
use crate::error::{Error, Result};
use crate::process;
use crate::toolchain::Toolchain;
use crate::workspace::Workspace;
use clap::ValueEnum;
use std::fs;
use std::path::Path;
use std::process::Command;

/// `cargo xtask projects`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Projects to run; all without.
    projects: Vec<Project>,
    /// Take the release build as it is.
    #[arg(long)]
    built: bool,
}

/// Folders of `examples/projects`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Project {
    Ctest,
    Numba,
    Cupy,
    Triton,
    /// The notebook `docs/guide/sweep.ipynb`.
    Notebook,
    /// Sweeps on Dask and Ray under random kills; not among all, as Ray takes a minute to start.
    Engines,
}

impl Project {
    /// The projects that run where none is named.
    const USUAL: [Self; 5] = [Self::Ctest, Self::Numba, Self::Cupy, Self::Triton, Self::Notebook];
}

/// Builds Voltsim and runs the projects' own tests.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find();
    if !arguments.built && !workspace.build()? {
        return Err(Error::Steps("the release build".to_owned()));
    }
    let usual = &Project::USUAL[..];
    let projects = if arguments.projects.is_empty() { usual } else { &arguments.projects };
    if check(&workspace, projects)? { Ok(()) } else { Err(Error::Steps("worked examples".to_owned())) }
}

/// Runs all projects on the release build; true if their tests pass.
pub(crate) fn check_all(workspace: &Workspace) -> Result<bool> {
    check(workspace, &Project::USUAL)
}

fn check(workspace: &Workspace, projects: &[Project]) -> Result<bool> {
    let mut passed = true;
    for project in projects {
        println!("project {project:?}");
        passed &= match project {
            Project::Ctest => ctest(workspace)?,
            Project::Numba => pytest(workspace, "numba", "numba-cuda", "h100")?,
            Project::Cupy => pytest(workspace, "cupy", "cupy", "v100")?,
            Project::Triton => pytest(workspace, "triton", "triton", "titan-v")?,
            Project::Notebook => notebook(workspace)?,
            Project::Engines => engines(workspace)?,
        };
    }
    Ok(passed)
}

/// Runs a project's tests by `pytest --voltsim` in an environment of the client suites.
fn pytest(workspace: &Workspace, project: &str, environment: &str, device: &str) -> Result<bool> {
    let environment = clients::environment(workspace, environment)?;
    let mut tests = Command::new(environment.join("bin/python"));
    // The installed plug-in is loaded by its entry point; a checkout names it.
    tests.args(["-m", "pytest", "-p", "voltsim.pytest_plugin", "--voltsim", "--voltsim-device", device]);
    tests.args(["--quiet", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist", "."]);
    tests.current_dir(folder(workspace, project));
    tests.env("VOLTSIM_COMMAND", workspace.command()).env("PYTHONPATH", workspace.root.join("python"));
    tests.env("PYTHONDONTWRITEBYTECODE", "1").env("TRITON_ALWAYS_COMPILE", "1");
    tests.env("TRITON_CACHE_DIR", workspace.target.join("projects/triton-cache"));
    if project == "cupy" {
        let libraries = clients::cupy_libraries(workspace, &environment, Part::Small)?;
        tests.env("LD_LIBRARY_PATH", libraries).env("CUPY_CACHE_IN_MEMORY", "1");
    }
    process::shown(&mut tests)
}

/// Builds the project with CMake, and runs its tests by CTest with Voltsim as the launcher.
fn ctest(workspace: &Workspace) -> Result<bool> {
    let toolchain = Toolchain::set_up(workspace)?;
    let tools = clients::environment(workspace, "cmake")?.join("bin");
    let build = workspace.target.join("projects/ctest");
    fs::create_dir_all(&build).map_err(Error::file(&build))?;
    let launcher = format!("{};run;--check;memory;--", workspace.command().display());
    let mut configure = tool(&tools, "cmake");
    configure.args(["-G", "Ninja", "-S"]).arg(folder(workspace, "ctest")).arg("-B").arg(&build);
    configure.arg(format!("-DCMAKE_MAKE_PROGRAM={}", tools.join("ninja").display()));
    configure.arg(format!("-DCMAKE_CUDA_COMPILER={}", toolchain.nvcc().get_program().to_string_lossy()));
    configure.args(["-DCMAKE_CUDA_ARCHITECTURES=75-virtual", "-Wno-dev"]);
    configure.arg(format!("-DCMAKE_TEST_LAUNCHER={launcher}"));
    process::quiet(&mut configure)?;
    process::quiet(tool(&tools, "cmake").arg("--build").arg(&build))?;
    let mut tests = tool(&tools, "ctest");
    tests.arg("--test-dir").arg(&build).args(["--output-on-failure", "--no-tests=error"]);
    process::shown(tests.arg("--output-junit").arg(build.join("tests.xml")))
}

/// Executes the notebook of the book; true if every cell runs and one gives a picture.
fn notebook(workspace: &Workspace) -> Result<bool> {
    let environment = clients::environment(workspace, "notebook")?;
    let folder = workspace.target.join("projects/notebook");
    fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
    let file = folder.join("sweep.ipynb");
    let source = workspace.root.join("docs/guide/sweep.ipynb");
    fs::copy(&source, &file).map_err(Error::file(&source))?;
    let mut execute = tool(&environment.join("bin"), "jupyter-execute");
    execute.arg("--inplace").arg(&file).current_dir(&folder);
    execute.env("VOLTSIM_COMMAND", workspace.command()).env("PYTHONPATH", workspace.root.join("python"));
    execute.env("JUPYTER_PLATFORM_DIRS", "1").env("IPYTHONDIR", folder.join("ipython"));
    // The kernel is the environment's own Python.
    execute.env("JUPYTER_PATH", environment.join("share/jupyter"));
    if !process::shown(&mut execute)? {
        return Ok(false);
    }
    let text = fs::read_to_string(&file).map_err(Error::file(&file))?;
    Ok(text.contains("\"image/png\""))
}

/// Sweeps on Dask and Ray.
fn engines(workspace: &Workspace) -> Result<bool> {
    let environment = clients::environment(workspace, "engines")?;
    let mut tests = Command::new(environment.join("bin/python"));
    tests.args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider", "."]);
    tests.current_dir(folder(workspace, "engines"));
    tests.env("VOLTSIM_COMMAND", workspace.command()).env("PYTHONPATH", workspace.root.join("python"));
    process::shown(tests.env("PYTHONDONTWRITEBYTECODE", "1"))
}

fn tool(tools: &Path, name: &str) -> Command {
    Command::new(tools.join(name))
}

fn folder(workspace: &Workspace, project: &str) -> std::path::PathBuf {
    workspace.root.join("examples/projects").join(project)
}
