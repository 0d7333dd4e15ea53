//! `voltsim replay`: runs one captured launch alone, through the driver API.

mod address_space;
mod modules;
mod objects;
mod placement;
mod prepared_launch;
mod stream;

use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use cuda_driver::{Driver, DriverError};
use launch_capture::{Capture, Results, ResultsWriter, Selection, is_stream};
use run_options::{Reading, RunOptions};
use saved_run::refusals;
use warp_stream::kernel_name::signature;

use crate::difference::{self, Tolerance};
use crate::failure::{EXIT_STATUS, Failure};
use crate::given::hand_over;
use crate::{libraries, program};
use address_space::AddressSpace;
use prepared_launch::PreparedLaunch;
pub(crate) use stream::Replay;
use warp_stream::LaunchShape;

/// Run one captured launch alone
///
/// The command allocates the buffers, relocates the pointers to them, and launches the kernel by
/// the driver API. The driver is Voltsim's or a real libcuda. The exit status is 0 when the launch
/// ends with the captured results, or succeeds if no results were captured. A refused kernel gives
/// 88, and everything else 1.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder of one launch
    folder: PathBuf,

    /// Launches of a kernel stream
    #[arg(long, hide = true, default_value = "")]
    launches: Selection,

    /// Driver library; Voltsim's by default
    #[arg(long, value_name = "libcuda.so.1")]
    library: Option<PathBuf>,

    /// Folder for the buffers after the launch; must not exist
    #[arg(short, long, value_name = "RESULTS")]
    output: Option<PathBuf>,

    /// Run in this process, whose environment is prepared
    #[arg(long, hide = true)]
    here: bool,
}

/// Starts itself once more with the environment that the capture wants, and there runs the launch.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    if is_stream(&args.folder) {
        return stream::run(args, out);
    }
    let capture = Capture::open(&args.folder)?;
    if !args.here {
        return Err(again(&capture));
    }
    let launch = capture.launch();
    let LaunchShape { grid: [gx, gy, gz], block: [bx, by, bz] } = launch.shape();
    writeln!(
        out,
        "kernel {}: grid ({gx},{gy},{gz}), CTA ({bx},{by},{bz}), {} buffers",
        signature(&launch.kernel),
        launch.buffers.len()
    )?;
    let scratch;
    let folder = match &args.output {
        Some(folder) => folder.as_path(),
        None => {
            scratch = tempfile::tempdir().map_err(|error| Failure::in_file(&env::temp_dir(), error))?;
            &scratch.path().join("results")
        }
    };
    let results = execute(&capture, args.library.as_deref(), folder)?;
    let outcome = &results.list().outcome;
    writeln!(out, "it ended with {outcome}")?;
    let captured = capture.results()?;
    let Some(captured) = captured else {
        writeln!(out, "there are no captured results to compare with")?;
        return Ok(ExitCode::from(u8::from(outcome != SUCCESS)));
    };
    let differences = difference::between(&capture, &captured, &results, &Tolerance::default())?;
    if differences.is_empty() {
        writeln!(out, "the results are the captured ones")?;
        return Ok(ExitCode::SUCCESS);
    }
    for difference in &differences {
        writeln!(out, "{}", difference.between("captured", "now"))?;
    }
    Ok(ExitCode::from(1))
}

/// How a launch ends that succeeds.
pub(crate) const SUCCESS: &str = "CUDA_SUCCESS";

/// Replaces this process by one that has the capture's device. Returns only when that fails.
fn again(capture: &Capture) -> Failure {
    let own = match env::current_exe() {
        Ok(own) => own,
        Err(error) => return Failure::new(format_args!("own path: {error}")),
    };
    let mut command = Command::new(&own);
    command.args(env::args_os().skip(1)).arg("--here");
    let device = || capture.launch().device.clone();
    let options = RunOptions {
        device: Reading::of_variables().options.device.is_none().then(device),
        ..RunOptions::default()
    };
    hand_over(&options, &mut command);
    program::replace(command)
}

/// Our driver, or the one at `library`.
fn open(library: Option<&Path>) -> Result<Driver, Failure> {
    let own = library
        .is_none()
        .then(|| libraries::folder().map(|folder| folder.join("libcuda.so.1")))
        .transpose()?;
    let path = library.or(own.as_deref()).unwrap_or(Path::new("libcuda.so.1"));
    Driver::open(path).map_err(|error| {
        Failure::in_file(path, error)
            .remedy("Name a CUDA driver, such as /usr/lib/x86_64-linux-gnu/libcuda.so.1")
    })
}

/// Runs the launch with the driver at `library`, or with ours, and writes what it leaves in memory
/// to `folder`.
fn execute(capture: &Capture, library: Option<&Path>, folder: &Path) -> Result<Results, Failure> {
    let driver = open(library)?;
    let failed = |error: DriverError| refused(capture, error);
    let module = driver.load(&capture.modules()?).map_err(failed)?;
    let prepared = PreparedLaunch::new(&driver, module, (capture, None), &mut AddressSpace::default())?;
    prepared.launch()?;
    let outcome = driver.synchronize();
    let mut writer = ResultsWriter::new(folder)?;
    if outcome.is_ok() {
        for (number, buffer) in capture.launch().buffers.iter().enumerate() {
            let address = prepared.placement.address(number);
            let mut bytes = match driver.read(address, buffer.size) {
                // The launch has freed it.
                Err(_) if buffer.is_of_heap() => vec![0; usize::try_from(buffer.size).unwrap_or(0)],
                read => read.map_err(failed)?,
            };
            prepared.objects.update(&driver, capture, number, &mut bytes).map_err(failed)?;
            writer.buffer(address, &bytes)?;
        }
    }
    let name = outcome.err().map_or(SUCCESS.to_owned(), |error| error.name);
    Ok(writer.finish(&name)?)
}

/// A launch that the driver cannot make. The status is that of a refused kernel where the error says so.
fn refused(capture: &Capture, error: DriverError) -> Failure {
    let status = if is_refusal(&error) { refusals::STATUS } else { EXIT_STATUS };
    Failure::in_file(capture.path(), error)
        .remedy("See that the driver knows the PTX's version and target, and that its device has room for the buffers")
        .with_status(status)
}

/// Is it the error of code that the driver cannot execute?
fn is_refusal(error: &DriverError) -> bool {
    error.is_refusal() || ["CUDA_ERROR_NOT_SUPPORTED", "CUDA_ERROR_INVALID_IMAGE"].contains(&&*error.name)
}
