//! Kernel streams: `voltsim run --image`, `voltsim resume` of one, `voltsim plan` and `voltsim sweep`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;

use super::launches::{Captured, SUM};
use super::{Outcome, Workplace};

/// The program in its place, with a stream of its seven launches.
fn streamed() -> Captured {
    let captured = Captured::program();
    let outcome = captured.place.voltsim(&["run", "--image", "all.vks", "--", "./launches", "2"]);
    assert_eq!((outcome.status, outcome.stdout.as_str(), outcome.stderr.as_str()), (0, SUM, ""));
    fs::remove_file(captured.place.path("launches")).unwrap();
    captured
}

/// The program in its place, with a plan of its 61 launches.
fn planned() -> (Captured, Outcome) {
    planned_with(&[])
}

fn planned_with(options: &[&str]) -> (Captured, Outcome) {
    let captured = Captured::program();
    let outcome = captured.place.voltsim(&[&["plan"], options, &["--", "./launches", "20"]].concat());
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    (captured, outcome)
}

fn cycles(place: &Workplace, file: &str) -> Vec<(u64, u64)> {
    let statistics: Value = serde_json::from_str(&place.read(file)).unwrap();
    let launches = statistics["launches"].as_array().unwrap().iter();
    launches.map(|it| (it["launch"].as_u64().unwrap(), it["cycles"].as_u64().unwrap())).collect()
}

/// The results that are there, with what tells a file from one that was written anew.
fn results(place: &Workplace) -> Vec<(PathBuf, std::time::SystemTime)> {
    let entries = fs::read_dir(place.path("plan.results")).unwrap().map(Result::unwrap);
    let mut found: Vec<_> =
        entries.map(|entry| (entry.path(), entry.metadata().unwrap().modified().unwrap())).collect();
    found.retain(|(path, _)| path.file_name().is_some_and(|name| name != "estimate.json"));
    found.sort();
    found
}

#[test]
fn stream_repeats_launches_and_memory_without_the_program() {
    let captured = streamed();
    let outcome = captured.place.voltsim(&["resume", "all.vks"]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""));
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!(lines.len(), 7);
    assert!(lines[0].starts_with("launch 1, sum_list: grid (1,1,1), CTA (1,1,1)"), "{}", lines[0]);
    // Nothing is copied between the launches: each finds the memory that the one before has left.
    assert!(lines[3..].iter().all(|line| line.ends_with(" 0 bytes restored")), "{}", outcome.stdout);
}

#[test]
fn launches_of_a_stream_free_what_kernels_have_allocated() {
    let captured = Captured::heap();
    let place = &captured.place;
    assert_eq!(place.voltsim(&["run", "--image", "all.vks", "--", "./launches"]).stdout, "14\n");
    // One after the other, and without those that have allocated.
    for launches in ["launch=1..", "kernel=give"] {
        let outcome = place.voltsim(&["resume", "all.vks", "--launches", launches]);
        assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""), "{launches}: {}", outcome.stdout);
    }
}

/// Outcomes of a run and of its stream, whose launch touches the bytes behind memory of a kind.
fn of_touch_behind(kind: &str) -> [Outcome; 2] {
    let place = Captured::bounds().place;
    let run = place.voltsim(&["run", "--image", "all.vks", "--", "./launches", kind]);
    [run, place.voltsim(&["resume", "all.vks"])]
}

/// The line that names a kernel's fault.
fn fault(outcome: &Outcome) -> &str {
    outcome.stderr.lines().find(|line| line.contains("illegal address")).unwrap()
}

#[test]
fn access_outside_memory_fails_in_a_stream_as_in_the_program() {
    for kind in ["device", "managed", "host", "pool"] {
        let [run, resumed] = of_touch_behind(kind);
        assert_eq!((run.status, resumed.status), (1, 2), "{kind}: {}", resumed.stdout);
        assert_eq!(fault(&run), fault(&resumed));
    }
}

