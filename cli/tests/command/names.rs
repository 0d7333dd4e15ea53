//! Names of kernels and variables as in the source, wherever a person reads them.

use serde_json::Value;

use super::launches::Captured;

/// The kernel's name in the source, and in the PTX.
const NAME: &str = "reduce(const int*, int*, int)";
const MANGLED: &str = "_Z6reducePKiPii";

/// Standard error of a run with these options and this argument of the program.
fn said(captured: &Captured, options: &[&str], argument: &str) -> String {
    captured.place.voltsim(&[options, &["--", "./launches", argument]].concat()).stderr
}

#[test]
fn a_fault_names_the_kernel_and_the_users_line() {
    let said = said(&Captured::names(), &["run"], "4096");
    assert!(said.contains(&format!("in kernel {NAME}, CTA (0,0,0)")), "{said}");
    // The store is in a header of CUDA's; the call of it in a header of the user's.
    let place =
        "(/home/user/store.h:5, inlined from /usr/local/cuda/include/device_atomic_functions.hpp:107)";
    assert!(said.contains(place), "{said}");
    assert!(!said.contains(MANGLED), "{said}");
}

#[test]
fn a_finding_of_checks_names_kernel_and_shared_variable() {
    let captured = Captured::names();
    let said = said(&captured, &["run", "--check", "all"], "0");
    for part in [&format!("in kernel {NAME}"), "of variable s", "(/home/user/reduce.cu:10)", "x races: race"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("_Z"), "{said}");
    let report = ["run", "--check", "all", "--check-report", "found.jsonl"];
    captured.place.voltsim(&[&report[..], &["--", "./launches", "0"]].concat());
    let found: Value =
        serde_json::from_str(captured.place.read("found.jsonl").lines().next().unwrap()).unwrap();
    assert_eq!((&found["kernel"], &found["mangled_kernel"]), (&NAME.into(), &MANGLED.into()));
    assert_eq!(found["parties"][0]["function"], NAME);
}

#[test]
fn log_summary_statistics_and_timeline_name_the_kernel() {
    let captured = Captured::names();
    let files = ["--log", "calls.log", "--summary", "summary.json"];
    for form in ["json", "csv", "ncu.csv", "txt"] {
        let statistics = format!("run.{form}");
        let timed = ["run", "--mode", "detailed", "--gpu", "tiny", "--statistics", statistics.as_str()];
        assert_eq!(said(&captured, &[&timed[..], &files].concat(), "0"), "");
        assert!(captured.place.read(&statistics).contains(NAME), "{statistics}");
    }
    let json = |file: &str| -> Value { serde_json::from_str(&captured.place.read(file)).unwrap() };
    let launch = json("run.json")["launches"][0].clone();
    assert_eq!((&launch["kernel"], &launch["mangled"]), (&NAME.into(), &MANGLED.into()));
    let kernel = json("summary.json")["kernels"][0].clone();
    assert_eq!((&kernel["name"], &kernel["mangled"]), (&NAME.into(), &MANGLED.into()));
    assert!(captured.place.read("calls.log").contains(&format!("kernel {NAME}: grid")));
    assert_eq!(said(&captured, &["trace", "-o", "trace.json"], "0"), "");
    let events = json("trace.json");
    let kernel = events.as_array().unwrap().iter().find(|event| event["cat"] == "kernel").unwrap().clone();
    assert_eq!((&kernel["name"], &kernel["args"]["mangled"]), (&NAME.into(), &MANGLED.into()));
}

#[test]
fn replay_compare_doctor_and_extract_name_the_kernel() {
    let captured = Captured::names();
    let place = &captured.place;
    place.voltsim(&["capture", "-o", "captured", "--results", "--", "./launches", "0"]);
    let folder = format!("captured/{}", captured.folders()[0]);
    let replayed = place.voltsim(&["replay", &folder]);
    assert!(replayed.stdout.starts_with(&format!("kernel {NAME}: grid")), "{}", replayed.stdout);
    let compared = place.voltsim(&["compare", &folder]);
    assert!(compared.stdout.contains(&format!("kernel {NAME}: equal results")), "{}", compared.stdout);
    place.write("a.ptx", include_str!("launches/names.ptx"));
    for arguments in [&["doctor", "--all", "a.ptx"][..], &["extract", "-o", "out", "a.ptx"]] {
        let outcome = place.voltsim(arguments);
        assert!(outcome.stdout.contains(NAME), "{arguments:?}: {}", outcome.stdout);
    }
}

#[test]
fn kernels_are_chosen_by_their_names_in_source_and_ptx() {
    let captured = Captured::names();
    for glob in ["reduce", "reduce*", NAME, MANGLED, "_Z6reduce*"] {
        let statistics = ["--mode", "detailed", "--gpu", "tiny", "--statistics", "run.json", "--only"];
        let only = format!("kernel={glob}");
        let said = said(&captured, &[&["run"], &statistics[..], &[only.as_str()]].concat(), "0");
        assert_eq!(said, "", "{glob}");
        assert!(captured.place.read("run.json").contains(NAME), "{glob}");
    }
}

#[test]
fn a_selection_that_chooses_nothing_is_told_at_the_end() {
    let captured = Captured::names();
    let only = ["--mode", "detailed", "--gpu", "tiny", "--only", "kernel=scan"];
    let timed = said(&captured, &[&["run"], &only[..]].concat(), "0");
    let start =
        "voltsim: --only kernel=scan (VOLTSIM_ONLY) matches none of the 1 launches: nothing is timed;";
    assert!(timed.starts_with(start) && timed.contains(NAME) && timed.contains("remedy: "), "{timed}");
    for (command, done) in [("capture", "captured"), ("record", "recorded")] {
        let options = [command, "-o", done, "--only", "kernel=scan"];
        let told = said(&captured, &options, "0");
        assert!(told.contains(&format!("nothing is {done}")), "{command}: {told}");
    }
    let image = ["run", "--image", "all.vks", "--image-only", "kernel=scan"];
    let told = said(&captured, &image, "0");
    assert!(told.contains("--image-only kernel=scan"), "{told}");
}
