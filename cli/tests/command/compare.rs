//! `voltsim compare`: a wrong instruction is found.

use super::launches::{Captured, line_of};

#[test]
fn ways_that_give_the_same_are_equal() {
    let captured = Captured::with(&[]);
    let folders: Vec<_> = captured.folders().iter().map(|folder| format!("captured/{folder}")).collect();
    let arguments: Vec<&str> = folders.iter().map(String::as_str).collect();
    let settings = ["--a", "VOLTSIM_HOST_LEVEL=baseline", "--b", "VOLTSIM_THREADS=2", "--instrumented"];
    let outcome = captured.place.voltsim(&[&["compare"], &arguments[..], &settings].concat());
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""), "{}", outcome.stdout);
    assert_eq!(outcome.stdout.matches(": equal results\n").count(), 7, "{}", outcome.stdout);
    assert_eq!(
        outcome.stdout.matches("every register gets the same values").count(),
        7,
        "{}",
        outcome.stdout
    );
}

/// Compares a captured launch with one whose PTX has a change.
fn compare(launch: &str, from: &str, to: &str, options: &[&str]) -> String {
    let captured = Captured::with(&["--only", &format!("launch={}", &launch[3..4])]);
    captured.changed("other.ptx", from, to);
    let folder = format!("captured/{launch}");
    let outcome = captured.place.voltsim(&[&["compare", &folder, "--ptx-b", "other.ptx"], options].concat());
    assert_eq!((outcome.status, outcome.stderr.as_str()), (1, ""), "{}", outcome.stdout);
    outcome.stdout
}

#[test]
fn wrong_instruction_is_named_with_thread_line_and_values() {
    let report = compare("0002-remainder", "rem.s32", "rem.u32", &[]);
    assert!(report.contains("launch 2 (API call "), "{report}");
    assert!(report.contains("), kernel remainder: different results\n  buffer 0 (device at 0x"), "{report}");
    // numbers[8] is -1; every second one from there on is odd, and negative.
    let found = format!(
        "first different value: CTA (0,0,0), thread (8,0,0), its write 14 (28 threads differ)\n  \
         modulo, PTX line {}: rem.s32 %r3, %r1, %r2;\n  %r3 (.s32): A 0xffffffff (-1), B 0x00000000 (0)\n",
        line_of("rem.s32")
    );
    assert!(report.ends_with(&found), "{report}");
}

#[test]
fn a_wrong_predicate_is_found_where_it_is_written() {
    let report = compare("0002-remainder", "setp.eq.u32", "setp.ne.u32", &[]);
    let found = format!(
        "PTX line {}: setp.eq.u32 %p1, %r6, 1;\n  %p1 (.pred): A true, B false\n",
        line_of("setp.eq.u32")
    );
    assert!(report.ends_with(&found), "{report}");
}

#[test]
fn a_wrong_load_behind_the_first_window_of_the_log_is_found() {
    let report = compare("0003-walk", "ld.global.s32", "ld.global.u32", &["--log-size", "0"]);
    let found = format!(
        "its write 36 (1 threads differ)\n  walk, PTX line {}: ld.global.s32 %rd4, [%rd1];\n  \
         %rd4 (.b64): A 0xffffffffffffffff, B 0x00000000ffffffff\n",
        line_of("ld.global.s32")
    );
    assert!(report.ends_with(&found), "{report}");
}

#[test]
fn a_setting_that_changes_an_instruction_is_found() {
    let captured = Captured::with(&["--only", "kernel=scale"]);
    let compare = |options: &[&str]| {
        captured
            .place
            .voltsim(&[&["compare", "captured/0007-scale", "--b", "VOLTSIM_FMAD=0"], options].concat())
    };
    let outcome = compare(&[]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (1, ""));
    let found =
        format!("  scale, PTX line {}: add.f32 %f4, %f3, %f2;\n  %f4 (.f32): A 0x", line_of("add.f32"));
    assert!(outcome.stdout.contains(&found), "{}", outcome.stdout);
    let outcome = compare(&["--ulps", "f32=1"]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""), "{}", outcome.stdout);
}

#[test]
fn a_wrong_store_is_told_from_wrong_values() {
    let report = compare("0002-remainder", "st.global.u32 [%rd3], %r7", "st.global.u32 [%rd3], %r5", &[]);
    assert!(
        report.contains("every register gets the same values: the difference arises in a store"),
        "{report}"
    );
}

#[test]
fn a_launch_that_fails_in_one_way_alone_is_different() {
    let captured = Captured::with(&["--only", "launch=3"]);
    captured.changed("other.ptx", "setp.lt.u64", "setp.le.u64");
    let outcome = captured.place.voltsim(&["compare", "captured/0003-walk", "--ptx-b", "other.ptx"]);
    assert!(outcome.stdout.contains("A CUDA_SUCCESS, B CUDA_ERROR_ILLEGAL_ADDRESS"), "{}", outcome.stdout);
    assert_ne!(outcome.status, 0);
}

#[test]
fn texts_with_other_register_writes_are_not_comparable() {
    let captured = Captured::with(&["--only", "launch=2"]);
    captured.changed("other.ptx", "rem.s32 %r3, %r1, %r2;", "add.s32 %r3, %r1, 1; rem.s32 %r3, %r1, 7;");
    let outcome = captured.place.voltsim(&["compare", "captured/0002-remainder", "--ptx-b", "other.ptx"]);
    assert_eq!(outcome.status, 2, "{}", outcome.stdout);
    assert!(outcome.stderr.contains("do not write the same registers"), "{}", outcome.stderr);
}

#[test]
fn a_program_is_compared_launch_by_launch() {
    let captured = Captured::program();
    let compare = |settings: &[&str]| {
        captured.place.voltsim(&[&["compare"], settings, &["--", "./launches", "1"]].concat())
    };
    let equal = compare(&["--b", "VOLTSIM_THREADS=2"]);
    assert_eq!((equal.status, equal.stderr.as_str()), (0, ""));
    assert_eq!(equal.stdout.matches(": equal results\n").count(), 4, "{}", equal.stdout);
    let other = compare(&["--b", "DIVISOR=3"]);
    assert_eq!(other.status, 1);
    let end = "launch 2 is remainder under A and remainder under B, with other sizes or parameters; all launches before \
               are equal\n";
    assert!(other.stdout.ends_with(end), "{}", other.stdout);
    let later = compare(&["--b", "DIVISOR=3", "--only", "kernel=walk"]);
    assert_eq!(later.status, 1);
    assert!(later.stdout.contains("kernel walk: the memory differs before it"), "{}", later.stdout);
}

#[test]
fn what_cannot_be_compared_is_refused_with_a_remedy() {
    let captured = Captured::with(&["--only", "launch=1"]);
    for (arguments, message) in [
        (&["captured/0001-sum_list", "--a", "nonsense"][..], "`nonsense` is no setting"),
        (&["captured/0001-sum_list", "--library-b", "missing.so"], "missing.so"),
        (&["captured/0001-sum_list", "--ptx-a", "missing.ptx"], "missing.ptx"),
        (&["captured/0001-sum_list", "--ulps", "f31=1"], "`f31=1` is no tolerance"),
        (&["captured"], "captured"),
        (&["--library-a", "missing.so", "--", "./launches"], "a program runs with our library"),
        (&[], "required"),
    ] {
        let outcome = captured.place.voltsim(&[&["compare"], arguments].concat());
        assert_eq!((outcome.status, outcome.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(outcome.stderr.contains(message), "{arguments:?}: {}", outcome.stderr);
    }
}