#[test]
fn a_launch_of_a_stream_cannot_access_what_was_freed_before_it() {
    let [run, resumed] = of_touch_behind("smaller than before");
    assert_eq!((run.status, resumed.status), (1, 2), "{}", resumed.stdout);
    assert_eq!(fault(&run), fault(&resumed));
    assert!(resumed.stdout.contains("launch 2, touch"), "the launch before it succeeds: {}", resumed.stdout);
}

#[test]
fn stream_reaches_memory_without_a_pointer() {
    let [run, resumed] = of_touch_behind("neighbour");
    assert_eq!((run.status, resumed.status), (0, 0), "{}", resumed.stderr);
}

#[test]
fn access_outside_registered_memory_fails_in_a_stream() {
    let [run, resumed] = of_touch_behind("registered");
    assert_eq!((run.status, resumed.status), (1, 2), "{}", resumed.stdout);
}

#[test]
fn a_refused_launch_of_a_stream_gives_status_88() {
    let place = Captured::targets().place;
    let run = place.voltsim(&["run", "--device", "h100", "--image", "all.vks", "--", "./launches"]);
    assert_eq!((run.status, run.stdout.as_str()), (0, "4\n"), "{}", run.stderr);
    for options in [&[][..], &["--strict"]] {
        // The model times no clusters.
        let resumed = place.voltsim(&[&["resume", "all.vks", "--mode", "detailed"], options].concat());
        assert_eq!(resumed.status, 88, "{}", resumed.stderr);
        assert!(resumed.stderr.contains("touch cannot be timed"), "{}", resumed.stderr);
        assert!(resumed.stdout.contains("launch 1, touch"), "{}", resumed.stdout);
    }
}

#[test]
fn a_launch_alone_keeps_its_number() {
    let captured = streamed();
    let arguments = ["resume", "all.vks", "--launches", "kernel=remainder,launch=3..", "--mode", "detailed"];
    let outcome = captured.place.voltsim(&[&arguments[..], &["--statistics", "one.json"]].concat());
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    assert_eq!(cycles(&captured.place, "one.json").iter().map(|it| it.0).collect::<Vec<_>>(), [5]);
}

/// Greatest difference in core cycles of a launch that begins at another phase of DRAM's clock: a
/// DRAM cycle, rounded up.
const DRAM_PHASE: u64 = 2;

/// Greatest difference in core cycles of a launch at another phase of refreshes or in another bank:
/// a refresh, and the opening of a row. A page walk takes longer.
const DRAM_REFRESH: u64 = 250;

/// A program with the cycles of its launches, its stream, and a stream with the history before each
/// launch.
struct Timed {
    place: Workplace,
    program: Vec<(u64, u64)>,
}

impl Timed {
    fn new(captured: Captured, argument: &str) -> Timed {
        let place = captured.place;
        let run = |arguments: &[&str]| {
            let program = ["--", "./launches", argument];
            assert_eq!(place.voltsim(&[arguments, &program].concat()).status, 0);
        };
        run(&["run", "--mode", "detailed", "--statistics", "program.json"]);
        run(&["run", "--image", "all.vks"]);
        run(&["plan", "--representatives", "99", "-o", "planned.toml"]);
        let program = cycles(&place, "program.json");
        Timed { place, program }
    }

    /// Checks that launches of a stream take as long as in the program, within so many core cycles.
    fn check(&self, stream: &str, launches: &str, within: u64) {
        let timed = ["--launches", launches, "--mode", "detailed", "--statistics", "stream.json"];
        assert_eq!(self.place.voltsim(&[&["resume", stream], &timed[..]].concat()).status, 0);
        let stream = cycles(&self.place, "stream.json");
        let is_as_long = |(number, cycles): &(u64, u64)| {
            let others = self.program.iter().filter(|(other, _)| other == number);
            others.map(|(_, others)| cycles.abs_diff(*others)).all(|off| off <= within)
        };
        assert!(!stream.is_empty() && stream.iter().all(is_as_long), "{stream:?}, {:?}", self.program);
    }

    fn check_each_alone(&self) {
        for (number, _) in &self.program {
            self.check("planned.vks", &format!("launch={number}"), DRAM_REFRESH);
        }
    }
}

