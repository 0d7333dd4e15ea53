//! `voltsim sanitize`, and the options of `--check` that it means.

use super::Workplace;
use super::launches::{Captured, SUM};

#[test]
fn leak_shows_the_host_stack_and_ends_with_86() {
    let captured = Captured::program();
    let outcome = captured.place.voltsim(&["sanitize", "--leak-check", "full", "--", "./launches", "2"]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (86, SUM));
    for text in ["voltsim check leaks: ", "made by cuMemAlloc", "called from\n        main"] {
        assert!(outcome.stderr.contains(text), "{text}: {}", outcome.stderr);
    }
}

#[test]
fn report_suppresses_its_own_findings() {
    let captured = Captured::program();
    let place = &captured.place;
    let first = ["sanitize", "--leak-check", "full", "--log-file", "known.jsonl", "--", "./launches", "2"];
    assert_eq!(place.voltsim(&first).status, 86);
    let again =
        ["sanitize", "--leak-check", "full", "--suppressions", "known.jsonl", "--", "./launches", "2"];
    let outcome = place.voltsim(&again);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("0 mistakes, 0 warnings; "), "{}", outcome.stderr);
}

#[test]
fn named_status_replaces_86() {
    let captured = Captured::program();
    let arguments = ["sanitize", "--leak-check", "full", "--error-exitcode", "7", "--", "./launches", "2"];
    assert_eq!(captured.place.voltsim(&arguments).status, 7);
}

#[test]
fn limit_hides_findings_and_keeps_the_status() {
    let captured = Captured::program();
    let arguments = ["run", "--check", "leaks", "--check-limit", "0", "--", "./launches", "2"];
    let outcome = captured.place.voltsim(&arguments);
    assert_eq!(outcome.status, 86);
    assert!(!outcome.stderr.contains("bytes are not freed"), "{}", outcome.stderr);
}

#[test]
fn selection_of_no_launch_is_told() {
    let captured = Captured::program();
    let arguments = ["sanitize", "--kernel-name", "nothing", "--", "./launches", "2"];
    let outcome = captured.place.voltsim(&arguments);
    assert_eq!(outcome.status, 0);
    assert!(outcome.stderr.contains("nothing is checked"), "{}", outcome.stderr);
}

#[test]
fn wrong_suppression_is_refused_with_its_line() {
    super::launches::libraries();
    let place = Workplace::new();
    place.write("known.jsonl", "{\"check\": \"races\"}\n{\"kernal\": \"k\"}\n");
    let outcome = place.voltsim(&["sanitize", "--suppressions", "known.jsonl", "--", "true"]);
    assert_eq!(outcome.status, 2);
    assert!(outcome.stderr.contains("known.jsonl:2: unknown field `kernal`"), "{}", outcome.stderr);
}

#[test]
fn regular_expression_is_refused_with_a_remedy() {
    let outcome = Workplace::new().voltsim(&["sanitize", "--kernel-name", "regex:k.*", "--", "true"]);
    assert_eq!(outcome.status, 2);
    assert!(outcome.stderr.contains("kns=PART"), "{}", outcome.stderr);
}
