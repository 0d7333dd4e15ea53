//! `voltsim compare`: runs launches in two ways and names the first launch, instruction and value
//! that differ.

mod search;
mod side;

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use launch_capture::{Capture, Results};
use run_options::values::WholeLaunchesText;
use warp_stream::kernel_name::signature;

use crate::difference::{self, Tolerance};
use crate::failure::Failure;
use crate::quantity;
use search::Search;
use side::Side;

/// Run launches in two ways, and name the first instruction whose result differs
///
/// Each captured launch runs in both ways. Where the results differ, the command instruments the
/// kernel and runs it again. The report names the first register with different values: thread, PTX
/// line, both values.
///
/// With a program after `--`, the command captures the program's launches in both ways, and
/// searches the first one whose results differ. The exit status is 0 when all is equal, and 1 when
/// something differs.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folders of captured launches, in the order to be compared
    #[arg(value_name = "FOLDER", required_unless_present = "program", conflicts_with = "program")]
    folders: Vec<PathBuf>,

    /// Environment variable of the first way; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    a: Vec<String>,

    /// Environment variable of the second way; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    b: Vec<String>,

    /// Driver of the first way; ours by default
    #[arg(long, value_name = "libcuda.so.1")]
    library_a: Option<PathBuf>,

    /// Driver of the second way; ours by default
    #[arg(long, value_name = "libcuda.so.1")]
    library_b: Option<PathBuf>,

    /// PTX of the first way, in place of the captured one
    #[arg(long, value_name = "FILE")]
    ptx_a: Option<PathBuf>,

    /// PTX of the second way, in place of the captured one
    #[arg(long, value_name = "FILE")]
    ptx_b: Option<PathBuf>,

    /// Floating-point values that differ by no more units in the last place are equal:
    /// f16=N,bf16=N,f32=N,f64=N
    #[arg(long, value_name = "TOLERANCE", default_value = "f32=0")]
    ulps: Tolerance,

    /// Search the instructions even where the results are equal
    #[arg(long)]
    instrumented: bool,

    /// Room for the log of an instrumented kernel: MiB, or a size with a unit (1G); more room means
    /// fewer runs
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = quantity::mebibytes)]
    log_size: u64,

    /// Which launches of the program, as in `voltsim capture`
    #[arg(long, value_name = "SELECTION", requires = "program")]
    only: Option<WholeLaunchesText>,

    /// A program and its arguments
    #[arg(last = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Compares, and writes what differs first.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let a = Side::new("A", &args.a, args.library_a.as_deref(), args.ptx_a.as_deref())?;
    let b = Side::new("B", &args.b, args.library_b.as_deref(), args.ptx_b.as_deref())?;
    let comparison = Comparison { args, sides: [&a, &b] };
    let equal = if args.program.is_empty() { comparison.folders(out)? } else { comparison.program(out)? };
    Ok(ExitCode::from(u8::from(!equal)))
}

fn scratch() -> Result<tempfile::TempDir, Failure> {
    tempfile::tempdir().map_err(|error| Failure::in_file(&std::env::temp_dir(), error))
}

struct Comparison<'a> {
    args: &'a Args,
    sides: [&'a Side; 2],
}

