//! `voltsim report`: statistics as a page.

use serde_json::Value;

use super::Workplace;
use super::launches::Captured;

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
fn source_counts_have_lines_of_ptx_and_the_sums_of_counters() {
    let place = Captured::program().place;
    let run = ["run", "--gpu", "tiny", "--source-counts", "--statistics", "run.json", "--report", "run.html"];
    let outcome = place.voltsim(&[&run[..], &["--", "./launches", "2"]].concat());
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    let all: Value = serde_json::from_str(&place.read("run.json")).unwrap();
    let launch = &all["launches"][1];
    let counts = &launch["source_counts"];
    let sum = |values: &Value| values.as_array().unwrap().iter().filter_map(Value::as_u64).sum::<u64>();
    assert_eq!(
        Some(sum(&counts["counts"]["warp_instructions"])),
        launch["counters"]["sm.warp_instructions"].as_u64()
    );
    let listing = all["listings"].as_array().unwrap().iter().find(|it| it["number"] == counts["listing"]);
    let texts = listing.unwrap()["text"].as_array().unwrap();
    assert!(texts.iter().any(|text| text.as_str().unwrap().starts_with("rem.s32")), "{texts:?}");
    assert!(place.read("run.html").contains("<section id=\"source\">"));
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
