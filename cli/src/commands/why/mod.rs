//! `voltsim why`: what would make a launch faster, by simulation.

mod stack;
mod timed;
mod what_ifs;

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use launch_capture::{Entry, KernelStream};
use run_options::RunOptions;
use run_options::values::Mode;
use serde::Deserialize;
use timing::specification::gpu;

use crate::failure::Failure;
use crate::given::{Given, taking, with_variables};
use crate::{model, program, supervise};
use stack::{Stack, Worth};
use timed::Launch;
use what_ifs::WhatIf;

/// Find out what would make a launch faster, by simulation
///
/// The launch runs again and again, with one thing of the GPU made ideal each time. The things are
/// L1, L2, DRAM bandwidth, crossbar, coalescing, banks, registers, units, issue width and
/// instruction fetch. The table shows the cycles that each of them is worth. The worths of two
/// things do not add up. Advice stands for each what-if that proves it, with its gain.
///
/// `--mode hybrid-memory` is the default and gives a first answer; `--mode detailed` gives the
/// exact one.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Kernel stream in place of a program (`voltsim run --image`)
    #[arg(value_name = "STREAM")]
    stream: Option<PathBuf>,

    /// Number of the launch in the run, from 1
    #[arg(long, value_name = "N")]
    launch: u64,

    /// Write the result as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    given: Given<taking::Why>,

    /// The program and its arguments; none for a kernel stream
    #[arg(last = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Runs the what-ifs and writes the stack.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let mut options = args.given.options.clone();
    let mode = with_variables(&options).mode.unwrap_or(Mode::HybridMemory);
    if mode == Mode::Functional {
        return Err(Failure::new("mode functional has no cycles")
            .remedy("Use --mode hybrid-memory for a first answer, or --mode detailed"));
    }
    options.mode = Some(mode);
    model::settle(&mut options)?;
    let spec = model::spec(&options)?;
    let scratch =
        tempfile::tempdir().map_err(|error| Failure::new(format_args!("no temporary folder: {error}")))?;
    let stream = match (&args.stream, args.program.is_empty()) {
        (Some(_), false) => {
            return Err(
                Failure::new("a kernel stream and a program are given").remedy("leave one of the two out")
            );
        }
        (None, true) => {
            return Err(Failure::new("no program given")
                .remedy("add -- PROGRAM, or name a kernel stream of voltsim run --image"));
        }
        (Some(file), true) if !launch_capture::is_stream(file) => {
            return Err(Failure::in_file(file, "this is no kernel stream")
                .remedy("make one with voltsim run --image FILE -- PROGRAM"));
        }
        (Some(file), true) => file.clone(),
        (None, false) => captured(args, &options, scratch.path())?,
    };
    let kernel = kernel_of(&stream, args, scratch.path())?;
    let launch = Launch { stream: &stream, number: args.launch, options: &options, folder: scratch.path() };
    let cycles = launch.cycles(&[])?;
    let stack = Stack {
        launch: args.launch,
        kernel,
        gpu: options.gpu.clone().unwrap_or_else(|| gpu::DEFAULT.to_owned()),
        mode: mode.name(),
        cycles,
        worths: worths(&launch, cycles, &what_ifs::all(&spec))?,
    };
    match args.json {
        true => writeln!(out, "{:#}", stack.json())?,
        false => stack.write(out)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Cycles of each what-if, the most valuable first.
fn worths(launch: &Launch<'_>, cycles: u64, what_ifs: &[WhatIf]) -> Result<Vec<Worth>, Failure> {
    let mut bases: Vec<(&[&str], u64)> = vec![(&[], cycles)];
    let mut worths = Vec::new();
    for (place, what_if) in what_ifs.iter().enumerate() {
        eprintln!("voltsim: what-if {} of {}: {}", place + 1, what_ifs.len(), what_if.name);
        let known = bases.iter().find(|(base, _)| *base == what_if.base);
        let against = match known {
            Some((_, cycles)) => *cycles,
            None => {
                let base: Vec<String> = what_if.base.iter().map(|change| (*change).to_owned()).collect();
                let cycles = launch.cycles(&base)?;
                bases.push((what_if.base, cycles));
                cycles
            }
        };
        let base = what_if.base.iter().map(|change| (*change).to_owned());
        let changes: Vec<String> = base.chain(what_if.changes.iter().cloned()).collect();
        let cycles = launch.cycles(&changes)?;
        worths.push(Worth { name: what_if.name, changes, cycles, against, advice: what_if.advice });
    }
    worths.sort_by(|a, b| b.share().total_cmp(&a.share()));
    Ok(worths)
}

/// Launches of the captured run.
#[derive(Deserialize)]
struct Summary {
    kernels: Vec<Kernel>,
}

/// Launches of a kernel.
#[derive(Deserialize)]
struct Kernel {
    launches: u64,
}

const SUMMARY: &str = "summary.json";

/// A kernel stream with the launch of the program.
fn captured(args: &Args, options: &RunOptions, folder: &Path) -> Result<PathBuf, Failure> {
    let stream = folder.join("launch.vks");
    let of_program = RunOptions {
        mode: Some(Mode::Functional),
        gpu: options.gpu.clone(),
        threads: options.threads,
        image: Some(stream.clone()),
        image_only: format!("launch={}", args.launch).parse().ok(),
        summary: Some(folder.join(SUMMARY)),
        ..RunOptions::default()
    };
    let mut program = program::prepare(&args.program, of_program, args.given.profile.as_deref())?;
    // Standard output is for the stack.
    program.command.stdout(Stdio::from(io::stderr().as_fd().try_clone_to_owned()?));
    let ended = supervise::run(program)?;
    if ended.status != 0 {
        eprintln!("voltsim: the program has ended with exit status {}", ended.status);
    }
    Ok(stream)
}

/// Mangled name of the launch's kernel.
///
/// # Errors
/// The stream does not have the launch.
fn kernel_of(stream: &Path, args: &Args, folder: &Path) -> Result<String, Failure> {
    let made = || {
        let text = std::fs::read(folder.join(SUMMARY)).ok()?;
        let summary: Summary = serde_json::from_slice(&text).ok()?;
        Some(summary.kernels.iter().map(|kernel| kernel.launches).sum::<u64>())
    };
    let number = args.launch;
    let missing = |there: u64| {
        Failure::new(format_args!("--launch {number}: there are {there} launches")).remedy(if there == 0 {
            "See that the program runs to its end under voltsim run".to_owned()
        } else {
            format!("Name a launch of 1 to {there}")
        })
    };
    if args.stream.is_none() && !stream.exists() {
        return Err(missing(made().unwrap_or(0)));
    }
    let opened = KernelStream::open(stream)?;
    let launches = opened.entries().iter().filter_map(|entry| match entry {
        Entry::Launch { number, kernel, .. } => Some((*number, kernel)),
        _ => None,
    });
    let found = launches.clone().find(|(own, _)| *own == number);
    let last = || launches.clone().map(|(own, _)| own).max().unwrap_or(0);
    found.map(|(_, kernel)| kernel.clone()).ok_or_else(|| missing(made().unwrap_or_else(last)))
}
