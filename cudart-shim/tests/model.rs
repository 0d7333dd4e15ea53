//! The timing model within a program's libraries (`VOLTSIM_MODE=detailed`).

#![allow(clippy::expect_used)]

mod common;

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Output;

/// Problem size of the program.
const COUNT: &str = "16384";

/// A program of `tests/settings`.
fn program(name: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/settings").join(name).with_extension("c");
    common::compile(&source).expect("the program compiles")
}

/// Runs a program of `tests/settings` with an optional argument on the smallest GPU, unless the
/// settings change it.
fn run(line: &str, settings: &[(&str, &str)]) -> Output {
    let mut words = line.split(' ');
    let mut command = common::command(&program(words.next().unwrap_or_default()));
    command.args(words);
    command.envs([("VOLTSIM_MODE", "detailed"), ("VOLTSIM_GPU", "tiny")]).envs(settings.iter().copied());
    command.output().expect("the program starts")
}

/// Output of a run and its statistics.
fn statistics(file: &str, settings: &[(&str, &str)]) -> (String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(file);
    let named = ("VOLTSIM_STATISTICS", path.to_str().expect("a name in UTF-8"));
    let output = run("timed", &[settings, &[named]].concat());
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
    (text(&output.stdout), std::fs::read_to_string(path).expect("the statistics"))
}

fn launches(settings: &[(&str, &str)]) -> Vec<Value> {
    let (_, bytes) = statistics("run.json", settings);
    let all: Value = serde_json::from_str(&bytes).expect("JSON");
    all["launches"].as_array().expect("launches").clone()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn statistics_list_each_launch_with_counters() {
    let launches = launches(&[]);
    let kernels: Vec<_> = launches.iter().map(|launch| launch["kernel"].as_str()).collect();
    assert_eq!(kernels, [Some("add_one"), Some("add_one"), Some("add_one"), Some("store")]);
    for launch in &launches[..3] {
        assert_eq!(launch["grid"], serde_json::json!([64, 1, 1]));
        assert!(launch["cycles"].as_u64() > Some(100), "{launch}");
        // 512 warps of 10 to 16 machine instructions each.
        let issued = launch["warp_instructions"].as_u64().expect("a number");
        assert!((512 * 10..=512 * 16).contains(&issued), "{issued}");
    }
    assert!(launches[3]["warp_instructions"].as_u64() < Some(10));
}

#[test]
fn ptx_instruction_count_matches_functional_mode() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("summary.json");
    let summary = path.to_str().expect("a name in UTF-8");
    run("timed", &[("VOLTSIM_MODE", "functional"), ("VOLTSIM_SUMMARY", summary)]);
    let written = std::fs::read(&path).expect("the summary");
    let summary: Value = serde_json::from_slice(&written).expect("JSON");
    for executed in summary["kernels"].as_array().expect("kernels") {
        let of_kernel = |launch: &&Value| launch["kernel"] == executed["name"];
        let (mut ptx, mut machine) = (0, 0);
        for launch in launches(&[]).iter().filter(of_kernel) {
            ptx += launch["counters"]["sm.ptx_instructions"].as_u64().expect("a number");
            machine += launch["counters"]["sm.warp_instructions"].as_u64().expect("a number");
        }
        assert_eq!(Some(ptx), executed["warp_instructions"].as_u64(), "{executed}");
        assert_ne!(ptx, machine, "{executed}");
    }
}

#[test]
fn unselected_launches_are_executed_untimed() {
    let chosen = launches(&[("VOLTSIM_ONLY", "kernel=add*,launch=2..3")]);
    let numbers: Vec<_> = chosen.iter().map(|launch| launch["launch"].as_u64()).collect();
    assert_eq!(numbers, [Some(2), Some(3)]);
    let output = run("timed", &[("VOLTSIM_ONLY", "launch=2..3")]);
    assert_eq!(text(&output.stdout).lines().last(), Some(COUNT));
}

#[test]
fn results_and_statistics_do_not_depend_on_threads() {
    let first = statistics("run.json", &[("VOLTSIM_THREADS", "1")]);
    assert_eq!(first, statistics("run.json", &[("VOLTSIM_THREADS", "2")]));
    assert_eq!(first, statistics("run.json", &[("VOLTSIM_THREADS", "1")]));
}

#[test]
fn results_do_not_depend_on_statistics() {
    assert_eq!(statistics("run.csv", &[]).0, text(&run("timed", &[]).stdout));
}

#[test]
fn events_measure_simulated_launch_time() {
    let (printed, bytes) = statistics("run.json", &[]);
    let all: Value = serde_json::from_str(&bytes).expect("JSON");
    let clocks = timing::specification::GpuSpec::built_in("tiny").expect("the GPU").clocks;
    let megahertz = f64::from(clocks.core);
    for (launch, milliseconds) in printed.lines().take(3).enumerate() {
        let cycles = all["launches"][launch]["cycles"].as_f64().expect("a number");
        let measured: f64 = milliseconds.parse().expect("a number");
        let expected = cycles / megahertz / 1000.0;
        assert!(
            (measured / expected - 1.0).abs() < 0.01,
            "{measured} ms of {cycles} cycles at {megahertz} MHz"
        );
    }
}

/// Milliseconds that the program `beside` prints for each measurement, and its last line.
fn beside(settings: &[(&str, &str)]) -> (BTreeMap<String, f64>, String) {
    let output = run("beside", settings);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    let (times, last) = printed.trim_end().rsplit_once('\n').expect("lines");
    let time = |line: &str| {
        let (what, milliseconds) = line.rsplit_once(' ').expect("a time");
        (what.to_owned(), milliseconds.parse().expect("a number"))
    };
    (times.lines().map(time).collect(), last.to_owned())
}

