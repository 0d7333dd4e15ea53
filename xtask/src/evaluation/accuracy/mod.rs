//! `cargo xtask accuracy`: times measured kernel configurations on the model of their card, and writes the
//! figures into the book.
//!
//! The kernel's source is outside of the repository, in a folder with a description (`set.toml`). The
//! measured times are in `evaluation/measurements`.

mod draw;
mod figures;
mod measurements;
mod page;
mod run;
mod set;
mod store;

use crate::error::{Error, Result};
use crate::process;
use crate::toolchain;
use crate::workspace::Workspace;
use figures::{Figures, Pair};
use measurements::{CARDS, Card};
use page::{About, Suite};
use run::{Runner, Timed};
use set::Set;
use std::collections::BTreeMap;
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::available_parallelism;
use std::time::Duration;

/// Description of the folder's files, for `--help`.
const FOLDER: &str = "\
DIR holds `set.toml` and the source that it names:

  source = \"kernel.cu\"           # the parameters of a row are its macros
  kernel = \"name\"                # by its name in PTX
  extern_c = true                # wrap the source in extern \"C\"
  options = [\"-DSIZE=4096\"]      # more options of NVRTC
  problem = [4096, 4096]         # elements that the grid covers
  grid = [[\"a\", \"b\"], [\"c\"]]   # parameters whose product a CTA covers, by axis
  block = [\"a\", \"c\"]             # parameters that are the block's sizes
  arguments = [\"buffer:1000\", \"int:3\", \"constant:NAME:225\"]

Sizes of buffers and constants are in floats. The head of evaluation/measurements/tuning-*.csv names
the repository and commit with the measured kernel and its launch sizes.";

/// Which rows, and what becomes of the figures.
#[derive(clap::Args)]
#[command(after_long_help = FOLDER)]
pub(crate) struct Arguments {
    /// Folder with the measured kernel's source and its description.
    folder: PathBuf,
    /// Card whose measurements count: v100 or rtx2070s.
    #[arg(long, value_name = "NAME", default_value = "v100")]
    card: String,
    /// Number of rows, drawn at random.
    #[arg(long, value_name = "N", default_value_t = 40)]
    rows: usize,
    /// Seed of the draw.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Processes at a time; one a core without.
    #[arg(long, value_name = "N")]
    processes: Option<usize>,
    /// Longest time of a row in seconds. A row that takes longer is missing by name.
    #[arg(long, value_name = "SECONDS", default_value_t = 1800)]
    limit: u64,
    /// Also count the programs of `cargo xtask correlate --json FILE` as a suite.
    #[arg(long, value_name = "FILE")]
    programs: Option<PathBuf>,
    /// Write the page into the book: docs/evaluation/tuned-kernels.md.
    #[arg(long)]
    page: bool,
    /// Write the figures by suite to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Fail if a figure is worse by more than a point than in this file of an earlier `--json`.
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
}

/// Metric of a launch's cycles in the JSON of `correlate`.
const CYCLES: &str = "gpc__cycles_elapsed.max";
/// Page of the book.
const PAGE: &str = "docs/evaluation/tuned-kernels.md";
/// Names of the suites.
const TUNING: &str = "tuned kernels";
const PROGRAMS: &str = "GV100 programs";

/// Times the drawn rows, prints the page, and judges the figures.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find();
    let names = CARDS.iter().map(|card| card.name).collect::<Vec<_>>().join(", ");
    let card = Card::named(&arguments.card).ok_or_else(|| Error::NoCard(arguments.card.clone(), names))?;
    let set = Set::read(&arguments.folder)?;
    let earlier = arguments.against.as_deref().map(read_figures).transpose()?;
    let programs = arguments.programs.as_deref().map(program_times).transpose()?;
    let table = workspace.root.join(card.table);
    let measured =
        measurements::read(&table, &fs::read_to_string(&table).map_err(Error::file(&table))?, card)?;
    let drawn = draw::draw(arguments.rows, measured.len(), arguments.seed);
    let rows = drawn.into_iter().filter_map(|number| measured.get(number).cloned()).collect();
    if !workspace.build()? {
        return Err(Error::Steps("building Voltsim".to_owned()));
    }
    let nvrtc = toolchain::nvrtc11(&workspace)?;
    let runner = Runner::new(&workspace, (card, &set), nvrtc, Duration::from_secs(arguments.limit))?;
    let cores = available_parallelism().map_or(1, NonZero::get);
    let timed = runner.all(rows, arguments.processes.unwrap_or(cores));
    let mut figures = BTreeMap::new();
    figures
        .extend(Figures::of(&timed.iter().filter_map(page::pair).collect::<Vec<_>>()).map(|of| (TUNING, of)));
    figures.extend(programs.and_then(|pairs| Figures::of(&pairs)).map(|of| (PROGRAMS, of)));
    let figures: BTreeMap<String, Figures> =
        figures.into_iter().map(|(name, of)| (name.to_owned(), of)).collect();
    write(arguments, &workspace, card, &figures, &timed)?;
    match earlier {
        Some(earlier) => judge(&figures, &earlier),
        None => Ok(()),
    }
}

/// Prints the page, and writes what the options ask for.
fn write(
    arguments: &Arguments,
    workspace: &Workspace,
    card: &Card,
    figures: &BTreeMap<String, Figures>,
    timed: &[Timed],
) -> Result<()> {
    let mut git = Command::new("git");
    git.current_dir(&workspace.root).args(["rev-parse", "--short", "HEAD"]);
    let commit = process::quiet(&mut git).unwrap_or_else(|_| "unknown".to_owned());
    let command = format!(
        "cargo xtask accuracy DIR --card {} --rows {} --seed {}",
        card.name, arguments.rows, arguments.seed
    );
    let suites: Vec<Suite<'_>> = figures.iter().map(|(name, figures)| Suite { name, figures }).collect();
    let about = About { card, command: &command, commit: commit.trim() };
    let text = page::page(&about, &suites, timed);
    print!("\n{text}");
    if arguments.page {
        let file = workspace.root.join(PAGE);
        fs::write(&file, &text).map_err(Error::file(&file))?;
    }
    if let Some(file) = &arguments.json {
        let json =
            serde_json::to_string_pretty(figures).map_err(|error| Error::Metadata(error.to_string()))?;
        fs::write(file, json + "\n").map_err(Error::file(file))?;
    }
    Ok(())
}

fn read_figures(path: &Path) -> Result<BTreeMap<String, Figures>> {
    let text = fs::read_to_string(path).map_err(Error::file(path))?;
    serde_json::from_str(&text)
        .map_err(|error| Error::Set { path: path.to_owned(), reason: error.to_string() })
}

/// Fails if a figure is worse than before, or a suite has no figures any more.
fn judge(figures: &BTreeMap<String, Figures>, earlier: &BTreeMap<String, Figures>) -> Result<()> {
    let worse = earlier.iter().flat_map(|(name, before)| match figures.get(name) {
        Some(now) => now.worse_than(before).into_iter().map(|of| format!("{name}: {of}")).collect(),
        None => vec![format!("{name}: no figures")],
    });
    let worse: Vec<String> = worse.collect();
    if worse.is_empty() { Ok(()) } else { Err(Error::Worse(worse.join("\n"))) }
}

/// Cycles of programs, the sums of their launches, from the JSON of `cargo xtask correlate`.
fn program_times(path: &Path) -> Result<Vec<Pair>> {
    let wrong = |reason: &str| Error::Set { path: path.to_owned(), reason: reason.to_owned() };
    let text = fs::read_to_string(path).map_err(Error::file(path))?;
    let json: serde_json::Value = serde_json::from_str(&text).map_err(|error| wrong(&error.to_string()))?;
    let programs = json.get("programs").and_then(|programs| programs.as_array());
    let sum = |program: &serde_json::Value| {
        let launches = program.get("launches")?.as_array()?;
        let cycles = |side: &str| -> Option<f64> {
            launches.iter().map(|launch| launch.get("metrics")?.get(CYCLES)?.get(side)?.as_f64()).sum()
        };
        Some(Pair { card: cycles("card")?, model: cycles("ours")? }).filter(|pair| pair.card > 0.0)
    };
    let pairs: Option<Vec<Pair>> = programs.and_then(|programs| programs.iter().map(sum).collect());
    pairs.ok_or_else(|| wrong("must be a file of `cargo xtask correlate --json` with cycles of each launch"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn figures(model: f64) -> BTreeMap<String, Figures> {
        let pairs = [Pair { card: 10.0, model }, Pair { card: 20.0, model: 2.0 * model }];
        BTreeMap::from([(TUNING.to_owned(), Figures::of(&pairs).unwrap())])
    }

    #[test]
    fn regression_fails_and_names_suite_and_figure() {
        assert!(judge(&figures(11.0), &figures(11.0)).is_ok());
        assert!(judge(&figures(10.5), &figures(11.0)).is_ok());
        let said = judge(&figures(12.0), &figures(11.0)).unwrap_err().to_string();
        assert!(said.contains("tuned kernels: mean error: 20.0, was 10.0"), "{said}");
        let said = judge(&BTreeMap::new(), &figures(11.0)).unwrap_err().to_string();
        assert!(said.contains("no figures"), "{said}");
    }

    #[test]
    fn figures_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("figures.json");
        fs::write(&file, serde_json::to_string(&figures(11.0)).unwrap()).unwrap();
        assert!(judge(&figures(11.0), &read_figures(&file).unwrap()).is_ok());
        assert!(judge(&figures(12.0), &read_figures(&file).unwrap()).is_err());
        fs::write(&file, "{").unwrap();
        assert!(read_figures(&file).unwrap_err().to_string().contains("figures.json"));
    }
}