impl Comparison<'_> {
    /// Compares folder after folder up to the first that differs.
    fn folders(&self, out: &mut dyn Write) -> Result<bool, Failure> {
        for folder in &self.args.folders {
            let capture = Capture::open(folder)?;
            let scratch = scratch()?;
            let [a, b] = self.sides;
            let results = [a.plain(&capture, scratch.path())?, b.plain(&capture, scratch.path())?];
            let equal = self.results(&capture, &results, out)?;
            if !equal || self.args.instrumented {
                let equal = self.instructions(&capture, scratch.path(), out)? && equal;
                if !equal {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Compares the results of a launch.
    fn results(
        &self,
        capture: &Capture,
        [a, b]: &[Results; 2],
        out: &mut dyn Write,
    ) -> Result<bool, Failure> {
        let differences = difference::between(capture, a, b, &self.args.ulps)?;
        let launch = capture.launch();
        let equal = differences.is_empty();
        let verdict = if equal { "equal results" } else { "different results" };
        writeln!(
            out,
            "launch {} (API call {}), kernel {}: {verdict}",
            launch.launch,
            launch.api_call,
            signature(&launch.kernel)
        )?;
        for difference in &differences {
            writeln!(out, "  {}", difference.between("A", "B"))?;
        }
        Ok(equal)
    }

    /// Searches the first instruction that differs; are there none?
    fn instructions(&self, capture: &Capture, scratch: &Path, out: &mut dyn Write) -> Result<bool, Failure> {
        let room = self.args.log_size.saturating_mul(1 << 20);
        let search = Search::new(capture, self.sides, &self.args.ulps, room, scratch)?;
        let finding = search.run()?;
        writeln!(out, "{}", finding.describe(capture.launch()))?;
        Ok(matches!(finding, search::Finding::Nothing))
    }

    /// Captures the program's launches in both ways and compares them one after the other.
    fn program(&self, out: &mut dyn Write) -> Result<bool, Failure> {
        let [a, b] = self.sides;
        if a.is_special() || b.is_special() {
            return Err(Failure::new("a program runs with our library and its own PTX")
                .remedy("Capture its launches first, then compare the folders"));
        }
        let scratch = scratch()?;
        let (folder_a, folder_b) = (scratch.path().join("a"), scratch.path().join("b"));
        let only = self.args.only.as_ref().map(WholeLaunchesText::text);
        let status_a = a.capture(only, &self.args.program, &folder_a)?;
        let status_b = b.capture(only, &self.args.program, &folder_b)?;
        let (launches_a, launches_b) = (captures(&folder_a)?, captures(&folder_b)?);
        for (in_a, in_b) in launches_a.iter().zip(&launches_b) {
            let (capture_a, capture_b) = (Capture::open(in_a)?, Capture::open(in_b)?);
            if !self.same_launch(&capture_a, &capture_b, out)? {
                return Ok(false);
            }
            let both = [capture_a.results()?, capture_b.results()?];
            let [Some(results_a), Some(results_b)] = both else {
                return Err(Failure::in_file(in_a, "the results of this launch were not captured"));
            };
            if !self.results(&capture_a, &[results_a, results_b], out)? {
                self.instructions(&capture_a, scratch.path(), out)?;
                return Ok(false);
            }
        }
        let (count_a, count_b) = (launches_a.len(), launches_b.len());
        if count_a != count_b {
            writeln!(out, "A has {count_a} launches, B has {count_b}; those that both have are equal")?;
        }
        if status_a != status_b {
            let status =
                |code: Option<i32>| code.map_or("a signal".to_owned(), |code| format!("status {code}"));
            writeln!(
                out,
                "the program ends with {} under A, {} under B",
                status(status_a),
                status(status_b)
            )?;
        }
        Ok(count_a == count_b && status_a == status_b)
    }

    /// Is it the same launch, of the same memory?
    fn same_launch(&self, a: &Capture, b: &Capture, out: &mut dyn Write) -> Result<bool, Failure> {
        let (launch_a, launch_b) = (a.launch(), b.launch());
        let number = launch_a.launch;
        let shape = |launch: &launch_capture::Launch| {
            let sizes: Vec<_> = launch.buffers.iter().map(|buffer| buffer.size).collect();
            (launch.kernel.clone(), launch.launch, launch.shape(), launch.dynamic_shared, sizes)
        };
        let values = |capture: &Capture| -> Vec<_> {
            let parameters = capture.launch().parameters.iter();
            let plain = parameters.filter(|parameter| parameter.pointers.is_empty());
            plain.map(|parameter| parameter.bytes.clone()).collect()
        };
        if shape(launch_a) != shape(launch_b) || values(a) != values(b) {
            writeln!(
                out,
                "launch {number} is {} under A and {} under B, with other sizes or parameters; all launches before are \
                 equal",
                signature(&launch_a.kernel),
                signature(&launch_b.kernel)
            )?;
            return Ok(false);
        }
        let differences = difference::between(a, &Results::before(a), &Results::before(b), &self.args.ulps)?;
        if differences.is_empty() {
            return Ok(true);
        }
        writeln!(
            out,
            "launch {number} (API call {}), kernel {}: the memory differs before it, though all launches compared so far \
             are equal: a copy, the host or a launch not selected has changed it",
            launch_a.api_call,
            signature(&launch_a.kernel)
        )?;
        for difference in &differences {
            writeln!(out, "  {}", difference.between("A", "B"))?;
        }
        Ok(false)
    }
}

/// The launches captured in a folder, in their order.
fn captures(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |error| Failure::in_file(folder, error);
    let entries = fs::read_dir(folder).map_err(failed)?;
    let mut folders = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(failed)?;
    let number = |path: &PathBuf| -> u64 {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.split('-').next().and_then(|digits| digits.parse().ok()).unwrap_or(u64::MAX)
    };
    folders.sort_by_key(number);
    Ok(folders)
}
