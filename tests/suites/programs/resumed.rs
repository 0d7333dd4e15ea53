//! Runs that are saved at points of every kind, resumed, and compared with the undisturbed run. The
//! comparison covers exit status, output, statistics, device memory after each launch from the point on,
//! and the checkpoint before the last launch.

use crate::dice::Dice;
use crate::run::{Runner, with_executable};
use libtest_mimic::{Completion, Failed};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use voltsim_tests::catalogue::{Mode, Program};

/// Programs that cannot be resumed, with the reason.
pub(crate) const NOT_RESUMED: [(&str, &str); 10] = [
    ("device_printf", "the order of CTAs' output varies"),
    ("racing_prints", "the order of CTAs' output varies"),
    ("racing_products", "the order of CTAs' output varies"),
    ("external_memory", "it uses memory of another process"),
    ("graph_capture", "it prints times"),
    ("interprocess", "its processes share memory"),
    ("large_module", "it prints times"),
    ("machine_code_resources", "it launches no kernels"),
    ("memory_attributes", "it launches no kernels"),
    ("sass_only", "it launches no kernels"),
];

/// Programs whose output changes if a launch was first executed functionally up to a point, with the
/// reason.
pub(crate) const NOT_EXECUTED_RESUMED: [(&str, &str); 3] = [
    ("racing_bulk_copies", "it prints the order of CTAs at a tile"),
    ("racing_bfs", "it prints the order of CTAs in a queue"),
    ("racing_writes", "it prints the last writer"),
];

/// Programs whose timed runs cannot be resumed with the same statistics and output, with the reason.
pub(crate) const NOT_TIMED_RESUMED: [(&str, &str); 4] = [
    ("device_reset", "it checks the memory use of the process, which is larger after resuming"),
    ("host_threads", "its threads make calls in any order after the point"),
    ("thousand_threads", "its threads make calls in any order after the point"),
    ("memory_copies", "the address of its registered memory varies, and with it the sectors"),
];

/// Points of a kind at which a program cannot be saved, with the reason.
const UNSAVED: [(&str, PointKind, &str); 0] = [];

/// Programs with different statistics in each run, with the reason.
const COUNTED_BY_TIME: [(&str, &str); 2] =
    [("cuda_atomic", "threads wait by the clock"), ("cuda_barrier", "threads wait by the clock")];

/// Programs whose highest-numbered launch is not the last, with the reason.
const OTHER_ORDER: [(&str, &str); 1] =
    [("graph_construction", "a higher-numbered independent node may run first")];

/// Programs whose threads make calls in any order after a point, so that memory differs between runs.
const ANY_ORDER: [&str; 2] = ["host_threads", "thousand_threads"];

/// Programs whose memory differs if a launch was first executed up to a point, with the reason.
const OTHER_MEMORY: [(&str, &str); 3] = [
    ("bfs", "the order of its queue depends on the order of CTAs"),
    ("spin_lock", "the order of its lists depends on the order of lock acquisition"),
    ("virtual_functions", "the order of allocations and the addresses of code vary"),
];

/// Programs whose memory after some launch differs in each run, with the reason.
const OTHER_CHECKSUMS: [(&str, &str); 1] = [("clocks", "it stores the time")];

/// Programs whose memory differs after some launch, but not before the last, if a launch was first executed
/// up to a point, with the reason.
const OTHER_CHECKSUMS_INSIDE: [(&str, &str); 1] = [("device_malloc", "the order of allocations varies")];

/// Number of attempts to find a point of a kind at which the run can be saved.
const DRAWS: u64 = 20;
/// One in this many points is at a launch's first CTA.
const FIRST: u64 = 5;

/// Kinds of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PointKind {
    /// Before a launch.
    Launch,
    /// After some CTAs of a launch.
    Ctas,
    /// After some instructions of a launch's CTAs.
    Window,
    /// After some cycles of a timed launch.
    Cycle,
}

/// Basis of comparison between runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    /// Summary of executed instructions.
    Functional,
    /// Statistics of the timing model.
    Timed,
}

impl Engine {
    fn kinds(self) -> [PointKind; 3] {
        match self {
            Engine::Functional => [PointKind::Launch, PointKind::Ctas, PointKind::Window],
            Engine::Timed => [PointKind::Launch, PointKind::Ctas, PointKind::Cycle],
        }
    }

