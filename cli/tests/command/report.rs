//! `voltsim report`: statistics as a page.

use super::Workplace;

const STATISTICS: &str = r#"{ "gpu": "titan-v", "launches": [
    { "launch": 1, "kernel": "vadd(float*)", "mangled": "_Z4vaddPf", "stream": 0, "grid": [2, 1, 1], "block": [32, 1, 1],
      "start": 0, "cycles": 110, "derived": {},
      "counters": { "gpu.cycles": 110, "gpu.nanoseconds": 100, "gpu.sm_cycles": 8800, "issue.issued": 6, "issue.idle": 4 } } ],
    "total": { "counters": { "gpu.cycles": 110, "gpu.nanoseconds": 100 }, "derived": {} } }"#;

#[test]
fn report_of_statistics_is_a_page() {
    let place = Workplace::new();
    place.write("run.json", STATISTICS);
    let outcome = place.voltsim(&["report", "run.json", "-o", "page.html"]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (0, ""), "{}", outcome.stderr);
    let page = place.read("page.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("<b>vadd</b>"), "{page}");
}

#[test]
fn report_of_two_runs_shows_the_change() {
    let place = Workplace::new();
    place.write("before.json", STATISTICS);
    place.write("after.json", STATISTICS.replace("\"cycles\": 110", "\"cycles\": 165"));
    let outcome = place.voltsim(&["report", "before.json", "after.json", "-o", "page.html"]);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    assert!(place.read("page.html").contains("+50.0 %"));
}

#[test]
fn report_names_the_field_that_is_wrong() {
    let place = Workplace::new();
    place.write("run.json", STATISTICS.replace("\"start\": 0", "\"start\": \"soon\""));
    let outcome = place.voltsim(&["report", "run.json", "-o", "page.html"]);
    assert_eq!(outcome.status, 2);
    assert!(outcome.stderr.contains("run.json: launches[0].start: must be a number"), "{}", outcome.stderr);
    assert!(!place.path("page.html").exists());
}
