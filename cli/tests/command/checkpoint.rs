//! `voltsim run --checkpoint`, `voltsim resume` and `voltsim checkpoint`, as a user meets them.
//! Tests of the libraries hold the contents of checkpoints.

use super::launches::{Captured, SUM};
use super::{Outcome, Workplace};

/// The program in its place, saved before its second launch.
fn saved() -> Captured {
    let captured = Captured::program();
    let arguments = ["run", "--checkpoint", "kernel=2", "-o", "here.vck", "--", "./launches", "2"];
    let outcome = captured.place.voltsim(&arguments);
    assert_eq!((outcome.status, outcome.stdout.as_str(), outcome.stderr.as_str()), (0, SUM, ""));
    captured
}

#[test]
fn a_saved_run_is_resumed_with_the_same_output() {
    let captured = saved();
    let outcome = captured.place.voltsim(&["resume", "here.vck", "--", "./launches", "2"]);
    assert_eq!((outcome.status, outcome.stdout.as_str(), outcome.stderr.as_str()), (0, SUM, ""));
}

#[test]
fn a_resumed_run_can_be_timed_from_the_point_on() {
    let captured = saved();
    let arguments = [
        "resume",
        "here.vck",
        "--mode",
        "detailed",
        "--gpu",
        "tiny",
        "--statistics",
        "run.json",
        "--",
        "./launches",
        "2",
    ];
    let outcome = captured.place.voltsim(&arguments);
    // The smallest GPU has fewer SMs than the device that the program saw when it was saved.
    assert_ne!(outcome.status, 0);
    assert!(
        outcome.stderr.contains("this run has") && outcome.stderr.contains("remedy"),
        "{}",
        outcome.stderr
    );
    let arguments =
        ["resume", "here.vck", "--mode", "detailed", "--statistics", "run.json", "--", "./launches", "2"];
    let outcome = captured.place.voltsim(&arguments);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (0, SUM), "{}", outcome.stderr);
    let statistics: serde_json::Value = serde_json::from_str(&captured.place.read("run.json")).unwrap();
    let launches = statistics["launches"].as_array().unwrap();
    assert_eq!(launches[0]["launch"], 2);
}

#[test]
fn resume_inside_a_timed_launch_gives_equal_statistics() {
    let captured = Captured::program();
    let place = &captured.place;
    let model = ["--mode", "detailed", "--gpu", "tiny", "--statistics", "run.json"];
    let checkpoint = ["--checkpoint", "kernel=2,cycle=900", "-o", "here.vck"];
    let program = ["--", "./launches", "2"];
    let saved = place.voltsim(&[&["run"], &model[..], &checkpoint, &program].concat());
    assert_eq!((saved.status, saved.stdout.as_str(), saved.stderr.as_str()), (0, SUM, ""));
    let statistics = place.read("run.json");
    let resumed = place.voltsim(&[&["resume", "here.vck"], &model[..], &program].concat());
    assert_eq!((resumed.status, resumed.stdout.as_str(), resumed.stderr.as_str()), (0, SUM, ""));
    assert!(place.read("run.json") == statistics);
    let info = place.voltsim(&["checkpoint", "info", "here.vck"]);
    assert!(info.stdout.contains("kernel=2,cycle=900"), "{}", info.stdout);
    assert_eq!(place.voltsim(&["checkpoint", "verify", "here.vck"]).status, 0);
    let functional = place.voltsim(&[&["resume", "here.vck"], &program[..]].concat());
    assert_ne!(functional.status, 0);
}

#[test]
fn resumed_threads_keep_the_order_of_their_calls() {
    let place = Captured::threads().place;
    let counted = |outcome: &Outcome| (outcome.status, outcome.stdout.clone(), outcome.stderr.clone());
    let all = (0, "4 4\n".to_owned(), String::new());
    let saved = place.voltsim(&["run", "--checkpoint", "kernel=6", "-o", "here.vck", "--", "./launches"]);
    assert_eq!(counted(&saved), all);
    for _ in 0..3 {
        let resumed = place.voltsim(&["resume", "here.vck", "--", "./launches"]);
        assert_eq!(counted(&resumed), all);
    }
    let info = place.voltsim(&["checkpoint", "info", "here.vck"]).stdout;
    assert!(info.contains("threads     3, which make their calls in the same order"), "{info}");
}

#[test]
fn a_run_can_be_saved_again_and_again() {
    let captured = Captured::program();
    let place = &captured.place;
    let arguments = ["run", "--checkpoint-every", "2", "-o", "series", "--", "./launches", "2"];
    let outcome = place.voltsim(&arguments);
    assert_eq!((outcome.status, outcome.stdout.as_str(), outcome.stderr.as_str()), (0, SUM, ""));
    let outcome = place.voltsim(&["resume", "series/000005.vck", "--", "./launches", "2"]);
    assert_eq!((outcome.status, outcome.stdout.as_str(), outcome.stderr.as_str()), (0, SUM, ""));
    // The folder has files already.
    assert_eq!(place.voltsim(&arguments).status, 2);
}

