//! `voltsim correlate`: statistics beside what a profiler counted on a card.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use profiler_correlation::{Comparison, Launch, Program, read_profiler, read_statistics};

use crate::failure::Failure;

/// The metric of most interest.
const CYCLES: &str = "gpc__cycles_elapsed.max";

/// Launches or metrics that an error shows.
const SHOWN: usize = 5;

/// Compare statistics with what a profiler counted on a card
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Statistics that a run or `voltsim cache-model` has written as JSON, or a folder with those of
    /// several programs: NAME.json of the table's program NAME
    statistics: PathBuf,
    /// CSV of Nsight Compute (`--csv`) or of nvprof (`--csv --print-gpu-trace`), AccelWattch's
    /// hw_perf.csv, or a table with a row for each launch. In a folder, NAME.json of other runs stands
    /// for the card
    profiler: PathBuf,
    /// The program whose launches are compared, where the table has several
    #[arg(long, value_name = "NAME")]
    program: Option<String>,
    /// The metric by which programs are listed; cycles (gpc__cycles_elapsed.max) if both sides have
    /// them, else the first of those compared
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// Column of the table with another simulator's prediction of this metric, whose error is
    /// printed too
    #[arg(long, value_name = "COLUMN", conflicts_with = "json")]
    beside: Option<String>,
    /// Print all launches and metrics as JSON
    #[arg(long)]
    json: bool,
}

/// Writes the comparison.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let card = match args.profiler.is_dir() {
        true => of_other_runs(&args.profiler)?,
        false => read_profiler(&name(&args.profiler), &text(&args.profiler)?).map_err(Failure::new)?,
    };
    let programs = match args.statistics.is_dir() {
        true => of_folder(args, &card)?,
        false => {
            let name = args.program.clone().unwrap_or_else(|| name(&args.statistics));
            let card = match &args.program {
                Some(program) => launches_of(args, &card, program)?,
                None => card.clone(),
            };
            vec![Program::new(&name, &statistics(&args.statistics)?, &card)]
        }
    };
    let comparison = Comparison::new(programs);
    let metric = metric(args, &comparison, &card)?;
    if let Some((ours, card)) = comparison.other_card() {
        let version = |capability: u32| format!("{}.{}", capability / 10, capability % 10);
        eprintln!(
            "voltsim: {}: the card has compute capability {}, and the modelled GPU {}; counters of different generations \
             differ for other reasons too\n  remedy: run with `--gpu` of the card's generation: `voltsim gpus` lists them",
            args.profiler.display(),
            version(card),
            version(ours)
        );
    }
    match args.json {
        true => writeln!(out, "{:#}", comparison.json())?,
        false => out.write_all(comparison.text(&metric).as_bytes())?,
    }
    if let Some(column) = &args.beside {
        beside(args, &comparison, &metric, column, out)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn name(file: &Path) -> String {
    file.to_string_lossy().into_owned()
}

fn text(file: &Path) -> Result<String, Failure> {
    fs::read_to_string(file).map_err(|error| Failure::in_file(file, error))
}

fn statistics(file: &Path) -> Result<Vec<Launch>, Failure> {
    read_statistics(&name(file), &text(file)?).map_err(Failure::new)
}

/// Files of a folder, by name.
fn files_of(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let files = fs::read_dir(folder).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
    let mut files: Vec<PathBuf> = files.map_err(|error| Failure::in_file(folder, error))?;
    files.sort();
    Ok(files)
}

/// Launches of the statistics in a folder, each with its program.
fn of_other_runs(folder: &Path) -> Result<Vec<Launch>, Failure> {
    let mut launches = Vec::new();
    for file in files_of(folder)? {
        let Some(program) = program_of(&file) else { continue };
        let of_program = statistics(&file)?.into_iter();
        launches.extend(of_program.map(|launch| Launch { program: program.clone(), ..launch }));
    }
    Ok(launches)
}

/// The programs whose statistics lie in the folder, or the one that is asked for.
fn of_folder(args: &Args, card: &[Launch]) -> Result<Vec<Program>, Failure> {
    let folder = &args.statistics;
    let mut programs = Vec::new();
    for file in files_of(folder)? {
        let Some(program) = program_of(&file) else { continue };
        if args.program.as_ref().is_none_or(|only| *only == program) {
            let card = launches_of(args, card, &program)?;
            programs.push(Program::new(&program, &statistics(&file)?, &card));
        }
    }
    if programs.is_empty() {
        let wanted = args.program.as_deref().unwrap_or("NAME");
        return Err(Failure::in_file(folder, format_args!("there is no {wanted}.json"))
            .remedy("write a program's statistics there, with `voltsim run --statistics`, by the name that the table has for it"));
    }
    Ok(programs)
}

/// The program whose statistics a file has by its name.
fn program_of(file: &Path) -> Option<String> {
    file.file_name()?.to_str()?.strip_suffix(".json").map(str::to_owned)
}

/// The launches that the table has of a program.
fn launches_of(args: &Args, card: &[Launch], program: &str) -> Result<Vec<Launch>, Failure> {
    let launches: Vec<Launch> = card.iter().filter(|launch| launch.program == program).cloned().collect();
    if launches.is_empty() {
        let programs: BTreeSet<&str> = card.iter().map(|launch| launch.program.as_str()).collect();
        let names = programs.into_iter().collect::<Vec<_>>().join(", ");
        let text = format_args!("no launch is of a program `{program}`; there are: {names}");
        return Err(Failure::in_file(&args.profiler, text));
    }
    Ok(launches)
}

/// Writes how far the table's `column` is, on the launches that were compared.
fn beside(
    args: &Args,
    comparison: &Comparison,
    metric: &str,
    column: &str,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let predicted = comparison.predicted(metric, column);
    let Some(error) = predicted.metric(metric) else {
        let text = format_args!("no launch has a `{column}` that predicts {metric}");
        return Err(Failure::in_file(&args.profiler, text));
    };
    let (launch, program) = (error.per_launch, error.per_program);
    writeln!(out, "\n{column} of the same launches: {launch:.1} % per launch, {program:.1} % per program")?;
    Ok(())
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