    fn options(self) -> &'static [&'static str] {
        match self {
            Engine::Functional => &["--summary"],
            Engine::Timed => &["--mode", "detailed", "--statistics"],
        }
    }

    /// Returns the statistics that do not depend on the host.
    fn counted(self, file: &Path) -> Result<String, Failed> {
        let text = String::from_utf8(std::fs::read(file)?)?;
        if self == Engine::Timed {
            return Ok(text);
        }
        let mut kernels = serde_json::from_str::<serde_json::Value>(&text)?["kernels"].take();
        for kernel in kernels.as_array_mut().into_iter().flatten() {
            kernel["seconds"].take();
        }
        Ok(serde_json::to_string_pretty(&kernels)?)
    }
}

/// Launch of the undisturbed run.
struct Launch {
    number: u64,
    ctas: u64,
    /// Approximate number of warp instructions of a CTA.
    instructions: u64,
    /// Core cycles, if timed.
    cycles: u64,
}

/// Results of a finished run that must not differ between runs, and its messages.
#[derive(Clone)]
struct Ended {
    status: Option<i32>,
    stdout: String,
    stderr: String,
    counted: String,
}

/// Saves a program's run at some points of each kind, and resumes from each.
pub(crate) fn save_and_resume(
    program: &Program,
    mode: Mode,
    engine: Engine,
    (seed, points): (u64, u64),
) -> Result<Completion, Failed> {
    with_executable(program, mode, |runner| {
        let folder = tempfile::tempdir()?;
        let saver = Saver { runner, engine, folder: folder.path() };
        let dice = Dice::of(seed, &format!("{} {engine:?}", program.name));
        saver.check(dice, points).map_err(|failure| {
            let told = failure.message().unwrap_or_default();
            Failed::from(format!("{told}\npoints were drawn from VOLTSIM_TEST_SEED={seed}"))
        })
    })
}

/// Saver of a program's runs.
struct Saver<'a> {
    runner: Runner<'a>,
    engine: Engine,
    folder: &'a Path,
}

/// Reference run.
struct Undisturbed {
    ended: Ended,
    launches: Vec<Launch>,
    /// Checkpoint before the last launch.
    late: PathBuf,
    /// Checksums of memory after each launch.
    checksums: PathBuf,
}

