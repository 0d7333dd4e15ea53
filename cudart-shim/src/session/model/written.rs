//! Outputs of the model at exit: statistics, report, or a summary.

use super::{Settings, needs_ranges, settings};
use crate::host::environment::options;
use crate::host::output_files;
use crate::session::checkpoint;
use crate::session::ending::{self, End};
use crate::session::nvtx;
use crate::session::simulator;
use crate::session::state::Session;
use launch_capture::Selection;
use launch_report::{Format, Report, Run, SameBytes};
use run_report::Source;
use std::env;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::atomic::Ordering;
use voltsim_checkpoint::atomic_file::folder_of;

/// Characters of the program's name on a page.
const NAME: usize = 80;

/// Determinism of untimed launches, which several threads execute.
fn same_bytes(settings: &Settings) -> SameBytes {
    match settings.only == Selection::default() || simulator::is_deterministic() {
        true => SameBytes::AllPrograms,
        false => SameBytes::ProgramsWithoutRaces,
    }
}

/// Writes the statistics of all devices to their file, or a summary to standard error. A process
/// without launches writes no file: a child must not replace its parent's.
pub(crate) fn write_statistics(session: &'static Session, end: End) {
    if session.process().forked.load(Ordering::Relaxed) {
        return;
    }
    let Ok(Some(settings)) = settings(session) else { return };
    let models = session.started().filter_map(|simulator| simulator.model.as_ref());
    let reports: Vec<_> = models.filter_map(|model| ending::of(&model.report)).collect();
    let reports: Vec<&Report> = reports.iter().map(|report| &**report).collect();
    let run = Run::new(&settings.gpu, &reports)
        .with_power(&settings.spec.power)
        .with_same_bytes(same_bytes(settings))
        .ended_by(end.cause());
    if !reports.is_empty() && run.has_no_launch() && needs_ranges(session) && !nvtx::is_followed(session) {
        eprintln!(
            "voltsim: VOLTSIM_ONLY: no launch was chosen, as the program has not told of NVTX ranges: it has to use NVTX 3, with \
             NVTX_INJECTION64_PATH naming libvoltsim_core.so, as `voltsim run` sets it"
        );
    }
    if let Some(page) = options().report.as_deref()
        && !run.is_empty()
    {
        output_files::write("VOLTSIM_REPORT", page, |output| output.write_all(page_of(&run)?.as_bytes()));
    }
    let Some(file) = statistics_file() else {
        if !run.is_empty() {
            eprint!("voltsim: {}", run.summary());
        }
        return;
    };
    if run.is_empty() && output_files::is_written(file) {
        return;
    }
    // An invalid extension was already an error at device start.
    let format = Format::of_file(file).unwrap_or(Format::Text);
    output_files::write("VOLTSIM_STATISTICS", file, |output| run.write(format, output));
}

/// The HTML page of a run.
fn page_of(run: &Run<'_>) -> io::Result<String> {
    let mut text = Vec::new();
    run.write(Format::Json, &mut text)?;
    let text = String::from_utf8(text).map_err(io::Error::other)?;
    run_report::render(Source { name: &program_name(), text: &text }, None).map_err(io::Error::other)
}

/// The program with its arguments.
fn program_name() -> String {
    let mut words = env::args_os();
    let program = words.next().unwrap_or_default();
    let program = Path::new(&program).file_name().unwrap_or(&program).to_string_lossy().into_owned();
    let name = words.fold(program, |name, word| format!("{name} {}", word.to_string_lossy()));
    if name.chars().count() <= NAME {
        return name;
    }
    name.chars().take(NAME - 1).chain(['…']).collect()
}

/// The statistics file, if set.
pub(super) fn statistics_file() -> Option<&'static Path> {
    options().statistics.as_deref()
}

/// A new report of a device, with single launches only if an output needs them.
pub(super) fn new_report(session: &'static Session, gpu: &str) -> Report {
    match statistics_file().or(options().report.as_deref()) {
        Some(file) => Report::in_folder(gpu, folder_of(file)),
        None if checkpoint::is_wanted(session) => Report::new(gpu),
        None => Report::of_sums(gpu),
    }
}
