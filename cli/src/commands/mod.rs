//! The subcommands of `voltsim`.
//!
//! A new command is a file here, or a folder for a long one, with `pub(crate) struct Args` and
//! `pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode, Failure>`. `Args`
//! derives clap's parser, and its doc comment is the help text. [`Command`] gets a variant and
//! [`Command::run`] an arm.

mod cache_model;
mod capture;
mod checkpoint;
mod clean;
mod compare;
mod completions;
mod config;
mod correlate;
mod coverage;
mod demo;
mod doctor;
mod experiment;
mod explain;
mod extract;
mod gpus;
mod instrument;
mod man;
mod plan;
mod record;
mod replay;
mod report;
mod resume;
mod run;
mod sanitize;
mod self_check;
mod setup;
mod status;
mod sweep;
mod time;
mod trace;
mod version;
mod why;

use std::io::Write;
use std::process::ExitCode;

use clap::Subcommand;

use crate::failure::Failure;

/// One variant per file of this folder.
#[derive(Subcommand)]
pub(crate) enum Command {
    CacheModel(cache_model::Args),
    Capture(capture::Args),
    Checkpoint(checkpoint::Args),
    Clean(clean::Args),
    Compare(compare::Args),
    Completions(completions::Args),
    Config(config::Args),
    Correlate(correlate::Args),
    Coverage(coverage::Args),
    Doctor(doctor::Args),
    Demo(demo::Args),
    Explain(explain::Args),
    Experiment(experiment::Args),
    Extract(extract::Args),
    Gpus(gpus::Args),
    Instrument(instrument::Args),
    Man(man::Args),
    Plan(plan::Args),
    Record(record::Args),
    Replay(replay::Args),
    Report(report::Args),
    Resume(resume::Args),
    Run(run::Args),
    Sanitize(sanitize::Args),
    SelfCheck(self_check::Args),
    Setup(setup::Args),
    Status(status::Args),
    Sweep(sweep::Args),
    Time(time::Args),
    Trace(trace::Args),
    Version(version::Args),
    Why(why::Args),
}

impl Command {
    /// Runs the command; its report is written to `out`.
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<ExitCode, Failure> {
        match self {
            Self::CacheModel(args) => cache_model::run(args, out),
            Self::Capture(args) => capture::run(args),
            Self::Checkpoint(args) => checkpoint::run(args, out),
            Self::Clean(args) => clean::run(args, out),
            Self::Compare(args) => compare::run(args, out),
            Self::Completions(args) => completions::run(args, out),
            Self::Config(args) => config::run(args, out),
            Self::Correlate(args) => correlate::run(args, out),
            Self::Coverage(args) => coverage::run(args, out),
            Self::Doctor(args) => doctor::run(args, out),
            Self::Demo(args) => demo::run(args, out),
            Self::Explain(args) => explain::run(args, out),
            Self::Experiment(args) => experiment::run(args, out),
            Self::Extract(args) => extract::run(args, out),
            Self::Gpus(args) => gpus::run(args, out),
            Self::Instrument(args) => instrument::run(args, out),
            Self::Man(args) => man::run(args, out),
            Self::Plan(args) => plan::run(args, out),
            Self::Record(args) => record::run(args),
            Self::Replay(args) => replay::run(args, out),
            Self::Report(args) => report::run(args),
            Self::Resume(args) => resume::run(args),
            Self::Run(args) => run::run(args),
            Self::Sanitize(args) => sanitize::run(args),
            Self::SelfCheck(args) => self_check::run(args, out),
            Self::Setup(args) => setup::run(args, out),
            Self::Status(args) => status::run(args, out),
            Self::Sweep(args) => sweep::run(args, out),
            Self::Time(args) => time::run(args, out),
            Self::Trace(args) => trace::run(args),
            Self::Version(args) => version::run(args, out),
            Self::Why(args) => why::run(args, out),
        }
    }
}
