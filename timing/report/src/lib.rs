//! Statistics of a run, launch by launch, and their formats.

mod beside;
mod channels;
mod csv;
mod gpgpu_sim;
mod json;
mod profiler;
mod ranges;
mod records;
pub mod saved;
mod series;
mod source_counts;
mod summary;
mod sums;
#[cfg(test)]
mod tests;
mod text;

use std::borrow::Cow;
use std::env;
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use beside::{AllBeside, Beside};
use ranges::Ranges;
use records::Records;
pub use source_counts::{ListedFile, ListedLine, Listing};
use sums::Sums;
pub use sums::{Total, Transfers};
use timing::power::PowerSection;
use timing::record::{LaunchRecord, TransferRecord};

/// Format of statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// An object with the launches, their counters and derived statistics, and sums by stream and
    /// of the run.
    Json,
    /// A row per launch, per stream and for the run; a column per counter.
    Csv,
    /// All counters of each launch, for people.
    Text,
    /// A row per launch and metric, in the form and with the names of Nsight Compute.
    Profiler,
    /// GPGPU-Sim's lines, for scripts that read its output.
    GpgpuSim,
}

impl Format {
    /// Format by a file's ending; text for a name without one.
    ///
    /// # Errors
    /// The ending is unknown.
    pub fn of_file(path: &Path) -> Result<Format, UnknownEnding> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let endings = [
            (".json", Format::Json),
            (".ncu.csv", Format::Profiler),
            (".csv", Format::Csv),
            (".gpgpusim", Format::GpgpuSim),
            (".txt", Format::Text),
            (".log", Format::Text),
        ];
        let found = endings.iter().find(|(ending, _)| name.ends_with(ending));
        match (found, path.extension()) {
            (Some((_, format)), _) => Ok(*format),
            (None, None) => Ok(Format::Text),
            (None, Some(ending)) => Err(UnknownEnding(ending.to_string_lossy().into_owned())),
        }
    }
}

/// A file ending without a format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown ending .{0} of a statistics file: must be .json, .csv, .ncu.csv or .gpgpusim, or .txt, .log or none for text; `voltsim run --statistics` makes .parquet too"
)]
pub struct UnknownEnding(String);

/// Programs whose results and statistics are byte-identical in every run with the same settings,
/// for any number of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SameBytes {
    /// All programs: every launch is timed, or executed by one thread.
    #[default]
    AllPrograms,
    /// Programs without races: several threads may execute untimed launches.
    ProgramsWithoutRaces,
}

impl SameBytes {
    /// Name in statistics.
    pub fn name(self) -> &'static str {
        match self {
            SameBytes::AllPrograms => "all programs",
            SameBytes::ProgramsWithoutRaces => "programs without races",
        }
    }
}

/// All launches, device copies and fills of a run. Memory holds their sums and the most recent
/// records.
#[derive(Debug, Serialize, Deserialize)]
#[serde(from = "Saved")]
pub struct Report {
    gpu: String,
    launches: Records<LaunchRecord>,
    transfers: Records<TransferRecord>,
    /// Series and counts by program counter, by the places of their records.
    #[serde(skip)]
    beside: AllBeside,
    /// Code of launches with counts by program counter.
    #[serde(skip)]
    listings: Vec<Listing>,
    /// NVTX ranges of launches.
    #[serde(skip)]
    ranges: Ranges,
    #[serde(skip)]
    sums: Sums,
    /// Records are dropped once summed.
    #[serde(skip)]
    has_sums_alone: bool,
}

/// A report in a checkpoint.
#[derive(Deserialize)]
#[serde(rename = "Report")]
struct Saved {
    gpu: String,
    launches: Records<LaunchRecord>,
    transfers: Records<TransferRecord>,
}

impl From<Saved> for Report {
    fn from(Saved { gpu, launches, transfers }: Saved) -> Self {
        let mut sums = Sums::default();
        // Records just decoded are readable.
        launches.iter().flatten().for_each(|launch| sums.add(&launch));
        transfers.iter().flatten().for_each(|transfer| sums.add_transfer(&transfer));
        Self {
            gpu,
            launches,
            transfers,
            beside: AllBeside::default(),
            listings: Vec::new(),
            ranges: Ranges::default(),
            sums,
            has_sums_alone: false,
        }
    }
}

impl Report {
    /// A report of a run on the named GPU.
    pub fn new(gpu: &str) -> Report {
        Report::in_folder(gpu, &env::temp_dir())
    }

    /// A report that moves excess records into an unnamed file in a folder.
    pub fn in_folder(gpu: &str, folder: &Path) -> Report {
        let (launches, transfers) = (Records::new(folder.to_owned()), Records::new(folder.to_owned()));
        let beside = AllBeside::new(folder.to_owned());
        Report {
            gpu: gpu.to_owned(),
            launches,
            transfers,
            beside,
            listings: Vec::new(),
            ranges: Ranges::default(),
            sums: Sums::default(),
            has_sums_alone: false,
        }
    }

    /// A report of sums only, for a summary.
    pub fn of_sums(gpu: &str) -> Report {
        Report { has_sums_alone: true, ..Report::new(gpu) }
    }

    /// Adds a launch.
    pub fn add(&mut self, launch: LaunchRecord) {
        let launch = self.without_beside(launch);
        self.sums.add(&launch);
        if !self.has_sums_alone {
            self.launches.add(launch);
        }
    }

