//! Starting a program with our libraries in place of CUDA's.

use std::env;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use launch_capture::Selection;
use nix::sys::personality::{self, Persona};
use ptx_frontend::container::elf::{HostFile, RuntimeLinkage};
use ptx_frontend::container::{ContainerError, Image, ImageFile};
use run_options::suppressions::Suppressions;
use run_options::values::{Libraries, LogTarget};
use run_options::{Key, RunOptions};

use crate::columns::{self, Tables};
use crate::device;
use crate::environment::Environment;
use crate::executable;
use crate::failure::Failure;
use crate::given::{hand_over, with_variables};
use crate::libraries;
use crate::outputs;
use crate::paths::absolute;
use crate::python_tools;

/// A program that is ready to start, and the options of its run.
pub(crate) struct Prepared {
    /// The command that starts it.
    pub(crate) command: Command,
    /// The options, which the libraries get when the command starts.
    pub(crate) options: RunOptions,
    /// Tables that are made of the statistics when the program has ended.
    pub(crate) tables: Option<Tables>,
}

impl Prepared {
    /// The options, with variables in place of options that are not given.
    pub(crate) fn all_options(&self) -> RunOptions {
        with_variables(&self.options)
    }

    /// The command, which hands the options to the program's libraries.
    pub(crate) fn into_command(mut self) -> Command {
        hand_over(&self.options, &mut self.command);
        self.command
    }
}

/// Makes a program ready that is given with its arguments, and checks the options before it starts.
pub(crate) fn prepare(
    program: &[OsString],
    options: RunOptions,
    profile: Option<&str>,
) -> Result<Prepared, Failure> {
    let Some((program, arguments)) = program.split_first() else {
        return Err(Failure::new("no program given").remedy("add -- PROGRAM"));
    };
    let profile = profile.map(Environment::named).transpose()?;
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
    let mut options = options;
    if let Some(environment) = &environment {
        enter(environment, &mut command, &mut options);
    }
    put_assembler_in_place(&mut command, &folder);
    if with_variables(&options).libraries == Some(Libraries::StandIns) {
        put_stand_ins_in_place(&mut command, &folder);
    }
    for library in preloads(&path)?.into_iter().rev() {
        libraries::prepend(&mut command, "LD_PRELOAD", folder.join(library).as_os_str());
    }
    settle(&mut options)?;
    let tables = tables(&mut options)?;
    let prepared = Prepared { command, options, tables };
    follow_ranges(prepared)
}

/// Checks a device and files of the options, and makes their paths absolute: the program may change
/// its folder.
fn settle(options: &mut RunOptions) -> Result<(), Failure> {
    if let Some(device) = &options.device {
        options.device = Some(device::named(device)?.to_string_lossy().into_owned());
    }
    let mut named = Vec::new();
    if let Some(LogTarget::File(file)) = &options.log {
        let file = outputs::settled(Key::log, file)?;
        named.push((Key::log.declaration().flag(), file.clone()));
        options.log = Some(LogTarget::File(file));
    }
    if let Some(file) = &options.checkpoint_file {
        named.push((Key::checkpoint_file.declaration().flag(), absolute(file)?));
    }
    let RunOptions { summary, check_report, checksums, image, statistics, report, coverage, .. } = options;
    let outputs = [
        (Key::summary, summary),
        (Key::check_report, check_report),
        (Key::checksums, checksums),
        (Key::image, image),
        (Key::statistics, statistics),
        (Key::report, report),
        (Key::coverage, coverage),
    ];
    for (key, file) in outputs {
        if let Some(file) = file {
            *file = outputs::settled(key, file)?;
            named.push((key.declaration().flag(), file.clone()));
        }
    }
    if let Some(file) = options.statistics.as_deref().filter(|file| columns::is_parquet(file)) {
        named.push(("--series".to_owned(), columns::series_file(file)));
    }
    outputs::distinct(&named)?;
    if let Some(file) = &mut options.check_suppressions {
        Suppressions::read(file).map_err(Failure::new)?;
        *file = std::path::absolute(&*file)?;
        if options.check_report.as_ref() == Some(file) {
            let message = "the report would replace the suppressions, which this run reads";
            return Err(Failure::in_file(file, message).remedy("name another file for the report"));
        }
    }
    if let Some(findings) = &options.check_report {
        // The report grows line by line, and has the findings of this run alone.
        outputs::empty(findings)?;
    }
    Ok(())
}

