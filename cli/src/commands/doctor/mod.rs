//! `voltsim doctor`: names the missing parts of a program before a run.
//!
//! The command follows the libraries that the program loads. In each file it examines the device
//! code and the imported CUDA functions. Libraries and symbols that a program looks up at run time
//! (`dlopen`, `dlsym`) stay unseen.

mod calls;
mod code;
mod libraries;
mod text;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ptx_frontend::container::cubin;
use ptx_frontend::container::elf::{RuntimeLinkage, Section};
use ptx_frontend::container::{ContainerError, Image, ImageFile, Origin};
use serde::Serialize;
use warp_stream::kernel_name::signature;

use crate::environment::Environment;
use crate::executable::{foreign_machine, own_machine_name};
use crate::failure::Failure;
use crate::program;
use calls::{ApiTable, Calls};
use code::{Affected, Budget, DeviceCode, PtxModule};
use libraries::{Found, Library, Search};
use text::Listing;

/// List what a program needs and what is missing, before it runs
///
/// In an environment of `voltsim setup`, the command checks the environment's libraries too. The
/// exit status is 0 when everything is there, 1 when something is missing, and 2 when the file
/// cannot be read.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Executable, shared library, object file, fat binary, cubin or PTX text; or a program with
    /// its arguments
    #[arg(required = true, value_name = "FILE")]
    program: Vec<PathBuf>,

    /// Look in the environment of this name that `voltsim setup` has made in its usual place
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,

    /// Compute capability of the device, ten times (75); the default is the environment's, or 70
    #[arg(long, value_name = "NN")]
    sm: Option<u32>,

    /// Name every kernel and everything that is missing, and check all kernels of large files
    #[arg(long)]
    all: bool,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

/// Compute capability of a Volta, ten times.
const DEFAULT_CAPABILITY: u32 = 70;

/// Code of a file whose instructions are looked at unless all are wanted: some seconds' work, and
/// less than a gigabyte.
const LOOKED_AT: Budget = Budget { kernels: 1000, bytes: 16 << 20 };

/// Questions of a report.
struct Question {
    /// Compute capability of the device, ten times.
    device: u32,
    /// Code of each file whose instructions are looked at.
    budget: Budget,
    table: ApiTable,
}

/// Findings of a report.
#[derive(Serialize)]
struct Report {
    /// Compute capability of the device, ten times.
    device: u32,
    /// The file and those of its libraries that have device code or use CUDA.
    files: Vec<FileReport>,
    libraries: Vec<Library>,
    problems: Vec<Problem>,
}

/// A file that has device code or uses CUDA.
#[derive(Serialize)]
struct FileReport {
    file: PathBuf,
    /// How it reaches the runtime; none for a file that is no host program.
    runtime: Option<RuntimeLinkage>,
    code: DeviceCode,
    calls: Calls,
}

/// Something that is not there, and what to do about it.
#[derive(Serialize)]
struct Problem {
    what: String,
    /// Parts of the problem, one each; empty when `what` says everything.
    details: Vec<String>,
    remedy: String,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let (file, environment) = subject(args)?;
    let device = args.sm.or_else(|| environment.as_ref()?.capability()).unwrap_or(DEFAULT_CAPABILITY);
    let budget = if args.all { Budget::ALL } else { LOOKED_AT };
    let question = Question { device, budget, table: ApiTable::load().map_err(Failure::new)? };
    let mut report = Report { device, files: Vec::new(), libraries: Vec::new(), problems: Vec::new() };
    let mut search = Search::default();
    if let Some(machine) = foreign_machine(&file) {
        let what = format_args!(
            "{}: the program is for {machine}, and this machine is {}",
            file.display(),
            own_machine_name()
        );
        report.problems.push(Problem::new(what, "build it for this machine"));
        return tell(args, &report, out);
    }
    let mut listing = Listing::new(out, !args.json, args.all, device);
    examine(&file, &question, &mut report, &mut search, &mut listing).map_err(Failure::unreadable)?;
    for library in environment.iter().flat_map(Environment::libraries) {
        search.add_file(library);
    }
    while let Some(path) = search.next_file() {
        // A library that cannot be read is a problem of the program, not the end of the
        // examination.
        if let Err(error) = examine(&path, &question, &mut report, &mut search, &mut listing) {
            report.problems.push(Problem::new(error, "install the library again"));
        }
    }
    report.libraries = search.libraries;
    let problems: Vec<Problem> = library_problems(&report.libraries)
        .chain(report.files.iter().flat_map(|file| file.problems(environment.is_some())))
        .collect();
    report.problems.extend(problems);
    tell(args, &report, listing.finish()?)
}

