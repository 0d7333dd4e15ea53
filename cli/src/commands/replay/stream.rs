//! Launches of a kernel stream, one after the other.

use std::env;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use cuda_driver::{Driver, DriverError};
use launch_capture::{Accessible, Capture, Entry, KernelStream, Marks, Selection};
use run_options::values::LaunchNumbers;
use run_options::{Reading, RunOptions};
use saved_run::refusals;
use warp_stream::LaunchShape;
use warp_stream::kernel_name::signature;

use super::address_space::AddressSpace;
use super::modules::Modules;
use super::prepared_launch::PreparedLaunch;
use super::{Args, is_refusal, open};
use crate::failure::{EXIT_STATUS, Failure};
use crate::given::with_variables;
use crate::paths::absolute;
use crate::program::{self, Prepared};

/// A run of launches of a stream, as a process.
pub(crate) struct Replay {
    stream: KernelStream,
    /// Which launches: `kernel=GLOB,launch=A..B`.
    pub(crate) launches: String,
}

impl Replay {
    /// All launches of a stream.
    pub(crate) fn new(file: &Path) -> Result<Replay, Failure> {
        Ok(Replay { stream: KernelStream::open(file)?, launches: String::new() })
    }

    /// The process, prepared to start.
    pub(crate) fn prepare(&self, options: RunOptions, profile: Option<&str>) -> Result<Prepared, Failure> {
        let own = env::current_exe().map_err(|error| Failure::new(format_args!("own path: {error}")))?;
        let selection = format!("--launches={}", self.launches);
        let file = absolute(self.stream.path())?.into_os_string();
        let arguments = [own.into_os_string(), "replay".into(), "--here".into(), selection.into(), file];
        let mut options = options;
        if with_variables(&options).device.is_none() {
            options.device = Some(self.stream.about().device.clone());
        }
        options.launch_numbers = Some(self.numbers()?);
        program::prepare(&arguments, options, profile)
    }

    /// The numbers of the chosen launches.
    fn numbers(&self) -> Result<LaunchNumbers, Failure> {
        let chosen = self.launches.parse().and_then(Selection::of_saved_launches);
        let chosen = chosen.map_err(|error| Failure::new(format_args!("--launches: {error}")))?;
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for entry in self.stream.entries() {
            let Entry::Launch { number, kernel, .. } = entry else { continue };
            if !chosen.contains(kernel, *number, &Marks::default()) {
                continue;
            }
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == *number => *last = *number,
                _ => runs.push((*number, *number)),
            }
        }
        Ok(LaunchNumbers(runs.into_iter().map(|(first, last)| first..=last).collect()))
    }
}

/// A launch that is run.
struct Chosen<'a> {
    entry: usize,
    capture: Capture,
    /// Allocated memory, if that is known.
    accessible: Option<Accessible>,
    /// Copies between it and the launch before.
    copies: &'a [Entry],
    /// True if the launch before was run too.
    follows: bool,
}

/// Launches that are run, one after the other.
struct Run<'a> {
    args: &'a Args,
    driver: &'a Driver,
    stream: &'a Arc<KernelStream>,
    space: AddressSpace,
    modules: Modules<'a>,
}

/// Runs the chosen launches. A refused launch is reported and the others run, since each finds its
/// captured memory.
pub(super) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    if !args.here {
        return Err(Failure::in_file(&args.folder, "this is a kernel stream")
            .remedy("use voltsim resume, which runs the launches of one"));
    }
    let stream = Arc::new(KernelStream::open(&args.folder)?);
    let chosen = chosen(&stream, args)?;
    let driver = open(args.library.as_deref())?;
    let memory = chosen.iter().map(|chosen| (&chosen.capture, chosen.accessible.as_ref()));
    let space =
        AddressSpace::claim(&driver, memory).map_err(|error| Failure::in_file(&args.folder, error))?;
    let modules = Modules::of(&stream, chosen.iter().map(|chosen| (chosen.entry, &chosen.capture)), &space);
    let mut run = Run { args, driver: &driver, stream: &stream, space, modules };
    let (mut refused, mut is_refused) = (0, false);
    for (place, launch) in chosen.iter().enumerate() {
        let follows = launch.follows && !is_refused;
        is_refused = match run.launch(launch, follows, place + 1 == chosen.len(), out) {
            Err(failure) if failure.status() == refusals::STATUS => run.pass_over(launch, failure)?,
            outcome => outcome.map(|()| false)?,
        };
        refused += usize::from(is_refused);
    }
    if refused == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!(
        "voltsim: exit status {} instead of 0: {refused} of {} launches were refused; --strict ends the run at the first",
        refusals::STATUS,
        chosen.len()
    );
    Ok(ExitCode::from(refusals::STATUS))
}

