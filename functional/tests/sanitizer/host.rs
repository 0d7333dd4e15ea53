//! Findings about the host, and the choice of launches and findings.

use std::sync::{Arc, Mutex};

use functional::launch::LaunchConfig;
use functional::sanitizer::{CallSite, Checker, Finding, LaunchOrigin, Reporter};

use crate::bench::{Bench, assert_says};

#[derive(Debug)]
struct Stack;

impl CallSite for Stack {
    fn frames(&self) -> Vec<String> {
        vec!["step at app.cu:12 (./app)".to_owned(), "main at app.cu:30 (./app)".to_owned()]
    }
}

/// Titles that the user has heard, and whether each was shown.
type Heard = Arc<Mutex<Vec<(String, bool)>>>;

/// Keeps titles; suppresses findings with a word.
struct Listener {
    unwanted: &'static str,
    heard: Heard,
}

impl Reporter for Listener {
    fn is_suppressed(&self, finding: &Finding) -> bool {
        finding.title.contains(self.unwanted)
    }

    fn found(&self, finding: &Finding, is_shown: bool) {
        self.heard.lock().unwrap().push((finding.title.clone(), is_shown));
    }
}

fn listening(checks: &str, limit: usize, unwanted: &'static str) -> (Checker, Heard) {
    let heard = Heard::default();
    let listener = Listener { unwanted, heard: Arc::clone(&heard) };
    (Checker::new(checks.parse().unwrap(), limit, Box::new(listener)), heard)
}

#[test]
fn leak_names_the_allocating_call() {
    let bench = Bench::new("leaks", "");
    let kept = bench.allocate(400);
    let freed = bench.allocate(500);
    bench.free(freed);
    bench.checker.report_leaks("the end of the program", |_| true);
    assert_says(
        &bench.only(),
        &[
            "voltsim check leaks: 400 bytes are not freed at the end of the program",
            &format!("of 400 bytes at {kept:#x}, made by cudaMalloc (API call 1)"),
        ],
    );
}

#[test]
fn leaks_are_found_only_where_asked() {
    let bench = Bench::new("memory", "");
    bench.allocate(400);
    bench.checker.report_leaks("the end of the program", |_| true);
    bench.nothing_found();
}

#[test]
fn failed_call_shows_the_host_stack() {
    let (checker, heard) = listening("calls", 100, "nothing");
    let call: Arc<dyn CallSite> = Arc::new(Stack);
    checker.report_call("cudaMalloc", 7, "cudaErrorMemoryAllocation", Some(&call));
    assert_eq!(*heard.lock().unwrap(), [("cudaMalloc returns cudaErrorMemoryAllocation".to_owned(), true)]);
    let text = checker.findings()[0].0.to_string();
    assert!(text.contains("API call 7\n    called from\n        step at app.cu:12 (./app)\n"), "{text}");
}

#[test]
fn findings_beyond_the_limit_are_counted() {
    let (checker, heard) = listening("calls", 2, "nothing");
    for number in 1..=5 {
        checker.report_call("cudaFree", number, "cudaErrorInvalidValue", None);
    }
    let shown = heard.lock().unwrap().iter().filter(|(_, is_shown)| *is_shown).count();
    assert_eq!((shown, heard.lock().unwrap().len()), (2, 5));
    let summary = checker.summary().unwrap();
    assert!(summary.contains("2 mistakes") && summary.contains("3 more occurrences of others"), "{summary}");
}

#[test]
fn suppressed_findings_are_not_mistakes() {
    let (checker, heard) = listening("calls", 100, "cudaFree");
    checker.report_call("cudaFree", 1, "cudaErrorInvalidValue", None);
    assert!(heard.lock().unwrap().is_empty());
    let summary = checker.summary().unwrap();
    assert!(summary.contains("0 mistakes, 0 warnings; 1 occurrences suppressed"), "{summary}");
}

#[test]
fn launches_left_out_have_no_findings() {
    let bench = Bench::new("memory", "st.global.u32 [%rd4], %r1;");
    let out = bench.allocate(4);
    let origin = LaunchOrigin { number: Some(1), is_left_out: true, call: None };
    let config = LaunchConfig { origin, ..LaunchConfig::default() };
    assert!(bench.launch_with(config, 1, 64, &[out]).is_err());
    bench.nothing_found();
}

#[test]
fn writes_of_launches_left_out_initialise_memory() {
    let code = "setp.ne.u64 %p1, %rd2, 0; @!%p1 st.global.u32 [%rd4], %r1; @%p1 ld.global.u32 %r5, [%rd4];";
    let bench = Bench::new("uninitialised", code);
    let data = bench.allocate(128);
    let origin = LaunchOrigin { number: Some(1), is_left_out: true, call: None };
    let config = LaunchConfig { origin, ..LaunchConfig::default() };
    bench.launch_with(config, 1, 32, &[data]).unwrap();
    bench.launch(1, 32, &[data, 1]).unwrap();
    bench.nothing_found();
}

#[test]
fn finding_names_the_launch_and_its_call() {
    let bench = Bench::new("memory", "st.global.u32 [%rd4], %r1;");
    let out = bench.allocate(4);
    let origin = LaunchOrigin { number: Some(12), is_left_out: false, call: Some(Arc::new(Stack)) };
    let config = LaunchConfig { origin, ..LaunchConfig::default() };
    assert!(bench.launch_with(config, 1, 64, &[out]).is_err());
    assert_says(&bench.only(), &["in kernel test, launch 12", "called from\n        step at app.cu:12"]);
}
