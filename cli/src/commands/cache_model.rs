//! `voltsim cache-model`: misses of L1 by kind, from the accesses of a functional run.

use std::ffi::OsString;
use std::io::Write;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::available_parallelism;

use cache_model::accesses::{Builder, LaunchAccesses, Reader, is_recording};
use cache_model::report;
use cache_model::runner::{LaunchReport, Runner};
use cache_model::sweep::{self, Configuration};
use functional::timed::turns::{self, Order};
use timing::specification::{GpuSpec, gpu};
use warp_stream::KernelSource;
use warp_stream::LaunchShape;
use warp_trace::accelsim::{Entry, LIST, is_list, read_list};

use super::replay::Replay;
use crate::failure::Failure;
use crate::given::{Given, taking};
use crate::paths::absolute;
use crate::supervise;
use crate::{outputs, program, table};

/// Predict misses of the L1 data cache by kind, without cycles
///
/// The program runs once, in mode functional. The model of Nugteren et al. finds an order for the
/// accesses of each launch, and tells hits from misses by reuse distances. The table has a row per
/// launch: compulsory, capacity, associativity, MSHR and latency misses.
///
/// A sweep runs all combinations of values on the same accesses. `a..b` doubles, `a..b:step` is
/// linear. The keys are l1.size, l1.sets, l1.ways, l1.line, l1.misses, model.latency,
/// model.deviation and model.seed. Configurations that differ in size, sets and ways alone share
/// the order of the first of them, unless --exact is given.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Recording in place of a program: a file of --record, a kernel stream (.vks), or a recording
    /// of `voltsim record`
    #[arg(value_name = "RECORDING")]
    recording: Option<PathBuf>,

    /// GPU that is modelled: a name or a file
    #[arg(long, value_name = "NAME|FILE", default_value = gpu::DEFAULT)]
    gpu: String,

    /// Change a value of the GPU: section.key=value
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,

    /// Values of the cache: key=value, key=a..b, with commas between them
    #[arg(long, value_name = "KEYS", default_value = "")]
    sweep: String,

    /// Give each configuration of a sweep an order of its own
    #[arg(long)]
    exact: bool,

    /// File for the report, in place of standard output: .json, .csv or .txt
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Keep the accesses in this file, for later runs without the program
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    #[command(flatten)]
    given: Given<taking::CacheModel>,

    /// The program and its arguments; none for a recording
    #[arg(last = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Form of a report.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Json,
    Csv,
}

/// Runs the program or reads the recording, and writes the report.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let form = form(args.output.as_deref())?;
    let runner = runner(args)?;
    for (option, file) in [("--output", &args.output), ("--record", &args.record)] {
        file.as_deref().map(|file| outputs::check(option, file)).transpose()?;
    }
    let (reports, status) = match (&args.recording, args.program.is_empty()) {
        (Some(_), false) => {
            return Err(
                Failure::new("a recording and a program are given").remedy("leave one of the two out")
            );
        }
        (None, true) => {
            return Err(Failure::new("no program given").remedy("add -- PROGRAM, or name a recording"));
        }
        (Some(file), true) if !launch_capture::is_stream(file) => {
            (recorded(file, &runner)?, ExitCode::SUCCESS)
        }
        _ => executed(args, &runner)?,
    };
    write(args, form, &reports, out)?;
    Ok(status)
}

/// The runner of the GPU's configurations, checked with a launch of one thread.
fn runner(args: &Args) -> Result<Runner, Failure> {
    let spec = GpuSpec::changed(&args.gpu, args.set.iter().map(String::as_str))
        .map_err(|error| Failure::new(&error).remedy(error.remedy()))?;
    let refused = |error: sweep::SweepError| {
        let remedy = error.remedy();
        Failure::new(format_args!("--sweep: {error}")).remedy(remedy)
    };
    let configurations = sweep::configurations(&args.sweep).map_err(refused)?;
    let launch =
        cache_model::accesses::Launch { shape: LaunchShape::new([1; 3], [1; 3]), ..Default::default() };
    let model = cache_model::model::ModelSpec::of_gpu(&spec, &launch);
    let check = |configuration: &Configuration| configuration.apply(&mut model.clone());
    configurations.iter().try_for_each(check).map_err(refused)?;
    let cores = available_parallelism().map_or(1, NonZero::get);
    let threads = args.given.options.threads.map_or(cores, |threads| threads.max(1) as usize);
    Ok(Runner::new(spec, configurations, args.exact, threads))
}