impl Run<'_> {
    /// Runs a launch. Memory that copies or the program changed between launches is restored first,
    /// without simulated time. Copies between host and device take their time. A launch that does
    /// not follow its predecessor in the stream starts with the recorded history of caches, if
    /// there is one.
    fn launch(
        &mut self,
        chosen: &Chosen<'_>,
        follows: bool,
        is_last: bool,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let Run { args, driver, stream, space, modules } = self;
        let Chosen { entry, capture, accessible, copies, .. } = chosen;
        let failed = |error: DriverError| Failure::in_file(&args.folder, error);
        let module = modules.load(driver, stream, *entry, capture)?;
        let prepared = PreparedLaunch::new(driver, module, (capture, accessible.as_ref()), space)?;
        let launch = capture.launch();
        let LaunchShape { grid: [gx, gy, gz], block: [bx, by, bz] } = launch.shape();
        writeln!(
            out,
            "launch {}, {}: grid ({gx},{gy},{gz}), CTA ({bx},{by},{bz}), {} bytes restored",
            launch.launch,
            signature(&launch.kernel),
            prepared.restored
        )?;
        out.flush()?;
        let past = stream.past(*entry)?.filter(|_| !follows).map(|past| prepared.past_here(past));
        match &past {
            None => copies.iter().try_for_each(|copy| again(driver, space, copy)).map_err(failed)?,
            Some(past) if driver.recall(past) => {}
            Some(_) => {
                return Err(Failure::in_file(&args.folder, "what came before a launch cannot be read"));
            }
        }
        if is_last {
            driver.next_is_last();
        }
        let launched = prepared.launch().and_then(|()| {
            driver.synchronize().map_err(|error| {
                let status = if is_refusal(&error) { refusals::STATUS } else { EXIT_STATUS };
                Failure::in_file(&args.folder, format_args!("launch {}: {error}", launch.launch))
                    .with_status(status)
            })
        });
        driver.narrow(None);
        launched.and_then(|()| prepared.objects.destroy(driver).map_err(failed))?;
        space.clear(driver).map_err(failed)
    }

    /// Reports a refused launch. The report ends the run with `--strict`, or if the driver accepts
    /// no further launch.
    fn pass_over(&mut self, chosen: &Chosen<'_>, failure: Failure) -> Result<bool, Failure> {
        let is_strict = Reading::of_environment().options.strict == Some(true);
        if is_strict || self.driver.synchronize().is_err() {
            return Err(failure);
        }
        let launch = chosen.capture.launch();
        eprintln!("voltsim: launch {}, {}, was refused: {failure}", launch.launch, signature(&launch.kernel));
        self.space.clear(self.driver).map_err(|error| Failure::in_file(&self.args.folder, error))?;
        Ok(true)
    }
}

/// Repeats a copy or fill before a launch, for its time and its effect on caches. The memory
/// already holds its contents. A copy of memory that the launch cannot reach is left out.
fn again(driver: &Driver, space: &AddressSpace, entry: &Entry) -> Result<(), DriverError> {
    match entry {
        Entry::Copy { to_device, address, bytes }
            if space.reaches(*address, address.saturating_add(*bytes)) =>
        {
            match to_device {
                true => driver.write(*address, &driver.peek(*address, *bytes)?),
                false => driver.read(*address, *bytes).map(drop),
            }
        }
        Entry::Transfer(transfer) => {
            let mut both = [Some(transfer.to), transfer.from].into_iter().flatten();
            match both.all(|rows| rows.end().is_some_and(|end| space.reaches(rows.address, end))) {
                true => driver.transfer(transfer),
                false => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

fn chosen<'a>(stream: &'a Arc<KernelStream>, args: &Args) -> Result<Vec<Chosen<'a>>, Failure> {
    let (mut chosen, mut copies, mut last) = (Vec::new(), 0, None);
    for (entry, what) in stream.entries().iter().enumerate() {
        let Entry::Launch { number, kernel, .. } = what else { continue };
        let before = stream.entries().get(copies..entry).unwrap_or_default();
        copies = entry + 1;
        if args.launches.contains(kernel, *number, &Marks::default())
            && let Some(capture) = stream.capture(entry)?
        {
            let follows = last.replace(*number).is_some_and(|last| last + 1 == *number);
            let accessible = capture.accessible()?;
            chosen.push(Chosen { entry, capture, accessible, copies: before, follows });
        }
    }
    match chosen.is_empty() {
        true => Err(Failure::in_file(stream.path(), "it has none of the launches that are chosen")),
        false => Ok(chosen),
    }
}
