//! `voltsim sweep`: times the launches of a plan under several GPUs, and estimates the whole
//! program.

mod choice;
mod control;
mod cost_model;
mod estimate;
mod job;
mod kernel_cluster;
mod phase;
mod regression;
mod slurm;
mod untimed_prior;
mod vary;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, available_parallelism};

use launch_capture::Plan;
use run_options::values::{Mode, Value as _};
use voltsim_checkpoint::atomic_file;

use crate::failure::Failure;
use crate::given::{Given, taking};
use crate::model;
use crate::paths::absolute;
use crate::table;
use choice::Aim;
use estimate::Estimate;
use job::{Job, Jobs};
use phase::Phase;

/// File of the estimate in the folder of results, and file of the estimate in the mode of --explore.
const ESTIMATE: &str = "estimate.json";
const EXPLORED: &str = "explored.json";

/// Tries of a job that ends without a result.
const TRIES: usize = 2;

/// Time the launches of a plan, and estimate the whole program
///
/// A job is one launch on one GPU, in a process of its own. The result of a job is a file in the
/// folder of results. A job whose result is there is not repeated, so an interrupted sweep
/// continues when it is started again. Several machines may share the folder. The exit status is 1
/// when jobs have failed.
///
/// The sweep first times one launch of each kernel. Then the sweep times the launches that reduce
/// the estimate's bound most for their cost, until the bound is no more than --within.
///
/// With --explore the sweep estimates all configurations in a fast mode. The best of them are then
/// estimated in the mode of --confirm.
///
/// With --control the sweep first times every launch of the plan in a fast mode. Estimate and bound
/// then follow from the differences between both modes.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// File of `voltsim plan`
    #[arg(value_name = "PLAN.toml")]
    plan: PathBuf,

    #[command(flatten)]
    given: Given<taking::Sweep>,

    /// Folder for the results; the plan's name with .results by default
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Jobs at a time; as many as there are cores by default
    #[arg(short, long, value_name = "COUNT")]
    jobs: Option<NonZero<usize>>,

    /// Wanted bound of the estimate: launches are timed until the bound is no more than this
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = percent)]
    within: f64,

    /// Most that may be spent, as a part of the cost of all launches; one launch of each kernel is
    /// timed in any case
    #[arg(long, value_name = "PERCENT", default_value = "100%", value_parser = percent)]
    budget: f64,

    /// Time all launches of the plan
    #[arg(long, conflicts_with_all = ["within", "budget"])]
    all: bool,

    /// Combine each GPU of the plan with values: key=a|b, key=a..b (doubling), key=a..b:step, with
    /// commas between them
    #[arg(long, value_name = "KEYS", default_value = "", hide_default_value = true)]
    vary: String,

    /// Estimate all configurations in this mode first: hybrid-memory, hybrid-alu or detailed
    #[arg(long, value_name = "MODE", value_parser = timed_mode)]
    explore: Option<Mode>,

    /// Mode in which the best configurations are estimated again
    #[arg(long, value_name = "MODE", value_parser = timed_mode, requires = "explore", default_value = "detailed")]
    confirm: Mode,

    /// Configurations with the fewest cycles that are estimated again
    #[arg(long, value_name = "COUNT", requires = "explore", default_value = "5")]
    best: NonZero<usize>,

    /// Time every launch of the plan in this mode too, as control variate of the estimate
    #[arg(long, value_name = "MODE", value_parser = timed_mode, conflicts_with_all = ["explore", "all"])]
    control: Option<Mode>,

    /// Hand the jobs to Slurm as an array (sbatch), and wait for them; -j limits jobs at a time
    #[arg(long)]
    slurm: bool,

    /// An option for sbatch: --slurm-option=--partition=night; may be given several times
    #[arg(long, value_name = "OPTION", requires = "slurm", allow_hyphen_values = true)]
    slurm_option: Vec<String>,

    /// Only list the jobs
    #[arg(long, conflicts_with_all = ["slurm", "job"])]
    list: bool,

    /// Do only the job of this number
    #[arg(long, hide = true)]
    job: Option<usize>,

    /// Only these configurations of the plan, by number
    #[arg(long, hide = true, value_delimiter = ',')]
    configurations: Option<Vec<usize>>,
}

