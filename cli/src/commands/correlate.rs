//! `voltsim correlate`: statistics beside what a profiler counted on a card.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use timing::correlate::{Comparison, Launch, Program, read_profiler, read_statistics};

use crate::failure::Failure;

/// The metric of most interest.
const CYCLES: &str = "gpc__cycles_elapsed.max";

/// Launches or metrics that an error shows.
const SHOWN: usize = 5;

/// Compare statistics with what a profiler counted on a card
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Statistics that a run has written as JSON
    statistics: PathBuf,
    /// CSV of Nsight Compute (`--csv`) or of nvprof (`--csv --print-gpu-trace`), AccelWattch's hw_perf.csv, or a table with a row for each launch
    profiler: PathBuf,
    /// The program whose launches are compared, where the table has several
    #[arg(long, value_name = "NAME")]
    program: Option<String>,
    /// The metric by which programs are listed; cycles (gpc__cycles_elapsed.max) if both sides have them, else the first of those compared
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
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
        let programs: BTreeSet<String> = card.iter().map(|launch| launch.program.clone()).collect();
        card.retain(|launch| launch.program == *program);
        if card.is_empty() {
            let names = programs.into_iter().collect::<Vec<_>>().join(", ");
            let text = format_args!("no launch is of a program `{program}`; there are: {names}");
            return Err(Failure::in_file(&args.profiler, text));
        }
    }
    let program = args.program.clone().unwrap_or_else(|| name(&args.statistics));
    let comparison = Comparison::new(vec![Program::new(&program, &ours, &card)]);
    let metric = metric(args, &comparison, &card)?;
    match args.json {
        true => writeln!(out, "{:#}", comparison.json())?,
        false => out.write_all(comparison.text(&metric).as_bytes())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The metric by which programs are listed, or why nothing can be compared.
fn metric(args: &Args, comparison: &Comparison, card: &[Launch]) -> Result<String, Failure> {
    let statistics = args.statistics.display();
    let unmatched: Vec<&str> =
        comparison.programs().iter().flat_map(|program| &program.unmatched).map(String::as_str).collect();
    if comparison.programs().iter().all(|program| program.matches.is_empty()) {
        let text = format_args!("no launch is one of {statistics}: {}", some(&unmatched));
        return Err(Failure::in_file(&args.profiler, text).remedy(
            "give the statistics of the run that was profiled: launches are compared by kernel, grid and block",
        ));
    }
    let compared: Vec<String> = comparison.metrics().into_iter().map(|of| of.metric).collect();
    let Some(first) = compared.first() else {
        let theirs: BTreeSet<&str> =
            card.iter().flat_map(|launch| launch.values.keys()).map(String::as_str).collect();
        let theirs: Vec<&str> = theirs.into_iter().collect();
        let text = format_args!("no metric is in {statistics} too, or all are 0: {}", some(&theirs));
        return Err(Failure::in_file(&args.profiler, text)
            .remedy(format!("profile with metrics that `voltsim explain` names, such as {CYCLES}")));
    };
    let preferred = args.metric.as_deref().unwrap_or(CYCLES);
    match (compared.iter().any(|metric| metric == preferred), &args.metric) {
        (true, _) => Ok(preferred.to_owned()),
        (false, None) => Ok(first.clone()),
        (false, Some(metric)) => Err(Failure::new(format_args!(
            "--metric: `{metric}` is not compared; these are: {}",
            compared.join(", ")
        ))),
    }
}

/// The first of these.
fn some(all: &[&str]) -> String {
    let shown = all.iter().take(SHOWN).copied().collect::<Vec<_>>().join("; ");
    match all.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown}; and {more} more"),
    }
}