/// Has the libraries write JSON in place of a Parquet file. The paths of the options are absolute.
fn tables(options: &mut RunOptions) -> Result<Option<Tables>, Failure> {
    let Some(file) = options.statistics.as_deref().filter(|file| columns::is_parquet(file)) else {
        return Ok(None);
    };
    let tables = Tables::new(file, with_variables(options).series.is_some())?;
    options.statistics = Some(tables.json());
    Ok(Some(tables))
}

/// Has the program's NVTX ranges told to its libraries, if launches are chosen by them or a
/// timeline shows them.
fn follow_ranges(mut prepared: Prepared) -> Result<Prepared, Failure> {
    let all = prepared.all_options();
    let whole =
        [&all.capture_only, &all.image_only, &all.check_only].into_iter().flatten().map(|only| &only.value.0);
    let mut selections = whole.chain(all.only.as_ref().map(|only| &only.value));
    if all.trace.is_some() || selections.any(Selection::needs_ranges) {
        prepared.command.env("NVTX_INJECTION64_PATH", libraries::core()?);
    }
    Ok(prepared)
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

/// Keeps the memory of started programs at the same addresses in each run, where the system allows
/// that. Kernels access registered memory there: the addresses decide which sectors they access,
/// and may be arguments.
fn keep_addresses() {
    if let Ok(persona) = personality::get() {
        let _ = personality::set(persona | Persona::ADDR_NO_RANDOMIZE);
    }
}

/// Gives a program the libraries, programs and device of its environment.
fn enter(environment: &Environment, command: &mut Command, options: &mut RunOptions) {
    for library in environment.preload().into_iter().rev() {
        libraries::prepend(command, "LD_PRELOAD", library.as_os_str());
    }
    libraries::prepend(command, "PATH", environment.programs().as_os_str());
    if with_variables(options).device.is_none() {
        options.device = Some(environment.device().to_string_lossy().into_owned());
    }
}

/// Makes the program find our assembler: by its name, and in the variables in which Triton looks
/// first.
fn put_assembler_in_place(command: &mut Command, folder: &Path) {
    libraries::prepend(command, "PATH", folder.as_os_str());
    for name in ["TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"] {
        if env::var_os(name).is_none() {
            command.env(name, folder.join(library_folder::PTXAS));
        }
    }
}

/// Makes the program find stand-ins for the vendor's libraries. Libraries of the program may name
/// folders of their own before the search path. The stand-ins are therefore loaded first, by the
/// names that these libraries need.
fn put_stand_ins_in_place(command: &mut Command, folder: &Path) {
    libraries::prepend(command, "LD_LIBRARY_PATH", folder.join(library_folder::STAND_INS).as_os_str());
    for name in library_folder::stand_ins() {
        libraries::prepend(command, "LD_PRELOAD", name.as_ref());
    }
}

/// Replaces this process by the command; returns, with the reason, only when that fails.
pub(crate) fn replace(mut command: Command) -> Failure {
    let error = command.exec();
    Failure::in_file(Path::new(command.get_program()), error)
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

/// Libraries that must be loaded first, where the search path alone does not suffice. The program
/// may open libraries by path, or contain the runtime. The program may name folders of its own, as
/// `DT_RPATH` comes before `LD_LIBRARY_PATH`.
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
    let ours = |name: String| {
        let library = api_table::Library::ALL.into_iter().find(|library| library.soname() == name)?;
        Some(library_folder::name_of(library).to_owned())
    };
    Ok(host.needed_libraries()?.into_iter().filter_map(ours).collect())
}