#[test]
fn launches_and_copies_of_streams_overlap() {
    let (times, last) = beside(&[]);
    let ratio = |what: &str, to: &str| times[what] / times[to];
    assert!((1.0..1.01).contains(&ratio("two", "one")), "{times:?}");
    assert!((1.99..2.01).contains(&ratio("after", "one")), "{times:?}");
    assert!((1.0..1.01).contains(&ratio("launch and copy", "one")), "{times:?}");
    assert_eq!(last, "counted 9 asked 1");
}

#[test]
fn blocking_launches_are_timed_serially() {
    let (times, _) = beside(&[("CUDA_LAUNCH_BLOCKING", "1")]);
    assert!((1.99..2.01).contains(&(times["two"] / times["one"])), "{times:?}");
}

#[test]
fn copies_in_one_direction_share_the_bus() {
    let (times, _) = beside(&[]);
    let ratio = times["copies"] / times["copy"];
    assert!((1.9..2.0).contains(&ratio), "{times:?}");
}

#[test]
fn concurrent_timing_is_deterministic() {
    let first = beside(&[("VOLTSIM_THREADS", "1")]);
    for threads in ["1", "2", "2"] {
        assert_eq!(first, beside(&[("VOLTSIM_THREADS", threads)]));
    }
}

#[test]
fn fault_in_concurrent_work_belongs_to_its_launch() {
    let output = run("beside fault", &[]);
    assert_eq!(text(&output.stdout), "700\n");
    let said = text(&output.stderr);
    // The only other output is the summary of the preceding fill.
    assert_eq!(said.lines().position(|line| line.starts_with("voltsim: tiny: ")), Some(1), "{said}");
    assert!(said.contains("illegal address 0x10, 4 bytes in kernel wild"), "{said}");
}

#[test]
fn slower_core_clock_takes_more_time() {
    let first = |settings: &[(&str, &str)]| -> f64 {
        let output = run("timed", settings);
        text(&output.stdout).lines().next().and_then(|line| line.parse().ok()).expect("a time")
    };
    let slow = first(&[("VOLTSIM_SET", "clocks.core=500")]);
    let fast = first(&[("VOLTSIM_SET", "clocks.core=1000")]);
    assert!((1.2..=2.1).contains(&(slow / fast)), "{slow} ms at 500 MHz, {fast} ms at 1000 MHz");
}

#[test]
fn program_without_launches_keeps_existing_statistics() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.json");
    std::fs::write(&path, "of another").expect("a file");
    run("device_name", &[("VOLTSIM_STATISTICS", path.to_str().expect("a name in UTF-8"))]);
    assert_eq!(std::fs::read_to_string(path).expect("the file"), "of another");
}

#[test]
fn invalid_settings_are_reported_with_valid_values() {
    let wrong = [
        ("VOLTSIM_MODE", "detaild", "VOLTSIM_MODE=detaild: must be functional or detailed"),
        ("VOLTSIM_GPU", "titan-x", "titan-x"),
        ("VOLTSIM_GPU", "/none/gpu.toml", "/none/gpu.toml"),
        ("VOLTSIM_SET", "l1.setz=4", "l1.setz"),
        ("VOLTSIM_ONLY", "launch=5..x", "launch=5..x"),
    ];
    for (name, value, told) in wrong {
        let output = run("device_name", &[(name, value)]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{name}={value}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.contains(name) && said.contains(told), "{said}");
    }
}

#[test]
fn recording_failure_is_reported_once() {
    let functional = ("VOLTSIM_MODE", "functional");
    let output = run("timed", &[functional, ("VOLTSIM_RECORD", "/none")]);
    let said = text(&output.stderr);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("VOLTSIM_RECORD: cannot record in /none"), "{said}");
    assert_eq!(text(&output.stdout).lines().last(), Some(COUNT));
    let output = run("timed", &[functional, ("VOLTSIM_RECORD", "/none"), ("VOLTSIM_RECORD_FORMAT", "sass")]);
    let said = text(&output.stderr);
    assert!(said.contains("VOLTSIM_RECORD_FORMAT=sass: must be recording or accelsim"), "{said}");
    assert_eq!(text(&output.stdout).lines().last(), Some(COUNT));
}

#[test]
fn second_process_does_not_overwrite_recordings() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("a name in UTF-8");
    let settings = [("VOLTSIM_MODE", "functional"), ("VOLTSIM_RECORD", path), ("VOLTSIM_ONLY", "launch=2")];
    assert_eq!(text(&run("timed", &settings).stderr), "");
    let read = |name: &str| std::fs::read(folder.path().join(name)).expect("the file");
    let first = ["kernel-2.vrec", "kernelslist.g"].map(read);
    let again = run("timed", &settings);
    assert!(text(&again.stderr).contains("recording stops"), "{}", text(&again.stderr));
    assert_eq!(text(&again.stdout).lines().last(), Some(COUNT));
    assert_eq!(["kernel-2.vrec", "kernelslist.g"].map(read), first);
}

#[test]
fn unwritable_statistics_file_is_reported_by_name() {
    let output = run("timed", &[("VOLTSIM_STATISTICS", "/none/run.json")]);
    let said = text(&output.stderr);
    assert!(said.contains("VOLTSIM_STATISTICS: cannot write /none/run.json"), "{said}");
    assert_eq!(text(&output.stdout).lines().last(), Some(COUNT));
}
