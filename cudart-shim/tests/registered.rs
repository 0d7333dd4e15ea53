//! Saved and resumed runs of a program whose registered memory has different addresses in each run.

#![allow(clippy::expect_used)]

mod common;

use common::steps::{Place, command, compiled, text};
use std::path::PathBuf;
use std::sync::OnceLock;

/// Allocation size that leads to another heap layout than [`OTHER`].
const USUAL: &str = "16";
const OTHER: &str = "50000";

/// Runs `registered`. Returns its exit status, output and messages.
fn run(arguments: &[&str], settings: &[(&str, &str)]) -> (Option<i32>, String, String) {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| compiled("registered"));
    let output = command(program).args(arguments).envs(settings.iter().copied()).output();
    let output = output.expect("the program starts");
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Messages of a run that cannot resume.
fn refusal(arguments: &[&str], file: &str) -> String {
    let (status, printed, said) = run(arguments, &[("VOLTSIM_RESUME", file)]);
    assert_ne!(status, Some(0), "{printed}{said}");
    said
}

/// Saves a run at a point. Returns the file and the run's result.
fn saved(place: &Place, arguments: &[&str], point: &str) -> (String, (Option<i32>, String, String)) {
    let file = place.path("here.vck");
    let run = run(arguments, &[("VOLTSIM_CHECKPOINT", point), ("VOLTSIM_CHECKPOINT_FILE", &file)]);
    assert_eq!(run.0, Some(0), "{}", run.2);
    (file, run)
}

#[test]
fn registered_memory_may_move() {
    let place = Place::new();
    let late = place.path("late.vck");
    let undisturbed = run(&[USUAL], &[]);
    assert_eq!((undisturbed.0, undisturbed.2.as_str()), (Some(0), ""));
    // The program registers other memory before its fourth launch.
    for point in ["kernel=1", "kernel=2", "kernel=4", "kernel=6"] {
        let (file, run_saved) = saved(&place, &[USUAL], point);
        assert_eq!(run_saved, undisturbed, "saved at {point}");
        let again = [
            ("VOLTSIM_RESUME", file.as_str()),
            ("VOLTSIM_CHECKPOINT", "kernel=6"),
            ("VOLTSIM_CHECKPOINT_FILE", &late),
        ];
        assert_eq!(run(&[OTHER], &again), undisturbed, "resumed at {point}");
        let twice = run(&[USUAL], &[("VOLTSIM_RESUME", &late)]);
        assert_eq!(twice, undisturbed, "resumed at {point} and 6");
    }
}

#[test]
fn stored_address_of_moved_registered_memory_is_found() {
    let place = Place::new();
    for (mode, told) in [("keep", "memory of device 0"), ("tell", "the result of step 1 on the host")] {
        // At the first of these points the memory is still registered.
        for point in ["kernel=3", "kernel=5"] {
            let (file, _) = saved(&place, &[USUAL, mode], point);
            let said = refusal(&[OTHER, mode], &file);
            assert!(said.contains("another address than") && said.contains(told), "{mode}, {point}: {said}");
        }
    }
}

#[test]
fn launch_in_flight_is_rejected_if_registered_memory_moved() {
    let place = Place::new();
    let (file, _) = saved(&place, &[USUAL], "kernel=5,cta=0,ctas=1,instructions=2");
    let said = refusal(&[OTHER], &file);
    assert!(said.contains("another address than") && said.contains("a launch in flight"), "{said}");
}

#[test]
fn host_addresses_are_those_of_the_resumed_run() {
    let place = Place::new();
    let (file, undisturbed) = saved(&place, &[USUAL, "around"], "kernel=5");
    assert_eq!(run(&[OTHER, "around"], &[("VOLTSIM_RESUME", &file)]), undisturbed);
}

#[test]
fn stale_registered_address_is_a_differing_argument() {
    let place = Place::new();
    let (file, (_, _, told)) = saved(&place, &[USUAL, "number"], "kernel=3");
    let said = refusal(&[OTHER, "number", told.trim()], &file);
    assert!(said.contains("launch 1, kernel keep") && said.contains("remedy"), "{said}");
}

#[test]
fn differing_registration_size_stops_the_run() {
    let place = Place::new();
    let (file, _) = saved(&place, &[USUAL], "kernel=3");
    let said = refusal(&[USUAL, "less"], &file);
    assert!(
        said.contains("registration 1 with device 0 had 4000 bytes when saved and has 3992 bytes now"),
        "{said}"
    );
}