#[test]
fn unreached_checkpoint_gives_status_87_and_names_the_point() {
    let captured = Captured::program();
    let arguments = ["run", "--checkpoint", "kernel=100", "-o", "here.vck", "--", "./launches", "2"];
    let outcome = captured.place.voltsim(&arguments);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (87, SUM), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("here.vck") && outcome.stderr.contains("kernel=100"),
        "{}",
        outcome.stderr
    );
    let outcome = saved().place.voltsim(&["resume", "here.vck", "--", "true"]);
    assert_eq!(outcome.status, 87, "{}", outcome.stderr);
}

#[test]
fn checkpoint_is_described_verified_and_compared() {
    let captured = saved();
    let place = &captured.place;
    let info = place.voltsim(&["checkpoint", "info", "here.vck"]);
    assert_eq!(info.status, 0, "{}", info.stderr);
    for told in ["kernel=2", "launches 2", "NVIDIA TITAN V", "allocations", "section     steps"] {
        assert!(info.stdout.contains(told), "{told}: {}", info.stdout);
    }
    let verified = place.voltsim(&["checkpoint", "verify", "here.vck"]);
    assert_eq!((verified.status, verified.stdout.as_str()), (0, "here.vck: whole\n"));
    let same = place.voltsim(&["checkpoint", "diff", "here.vck", "here.vck"]);
    assert_eq!((same.status, same.stdout.as_str()), (0, ""));
    place.voltsim(&["run", "--checkpoint", "kernel=3", "-o", "later.vck", "--", "./launches", "2"]);
    let other = place.voltsim(&["checkpoint", "diff", "here.vck", "later.vck"]);
    assert_eq!(other.status, 1, "{}", other.stderr);
    assert!(other.stdout.contains("kernel=3") && other.stdout.contains("bytes of the"), "{}", other.stdout);
}

#[test]
fn damaged_checkpoint_is_refused_before_the_program_starts() {
    let captured = saved();
    let place = &captured.place;
    let bytes = std::fs::read(place.path("here.vck")).unwrap();
    place.write("short.vck", &bytes[..bytes.len() / 2]);
    place.write("foreign.vck", "no checkpoint");
    for file in ["short.vck", "foreign.vck", "none.vck"] {
        let arguments: [&[&str]; 3] = [
            &["checkpoint", "info", file],
            &["checkpoint", "verify", file],
            &["resume", file, "--", "touch", "started"],
        ];
        for arguments in arguments {
            let outcome = place.voltsim(arguments);
            assert!((1..=99).contains(&outcome.status), "{}", outcome.status);
            assert!(outcome.stderr.contains(file) && outcome.stderr.contains("remedy"), "{}", outcome.stderr);
        }
    }
    assert!(!place.path("started").exists());
}

#[test]
fn the_demo_is_saved_and_goes_on_as_it_says() {
    super::launches::libraries();
    let place = Workplace::new();
    let demo = place.voltsim(&["demo", "--checkpoint", "demo.vck"]);
    assert_eq!(demo.status, 0, "{}", demo.stderr);
    let (_, program) = demo.stdout.trim_end().split_once("voltsim resume demo.vck -- ").unwrap();
    let resumed = place.voltsim(&["resume", "demo.vck", "--", program]);
    assert_eq!(resumed.status, 0, "{}", resumed.stderr);
    assert!(resumed.stdout.contains("\n0 of "), "{}", resumed.stdout);
    assert!(demo.stdout.starts_with(&resumed.stdout), "{}", resumed.stdout);
}

#[test]
fn wrong_checkpoint_options_are_refused_before_the_start() {
    super::launches::libraries();
    let place = Workplace::new();
    let refused: [&[&str]; 6] = [
        &["--checkpoint-every", "0", "-o", "series"],
        &["--checkpoint-every", "1", "--checkpoint", "kernel=1", "-o", "series"],
        &["--checkpoint", "kernel=0", "-o", "here.vck"],
        &["--checkpoint", "kernel=1"],
        &["-o", "here.vck"],
        &["--checkpoint", "kernel=1", "-o", "here.vck", "--check", "all"],
    ];
    for options in refused {
        let outcome = place.voltsim(&[&["run"], options, &["--", "touch", "started"]].concat());
        assert_eq!(outcome.status, 2, "{}", outcome.stderr);
    }
    assert!(!place.path("started").exists());
}
