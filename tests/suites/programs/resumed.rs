//! Runs that are saved at points of every kind, resumed, and compared with the run that is left alone: exit status, output,
//! what is counted, the memory of the devices after each launch from the point on, and before the last launch all that the host has
//! got from them.

use crate::dice::Dice;
use crate::run::{Runner, with_executable};
use libtest_mimic::{Completion, Failed};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use voltsim_tests::catalogue::{Mode, Program};

/// Programs that no run can go on from, and why.
pub(crate) const NOT_RESUMED: [(&str, &str); 8] = [
    ("device_printf", "CTAs print in another order"),
    ("racing_prints", "CTAs print in another order"),
    ("external_memory", "it has memory of another process"),
    ("graph_capture", "it prints times"),
    ("interprocess", "its processes share memory"),
    ("large_module", "it prints times"),
    ("memory_attributes", "it launches nothing"),
    ("sass_only", "it launches nothing"),
];

/// Programs that print other numbers when a launch was executed, without time, up to a point first, and why.
pub(crate) const NOT_EXECUTED_RESUMED: [(&str, &str); 2] = [
    ("racing_bfs", "it prints the order in which CTAs add to a queue"),
    ("racing_writes", "it prints who has written last"),
];

/// Programs that no timed run can go on from with the same statistics and output, and why.
pub(crate) const NOT_TIMED_RESUMED: [(&str, &str); 4] = [
    ("device_reset", "it looks at how much memory the process has, of which a resumed one has more"),
    ("host_threads", "behind the point its threads make calls in any order"),
    ("thousand_threads", "behind the point its threads make calls in any order"),
    ("memory_copies", "memory that it registers lies elsewhere in each run, and takes other sectors there"),
];

/// Points of a kind that a program cannot be saved at, and why.
const UNSAVED: [(&str, Kind, &str); 0] = [];

/// Programs that count otherwise in each run, and why.
const COUNTED_BY_TIME: [(&str, &str); 2] =
    [("cuda_atomic", "threads wait by the clock"), ("cuda_barrier", "threads wait by the clock")];

/// Programs whose launch of the highest number is not the last, and why.
const OTHER_ORDER: [(&str, &str); 1] = [(
    "graph_construction",
    "of nodes that do not depend on each other the one of the higher number may run first",
)];

/// Programs whose threads make calls in any order but for those before a point, so that no run has the memory of another.
const ANY_ORDER: [&str; 2] = ["host_threads", "thousand_threads"];

/// Programs that have other memory when a launch was executed up to a point first, and why.
const OTHER_MEMORY: [(&str, &str); 3] = [
    ("bfs", "its queue is in the order in which CTAs add to it"),
    ("spin_lock", "its lists are in the order in which CTAs get their locks"),
    ("virtual_functions", "which CTA allocates first, and where code lies, is another matter then"),
];

/// Programs that have other memory after some launch in each run, and why.
const OTHER_CHECKSUMS: [(&str, &str); 1] = [("clocks", "it writes down what the time is")];

/// Programs that have other memory after some launch, though not before the last one, when a launch was executed up to a point
/// first, and why.
const OTHER_CHECKSUMS_INSIDE: [(&str, &str); 1] =
    [("device_malloc", "which CTA allocates first is another matter then")];

/// Points of a kind that are drawn until one is found at which the run can be saved.
const DRAWS: u64 = 20;
/// Of so many points one is at a launch's first CTA.
const FIRST: u64 = 5;

/// Kinds of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Before a launch.
    Launch,
    /// When some CTAs of a launch are over.
    Ctas,
    /// When CTAs of a launch have executed some instructions.
    Window,
    /// When some cycles of a timed launch have passed.
    Cycle,
}

/// What runs are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    /// The summary of what was executed.
    Functional,
    /// Statistics of the timing model.
    Timed,
}

impl Engine {
    fn kinds(self) -> [Kind; 3] {
        match self {
            Engine::Functional => [Kind::Launch, Kind::Ctas, Kind::Window],
            Engine::Timed => [Kind::Launch, Kind::Ctas, Kind::Cycle],
        }
    }

    fn options(self) -> &'static [&'static str] {
        match self {
            Engine::Functional => &["--summary"],
            Engine::Timed => &["--mode", "detailed", "--statistics"],
        }
    }

    /// What was counted, without what depends on the host.
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

/// A launch of the undisturbed run.
struct Launch {
    number: u64,
    ctas: u64,
    /// Warp instructions of a CTA, about.
    instructions: u64,
    /// Core cycles, if it is timed.
    cycles: u64,
}