#[test]
fn launches_of_a_stream_take_as_long_as_in_their_program() {
    let timed = Timed::new(Captured::program(), "2");
    timed.check("all.vks", "launch=1..", DRAM_PHASE);
    timed.check_each_alone();
}

#[test]
fn stream_with_textures_takes_the_cycles_of_the_program() {
    let timed = Timed::new(Captured::images(), "2");
    timed.check("all.vks", "launch=1..", DRAM_PHASE);
    timed.check_each_alone();
}

#[test]
fn moved_memory_keeps_the_cycles_of_a_stream() {
    Timed::new(Captured::bounds(), "registered and its end").check_each_alone();
}

#[test]
fn stream_fills_and_copies_take_the_cycles_of_the_program() {
    let captured = Captured::transfers();
    let place = &captured.place;
    let timed = |start: &[&str], file: &str, end: &[&str]| {
        let detailed = ["--mode", "detailed", "--statistics", file];
        let outcome = place.voltsim(&[start, &detailed, end].concat());
        assert_eq!(outcome.status, 0, "{}", outcome.stderr);
        let statistics: Value = serde_json::from_str(&place.read(file)).unwrap();
        let about = |it: &Value| (it["kind"].clone(), it["bytes"].clone(), it["cycles"].as_u64().unwrap());
        statistics["transfers"].as_array().unwrap().iter().map(about).collect::<Vec<_>>()
    };
    let program = timed(&["run"], "program.json", &["--", "./launches"]);
    assert_eq!(program.len(), 4);
    assert_eq!(place.voltsim(&["run", "--image", "all.vks", "--", "./launches"]).status, 0);
    let stream = timed(&["resume", "all.vks"], "stream.json", &[]);
    assert_eq!(program.len(), stream.len());
    for ((kind, bytes, cycles), (kind_2, bytes_2, cycles_2)) in program.iter().zip(&stream) {
        assert_eq!((kind, bytes), (kind_2, bytes_2));
        assert!(cycles.abs_diff(*cycles_2) <= cycles / 100, "{cycles} and {cycles_2} cycles");
    }
    let info = place.voltsim(&["checkpoint", "info", "all.vks"]).stdout;
    assert!(
        info.contains("in device   2, 524288 bytes") && info.contains("fills       2, 287744 bytes"),
        "{info}"
    );
}

#[test]
fn a_stream_has_no_program_and_a_checkpoint_has_one() {
    let captured = streamed();
    let outcome = captured.place.voltsim(&["resume", "all.vks", "--", "true"]);
    assert!(outcome.status == 2 && outcome.stderr.contains("kernel stream"), "{}", outcome.stderr);
    let outcome = captured.place.voltsim(&["resume", "all.vks", "--launches", "nvtx=step"]);
    assert!(outcome.status == 2 && outcome.stderr.contains("--launches"), "{}", outcome.stderr);
    let outcome = captured.place.voltsim(&["resume", "all.vks", "--launches", "launch=100"]);
    assert!(outcome.status == 2 && outcome.stderr.contains("none of the launches"), "{}", outcome.stderr);
    let save = ["run", "--checkpoint", "kernel=2", "-o", "here.vck", "--stop", "--", "./launches", "2"];
    let saved = Captured::program();
    assert_eq!(saved.place.voltsim(&save).status, 0);
    let outcome = saved.place.voltsim(&["resume", "here.vck"]);
    assert!(outcome.status == 2 && outcome.stderr.contains("-- PROGRAM"), "{}", outcome.stderr);
    captured.place.write("other.vck", "something else");
    let outcome = captured.place.voltsim(&["resume", "other.vck"]);
    assert!(outcome.status == 2 && outcome.stderr.contains("no VOLTSIM signature"), "{}", outcome.stderr);
}