/// Writes what is left of the report; the exit status says whether something is missing.
fn tell(args: &Args, report: &Report, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    if args.json {
        serde_json::to_writer_pretty(&mut *out, report).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        text::write_rest(report, args.all, out)?;
    }
    Ok(if report.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The file to begin with, and the environment that it runs in.
fn subject(args: &Args) -> Result<(PathBuf, Option<Environment>), Failure> {
    let profile = args.profile.as_deref().map(Environment::named).transpose()?;
    let file = args.program.first().ok_or_else(|| Failure::new("no file given"))?;
    let found = if file.exists() { None } else { program::find(file, profile.as_ref()) };
    let file = found.unwrap_or_else(|| file.clone());
    let environment = match profile {
        None => Environment::of_program(&file)?,
        profile => profile,
    };
    Ok((file, environment))
}

/// Adds a file to the report if it has to do with CUDA or is the first, and its libraries to the
/// search.
fn examine(
    path: &Path,
    question: &Question,
    report: &mut Report,
    search: &mut Search,
    listing: &mut Listing<'_>,
) -> Result<(), ContainerError> {
    let file = ImageFile::open(path)?;
    let Question { device, budget, ref table } = *question;
    let mut found = FileReport {
        file: path.to_owned(),
        runtime: None,
        code: DeviceCode::default(),
        calls: Calls::default(),
    };
    let image = file.image()?;
    match &image {
        Image::Host(host) => {
            search.add_needs_of(host, path)?;
            let linkage = host.runtime_linkage()?;
            let imports = host.cuda_imports()?;
            let uses_cuda = linkage != RuntimeLinkage::None || !imports.is_empty();
            if !uses_cuda && !report.files.is_empty() {
                return Ok(());
            }
            found.runtime = Some(linkage);
            found.calls = Calls::of(&imports, table);
        }
        Image::Cubin(bytes) => {
            let kernels = cubin::kernel_names(bytes, Origin::file(path))?;
            found.code.sass_only = kernels.into_iter().map(|name| (name, Vec::new())).collect();
        }
        _ => {}
    }
    listing.begin(&found);
    let mut listed = |module: &PtxModule| listing.module(module);
    match image {
        Image::Host(host) => found.code = DeviceCode::of(host.sections(), device, budget, &mut listed),
        Image::FatBinary(containers) => {
            found.code = DeviceCode::of([(Section::WholePrograms, containers)], device, budget, &mut listed);
        }
        Image::Ptx(text) => found.code = DeviceCode::of_texts([text], path, device, &mut listed),
        Image::Linked(linked) => {
            let texts = linked.texts.into_iter().map(String::from_utf8_lossy);
            found.code = DeviceCode::of_texts(texts, path, device, &mut listed);
        }
        Image::Cubin(_) => {}
    }
    listing.end(&found);
    report.files.push(found);
    Ok(())
}

impl Problem {
    fn new(what: impl ToString, remedy: &str) -> Self {
        Self { what: what.to_string(), details: Vec::new(), remedy: remedy.into() }
    }

    fn with_details(self, details: Vec<String>) -> Self {
        Self { details, ..self }
    }
}

fn library_problems(libraries: &[Library]) -> impl Iterator<Item = Problem> {
    libraries.iter().filter(|library| library.found == Found::Nowhere).map(|library| {
        let what = format!("{} is not found ({} needs it)", library.soname, library.needed_by.display());
        Problem::new(what, "install it, or add its folder to LD_LIBRARY_PATH")
    })
}

impl FileReport {
    /// In an environment, libraries choose kernels that have PTX, and what runtime they have inside
    /// works with our driver.
    fn problems(&self, in_environment: bool) -> Vec<Problem> {
        let file = self.file.display();
        let mut problems = Vec::new();
        let sass_only = if in_environment { &BTreeMap::new() } else { &self.code.sass_only };
        if self.runtime == Some(RuntimeLinkage::StaticStripped) && !in_environment {
            problems.push(Problem::new(
                format_args!("{file}: the CUDA runtime is linked statically and the file is stripped"),
                "link with `nvcc -cudart shared`, or do not strip the file",
            ));
        }
        for damage in &self.code.damage {
            problems.push(Problem::new(damage, "build or copy the file again"));
        }
        for place in &self.code.link_time_only {
            problems.push(Problem::new(
                format_args!("{place}: only intermediate code for link-time optimisation"),
                "compile without `-dlto`, or add PTX: `nvcc -gencode arch=compute_NN,code=compute_NN`",
            ));
        }
        for (architectures, kernels) in group(sass_only) {
            let machine_code = match architectures.as_slice() {
                [] => String::new(),
                names => format!(", only machine code for {}", names.join(" ")),
            };
            let what = format_args!("{file}: kernels without PTX{machine_code}: {}", kernels.len());
            let remedy = "compile with PTX: `nvcc -gencode arch=compute_NN,code=compute_NN`";
            let names = kernels.iter().map(|kernel| signature(kernel).into_owned());
            problems.push(Problem::new(what, remedy).with_details(names.collect()));
        }
        if !self.code.unsupported.is_empty() {
            let what = format_args!("{file}: functions that cannot run");
            let remedy = "none; a kernel that needs one of them fails when it is launched, the others run";
            let details = self.code.unsupported.iter().map(|(what, Affected { functions, first })| {
                format!("{what}, in {functions} functions, first at {first}")
            });
            problems.push(Problem::new(what, remedy).with_details(details.collect()));
        }
        for (reason, functions) in group(&self.calls.missing) {
            let what = format_args!("{file}: imported functions {reason}: {}", functions.len());
            let remedy = "none; a program that checks for errors stops at such a call";
            problems.push(Problem::new(what, remedy).with_details(functions));
        }
        problems
    }
}

/// The names of `reasons` by their reason.
fn group<R: Ord>(reasons: &BTreeMap<String, R>) -> BTreeMap<&R, Vec<String>> {
    let mut groups = BTreeMap::<&R, Vec<String>>::new();
    for (name, reason) in reasons {
        groups.entry(reason).or_default().push(name.clone());
    }
    groups
}