impl Saver<'_> {
    fn file(&self, name: &str) -> String {
        self.folder.join(name).to_string_lossy().into_owned()
    }

    fn check(&self, mut dice: Dice, points: u64) -> Result<(), Failed> {
        let undisturbed = self.undisturbed()?;
        for kind in self.engine.kinds() {
            let name = self.runner.program.name.as_str();
            let listed = UNSAVED.iter().find(|(program, unsaved, _)| (*program, *unsaved) == (name, kind));
            let (mut saved, mut draws) = (Vec::new(), 0);
            let mut complaint = String::new();
            while (saved.len() as u64) < points && draws < points * DRAWS {
                draws += 1;
                let from_first = draws.is_multiple_of(FIRST);
                let point = drawn(kind, &undisturbed.launches, &mut dice, from_first);
                let threads = [["1", "2"], ["2", "1"], ["2", "2"], ["1", "1"]][dice.below(4) as usize];
                match self.at(&point, threads, &undisturbed)? {
                    Ok(compared) => saved.push(format!("{point} ({compared})")),
                    Err(why) => complaint = why,
                }
            }
            match (saved.is_empty(), listed) {
                (true, None) => {
                    return Err(format!("no point of kind {kind:?} could be saved: {complaint}").into());
                }
                (false, Some((_, _, why))) => {
                    return Err(
                        format!("it was saved at {saved:?}, although listed as impossible: {why}").into()
                    );
                }
                (_, _) => println!("{name}, {:?}: {}", self.engine, saved.join("; ")),
            }
        }
        Ok(())
    }

    /// Runs the program with these arguments of the command.
    fn run(&self, arguments: &[&str], threads: &str) -> Result<Ended, Failed> {
        let counted = self.file("counted.json");
        let _ = std::fs::remove_file(&counted);
        let arguments = [arguments, self.engine.options(), &[&counted, "--threads", threads]].concat();
        // Launches of a saved run are timed one after the other.
        let blocking: &[(&str, &str)] = match self.engine {
            Engine::Functional => &[],
            Engine::Timed => &[("CUDA_LAUNCH_BLOCKING", "1")],
        };
        let outcome = self.runner.run(&arguments, blocking)?;
        let status = outcome.status.and_then(|status| status.code());
        let counted = self
            .engine
            .counted(Path::new(&counted))
            .map_err(|_| outcome.failed("it does not write its statistics"))?;
        Ok(Ended { status, stdout: outcome.stdout, stderr: outcome.stderr, counted })
    }

    /// Makes the undisturbed run and its state before the last launch.
    fn undisturbed(&self) -> Result<Undisturbed, Failed> {
        let timeline = self.file("timeline.json");
        self.runner.run(&["trace", "-o", &timeline], &[("CUDA_LAUNCH_BLOCKING", "1")])?;
        let timeline: serde_json::Value = serde_json::from_slice(&std::fs::read(&timeline)?)?;
        let ended = self.run(&["run"], "1")?;
        let launches = launches(&timeline, &serde_json::from_str(&ended.counted)?);
        let (late, last) = (self.file("late.vck"), format!("kernel={}", launches.len()));
        let checksums = self.file("undisturbed.sums");
        let saved = self.run(&["run", "--checkpoint", &last, "-o", &late, "--checksums", &checksums], "1")?;
        if !Path::new(&late).exists() {
            return Err(format!("it cannot be saved before its last launch, {last}: {}", saved.stderr).into());
        }
        self.compare(&saved, &ended, &format!("saved at {last}"))?;
        Ok(Undisturbed { ended, launches, late: late.into(), checksums: checksums.into() })
    }

    /// Saves the run at a point and resumes it. Returns the comparisons made, or the reason why there is no
    /// checkpoint.
    fn at(
        &self,
        point: &str,
        threads: [&str; 2],
        undisturbed: &Undisturbed,
    ) -> Result<Result<String, String>, Failed> {
        let (file, late, checksums) =
            (self.file("run.vck"), self.file("resumed.vck"), self.file("resumed.sums"));
        for old in [&file, &late, &checksums] {
            let _ = std::fs::remove_file(old);
        }
        let saved = self.run(&["run", "--checkpoint", point, "-o", &file], threads[0])?;
        if !Path::new(&file).exists() {
            return Ok(Err(format!("{point}: {}", saved.stderr)));
        }
        let is_inside = point.contains(',');
        // Execution up to a point uses machine code with other instructions, and changes the order of CTAs.
        // The timing model's results are unaffected.
        let by_point = is_inside && self.engine == Engine::Functional;
        let counted = if by_point { &saved.counted } else { &undisturbed.ended.counted };
        let alone = Ended { counted: counted.clone(), ..undisturbed.ended.clone() };
        self.compare(&saved, &alone, &format!("saved at {point} with {} threads", threads[0]))?;

        let last = format!("kernel={}", undisturbed.launches.len());
        // A run resumed inside of a launch can be saved only at a later launch.
        let is_saved_again = !point.starts_with(&format!("{last},")) && !self.is_in(&OTHER_ORDER);
        let again = ["--checkpoint", &last, "-o", &late];
        let again = if is_saved_again { &again[..] } else { &[] };
        let arguments = [&["resume", &file, "--checksums", &checksums], again].concat();
        let resumed = self.run(&arguments, threads[1])?;
        let resumed_at = format!("resumed at {point} with {} threads", threads[1]);
        self.compare(&resumed, &alone, &resumed_at)?;
        let has_other_memory = ANY_ORDER.contains(&self.runner.program.name.as_str())
            || (is_inside && self.is_in(&OTHER_MEMORY));
        let has_memory = !has_other_memory;
        let has_other_checksums =
            self.is_in(&OTHER_CHECKSUMS) || (is_inside && self.is_in(&OTHER_CHECKSUMS_INSIDE));
        // If all launches from the point on fail, there are no checksums.
        if has_memory && !has_other_checksums && has_launch_from(point, &undisturbed.checksums)? {
            self.compare_files(&undisturbed.checksums, Path::new(&checksums), &resumed_at)?;
        }
        if has_memory && is_saved_again {
            let before_last = format!("{resumed_at}, before its last launch");
            self.compare_files(&undisturbed.late, Path::new(&late), &before_last)?;
        }
        Ok(Ok(format!("{} threads{}", threads.join(" and "), if has_memory { ", memory" } else { "" })))
    }

    fn is_in(&self, list: &[(&str, &str)]) -> bool {
        list.iter().any(|(name, _)| *name == self.runner.program.name)
    }

    /// Fails if a run's end, output or statistics differ from another's.
    fn compare(&self, run: &Ended, other: &Ended, which: &str) -> Result<(), Failed> {
        let (here, there) = (&run.stdout, &other.stdout);
        if (run.status, here) != (other.status, there) {
            let complaint = format!(
                "{which}, it ends with {:?} and prints\n{}{}--- alone {:?}\n{}",
                run.status,
                beginning(here),
                beginning(&run.stderr),
                other.status,
                beginning(there)
            );
            return Err(complaint.into());
        }
        if run.counted != other.counted && !self.is_in(&COUNTED_BY_TIME) {
            let lines = run.counted.lines().zip(other.counted.lines());
            let differing = lines.filter(|(line, other)| line != other);
            let shown: String = differing.map(|(line, other)| format!("{line} was {other}\n")).collect();
            return Err(format!("{which}, its statistics differ\n{}", beginning(&shown)).into());
        }
        Ok(())
    }

    /// Fails if checkpoints or checksums differ.
    fn compare_files(&self, one: &Path, other: &Path, which: &str) -> Result<(), Failed> {
        let mut diff = Command::new(self.runner.command);
        let diff = diff.args(["checkpoint", "diff"]).arg(one).arg(other).output()?;
        if diff.status.success() {
            return Ok(());
        }
        let found = [diff.stdout, diff.stderr].concat();
        let found = String::from_utf8_lossy(&found);
        Err(format!("{which}, the contents differ\n{}", beginning(&found)).into())
    }
}

