//! Starting a program with our libraries in place of CUDA's.

use std::env;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use functional::check::Checks;
use nix::sys::personality::{self, Persona};
use ptx_frontend::container::elf::{HostFile, RuntimeLinkage};
use ptx_frontend::container::{ContainerError, Image, ImageFile};

use crate::device;
use crate::environment::Environment;
use crate::executable;
use crate::failure::Failure;
use crate::libraries;
use crate::outputs;
use crate::python_tools;
use crate::quantity;

/// How the program runs.
#[derive(clap::Args, Default)]
pub(crate) struct Options {
    /// Run in the environment of this name that `voltsim setup` has made in its usual place
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,

    /// Device the program is told it has, instead of the modelled GPU: a name (`voltsim gpus` lists
    /// them), a GPU file ending in .toml, or auto for the smallest that fits the program's newest
    /// PTX and its libraries
    #[arg(long, value_name = "NAME|FILE|auto")]
    device: Option<String>,

    /// How many such devices the program sees, up to 16
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u8).range(1..=16))]
    devices: Option<u8>,

    /// Threads that execute CTAs; all cores by default
    #[arg(long, value_name = "COUNT")]
    threads: Option<u32>,

    /// Execute CTAs that are not timed in a fixed order, so that every run gives the same bytes
    #[arg(long)]
    deterministic: bool,

    /// Stop a kernel that runs longer: seconds, or a time with a unit (2min)
    #[arg(long, value_name = "TIME", value_parser = quantity::seconds)]
    watchdog: Option<u32>,

    /// Round products before they are added to, as ptxas does with --fmad=false
    #[arg(long)]
    no_fmad: bool,

    /// End the run with status 88 at the first kernel that is refused, whether or not the program asks for the error
    #[arg(long)]
    strict: bool,

    /// Write every CUDA call with its arguments and result to a file, or to standard error
    #[arg(long, value_name = "FILE|stderr")]
    log: Option<PathBuf>,

    /// Write what each kernel executed to a JSON file when the program ends
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,

    /// Look for mistakes of kernels while they run: memory, uninitialised, races, barriers, or all; several with commas between them
    #[arg(long, value_name = "CHECKS")]
    check: Option<Checks>,

    /// Write what checks find to a file instead of standard error; as lines of JSON if its name ends in .jsonl
    #[arg(long, value_name = "FILE", requires = "check")]
    check_report: Option<PathBuf>,
}

impl Options {
    /// The device that the program is told it has, if one is named.
    pub(crate) fn device(&self) -> Option<&str> {
        self.device.as_deref()
    }

    /// Are kernels checked?
    pub(crate) fn checks(&self) -> bool {
        self.check.is_some()
    }

    fn set(&self, command: &mut Command) -> Result<(), Failure> {
        if let Some(device) = &self.device {
            command.env("VOLTSIM_DEVICE", device::named(device)?);
        }
        if let Some(devices) = self.devices {
            command.env("VOLTSIM_DEVICES", devices.to_string());
        }
        if let Some(threads) = self.threads {
            command.env("VOLTSIM_THREADS", threads.to_string());
        }
        if self.deterministic {
            command.env("VOLTSIM_DETERMINISTIC", "1");
        }
        if let Some(seconds) = self.watchdog {
            command.env("VOLTSIM_WATCHDOG", seconds.to_string());
        }
        if self.no_fmad {
            command.env("VOLTSIM_FMAD", "0");
        }
        if self.strict {
            command.env("VOLTSIM_STRICT", "1");
        }
        match &self.log {
            Some(log) if log.as_os_str() == "stderr" => drop(command.env("VOLTSIM_LOG", log)),
            Some(log) => outputs::name(command, "VOLTSIM_LOG", "--log", log)?,
            None => {}
        }
        if let Some(summary) = &self.summary {
            outputs::name(command, "VOLTSIM_SUMMARY", "--summary", summary)?;
        }
        if let Some(checks) = &self.check {
            command.env("VOLTSIM_CHECK", checks.to_string());
        }
        if let Some(report) = &self.check_report {
            outputs::name(command, "VOLTSIM_CHECK_REPORT", "--check-report", report)?;
            // The report grows line by line, and has those of this run alone.
            outputs::empty(report)?;
        }
        Ok(())
    }
}

/// The command that starts a program, given with its arguments.
pub(crate) fn command(program: &[OsString], options: &Options) -> Result<Command, Failure> {
    let Some((program, arguments)) = program.split_first() else {
        return Err(Failure::new("no program given"));
    };
    let profile = options.profile.as_deref().map(Environment::named).transpose()?;
    let Started { path, arguments: first } = started(Path::new(program), profile.as_ref())?;
    let environment = match profile {
        None => Environment::of_program(&path)?,
        profile => profile,
    };
    executable::check(&path, program, &search_path(environment.as_ref()))?;
    let folder = libraries::folder()?;
    keep_addresses();
    let mut command = Command::new(&path);
    if first.is_empty() {
        command.arg0(program);
    }
    command.args(first).args(arguments);
    libraries::prepend(&mut command, "LD_LIBRARY_PATH", folder.as_os_str());
    if let Some(environment) = &environment {
        enter(environment, &mut command);
    }
    put_assembler_in_place(&mut command, &folder);
    for library in preloads(&path)?.into_iter().rev() {
        libraries::prepend(&mut command, "LD_PRELOAD", folder.join(library).as_os_str());
    }
    options.set(&mut command)?;
    Ok(command)
}

/// The file that is started for a program, and the arguments before the user's own.
struct Started {
    path: PathBuf,
    arguments: Vec<OsString>,
}

