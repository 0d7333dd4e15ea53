//! `voltsim correlate`: statistics beside what a profiler counted on a card.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use timing::correlate::{Comparison, Program, read_profiler, read_statistics};

use crate::failure::Failure;

/// Compare statistics with what a profiler counted on a card
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Statistics that a run has written as JSON
    statistics: PathBuf,
    /// CSV of Nsight Compute (`--csv`) or of nvprof (`--csv --print-gpu-trace`), or a table with a row for each launch
    profiler: PathBuf,
    /// The program whose launches are compared, where the table has several
    #[arg(long, value_name = "NAME")]
    program: Option<String>,
    /// The metric by which programs are listed
    #[arg(long, default_value = "gpc__cycles_elapsed.max")]
    metric: String,
    /// Print all launches and metrics as JSON
    #[arg(long)]
    json: bool,
}

/// Writes the comparison.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let name = |file: &Path| file.to_string_lossy().into_owned();
    let text = |file: &Path| fs::read_to_string(file).map_err(|error| Failure::in_file(file, error));
    let ours = read_statistics(&name(&args.statistics), &text(&args.statistics)?).map_err(Failure::new)?;
    let mut card = read_profiler(&name(&args.profiler), &text(&args.profiler)?).map_err(Failure::new)?;
    if let Some(program) = &args.program {
        card.retain(|launch| launch.program == *program);
    }
    if card.is_empty() {
        return Err(Failure::in_file(&args.profiler, "there are no launches to compare with"));
    }
    let program = args.program.clone().unwrap_or_else(|| name(&args.statistics));
    let comparison = Comparison::new(vec![Program::new(&program, &ours, &card)]);
    match args.json {
        true => writeln!(out, "{:#}", comparison.json())?,
        false => out.write_all(comparison.text(&args.metric).as_bytes())?,
    }
    Ok(ExitCode::SUCCESS)
}