    /// Keeps the series and the counts by program counter of the next launch.
    fn without_beside(&mut self, mut launch: LaunchRecord) -> LaunchRecord {
        let beside = Beside { series: launch.series.take(), source_counts: launch.source_counts.take() };
        if !self.has_sums_alone {
            self.beside.add(self.launches.len(), &beside);
        }
        launch
    }

    /// Adds the code of launches, unless a listing of that number is there.
    pub fn list(&mut self, number: u64, listing: impl FnOnce() -> Listing) {
        if !self.has_sums_alone && self.listings.iter().all(|listing| listing.number != number) {
            self.listings.push(listing());
        }
    }

    /// Adds a launch with the names of the NVTX ranges that were open at its call, outermost first.
    pub fn add_in<'n>(&mut self, launch: LaunchRecord, ranges: impl IntoIterator<Item = &'n str>) {
        if !self.has_sums_alone {
            self.ranges.add(launch.launch, launch.cycles, ranges);
        }
        self.add(launch);
    }

    /// The launches.
    ///
    /// # Errors
    /// The temporary file of older records is unreadable.
    pub fn launches(&self) -> impl Iterator<Item = io::Result<Cow<'_, LaunchRecord>>> {
        self.launches.iter()
    }

    /// Adds a device copy or fill.
    pub fn add_transfer(&mut self, transfer: TransferRecord) {
        self.sums.add_transfer(&transfer);
        if !self.has_sums_alone {
            self.transfers.add(transfer);
        }
    }

    /// True without launches and transfers.
    pub fn is_empty(&self) -> bool {
        self.has_no_launch() && self.sums.total.transfers.number == 0
    }

    /// True without launches.
    pub fn has_no_launch(&self) -> bool {
        self.sums.total.launches == 0
    }

    /// Sum of all records.
    pub fn total(&self) -> &Total {
        &self.sums.total
    }

    /// A table of kernels for a terminal.
    pub fn summary(&self) -> String {
        Run::new(&self.gpu, &[self]).summary()
    }

    /// The report in a format.
    ///
    /// # Errors
    /// The temporary file of older records is unreadable.
    pub fn text(&self, format: Format) -> io::Result<String> {
        let mut bytes = Vec::new();
        Run::new(&self.gpu, &[self]).write(format, &mut bytes)?;
        String::from_utf8(bytes).map_err(io::Error::other)
    }
}

/// Reports of a run's devices, for output.
pub struct Run<'a> {
    gpu: &'a str,
    reports: &'a [&'a Report],
    sums: Sums,
    partial: Option<&'a str>,
    same_bytes: SameBytes,
    power: Option<&'a PowerSection>,
}

impl<'a> Run<'a> {
    /// A run with a report per device, in their order.
    pub fn new(gpu: &'a str, reports: &'a [&'a Report]) -> Self {
        let mut sums = Sums::default();
        reports.iter().for_each(|report| sums.join(&report.sums));
        Self { gpu, reports, sums, partial: None, same_bytes: SameBytes::default(), power: None }
    }

    /// States the programs for which the run is deterministic.
    #[must_use]
    pub fn with_same_bytes(self, same_bytes: SameBytes) -> Self {
        Self { same_bytes, ..self }
    }

    /// States whose energies the run has.
    #[must_use]
    pub fn with_power(self, power: &'a PowerSection) -> Self {
        Self { power: Some(power), ..self }
    }

    /// States in every format that `cause` ended the run early.
    #[must_use]
    pub fn ended_by(self, cause: Option<&'a str>) -> Self {
        Self { partial: cause, ..self }
    }

    /// True without launches and transfers.
    pub fn is_empty(&self) -> bool {
        self.reports.iter().all(|report| report.is_empty())
    }

    /// True without launches.
    pub fn has_no_launch(&self) -> bool {
        self.reports.iter().all(|report| report.has_no_launch())
    }

    /// A table of kernels for a terminal.
    pub fn summary(&self) -> String {
        summary::write(self)
    }

    /// Writes the run in a format, record by record.
    ///
    /// # Errors
    /// The writer fails, or the temporary file of older records is unreadable.
    pub fn write(&self, format: Format, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Json => json::write(self, out),
            Format::Csv => csv::write(self, out),
            Format::Text => text::write(self, out),
            Format::Profiler => profiler::write(self, out),
            Format::GpgpuSim => gpgpu_sim::write(self, out),
        }
    }

    fn launches(&self) -> impl Iterator<Item = io::Result<Cow<'_, LaunchRecord>>> {
        self.reports.iter().flat_map(|report| report.launches.iter())
    }

    /// Launches with the data beside them.
    fn launches_with_beside(&self) -> impl Iterator<Item = io::Result<(Cow<'_, LaunchRecord>, Beside)>> {
        self.reports.iter().flat_map(|report| report.beside.of(report.launches.iter()))
    }

    fn listings(&self) -> impl Iterator<Item = &Listing> {
        self.reports.iter().flat_map(|report| &report.listings)
    }

    fn transfers(&self) -> impl Iterator<Item = io::Result<Cow<'_, TransferRecord>>> {
        self.reports.iter().flat_map(|report| report.transfers.iter())
    }
}

/// Writes the text out and clears it.
fn pass_on(text: &mut String, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(text.as_bytes())?;
    text.clear();
    Ok(())
}

fn size([x, y, z]: [u32; 3]) -> String {
    format!("{x}x{y}x{z}")
}

/// Text as a CSV field.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}