/// A run, by what has to be the same in another one, and what it says.
#[derive(Clone)]
struct Ended {
    status: Option<i32>,
    stdout: String,
    stderr: String,
    counted: String,
}

/// Saves a program's run at so many points of each kind, and goes on from each of them.
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

/// Saves runs of a program.
struct Saver<'a> {
    runner: Runner<'a>,
    engine: Engine,
    folder: &'a Path,
}

/// What runs are compared with.
struct Undisturbed {
    ended: Ended,
    launches: Vec<Launch>,
    /// The checkpoint of the run before its last launch.
    late: PathBuf,
    /// Checksums of its memory after each launch.
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
                    return Err(format!("it was saved at {saved:?}, though listed: {why}").into());
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
        // As launches of a run that is saved are timed: one after the other.
        let blocking: &[(&str, &str)] = match self.engine {
            Engine::Functional => &[],
            Engine::Timed => &[("CUDA_LAUNCH_BLOCKING", "1")],
        };
        let outcome = self.runner.run(&arguments, blocking)?;
        let status = outcome.status.and_then(|status| status.code());
        let counted = self
            .engine
            .counted(Path::new(&counted))
            .map_err(|_| outcome.failed("it does not write what it has counted"))?;
        Ok(Ended { status, stdout: outcome.stdout, stderr: outcome.stderr, counted })
    }

    /// The run that is left alone, and how it stands before its last launch.
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

    /// Saves the run at a point, goes on from there, and says what was compared; or why there is no checkpoint.
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
        // Launches that are executed up to a point are machine code, which has other instructions, and CTAs find other CTAs before
        // them; what the model times does not notice.
        let by_point = is_inside && self.engine == Engine::Functional;
        let counted = if by_point { &saved.counted } else { &undisturbed.ended.counted };
        let alone = Ended { counted: counted.clone(), ..undisturbed.ended.clone() };
        self.compare(&saved, &alone, &format!("saved at {point} with {} threads", threads[0]))?;

        let last = format!("kernel={}", undisturbed.launches.len());
        // A run that goes on inside of a launch is saved at a later one only.
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

    /// Refuses a run that does not end, or has not counted, as another one.
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
            return Err(format!("{which}, it has counted something else\n{}", beginning(&shown)).into());
        }
        Ok(())
    }

    /// Refuses a checkpoint, or checksums, that have something else than others.
    fn compare_files(&self, one: &Path, other: &Path, which: &str) -> Result<(), Failed> {
        let mut diff = Command::new(self.runner.command);
        let diff = diff.args(["checkpoint", "diff"]).arg(one).arg(other).output()?;
        if diff.status.success() {
            return Ok(());
        }
        let found = [diff.stdout, diff.stderr].concat();
        let found = String::from_utf8_lossy(&found);
        Err(format!("{which}, it has something else\n{}", beginning(&found)).into())
    }
}

/// Are there checksums after the launch at a point, or a later one?
fn has_launch_from(point: &str, checksums: &Path) -> Result<bool, Failed> {
    let number = |text: &str| text.split(['=', ',', '\t']).nth(1)?.parse::<u64>().ok();
    let first = number(point);
    let text = std::fs::read_to_string(checksums)?;
    Ok(text.lines().filter(|line| line.starts_with("launch\t")).any(|line| number(line) >= first))
}

/// The first lines of a text.
fn beginning(text: &str) -> String {
    text.lines().take(10).map(|line| format!("{line}\n")).collect()
}

/// A point of a kind; from the first CTA on, if it has to be one at which CTAs that wait for each other can be stopped.
fn drawn(kind: Kind, launches: &[Launch], dice: &mut Dice, from_first: bool) -> String {
    // What comes before the last launch is compared there.
    let earlier = match kind {
        Kind::Launch => launches.len(),
        _ => launches.len().saturating_sub(1).max(1),
    };
    let Some(Launch { number, ctas, instructions, cycles }) =
        launches.get(dice.below(earlier as u64) as usize)
    else {
        return "kernel=1".to_owned();
    };
    let cta = if from_first { 0 } else { dice.below(*ctas) };
    match kind {
        Kind::Launch => format!("kernel={number}"),
        Kind::Ctas => format!("kernel={number},cta={cta}"),
        Kind::Window => {
            let (ctas, instructions) = (1 + dice.below(8), dice.below(*instructions));
            format!("kernel={number},cta={cta},ctas={ctas},instructions={instructions}")
        }
        Kind::Cycle => format!("kernel={number},cycle={}", dice.below(*cycles)),
    }
}

/// The launches, of which a timeline has kernels and grids in the order of their numbers.
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
