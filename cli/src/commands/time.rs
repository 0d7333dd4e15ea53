//! `voltsim time`: times recorded launches, without the program that made them.

use std::io::Write;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::available_parallelism;

use launch_report::{Format, Report, Run};
use run_options::RunOptions;
use run_options::kernel_registers::KernelRegisters;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use timing::gpu::{Copy, Direction, Gpu, LaunchError, Stability};
use timing::record::LaunchRecord;
use timing::specification::gpu as gpus;
use voltsim_checkpoint::atomic_file::folder_of;
use warp_stream::KernelSource;
use warp_trace::Recording;
use warp_trace::accelsim::{Entry, LIST, is_list, read_list};

use crate::columns::{self, Tables};
use crate::failure::Failure;
use crate::given::{Given, taking};
use crate::{model, outputs, supervise};

/// Time recorded launches: recordings of `voltsim record`, or traces of Accel-Sim
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    given: Given<taking::Time>,

    /// Folder with a kernelslist.g, such a list, or file of one launch (.vrec, .traceg, .traceg.xz,
    /// .traceg.gz)
    #[arg(value_name = "RECORDING")]
    recording: PathBuf,
}

/// Times the launches; a summary is written to `out`.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let options = &args.given.options;
    let gpu = model::name(options);
    if options.mode.is_some_and(|mode| !mode.is_timed()) {
        return Err(Failure::new("--mode functional times nothing").remedy("give a mode with time, or none"));
    }
    let spec = Arc::new(model::spec(options)?);
    let entries = entries(&args.recording)?;
    if let Some(file) = &options.statistics {
        if !columns::is_parquet(file) {
            model::format(file)?;
        }
        outputs::check("--statistics", file)?;
    }
    let cores = available_parallelism().map_or(1, NonZero::get);
    let threads = options.threads.map_or(cores, |threads| threads as usize);
    let mut timed_gpu = Gpu::new(&spec).with_threads(threads);
    let mut report = match &options.statistics {
        Some(file) => Report::in_folder(gpu, folder_of(file)),
        None => Report::of_sums(gpu),
    };
    let modelled = gpus::capability(gpu);
    let mut given_registers = GivenRegisters::of(options);
    let mut told = false;
    let ended = Ended::watch()?;
    for entry in entries {
        if ended.cause().is_some() {
            break;
        }
        match entry {
            Entry::Copy { address, bytes } => {
                let copy = Copy { direction: Direction::ToDevice, address, bytes };
                timed_gpu.copy(copy).map_err(Failure::new)?;
            }
            Entry::Kernel { file } => {
                let launch = warp_trace::read_launch(&file).map_err(Failure::new)?;
                if let (false, Some(traced), Some(modelled)) = (told, launch.capability(), modelled)
                    && generation(traced) != generation(modelled)
                {
                    told = true;
                    tell_generation(&file, gpu, traced, modelled);
                }
                let launch = given_registers.apply(launch);
                let record = timed(&mut timed_gpu, &launch, model::stability(options).as_ref());
                report.add(record.map_err(|error| Failure::in_file(&file, error))?);
            }
        }
    }
    if let Some(file) = &options.statistics {
        let reports = [&report];
        let run = Run::new(gpu, &reports).with_power(&spec.power).ended_by(ended.cause());
        write(&run, file)?;
    }
    given_registers.tell_unmet();
    out.write_all(report.summary().as_bytes())?;
    out.flush()?;
    ended.die();
    Ok(ExitCode::SUCCESS)
}

/// Names of kernels of `--set kernel.registers`, with the registers that they get.
struct GivenRegisters(Vec<(KernelRegisters, bool)>);

impl GivenRegisters {
    fn of(options: &RunOptions) -> GivenRegisters {
        let given = options.set.iter().flat_map(|changes| changes.of_kernels());
        GivenRegisters(given.map(|given| (given, false)).collect())
    }

    /// The launch with the registers that are given to its kernel; the last option counts.
    fn apply(&mut self, launch: Recording) -> Recording {
        let mut registers = None;
        for (given, is_met) in &mut self.0 {
            if given.is_of(&launch.kernel().name) {
                *is_met = true;
                registers = Some(given.registers);
            }
        }
        match registers {
            Some(registers) => launch.with_registers(registers),
            None => launch,
        }
    }