#[test]
fn a_damaged_stream_is_an_error_that_names_it() {
    let captured = streamed();
    let mut bytes = fs::read(captured.place.path("all.vks")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    captured.place.write("all.vks", bytes);
    let outcome = captured.place.voltsim(&["resume", "all.vks"]);
    assert_ne!(outcome.status, 0);
    assert!(outcome.stderr.contains("all.vks") && outcome.stderr.contains("remedy"), "{}", outcome.stderr);
}

#[test]
fn unwritable_stream_is_refused_before_the_program_runs() {
    let captured = Captured::program();
    let outcome = captured.place.voltsim(&["run", "--image", "none/all.vks", "--", "./launches", "2"]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (2, ""));
    assert!(outcome.stderr.contains("none/all.vks"), "{}", outcome.stderr);
}

#[test]
fn a_stream_tells_what_it_has() {
    let captured = streamed();
    let outcome = captured.place.voltsim(&["checkpoint", "info", "all.vks"]);
    assert!(
        outcome.stdout.contains("./launches 2") && outcome.stdout.contains("2 of walk"),
        "{}",
        outcome.stdout
    );
    let outcome = captured.place.voltsim(&["checkpoint", "verify", "all.vks"]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (0, "all.vks: whole\n"));
}

#[test]
fn the_first_launch_at_which_two_runs_differ_is_found() {
    let captured = Captured::program();
    let place = &captured.place;
    let stream = |name: &str, divisor: &str, times: &str| {
        let arguments = ["run", "--image", name, "--", "./launches", times];
        let divisor = [("DIVISOR", PathBuf::from(divisor))];
        let voltsim = PathBuf::from(env!("CARGO_BIN_EXE_voltsim"));
        assert_eq!(place.run_with(&voltsim, &arguments, &divisor).status, 0);
    };
    stream("a.vks", "5", "2");
    stream("b.vks", "5", "2");
    let outcome = place.voltsim(&["checkpoint", "diff", "a.vks", "b.vks"]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (0, ""));
    stream("c.vks", "3", "2");
    let outcome = place.voltsim(&["checkpoint", "diff", "a.vks", "c.vks"]);
    assert_eq!(outcome.status, 1);
    assert!(outcome.stdout.starts_with("launch 2 of remainder: parameter"), "{}", outcome.stdout);
    // Left out where the parameter differs, the memory that it leaves is found.
    let only = ["--image-only", "kernel=walk", "--", "./launches", "2"];
    let voltsim = PathBuf::from(env!("CARGO_BIN_EXE_voltsim"));
    for (name, divisor) in [("d.vks", "5"), ("e.vks", "3")] {
        let arguments = [&["run", "--image", name], &only[..]].concat();
        assert_eq!(place.run_with(&voltsim, &arguments, &[("DIVISOR", PathBuf::from(divisor))]).status, 0);
    }
    let outcome = place.voltsim(&["checkpoint", "diff", "d.vks", "e.vks"]);
    assert!(
        outcome.stdout.starts_with("launch 3 of walk: before it, device memory at"),
        "{}",
        outcome.stdout
    );
    stream("f.vks", "5", "1");
    let outcome = place.voltsim(&["checkpoint", "diff", "a.vks", "f.vks"]);
    assert!(outcome.status == 1 && outcome.stdout.contains("launch 4"), "{}", outcome.stdout);
}

#[test]
fn a_plan_has_the_first_two_launches_of_each_kind() {
    let (captured, outcome) = planned();
    let plan: toml::Table = captured.place.read("plan.toml").parse().unwrap();
    let groups = plan["group"].as_array().unwrap();
    let timed = |group: &toml::Value| -> Vec<i64> {
        let timed = group["timed"].as_array().unwrap();
        timed.iter().map(|timed| timed["launch"].as_integer().unwrap()).collect()
    };
    assert_eq!(groups.iter().map(timed).collect::<Vec<_>>(), [vec![1, 4], vec![2, 5], vec![3, 6], vec![61]]);
    assert!(outcome.stdout.contains("7 of 61 launches stand for all"), "{}", outcome.stdout);
}

#[test]
fn more_launches_of_each_kind_can_be_timed() {
    let (_, outcome) = planned_with(&["--representatives", "3"]);
    assert!(outcome.stdout.contains("10 of 61 launches stand for all"), "{}", outcome.stdout);
}

#[test]
fn program_without_launches_keeps_the_old_plan() {
    let (captured, _) = planned();
    let before = captured.place.read("plan.toml");
    let outcome = captured.place.voltsim(&["plan", "--", "true"]);
    assert!(outcome.status == 89 && outcome.stderr.contains("launched no kernel"), "{}", outcome.stderr);
    assert_eq!(captured.place.read("plan.toml"), before);
}

#[test]
fn the_estimate_of_a_sweep_is_near_the_time_of_all_launches() {
    let (captured, _) = planned();
    let place = &captured.place;
    let outcome = place.voltsim(&["sweep", "plan.toml"]);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    let estimate: Value = serde_json::from_str(&place.read("plan.results/estimate.json")).unwrap();
    let estimated = estimate["configurations"][0]["cycles"].as_f64().unwrap();
    let arguments = ["run", "--mode", "detailed", "--statistics", "all.json", "--", "./launches", "20"];
    assert_eq!(place.voltsim(&arguments).status, 0);
    let all = cycles(place, "all.json").iter().map(|it| it.1).sum::<u64>() as f64;
    assert!((estimated / all - 1.0).abs() < 0.05, "{estimated} of {all}");
    // Between launches are the copies to the device, four of five.
    let statistics: Value = serde_json::from_str(&place.read("all.json")).unwrap();
    let last = statistics["launches"].as_array().unwrap().last().unwrap();
    let between = last["start"].as_f64().unwrap() + last["cycles"].as_f64().unwrap() - all;
    let copies = estimate["configurations"][0]["copies"].as_f64().unwrap();
    assert!((copies / between / 1.25 - 1.0).abs() < 0.05, "{copies}, {between}");
    let simulated = estimate["configurations"][0]["timed"].as_f64().unwrap();
    assert!(simulated < 0.15 * all, "{simulated} of {all}");
    // The part of the instructions is that of the launches which were timed, in all of the program's.
    let launches = statistics["launches"].as_array().unwrap();
    let instructions = |launch: &Value| launch["counters"]["sm.ptx_instructions"].as_f64().unwrap();
    let whole: f64 = launches.iter().map(instructions).sum();
    let groups = estimate["configurations"][0]["groups"].as_array().unwrap().iter();
    let timed = groups.flat_map(|group| group["timed"].as_array().unwrap());
    let launch_of = |timed: &Value| launches.iter().find(|launch| launch["launch"] == timed["launch"]);
    let timed: f64 = timed.map(|timed| instructions(launch_of(timed).unwrap())).sum();
    let work = estimate["configurations"][0]["work"].as_f64().unwrap();
    assert!((work * whole / timed - 1.0).abs() < 0.02, "{work}: {timed} of {whole}");
}

#[test]
fn the_estimate_of_a_launch_has_what_that_launches() {
    let captured = Captured::nested();
    let place = &captured.place;
    assert_eq!(place.voltsim(&["plan", "--", "./launches"]).status, 0);
    assert_eq!(place.voltsim(&["sweep", "plan.toml"]).status, 0);
    let estimate: Value = serde_json::from_str(&place.read("plan.results/estimate.json")).unwrap();
    let estimated = estimate["configurations"][0]["cycles"].as_f64().unwrap();
    let timed = ["run", "--mode", "detailed", "--statistics", "all.json", "--", "./launches"];
    assert_eq!(place.voltsim(&timed).status, 0);
    let cycles = cycles(place, "all.json");
    let (parent, all) = (cycles[0].1, cycles.iter().map(|it| it.1).sum::<u64>() as f64);
    assert!((estimated / all - 1.0).abs() < 0.01 && all > 2.0 * parent as f64, "{estimated} of {all}");
}

#[test]
fn sweep_times_the_needed_launches_or_with_all_every_one() {
    let (captured, _) = planned();
    let place = &captured.place;
    let timed = |options: &[&str]| {
        let outcome = place.voltsim(&[&["sweep", "plan.toml"], options].concat());
        assert_eq!(outcome.status, 0, "{}", outcome.stderr);
        results(place).len()
    };
    // One launch tells that much of the others, of other kernels too.
    assert_eq!(timed(&["--within", "90%"]), 1);
    assert_eq!(timed(&["--within", "0%", "--budget", "0%"]), 1);
    assert_eq!(timed(&["--all"]), 7);
    let outcome = place.voltsim(&["sweep", "plan.toml", "--within", "near"]);
    assert!(outcome.status == 2 && outcome.stderr.contains("such as 5%"), "{}", outcome.stderr);
}

#[test]
fn sweep_runs_missing_jobs_alone_with_equal_results() {
    let (captured, _) = planned();
    let place = &captured.place;
    let first = place.voltsim(&["sweep", "plan.toml", "--all", "-j", "1"]);
    assert_eq!(first.status, 0, "{}", first.stderr);
    let (before, estimate) = (results(place), place.read("plan.results/estimate.json"));
    assert_eq!(before.len(), 7);
    let lost = &before[3].0;
    let contents = fs::read(lost).unwrap();
    fs::remove_file(lost).unwrap();
    let again = place.voltsim(&["sweep", "plan.toml", "--all", "-j", "2"]);
    assert_eq!((again.status, again.stdout), (0, first.stdout));
    let after = results(place);
    assert_eq!(before.iter().zip(&after).filter(|(before, after)| before == after).count(), 6);
    assert_eq!(fs::read(lost).unwrap(), contents);
    assert_eq!(place.read("plan.results/estimate.json"), estimate);
    // Another GPU has jobs of its own.
    let other = place.voltsim(&["sweep", "plan.toml", "--gpu", "v100", "--list"]);
    assert_eq!(other.stdout.matches("to do").count(), 7, "{}", other.stdout);
}

#[test]
fn failed_job_is_named_with_its_log_and_repeated() {
    let (captured, _) = planned();
    let place = &captured.place;
    let voltsim = PathBuf::from(env!("CARGO_BIN_EXE_voltsim"));
    let device = [("VOLTSIM_DEVICE", PathBuf::from("none"))];
    let outcome = place.run_with(&voltsim, &["sweep", "plan.toml", "--all"], &device);
    assert_eq!(outcome.status, 1, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("7 of 7 jobs are missing"), "{}", outcome.stderr);
    let log = outcome.stderr.split_once(" has no result; ").unwrap().1.split_once(" says why").unwrap().0;
    assert!(fs::read_to_string(log).unwrap().contains("no GPU `none`"), "{log}");
    assert_eq!(place.voltsim(&["sweep", "plan.toml"]).status, 0);
}

#[test]
fn exploration_confirms_the_best_configurations_in_detail() {
    let (captured, _) = planned();
    let place = &captured.place;
    let arguments = ["sweep", "plan.toml", "--vary", "l2.latency=100..400", "--explore", "hybrid-memory"];
    let outcome = place.voltsim(&[&arguments[..], &["--best", "2"]].concat());
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    let heading = "3 configurations in mode hybrid-memory, the best 2 in mode detailed:";
    assert!(outcome.stdout.starts_with(heading), "{}", outcome.stdout);
    let names = |file: &str| -> Vec<String> {
        let estimate: serde_json::Value = serde_json::from_str(&place.read(file)).unwrap();
        let all = estimate["configurations"].as_array().unwrap().clone();
        all.iter().map(|it| it["configuration"].as_str().unwrap().to_owned()).collect()
    };
    let explored = names("plan.results/explored.json");
    assert!(
        explored.len() == 3 && explored.iter().all(|name| name.ends_with(" hybrid-memory")),
        "{explored:?}"
    );
    // A longer latency never makes a program faster.
    let confirmed = names("plan.results/estimate.json");
    assert!(
        confirmed[0].ends_with("l2.latency=100") && confirmed[1].ends_with("l2.latency=200"),
        "{confirmed:?}"
    );
    // Every result is kept.
    let jobs = results(place).len();
    assert_eq!(place.voltsim(&[&arguments[..], &["--best", "2"]].concat()).stdout, outcome.stdout);
    assert_eq!(results(place).len(), jobs);
}

#[test]
fn control_variate_times_all_launches_in_the_fast_mode() {
    let (captured, _) = planned();
    let place = &captured.place;
    let outcome = place.voltsim(&["sweep", "plan.toml", "--control", "hybrid-memory", "--within", "50%"]);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    let estimate: serde_json::Value =
        serde_json::from_str(&place.read("plan.results/estimate.json")).unwrap();
    let detailed: usize = estimate["configurations"][0]["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| group["timed"].as_array().unwrap().len())
        .sum();
    assert_eq!(results(place).len(), 7 + detailed);
    let outcome = place.voltsim(&["sweep", "plan.toml", "--control", "hybrid-memory", "--all"]);
    assert!(outcome.status == 2 && outcome.stderr.contains("--all"), "{}", outcome.stderr);
}

#[test]
fn wrong_exploration_is_refused() {
    let (captured, _) = planned();
    for (options, said) in [
        (&["--explore", "functional"][..], "write detailed, hybrid-alu or hybrid-memory"),
        (&["--explore", "hybrid-alu", "--mode", "detailed"], "--confirm"),
        (&["--best", "3"], "--explore"),
        (&["--vary", "l1.size=9..2KiB"], "the start is above the end"),
        (&["--vary", "l1.sice=2|4", "--explore", "hybrid-alu"], "l1.sice"),
    ] {
        let outcome = captured.place.voltsim(&[&["sweep", "plan.toml"], options].concat());
        assert!(outcome.status == 2 && outcome.stderr.contains(said), "{options:?}: {}", outcome.stderr);
    }
}

#[test]
fn a_sweep_can_be_an_array_of_slurm() {
    let (captured, _) = planned();
    let place = &captured.place;
    let here = place.voltsim(&["sweep", "plan.toml", "--all", "-o", "here"]);
    // Does the tasks of an array one after the other, and loses the first of them once.
    let sbatch = r#"#!/bin/bash
for argument; do
    case "$argument" in
        --array=*) array="${argument#--array=}" ;;
        --wrap=*) task="${argument#--wrap=}" ;;
    esac
done
echo "$@" >> calls
for range in ${array//,/ }; do
    range="${range%\%*}"
    for number in $(seq "${range%-*}" "${range#*-}"); do
        if [ -e lost ]; then SLURM_ARRAY_TASK_ID=$number bash -c "$task" || status=1; else touch lost; fi
    done
done
exit ${status:-0}
"#;
    fs::create_dir(place.path("bin")).unwrap();
    place.write("bin/sbatch", sbatch);
    fs::set_permissions(place.path("bin/sbatch"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", place.path("bin").display(), std::env::var("PATH").unwrap());
    let arguments = ["sweep", "plan.toml", "--all", "--slurm", "-j", "3", "--slurm-option=--partition=night"];
    let voltsim = PathBuf::from(env!("CARGO_BIN_EXE_voltsim"));
    let outcome = place.run_with(&voltsim, &arguments, &[("PATH", PathBuf::from(path))]);
    assert_eq!((outcome.status, &outcome.stdout), (0, &here.stdout), "{}", outcome.stderr);
    let calls = place.read("calls");
    let calls: Vec<&str> = calls.lines().collect();
    assert!(
        calls[0].contains("--array=0-6%3 --wait") && calls[0].contains("--partition=night"),
        "{}",
        calls[0]
    );
    assert!(calls[1].contains("--array=0%3"), "{}", calls[1]);
    assert_eq!(place.read("plan.results/estimate.json"), place.read("here/estimate.json"));
}

#[test]
fn without_slurm_a_sweep_for_it_says_so() {
    let (captured, _) = planned();
    let voltsim = PathBuf::from(env!("CARGO_BIN_EXE_voltsim"));
    let path = [("PATH", PathBuf::from("/nowhere"))];
    let outcome = captured.place.run_with(&voltsim, &["sweep", "plan.toml", "--slurm"], &path);
    assert!(outcome.status == 2 && outcome.stderr.contains("sbatch"), "{}", outcome.stderr);
}
