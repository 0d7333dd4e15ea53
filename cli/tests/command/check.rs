//! `voltsim run --check`: the command's options and exit status. Tests of the engine and of CUDA
//! programs hold the findings of checks.

use super::Workplace;
use super::launches::{Captured, SUM};

/// Runs a shell's commands under `voltsim run --check all`: its status and what it printed.
fn checked(commands: &str) -> (i32, String) {
    super::launches::libraries();
    let outcome = Workplace::new().voltsim(&["run", "--check", "all", "--", "sh", "-c", commands]);
    (outcome.status, outcome.stdout)
}

#[test]
fn a_program_without_mistakes_is_what_it_is_without_checks() {
    let captured = Captured::program();
    let arguments = ["run", "--check", "memory,races,barriers", "--", "./launches", "2"];
    let outcome = captured.place.voltsim(&arguments);
    assert_eq!((outcome.status, outcome.stdout.as_str(), outcome.stderr.as_str()), (0, SUM, ""));
}

#[test]
fn successful_program_with_mistakes_ends_with_status_86() {
    let found = format!("echo memory >> {}", super::handed_over("check_status"));
    assert_eq!(checked(&found).0, 86);
    assert_eq!(checked(&format!("({found}); true")).0, 86, "found by a child");
    assert_eq!(checked(&format!("{found}; exit 3")).0, 3);
    assert_eq!(checked("echo out").0, 0);
}

#[test]
fn a_signal_that_ends_the_program_is_in_the_status() {
    assert_eq!(checked("kill -TERM $$").0, 128 + 15);
}

#[test]
fn signals_are_passed_on() {
    // The shell's parent is the command; it passes the signal on, which the shell waits for.
    let (status, out) =
        checked("trap 'echo got it; exit 5' USR1; kill -USR1 $PPID; while :; do sleep 0.01; done");
    assert_eq!((status, out.as_str()), (5, "got it\n"));
}

#[test]
fn unknown_check_is_refused_with_the_list_of_checks() {
    let outcome = Workplace::new().voltsim(&["run", "--check", "memory,luck", "--", "true"]);
    assert_eq!(outcome.status, 2);
    assert!(outcome.stderr.contains("unknown check `luck`"), "{}", outcome.stderr);
    for name in ["memory", "uninitialised", "races", "barriers", "all"] {
        assert!(outcome.stderr.contains(name), "{}", outcome.stderr);
    }
}

#[test]
fn a_report_that_cannot_be_written_is_refused() {
    super::launches::libraries();
    let outcome =
        Workplace::new().voltsim(&["run", "--check", "all", "--check-report", "no/folder", "--", "true"]);
    assert_eq!(outcome.status, 2);
    assert!(outcome.stderr.contains("no/folder"), "{}", outcome.stderr);
}
