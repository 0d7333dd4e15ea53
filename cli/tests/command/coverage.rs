//! `voltsim coverage`.

use super::launches::Captured;

fn record(captured: &Captured, file: &str, times: &str) -> String {
    let outcome = captured.place.voltsim(&["coverage", "-o", file, "--", "./launches", times]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""));
    captured.place.read(file)
}

#[test]
fn a_record_has_the_forms_that_were_executed_and_how_often() {
    let captured = Captured::program();
    let record = record(&captured, "record", "2");
    let line = |opcode: &str| {
        let mut lines = record.lines().map(|line| line.split('\t').collect::<Vec<_>>());
        lines
            .find(|fields| fields.get(1) == Some(&opcode))
            .map(|fields| (fields[0].to_owned(), fields[2].to_owned()))
    };
    assert_eq!(line("rem.s32"), Some(("integer.rem".to_owned(), "4".to_owned())), "{record}");
    // Three nodes a launch, two loads each.
    assert_eq!(line("ld.u64").map(|(_, count)| count).as_deref(), Some("12"));
    assert_eq!(line("trap"), None, "a guard without lanes executes nothing: {record}");
}

#[test]
fn two_records_differ_in_the_forms_that_only_one_has() {
    let captured = Captured::program();
    record(&captured, "some", "1");
    record(&captured, "none", "0");
    let outcome = captured.place.voltsim(&["coverage", "--diff", "some", "none"]);
    assert_eq!(outcome.status, 1, "{}", outcome.stderr);
    assert!(
        outcome.stdout.starts_with("only in some:\n") && outcome.stdout.contains("  rem.s32 "),
        "{}",
        outcome.stdout
    );
    assert!(!outcome.stdout.contains("only in none"));
    record(&captured, "more", "3");
    let outcome = captured.place.voltsim(&["coverage", "--diff", "some", "more"]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (0, ""));
}

#[test]
fn a_file_that_is_no_record_is_refused() {
    let captured = Captured::program();
    let good = record(&captured, "good", "1");
    captured.place.write("foreign", "something else");
    captured.place.write("damaged", good.replace("\t", " "));
    for (file, message) in
        [("foreign", "foreign: this is no record"), ("damaged", "damaged: line 2"), ("missing", "missing: ")]
    {
        let outcome = captured.place.voltsim(&["coverage", "--diff", "good", file]);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (2, ""));
        assert!(outcome.stderr.contains(message), "{}", outcome.stderr);
    }
}
