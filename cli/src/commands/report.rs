//! `voltsim report`: statistics as an HTML page with pictures.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use run_report::Source;

use crate::failure::Failure;
use crate::outputs;

/// Make a report of a run's statistics: one HTML page with pictures
///
/// The page needs no network and no other file. With two files the page compares two runs. A
/// file of `voltsim correlate --json` gives scatter plots, and the results of a sweep give curves.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// File of `voltsim run --statistics FILE.json` or `voltsim correlate --json`, or the folder of
    /// a sweep's results
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Statistics of another run, to be compared with the first
    #[arg(value_name = "OTHER")]
    other: Option<PathBuf>,

    /// The page to write
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
}

/// Writes the page.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    outputs::check("--output", &args.output)?;
    let first = read(&args.file)?;
    let other = args.other.as_deref().map(read).transpose()?;
    let page = run_report::render(source(&first), other.as_ref().map(source));
    let page = page.map_err(|error| Failure::new(&error).remedy(error.remedy()))?;
    outputs::write(&args.output, page)?;
    eprintln!("voltsim: {} is written", args.output.display());
    Ok(ExitCode::SUCCESS)
}

/// The name and the contents of a file, or of the estimates in a folder of results.
fn read(file: &Path) -> Result<(String, String), Failure> {
    let file = match file.is_dir() {
        true => file.join("estimate.json"),
        false => file.to_owned(),
    };
    let text = fs::read_to_string(&file).map_err(|error| {
        Failure::in_file(&file, &error).remedy("give a file of `voltsim run --statistics FILE.json`")
    })?;
    Ok((file.to_string_lossy().into_owned(), text))
}

fn source((name, text): &(String, String)) -> Source<'_> {
    Source { name, text }
}