/// Does the jobs that have no result, and tells what they say about the program.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let plan = plan(args)?;
    let folder = absolute(args.output.as_ref().unwrap_or(&args.plan.with_extension("results")))?;
    let mode = args.explore.or(args.given.options.mode);
    let phase = Phase { mode, configurations: args.configurations.clone() };
    if args.list || args.job.is_some() {
        let jobs = Jobs::of(&phase.of(&plan)?, &args.plan, &folder)?;
        return of_jobs(args, &jobs, &folder, out);
    }
    let Some(estimate) = estimate(args, &plan, &phase, &folder)? else { return Ok(ExitCode::from(1)) };
    if args.explore.is_none() {
        estimate.write(&folder.join(ESTIMATE))?;
        out.write_all(estimate.text().as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    estimate.write(&folder.join(EXPLORED))?;
    let best = phase::best(&estimate.cycles(), args.best);
    let phase = Phase { mode: Some(args.confirm), configurations: Some(best.clone()) };
    let Some(confirmed) = self::estimate(args, &plan, &phase, &folder)? else {
        return Ok(ExitCode::from(1));
    };
    confirmed.write(&folder.join(ESTIMATE))?;
    tell_best(args, &plan, &estimate.cycles(), &best, &confirmed, out)?;
    Ok(ExitCode::SUCCESS)
}

/// The plan with the configurations that the options name.
fn plan(args: &Args) -> Result<Plan, Failure> {
    let options = &args.given.options;
    if let (Some(explore), Some(mode)) = (args.explore, options.mode) {
        let (explore, mode) = (explore.name(), mode.name());
        let message = format!("--explore {explore} and --mode {mode} name a mode each");
        return Err(Failure::new(message).remedy("give the mode of the best with --confirm"));
    }
    let mut plan = Plan::read(&args.plan)?;
    if let Some(configuration) = model::configuration(options)? {
        plan.configurations = vec![configuration];
    }
    if plan.configurations.is_empty() {
        return Err(Failure::in_file(&args.plan, "it names no [[configuration]]")
            .remedy("add one with a name and a gpu, or give --gpu"));
    }
    plan.configurations = vary::combined(plan.configurations, &args.vary)?;
    Ok(plan)
}

/// Lists the jobs, or does one.
fn of_jobs(args: &Args, jobs: &Jobs, folder: &Path, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    if args.list {
        for (number, job) in jobs.all.iter().enumerate() {
            let state = if job.is_done() { "done" } else { "to do" };
            writeln!(out, "{number}: {job}, {state}")?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    prepare(folder)?;
    if let Some(number) = args.job {
        let none = || Failure::in_file(&args.plan, format_args!("it has no job {number}"));
        jobs.all.get(number).ok_or_else(none)?.run()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Makes the folder of results, and removes what killed sweeps have left there.
fn prepare(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| Failure::in_file(folder, error))?;
    atomic_file::clear(folder);
    job::clear(folder);
    Ok(())
}

/// Does the jobs of a phase that have no result. Gives the estimate; none if jobs have failed.
fn estimate(args: &Args, plan: &Plan, phase: &Phase, folder: &Path) -> Result<Option<Estimate>, Failure> {
    prepare(folder)?;
    let mut control = None;
    if let Some(mode) = args.control {
        let fast = Phase { mode: Some(mode), ..phase.clone() };
        let jobs = Jobs::of(&fast.of(plan)?, &args.plan, folder)?;
        if !are_done(args, &fast, folder, &jobs, &(0..jobs.all.len()).collect())? {
            return Ok(None);
        }
        control = Some(jobs);
    }
    let plan = phase.of(plan)?;
    let jobs = Jobs::of(&plan, &args.plan, folder)?;
    let mut chosen = BTreeSet::new();
    loop {
        let next = choose(args, &plan, &jobs, &chosen, control.as_ref())?;
        if next.is_empty() {
            break;
        }
        chosen.extend(next);
        if !are_done(args, phase, folder, &jobs, &chosen)? {
            return Ok(None);
        }
    }
    Estimate::new(&plan, &jobs, &chosen, control.as_ref()).map(Some)
}

/// Does the chosen jobs that have no result, and tells about failures. True if all have one.
fn are_done(
    args: &Args,
    phase: &Phase,
    folder: &Path,
    jobs: &Jobs,
    chosen: &BTreeSet<usize>,
) -> Result<bool, Failure> {
    let missing = run_missing(args, phase, folder, jobs, chosen)?;
    for job in &missing {
        eprintln!("voltsim: {job} has no result; {} says why", job.log().display());
    }
    if !missing.is_empty() {
        let (missing, all) = (missing.len(), chosen.len());
        eprintln!("voltsim: {missing} of {all} jobs are missing: start the sweep again");
    }
    Ok(missing.is_empty())
}

/// Writes a table of the best configurations, with the cycles of both modes.
fn tell_best(
    args: &Args,
    plan: &Plan,
    explored: &[f64],
    best: &[usize],
    confirmed: &Estimate,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let explore = args.explore.map_or("", Mode::name);
    let mut rows: Vec<(f64, [String; 5])> = Vec::new();
    for (number, total) in best.iter().zip(confirmed.totals()) {
        let (rough, fine) = (explored.get(*number).copied().unwrap_or_default(), total.cycles);
        let name = plan.configurations.get(*number).map_or("", |configuration| configuration.name.as_str());
        let row = [
            format!("{fine:.0}"),
            format!("{:.1} %", total.bound * 100.0),
            format!("{rough:.0}"),
            format!("{:+.1} %", (rough / fine.max(1.0) - 1.0) * 100.0),
            name.to_owned(),
        ];
        rows.push((fine, row));
    }
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let rows: Vec<_> = rows.into_iter().map(|(_, row)| row).collect();
    let confirm = args.confirm.name();
    writeln!(
        out,
        "{} configurations in mode {explore}, the best {} in mode {confirm}:",
        explored.len(),
        rows.len()
    )?;
    table::write(out, ["cycles", "bound", explore, "difference", "configuration"], &rows)?;
    Ok(())
}

/// A mode that times launches.
fn timed_mode(text: &str) -> Result<Mode, String> {
    let mode = Mode::read(text.as_ref()).ok().filter(|mode| mode.is_timed());
    mode.ok_or_else(|| "write detailed, hybrid-alu or hybrid-memory".to_owned())
}

/// A part of the whole, as per cent: `5%`.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>();
    let part = number.ok().filter(|number| number.is_finite() && *number >= 0.0);
    part.map(|number| number / 100.0).ok_or_else(|| "write a number of per cent, such as 5%".to_owned())
}

/// The jobs that are to be done beside those that were chosen before, by number. They follow from
/// the plan and from the results of those alone.
fn choose(
    args: &Args,
    plan: &Plan,
    jobs: &Jobs,
    chosen: &BTreeSet<usize>,
    control: Option<&Jobs>,
) -> Result<Vec<usize>, Failure> {
    if args.all {
        return Ok((0..jobs.all.len()).filter(|number| !chosen.contains(number)).collect());
    }
    let aim = Aim { within: args.within, budget: args.budget };
    let of = |number| Ok(choice::next(&jobs.clusters(plan, number, chosen, control)?, aim));
    let next = (0..plan.configurations.len()).map(of).collect::<Result<Vec<_>, Failure>>()?;
    Ok(next.into_iter().flatten().collect())
}

/// Does those of the chosen jobs that have no result. Gives those that still have none.
fn run_missing<'a>(
    args: &Args,
    phase: &Phase,
    folder: &Path,
    jobs: &'a Jobs,
    chosen: &BTreeSet<usize>,
) -> Result<Vec<&'a Job>, Failure> {
    let missing = || -> Vec<(usize, &'a Job)> {
        let chosen = chosen.iter().filter_map(|number| Some((*number, jobs.all.get(*number)?)));
        chosen.filter(|(_, job)| !job.is_done()).collect()
    };
    for _ in 0..TRIES {
        let missing = missing();
        match (missing.is_empty(), args.slurm) {
            (true, _) => break,
            (_, true) => slurm::run(args, phase, folder, missing.iter().map(|(number, _)| *number))?,
            _ => run_here(args, &missing, chosen.len()),
        }
    }
    Ok(missing().into_iter().map(|(_, job)| job).collect())
}

/// Does jobs on this machine, several at a time.
fn run_here(args: &Args, missing: &[(usize, &Job)], all: usize) {
    let cores = available_parallelism().map_or(1, NonZero::get);
    let workers = args.jobs.map_or(cores, NonZero::get).min(missing.len());
    let (next, told) = (AtomicUsize::new(0), Mutex::new(all - missing.len()));
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((_, job)) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = job.run();
                    let mut done = told.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                    match outcome {
                        Ok(()) => {
                            *done += 1;
                            eprintln!("voltsim: {done} of {all}: {job}");
                        }
                        Err(failure) => eprintln!("voltsim: {job}: {failure}"),
                    }
                }
            });
        }
    });
}

/// The plan's file, beside which the kernel stream lies.
fn beside(plan: &Path, name: &str) -> PathBuf {
    plan.parent().unwrap_or(Path::new("")).join(name)
}
