//! `voltsim plan`: which launches of a program stand for which.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use launch_capture::{Configuration, Group, Plan, Representative};
use timing::specification::{GpuSpec, gpu};
use warp_stream::kernel_name::signature;

use crate::checkpoint::identity;
use crate::failure::Failure;
use crate::given::{Given, taking};
use crate::model;
use crate::outputs;
use crate::paths::absolute;
use crate::program;
use crate::supervise;
use crate::table;

/// Choose the launches of a program that are worth timing
///
/// The program runs once, in mode functional, one CTA after the other whatever --threads says.
/// Launches of a kernel form a group if they execute similar numbers of instructions and memory
/// accesses of each kind. The first launch of a group may be timed, and the second one stands for
/// all others.
///
/// The plan names these launches, and a kernel stream beside it holds them. `voltsim sweep` times
/// as many of them as the estimate needs, on this or other machines, without the program.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// File for the plan; the kernel stream has its name, ending in .vks
    #[arg(short, long, value_name = "FILE.toml", default_value = "plan.toml")]
    output: PathBuf,

    /// GPU on which the launches are to be timed: a name or a file; may be given several times
    #[arg(long = "gpu", value_name = "NAME|FILE", default_value = gpu::DEFAULT)]
    gpus: Vec<String>,

    #[command(flatten)]
    given: Given<taking::Plan>,

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
    // A file of that name from before is not this run's.
    let before = identity(&plan_file);
    let mut options = args.given.options.clone();
    // The plan keeps it for the launches that are timed later.
    let until_stable = options.until_stable.take();
    // Warps that wait for others in a loop execute more the later the host's threads are. One
    // thread gives the same counts in each run. More threads are no faster: one thread at a time
    // counts memory.
    options.deterministic = Some(true);
    options.image = Some(stream);
    options.plan = Some(plan_file.clone());
    let ended = supervise::run(program::prepare(&args.program, options, args.given.profile.as_deref())?)?;
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
    plan.until_stable = until_stable;
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