fn started(program: &Path, environment: Option<&Environment>) -> Result<Started, Failure> {
    if let Some(environment) = environment
        && let Some((path, arguments)) = python_tools::of_environment(program, environment)?
    {
        return Ok(Started { path, arguments });
    }
    let path = find(program, environment).ok_or_else(|| executable::not_found(program))?;
    Ok(Started { path, arguments: Vec::new() })
}

/// Folders in which a program finds others.
fn search_path(environment: Option<&Environment>) -> OsString {
    let mut path = environment.map(|environment| environment.programs().into_os_string()).unwrap_or_default();
    path.push(":");
    path.push(env::var_os("PATH").unwrap_or_default());
    path
}

/// The own memory of programs that this process starts lies at the same addresses in each run, where the system allows that. What is
/// registered of it kernels access there: its addresses decide which sectors are accessed, and may be among arguments.
fn keep_addresses() {
    if let Ok(persona) = personality::get() {
        let _ = personality::set(persona | Persona::ADDR_NO_RANDOMIZE);
    }
}

/// Gives a program what its environment has.
fn enter(environment: &Environment, command: &mut Command) {
    for library in environment.preload().into_iter().rev() {
        libraries::prepend(command, "LD_PRELOAD", library.as_os_str());
    }
    libraries::prepend(command, "PATH", environment.programs().as_os_str());
    if env::var_os("VOLTSIM_DEVICE").is_none() {
        command.env("VOLTSIM_DEVICE", environment.device());
    }
}

/// Makes the program find our assembler: by its name, and in the variables in which Triton looks first.
fn put_assembler_in_place(command: &mut Command, folder: &Path) {
    libraries::prepend(command, "PATH", folder.as_os_str());
    for name in ["TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"] {
        if env::var_os(name).is_none() {
            command.env(name, folder.join(library_folder::PTXAS));
        }
    }
}

/// Replaces this process by the command; returns, with the reason, only when that fails.
pub(crate) fn replace(mut command: Command) -> Failure {
    let error = command.exec();
    Failure::in_file(Path::new(command.get_program()), error)
}

/// A path that stays the same when the program changes its folder.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| Failure::in_file(path, error))
}

/// The file a shell would start for this name, with the programs of an environment first.
pub(crate) fn find(program: &Path, environment: Option<&Environment>) -> Option<PathBuf> {
    if program.components().count() > 1 || program.is_absolute() {
        return Some(program.to_owned());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = environment.map(Environment::programs).into_iter().chain(env::split_paths(&path));
    let candidates: Vec<PathBuf> = folders.map(|folder| folder.join(program)).collect();
    let can_start = |file: &&PathBuf| {
        file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    let file = candidates.iter().find(can_start).or_else(|| candidates.iter().find(|file| file.is_file()));
    file.cloned()
}

/// Has one more library of ours loaded before a program, if it can be loaded behind that.
pub(crate) fn preload(command: &mut Command, library: &str) -> Result<(), Failure> {
    let program = PathBuf::from(command.get_program());
    if let Ok(file) = ImageFile::open(&program)
        && let Ok(Image::Host(host)) = file.image()
        && must_come_first(&host).map_err(|error| Failure::in_file(&program, error))?
    {
        return Ok(());
    }
    libraries::prepend(command, "LD_PRELOAD", libraries::folder()?.join(library).as_os_str());
    Ok(())
}

/// Libraries that must be loaded first because the search path alone would not do: for what the program opens itself by
/// path, where the file names folders of its own (`DT_RPATH` comes before `LD_LIBRARY_PATH`), and where the runtime is part
/// of the file.
fn preloads(program: &Path) -> Result<Vec<String>, Failure> {
    let always = vec![library_folder::DLOPEN.to_owned()];
    let Ok(file) = ImageFile::open(program) else { return Ok(always) };
    // A script, or nothing that can run: the loader or the kernel will say so.
    let Ok(Image::Host(host)) = file.image() else { return Ok(always) };
    let failed = |error: ContainerError| Failure::in_file(program, error);
    let mut preloads = if must_come_first(&host).map_err(failed)? { Vec::new() } else { always };
    preloads.extend(fronts(&host, program)?);
    Ok(preloads)
}

/// Has the program a library that refuses to be loaded behind another?
fn must_come_first(host: &HostFile<'_>) -> Result<bool, ContainerError> {
    let sanitizers = ["libasan.so", "libhwasan.so", "libtsan.so"];
    let needed = host.needed_libraries()?;
    Ok(needed.iter().any(|library| sanitizers.iter().any(|name| library.starts_with(name))))
}

/// The preloads for the runtime that the program was linked with.
fn fronts(host: &HostFile<'_>, program: &Path) -> Result<Vec<String>, Failure> {
    let failed = |error: ContainerError| Failure::in_file(program, error);
    match host.runtime_linkage().map_err(failed)? {
        RuntimeLinkage::Shared if !host.library_paths().map_err(failed)?.is_empty() => {
            needed_fronts(host).map_err(failed)
        }
        RuntimeLinkage::Static { .. } => Ok(vec![library_folder::STATIC.to_owned()]),
        RuntimeLinkage::StaticStripped => Err(Failure::in_file(
            program,
            "the CUDA runtime is part of the program and its symbols are stripped, so it cannot be replaced",
        )
        .remedy("Link the program with nvcc -cudart shared, or keep its symbols")),
        _ => Ok(Vec::new()),
    }
}

fn needed_fronts(host: &HostFile<'_>) -> Result<Vec<String>, ContainerError> {
    let ours = |name: &String| api_table::Library::ALL.iter().any(|library| library.soname() == name);
    Ok(host.needed_libraries()?.into_iter().filter(ours).collect())
}