/// Returns whether there are checksums from the launch at a point on.
fn has_launch_from(point: &str, checksums: &Path) -> Result<bool, Failed> {
    let number = |text: &str| text.split(['=', ',', '\t']).nth(1)?.parse::<u64>().ok();
    let first = number(point);
    let text = std::fs::read_to_string(checksums)?;
    Ok(text.lines().filter(|line| line.starts_with("launch\t")).any(|line| number(line) >= first))
}

/// Returns the first lines of a text.
fn beginning(text: &str) -> String {
    text.lines().take(10).map(|line| format!("{line}\n")).collect()
}

/// Returns a random point of a kind. With `from_first`, the point is in the first CTAs, at which waiting
/// CTAs can be stopped.
fn drawn(kind: PointKind, launches: &[Launch], dice: &mut Dice, from_first: bool) -> String {
    // The comparison before the last launch needs earlier points.
    let earlier = match kind {
        PointKind::Launch => launches.len(),
        _ => launches.len().saturating_sub(1).max(1),
    };
    let Some(Launch { number, ctas, instructions, cycles }) =
        launches.get(dice.below(earlier as u64) as usize)
    else {
        return "kernel=1".to_owned();
    };
    let cta = if from_first { 0 } else { dice.below(*ctas) };
    match kind {
        PointKind::Launch => format!("kernel={number}"),
        PointKind::Ctas => format!("kernel={number},cta={cta}"),
        PointKind::Window => {
            let (ctas, instructions) = (1 + dice.below(8), dice.below(*instructions));
            format!("kernel={number},cta={cta},ctas={ctas},instructions={instructions}")
        }
        PointKind::Cycle => format!("kernel={number},cycle={}", dice.below(*cycles)),
    }
}

/// Returns the launches. The timeline lists kernels and grids in launch order.
fn launches(timeline: &serde_json::Value, counted: &serde_json::Value) -> Vec<Launch> {
    let list = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
    let mut launched = Vec::new();
    for event in list(timeline).iter().filter(|event| event["cat"] == "kernel") {
        let grid = event["args"]["grid"].as_str().unwrap_or_default();
        let sizes = grid.trim_matches(['(', ')']).split(',').map(str::parse::<u64>);
        let ctas = sizes.product::<Result<u64, _>>().unwrap_or(1);
        launched.push((event["name"].as_str().unwrap_or_default().to_owned(), ctas));
    }
    let mut ctas = BTreeMap::<&str, u64>::new();
    launched.iter().for_each(|(kernel, number)| *ctas.entry(kernel).or_default() += number);
    let instructions: BTreeMap<String, u64> = list(counted)
        .iter()
        .filter_map(|kernel| {
            let name = kernel["name"].as_str()?;
            Some((name.to_owned(), kernel["warp_instructions"].as_u64()? / ctas.get(name)?))
        })
        .collect();
    let cycles: BTreeMap<u64, u64> = list(&counted["launches"])
        .iter()
        .filter_map(|launch| Some((launch["launch"].as_u64()?, launch["cycles"].as_u64()?)))
        .collect();
    let launch = |(number, (kernel, ctas)): (u64, &(String, u64))| Launch {
        number,
        ctas: *ctas,
        instructions: instructions.get(kernel).copied().unwrap_or_default(),
        cycles: cycles.get(&number).copied().unwrap_or_default(),
    };
    (1..).zip(&launched).map(launch).collect()
}
