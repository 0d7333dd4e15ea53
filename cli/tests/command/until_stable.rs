//! `--until-stable`: timed launches that end early.

use std::path::PathBuf;

use serde_json::Value;

use super::Workplace;
use super::launches::Captured;

const DETAILED: [&str; 5] = ["--mode", "detailed", "--gpu", "tiny", "--statistics"];

/// Launches of a statistics file: cycles, those that were simulated, whether the others were extrapolated.
fn launches(place: &Workplace, file: &str) -> Vec<(f64, f64, bool)> {
    let statistics: Value = serde_json::from_str(&place.read(file)).unwrap();
    let number = |value: &Value| value.as_f64().unwrap();
    let launches = statistics["launches"].as_array().unwrap().iter();
    let read = |it: &Value| {
        (number(&it["cycles"]), number(&it["simulated_cycles"]), it["extrapolated"].as_bool().unwrap())
    };
    launches.map(read).collect()
}

/// The program's output under `voltsim run` with these options.
fn printed(place: &Workplace, options: &[&str], threads: &str) -> String {
    let arguments = [&["run"], options, &["--", "./launches"]].concat();
    let threads = [("VOLTSIM_THREADS", PathBuf::from(threads))];
    let outcome = place.run_with(&PathBuf::from(env!("CARGO_BIN_EXE_voltsim")), &arguments, &threads);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    outcome.stdout
}

#[test]
fn stable_launches_end_early_with_equal_results() {
    let captured = Captured::waves();
    let place = &captured.place;
    let result = printed(place, &[], "1");
    assert_eq!(printed(place, &[&DETAILED[..], &["whole.json"]].concat(), "1"), result);
    let early = |file, threads| printed(place, &[&DETAILED[..], &[file, "--until-stable"]].concat(), threads);
    assert_eq!(early("one.json", "1"), result);
    assert_eq!(early("two.json", "2"), result);
    assert_eq!(place.read("one.json"), place.read("two.json"));
    let (whole, early) = (launches(place, "whole.json"), launches(place, "one.json"));
    assert_eq!((whole.len(), early.len()), (3, 3));
    for (whole, early) in whole.iter().zip(&early) {
        assert!(!whole.2 && early.2, "{whole:?}, {early:?}");
        assert!((early.0 / whole.0 - 1.0).abs() < 0.05, "{whole:?}, {early:?}");
        assert!(early.1 < 0.5 * whole.0, "{whole:?}, {early:?}");
    }
}

#[test]
fn stable_launches_of_a_stream_leave_equal_memory() {
    let captured = Captured::waves();
    let place = &captured.place;
    printed(place, &[&DETAILED[..], &["program.json", "--until-stable"]].concat(), "1");
    printed(place, &["--image", "all.vks"], "1");
    let again = [&["resume", "all.vks"], &DETAILED[..], &["stream.json", "--until-stable"]].concat();
    let outcome = place.voltsim(&again);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    assert_eq!(launches(place, "stream.json"), launches(place, "program.json"));
    // Each finds the memory that the one before has left, though that was cut short.
    let restored: Vec<&str> = outcome.stdout.lines().skip(1).collect();
    assert!(restored.iter().all(|line| line.ends_with(" 0 bytes restored")), "{}", outcome.stdout);
}

#[test]
fn plan_with_until_stable_shortens_a_sweep() {
    let captured = Captured::waves();
    let place = &captured.place;
    let plan = ["plan", "--gpu", "tiny", "--until-stable=windows=10", "--", "./launches"];
    let outcome = place.voltsim(&plan);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    let text = place.read("plan.toml");
    assert!(text.contains("[until_stable]\nwindows = 10\ndeviation = 0.1\n"), "{text}");
    let totals = |place: &Workplace| {
        let outcome = place.voltsim(&["sweep", "plan.toml", "--all"]);
        assert_eq!(outcome.status, 0, "{}", outcome.stderr);
        let estimate: Value = serde_json::from_str(&place.read("plan.results/estimate.json")).unwrap();
        let of = |what: &str| estimate["configurations"][0][what].as_f64().unwrap();
        (of("cycles"), of("timed"))
    };
    let early = totals(place);
    place.write("plan.toml", text.replace("[until_stable]\nwindows = 10\ndeviation = 0.1\n", ""));
    let whole = totals(place);
    assert!((early.0 / whole.0 - 1.0).abs() < 0.05, "{early:?}, {whole:?}");
    assert!(early.1 < 0.5 * whole.1, "{early:?}, {whole:?}");
}

#[test]
fn recorded_launches_end_early_too() {
    let captured = Captured::waves();
    let place = &captured.place;
    assert_eq!(place.voltsim(&["record", "-o", "recorded", "--", "./launches"]).status, 0);
    let timed = |file, options: &[&str]| {
        let arguments = ["time", "recorded", "--gpu", "tiny", "--statistics", file];
        let outcome = place.voltsim(&[&arguments, options].concat());
        assert_eq!(outcome.status, 0, "{}", outcome.stderr);
        launches(place, file)
    };
    let (whole, early) = (timed("whole.json", &[]), timed("early.json", &["--until-stable"]));
    assert_eq!((whole.len(), early.len()), (3, 3));
    for (whole, early) in whole.iter().zip(&early) {
        assert!(!whole.2 && early.2, "{whole:?}, {early:?}");
        assert!((early.0 / whole.0 - 1.0).abs() < 0.05, "{whole:?}, {early:?}");
    }
}

#[test]
fn unreadable_until_stable_is_refused() {
    let place = Workplace::new();
    let outcome = place.voltsim(&["run", "--mode", "detailed", "--until-stable=ipc=3", "--", "true"]);
    assert!(outcome.status == 2 && outcome.stderr.contains("windows=N"), "{}", outcome.stderr);
    let outcome = place.voltsim(&["run", "--mode", "functional", "--until-stable", "--", "true"]);
    assert!(outcome.status == 2 && outcome.stderr.contains("--until-stable"), "{}", outcome.stderr);
}
