//! `voltsim plan`: which launches of a program stand for which.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use launch_capture::{Configuration, Group, Plan, REPRESENTATIVES, Representative};
use timing::specification::{GpuSpec, gpu};
use warp_stream::kernel_name::signature;

use crate::checkpoint::identity;
use crate::failure::Failure;
use crate::model::{self, Stop};
use crate::outputs;
use crate::program::{self, absolute};
use crate::supervise;
use crate::table;

/// Choose the launches of a program that are worth timing
///
/// The program runs once, functionally, a CTA after the other, whatever --threads says. Launches of a kernel that execute alike numbers of instructions of each kind, and of
/// accesses to memory, are one group: its first launch may be timed, and its second for all others. The plan names them; beside it
/// lies a kernel stream with these launches. voltsim sweep times as many of them as the estimate needs, here or on other machines,
/// without the program.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// File for the plan; the kernel stream has its name, ending in .vks
    #[arg(short, long, value_name = "FILE.toml", default_value = "plan.toml")]
    output: PathBuf,

    /// GPU for which the launches are to be timed, by name or file; may be given several times
    #[arg(long = "gpu", value_name = "NAME|FILE", default_value = gpu::DEFAULT)]
    gpus: Vec<String>,

    #[command(flatten)]
    stop: Stop,

    /// Launches of a group that are timed: its first, and the others for all that follow; how far these differ is in the bound of the estimate
    #[arg(long, value_name = "COUNT", default_value_t = REPRESENTATIVES as u32, value_parser = clap::value_parser!(u32).range(2..))]
    representatives: u32,

    #[command(flatten)]
    options: program::Options,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Runs the program and tells the groups.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let configurations = args.gpus.iter().map(|gpu| configuration(gpu)).collect::<Result<Vec<_>, _>>()?;
    outputs::check("--output", &args.output)?;
    let plan_file = absolute(&args.output)?;
    let stream = plan_file.with_extension("vks");
    // What was there before is not this run's.
    let before = identity(&plan_file);
    let mut command = program::command(&args.program, &args.options)?;
    command
        // Warps that wait for others in a loop execute as much as the host's threads are late. With one thread that is the same in
        // each run, and little; more are no faster, as what is counted of memory is counted by one at a time.
        .env("VOLTSIM_DETERMINISTIC", "1")
        .env("VOLTSIM_IMAGE", &stream)
        .env("VOLTSIM_PLAN", &plan_file)
        .env("VOLTSIM_PLAN_REPRESENTATIVES", args.representatives.to_string());
    let ended = supervise::run(command)?;
    let has_plan = identity(&plan_file) != before;
    if !has_plan && (ended.is_by_signal() || ended.status == saved_run::outputs::STATUS) {
        return Ok(ended.pass_on());
    }
    if !has_plan {
        return Err(Failure::new(
            "there is no plan: the program has launched no kernel, or what is said above",
        )
        .remedy("see that the program runs to its end under voltsim run"));
    }
    let mut plan = Plan::read(&plan_file)?;
    plan.configurations = configurations;
    plan.until_stable = args.stop.until_stable;
    plan.write(&plan_file)?;
    tell(&plan, &args.output, out)?;
    Ok(ended.pass_on())
}

fn configuration(gpu: &str) -> Result<Configuration, Failure> {
    GpuSpec::changed(gpu, std::iter::empty())
        .map_err(|error| Failure::new(error).remedy("`voltsim gpus` lists the GPUs"))?;
    Ok(Configuration { name: gpu.to_owned(), gpu: model::named(gpu)?, set: Vec::new() })
}

fn tell(plan: &Plan, file: &Path, out: &mut dyn Write) -> Result<(), Failure> {
    let percent = |part: f64| format!("{:.1} %", part * 100.0);
    let row = |group: &Group| {
        let timed = group.timed.iter().map(|timed| timed.launch.to_string()).collect::<Vec<_>>().join(", ");
        let of = group.launches.to_string();
        [
            signature(&group.kernel).into_owned(),
            timed,
            of,
            percent(group.share),
            percent(group.spread),
            group.members.clone(),
        ]
    };
    let rows: Vec<_> = plan.groups.iter().map(row).collect();
    table::write(out, ["kernel", "timed", "of", "instructions", "spread", "launches"], &rows)?;
    let timed = plan.groups.iter().flat_map(|group| &group.timed);
    let part = |timed: &Representative| timed.instructions as f64;
    let all: f64 = timed.clone().map(|timed| part(timed) * timed.weight).sum();
    let simulated: f64 = timed.clone().map(part).sum();
    writeln!(
        out,
        "{} of {} launches stand for all: {} of the warp instructions. `voltsim sweep {}` times as many of them as it needs",
        timed.count(),
        plan.launches,
        percent(simulated / all.max(1.0)),
        file.display()
    )?;
    Ok(())
}
