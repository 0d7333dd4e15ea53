//! Resumed runs with different memory requests.

#![allow(clippy::expect_used)]

mod common;

use common::steps::{Place, command, compiled, text};
use saved_run::{SavedRun, differences};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::OnceLock;

/// Request sizes in bytes of the saved run.
const SAVED: [&str; 5] = ["5000", "5000", "5000", "5000", "5000"];

fn run(sizes: [&str; 5], settings: &[(&str, &str)]) -> Output {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| compiled("requests"));
    command(program).args(sizes).envs(settings.iter().copied()).output().expect("the program starts")
}

/// Result of a run with these sizes, resumed before the second launch.
fn resumed(sizes: [&str; 5]) -> Output {
    let place = Place::new();
    let file = place.path("here.vck");
    let saved = run(SAVED, &[("VOLTSIM_CHECKPOINT", "kernel=2"), ("VOLTSIM_CHECKPOINT_FILE", &file)]);
    assert_eq!((text(&saved.stdout).as_str(), text(&saved.stderr).as_str()), ("10\n", ""));
    run(sizes, &[("VOLTSIM_RESUME", &file)])
}

/// Messages of a run with these sizes that cannot resume.
fn refusal(sizes: [&str; 5]) -> String {
    let output = resumed(sizes);
    assert_ne!(output.status.code(), Some(0), "{}", text(&output.stdout));
    text(&output.stderr)
}

#[test]
fn differing_allocation_is_reported_with_both_sizes() {
    let said = refusal(["6000", "5000", "5000", "5000", "5000"]);
    assert!(said.contains("Device allocation 1 was of 5000 bytes, now of 6000 bytes"), "{said}");
}

#[test]
fn differing_allocation_is_reported_before_moved_ones() {
    let said = refusal(["50000", "5000", "5000", "5000", "5000"]);
    assert!(said.contains("Device allocation 1 was of 5000 bytes, now of 50000 bytes"), "{said}");
}

#[test]
fn differing_freed_allocation_stops_the_run() {
    let said = refusal(["5000", "5000", "6000", "5000", "5000"]);
    assert!(said.contains("Device allocation 3 was of 5000 bytes, now of 6000 bytes"), "{said}");
}

#[test]
fn differing_host_allocation_stops_the_run() {
    let said = refusal(["5000", "5000", "5000", "6000", "5000"]);
    assert!(said.contains("Host allocation 1 was of 5000 bytes, now of 6000 bytes"), "{said}");
}

#[test]
fn checkpoints_differ_by_allocations_freed_before() {
    let place = Place::new();
    let [one, other] = [SAVED, ["5000", "5000", "6000", "5000", "5000"]].map(|sizes| {
        let file = place.path(&format!("{}.vck", sizes[2]));
        run(sizes, &[("VOLTSIM_CHECKPOINT", "kernel=2"), ("VOLTSIM_CHECKPOINT_FILE", &file)]);
        SavedRun::open(Path::new(&file)).expect("a checkpoint")
    });
    let found = differences(&one, &other).expect("both are read");
    let told = "device 0: Device allocation 3 has 5000 bytes and 6000 bytes";
    assert!(found.iter().any(|difference| difference == told), "{found:?}");
}

#[test]
fn allocation_after_the_point_may_differ() {
    let output = resumed(["5000", "5000", "5000", "5000", "6000"]);
    assert_eq!((text(&output.stdout).as_str(), text(&output.stderr).as_str()), ("10\n", ""));
}