/// Runs the launches of a program or of a kernel stream.
fn executed(args: &Args, runner: &Runner) -> Result<(Vec<LaunchReport>, ExitCode), Failure> {
    let scratch =
        tempfile::tempdir().map_err(|error| Failure::new(format_args!("no temporary folder: {error}")))?;
    let file = match &args.record {
        Some(file) => {
            outputs::empty(file)?;
            absolute(file)?
        }
        None => scratch.path().join("accesses"),
    };
    let mut options = args.given.options.clone();
    options.accesses = Some(file.clone());
    let profile = args.given.profile.as_deref();
    let program = match &args.recording {
        Some(stream) => Replay::new(stream)?.prepare(options, profile)?,
        None => program::prepare(&args.program, options, profile)?,
    };
    let ended = supervise::run(program)?;
    let is_empty = file.metadata().map_or(0, |file| file.len()) == 0;
    if is_empty && ended.status == 0 {
        return Err(Failure::new("the program has launched no kernel")
            .remedy("see that it runs to its end under voltsim run"));
    }
    let reports = if is_empty { Vec::new() } else { of_accesses(&file, runner)? };
    Ok((reports, ended.pass_on()))
}

fn of_accesses(file: &Path, runner: &Runner) -> Result<Vec<LaunchReport>, Failure> {
    let failed = |error: cache_model::accesses::FileError| {
        let remedy = error.remedy();
        Failure::new(error).remedy(remedy)
    };
    let mut reader = Reader::open(file).map_err(failed)?;
    let mut reports = Vec::new();
    while let Some(accesses) = reader.next_launch().map_err(failed)? {
        reports.push(launch(runner, &accesses)?);
    }
    Ok(reports)
}

fn launch(runner: &Runner, accesses: &LaunchAccesses) -> Result<LaunchReport, Failure> {
    runner.launch(accesses).map_err(|error| {
        let remedy = error.remedy();
        let (number, kernel) = (accesses.launch.number, &accesses.launch.kernel);
        Failure::new(format_args!("launch {number} of {kernel}: {error}")).remedy(remedy)
    })
}

/// SMs and CTAs of each in which a recording is read.
const RESIDENT: (u32, u32) = (16, 4);

/// Runs recorded launches.
fn recorded(file: &Path, runner: &Runner) -> Result<Vec<LaunchReport>, Failure> {
    if is_recording(file) {
        return of_accesses(file, runner);
    }
    let list = if file.is_dir() { file.join(LIST) } else { file.to_owned() };
    let entries = match is_list(&list) {
        true => read_list(&list).map_err(Failure::new)?,
        false => vec![Entry::Kernel { file: list }],
    };
    let mut reports = Vec::new();
    for entry in entries {
        let Entry::Kernel { file } = entry else { continue };
        let source = warp_trace::read_launch(&file).map_err(Failure::new)?;
        let mut builder = Builder::new(KernelSource::kernel(&source));
        turns::execute(&source, RESIDENT, Order::InBursts, |issued| {
            builder.issued(issued.cta, issued.warp, issued.position, issued.execution);
        })
        .map_err(|error| Failure::in_file(&file, error))?;
        reports.push(launch(runner, &builder.finish())?);
    }
    Ok(reports)
}

fn form(output: Option<&Path>) -> Result<Form, Failure> {
    let Some(file) = output else { return Ok(Form::Text) };
    match file.extension().and_then(|ending| ending.to_str()) {
        Some("json") => Ok(Form::Json),
        Some("csv") => Ok(Form::Csv),
        Some("txt") | None => Ok(Form::Text),
        Some(_) => {
            Err(Failure::in_file(file, "no report has this ending")
                .remedy("end the name in .json, .csv or .txt"))
        }
    }
}

fn write(args: &Args, form: Form, reports: &[LaunchReport], out: &mut dyn Write) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    match form {
        Form::Text => {
            table::write(&mut bytes, report::HEADING, &report::rows(reports))?;
            bytes.extend(report::histograms(reports).into_bytes());
        }
        Form::Csv => bytes = report::csv(reports).into_bytes(),
        Form::Json => {
            bytes = serde_json::to_vec_pretty(&report::json(&args.gpu, reports)).map_err(Failure::new)?;
            bytes.push(b'\n');
        }
    }
    match &args.output {
        Some(file) => outputs::write(file, &bytes),
        None => Ok(out.write_all(&bytes)?),
    }
}
