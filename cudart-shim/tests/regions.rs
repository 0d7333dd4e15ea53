//! Timing a part of a program: selection by markers or CTAs, and warm caches.

#![allow(clippy::expect_used)]

mod common;

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Problem size of the programs.
const COUNT: &str = "16384";

/// A program of `tests/settings` on the smallest GPU, with NVTX ranges.
fn command(name: &str, settings: &[(&str, &str)]) -> Command {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/settings").join(name).with_extension("c");
    let mut command = common::command(&common::compile(&source).expect("the program compiles"));
    command.envs([("VOLTSIM_MODE", "detailed"), ("VOLTSIM_GPU", "tiny")]).envs(settings.iter().copied());
    command.env("NVTX_INJECTION64_PATH", common::libraries().join("libvoltsim_core.so"));
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Statistics of a run whose results are checked, as written.
fn written(name: &str, settings: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let path: PathBuf = folder.path().join("run.json");
    let Output { status, stdout, stderr } =
        command(name, settings).env("VOLTSIM_STATISTICS", &path).output().expect("the program starts");
    assert_eq!((status.code(), text(&stderr)), (Some(0), String::new()));
    assert_eq!(text(&stdout).lines().last(), Some(COUNT), "{settings:?}");
    std::fs::read_to_string(path).unwrap_or_default()
}

fn launches(name: &str, settings: &[(&str, &str)]) -> Vec<Value> {
    let all: Value = serde_json::from_str(&written(name, settings)).expect("JSON");
    all["launches"].as_array().expect("launches").clone()
}

/// Numbers of the launches timed by a selection.
fn chosen(only: &str) -> Vec<u64> {
    let launches = launches("regions", &[("VOLTSIM_ONLY", only)]);
    launches.iter().filter_map(|launch| launch["launch"].as_u64()).collect()
}

fn number(launch: &Value, name: &str) -> u64 {
    launch[name].as_u64().expect("a number")
}

#[test]
fn only_launches_within_the_nvtx_range_are_timed() {
    assert_eq!(chosen("nvtx=step 2"), [3, 4]);
    assert_eq!(chosen("nvtx=step*"), [2, 3, 4]);
    assert_eq!(chosen("nvtx=epoch,launch=3.."), [3, 4]);
}

#[test]
fn process_range_applies_to_all_threads() {
    assert_eq!(chosen("nvtx=free"), [6]);
}

#[test]
fn operator_is_selected_by_name() {
    assert_eq!(chosen("operator=conv2d"), [10]);
}

#[test]
fn statistics_name_the_ranges_of_each_launch() {
    let all: Value = serde_json::from_str(&written("regions", &[])).expect("JSON");
    let ranges = |place: usize| all["launches"][place]["ranges"].clone();
    assert_eq!(ranges(0), Value::Null);
    assert_eq!(ranges(1), json!(["epoch", "step 1"]));
    assert_eq!([ranges(5), ranges(9)], [json!(["free"]), json!(["aten::conv2d"])]);
    let launches = |path: Value| {
        let sums = all["ranges"].as_array().expect("sums");
        sums.iter().find(|sum| sum["path"] == path).map(|sum| sum["launches"].clone())
    };
    // Another thread's launch inside the epoch is in no range.
    assert_eq!(launches(json!(["epoch"])), Some(json!(3)));
    assert_eq!(launches(json!(["epoch", "step 2"])), Some(json!(2)));
}

#[test]
fn only_profiled_launches_are_timed() {
    assert_eq!(chosen("profiler=on"), [8]);
}

#[test]
fn launches_are_recorded_by_markers() {
    let folder = tempfile::tempdir().expect("a folder");
    let record = folder.path().to_str().expect("a name in UTF-8");
    let settings =
        [("VOLTSIM_MODE", "functional"), ("VOLTSIM_RECORD", record), ("VOLTSIM_ONLY", "nvtx=step 2")];
    let output = command("regions", &settings).output().expect("the program starts");
    assert_eq!(text(&output.stdout).lines().last(), Some(COUNT));
    let mut files: Vec<_> = std::fs::read_dir(folder.path()).expect("the folder").flatten().collect();
    files.sort_by_key(std::fs::DirEntry::file_name);
    let names: Vec<_> = files.iter().map(|file| file.file_name()).collect();
    assert_eq!(names, ["kernel-3.vrec", "kernel-4.vrec", "kernelslist.g"]);
}

#[test]
fn launch_after_warm_up_takes_as_long_as_in_a_full_run() {
    let third = |settings: &[(&str, &str)]| {
        let launches = launches("regions", settings);
        launches.iter().find(|launch| launch["launch"] == 3).expect("the launch").clone()
    };
    let only = ("VOLTSIM_ONLY", "launch=3");
    let (full, warm) = (third(&[]), third(&[only, ("VOLTSIM_WARM_UP", "launches=1")]));
    let [all, partial] = [&full, &warm].map(|launch| number(launch, "cycles") as f64);
    assert!((partial / all - 1.0).abs() < 0.05, "{partial} cycles instead of {all}");
}

#[test]
fn cta_selection_times_some_and_executes_all() {
    for warm_up in ["ctas=0", "ctas=8", "launches=1"] {
        let settings = [("VOLTSIM_ONLY", "launch=4,ctas=24..39"), ("VOLTSIM_WARM_UP", warm_up)];
        let launches = launches("regions", &settings);
        let issued: Vec<_> = launches.iter().map(|launch| number(launch, "warp_instructions")).collect();
        let whole = self::launches("regions", &[("VOLTSIM_ONLY", "launch=4")]);
        // 16 of 64 equal CTAs.
        assert_eq!(issued, [number(&whole[0], "warp_instructions") / 4], "{warm_up}");
    }
}

#[test]
fn launch_without_the_selected_ctas_is_not_timed() {
    assert_eq!(chosen("ctas=64..,launch=2"), Vec::<u64>::new());
}

#[test]
fn partial_timing_is_deterministic() {
    let run = |threads| {
        let settings = [
            ("VOLTSIM_ONLY", "nvtx=step*,ctas=10..50"),
            ("VOLTSIM_WARM_UP", "launches=2,ctas=20"),
            ("VOLTSIM_THREADS", threads),
        ];
        written("regions", &settings)
    };
    let first = run("1");
    assert!(first.contains("add_one"));
    assert_eq!(first, run("2"));
    assert_eq!(first, run("1"));
}

#[test]
fn missing_nvtx_ranges_are_reported() {
    let output = command("timed", &[("VOLTSIM_ONLY", "nvtx=step")]).output().expect("the program starts");
    assert_eq!(text(&output.stdout).lines().last(), Some(COUNT));
    let said = text(&output.stderr);
    assert!(said.contains("no launch was chosen") && said.contains("NVTX_INJECTION64_PATH"), "{said}");
}

#[test]
fn invalid_warm_up_is_reported_by_name() {
    let output =
        command("device_name", &[("VOLTSIM_WARM_UP", "kernels=1")]).output().expect("the program starts");
    let said = text(&output.stderr);
    assert!(said.contains("VOLTSIM_WARM_UP") && said.contains("launches=N"), "{said}");
}
