//! `voltsim why`: what-ifs of a launch.

use serde_json::Value;

use super::Workplace;
use super::launches::{Captured, libraries};

/// The what-ifs of a launch of the program whose kernels have known limits.
fn what_ifs(place: &Workplace, options: &[&str]) -> Vec<(String, f64)> {
    let outcome = place.voltsim(&[&["why", "--json", "--gpu", "tiny"], options].concat());
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    let stack: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let percent = |it: &Value| (it["name"].as_str().unwrap().to_owned(), it["percent"].as_f64().unwrap());
    stack["what_ifs"].as_array().unwrap().iter().map(percent).collect()
}

fn percent(what_ifs: &[(String, f64)], name: &str) -> f64 {
    what_ifs.iter().find(|(own, _)| own == name).unwrap().1
}

const PROGRAM: [&str; 2] = ["--", "./launches"];

#[test]
fn bank_conflicts_are_what_limits_the_conflicting_kernel() {
    let place = Captured::limits().place;
    for mode in ["hybrid-memory", "detailed"] {
        let options = ["--launch", "2", "--mode", mode];
        let found = what_ifs(&place, &[&options[..], &PROGRAM].concat());
        assert_eq!(found[0].0, "no bank conflicts", "{mode}: {found:?}");
        assert!(found[0].1 > 50.0, "{mode}: {found:?}");
        assert!(percent(&found, "unlimited DRAM bandwidth") < 5.0, "{mode}: {found:?}");
    }
}

#[test]
fn dram_bandwidth_limits_saxpy_and_bank_conflicts_do_not() {
    let place = Captured::limits().place;
    let outcome = place.voltsim(&["run", "--image", "all.vks", "--", "./launches"]);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    let found = what_ifs(&place, &["--launch", "1", "--mode", "detailed", "all.vks"]);
    assert!(percent(&found, "unlimited DRAM bandwidth") > 10.0, "{found:?}");
    assert!(percent(&found, "no bank conflicts").abs() < 1.0, "{found:?}");
    assert!(percent(&found, "perfect coalescing").abs() < 1.0, "{found:?}");
}

#[test]
fn table_gives_advice_that_a_what_if_proves() {
    let place = Captured::limits().place;
    let outcome = place.voltsim(&[&["why", "--launch", "2", "--gpu", "tiny"][..], &PROGRAM].concat());
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    let said = outcome.stdout;
    assert!(said.starts_with("launch 2, conflict: "), "{said}");
    assert!(said.contains("- no bank conflicts saves up to ") && !said.contains("done"), "{said}");
    assert!(!said.contains("- perfect coalescing"), "{said}");
}

#[test]
fn launch_that_is_not_there_is_named_with_those_that_are() {
    let place = Captured::limits().place;
    let outcome = place.voltsim(&[&["why", "--launch", "9", "--gpu", "tiny"][..], &PROGRAM].concat());
    assert_eq!(outcome.status, 2, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("--launch 9: there are 2 launches"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("Name a launch of 1 to 2"), "{}", outcome.stderr);
}

#[test]
fn gpu_without_a_model_is_refused_before_the_program_starts() {
    libraries();
    let place = Workplace::new();
    let outcome = place.voltsim(&["why", "--launch", "1", "--gpu", "h100", "--", "touch", "started"]);
    assert_eq!(outcome.status, 2, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("--device h100"), "{}", outcome.stderr);
    let outcome = place.voltsim(&["why", "--launch", "1", "--mode", "functional", "--", "touch", "started"]);
    assert!(outcome.stderr.contains("--mode hybrid-memory"), "{}", outcome.stderr);
    assert!(!place.path("started").exists());
}