    /// Warns of names that no kernel had.
    fn tell_unmet(&self) {
        for (given, _) in self.0.iter().filter(|(_, is_met)| !is_met) {
            eprintln!("voltsim: --set kernel.registers={}: no recorded kernel has this name", given.kernel);
        }
    }
}

/// Writes the statistics in the form of the file's ending.
fn write(run: &Run<'_>, file: &Path) -> Result<(), Failure> {
    if columns::is_parquet(file) {
        let tables = Tables::new(file, false)?;
        outputs::write_with(&tables.json(), |output| run.write(Format::Json, output))?;
        return tables.write();
    }
    let format = model::format(file)?;
    outputs::write_with(file, |output| run.write(format, output))
}

/// Architecture of a compute capability, given ten times.
fn generation(capability: u32) -> &'static str {
    match capability {
        ..=29 => "Fermi",
        30..=39 => "Kepler",
        50..=59 => "Maxwell",
        60..=69 => "Pascal",
        70..=74 => "Volta",
        75..=79 => "Turing",
        80..=88 => "Ampere",
        89 => "Ada",
        90..=99 => "Hopper",
        _ => "Blackwell",
    }
}

/// Warns of machine code of one generation on a model of another.
fn tell_generation(file: &Path, gpu: &str, traced: u32, modelled: u32) {
    eprintln!(
        "voltsim: {}: the trace is {} code (binary version {traced}), and `{gpu}` is a GPU of {}: cycles are of code that this GPU \
         never runs\n  remedy: `--gpu` of the trace's generation; `voltsim gpus` lists them",
        file.display(),
        generation(traced),
        generation(modelled)
    );
}

/// Signals that end this process between two launches, when what was timed is written. A second one
/// ends it at once.
struct Ended {
    by: Arc<AtomicUsize>,
}

const SIGNALS: [(i32, &str); 3] = [(SIGHUP, "SIGHUP"), (SIGINT, "SIGINT"), (SIGTERM, "SIGTERM")];

impl Ended {
    fn watch() -> Result<Ended, Failure> {
        let by = Arc::new(AtomicUsize::new(0));
        let is_second = Arc::new(AtomicBool::new(false));
        for (signal, _) in SIGNALS {
            flag::register_conditional_default(signal, Arc::clone(&is_second))
                .and_then(|_| flag::register(signal, Arc::clone(&is_second)))
                .and_then(|_| flag::register_usize(signal, Arc::clone(&by), signal as usize))
                .map_err(|error| Failure::new(format_args!("signals: {error}")))?;
        }
        Ok(Ended { by })
    }

    /// The signal that has come, by name.
    fn cause(&self) -> Option<&'static str> {
        let by = self.by.load(Ordering::Relaxed) as i32;
        SIGNALS.iter().find(|(signal, _)| *signal == by).map(|(_, name)| *name)
    }

    /// Ends the process by the signal that has come.
    fn die(&self) {
        if self.cause().is_some() {
            supervise::die_by(self.by.load(Ordering::Relaxed) as i32);
        }
    }
}

/// Times a launch. CTAs that are left out leave what they access in the caches.
fn timed(
    gpu: &mut Gpu,
    launch: &dyn KernelSource,
    stability: Option<&Stability>,
) -> Result<LaunchRecord, LaunchError> {
    let Some(stability) = stability else { return gpu.launch(launch, &mut ()) };
    let record = gpu.launch_until_stable(launch, stability, &mut ())?;
    if let Some(simulated) = record.simulated {
        gpu.execute_from(launch, simulated.ctas, &mut ())?;
    }
    Ok(record)
}

/// Entries to be timed, in order.
fn entries(recording: &Path) -> Result<Vec<Entry>, Failure> {
    let list = if recording.is_dir() { recording.join(LIST) } else { recording.to_owned() };
    if !is_list(&list) {
        return Ok(vec![Entry::Kernel { file: list }]);
    }
    let entries = read_list(&list).map_err(Failure::new)?;
    match entries.iter().any(|entry| matches!(entry, Entry::Kernel { .. })) {
        true => Ok(entries),
        false => Err(Failure::in_file(&list, "it names no kernel")
            .remedy("`voltsim record` writes such lists; lines with kernels begin with `kernel`")),
    }
}
