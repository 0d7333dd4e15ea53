//! `voltsim instrument`.

use super::launches::{Captured, KERNELS};
use super::{Workplace, ptx};

#[test]
fn the_instrumented_text_goes_to_standard_output_or_a_file() {
    let place = Workplace::new();
    place.write("one.ptx", ptx("k", ".reg .b32 %r1; mov.u32 %r1, 7;"));
    let outcome = place.voltsim(&["instrument", "one.ptx"]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""));
    assert!(outcome.stdout.contains("mov.u32 %r1, 7; ") && outcome.stdout.contains("voltsim_log"));
    let written = place.voltsim(&["instrument", "one.ptx", "-o", "two.ptx"]);
    assert_eq!((written.status, written.stdout.as_str()), (0, ""));
    assert_eq!(place.read("two.ptx"), outcome.stdout);
}

#[test]
fn one_of_several_kernels_must_be_named() {
    let place = Workplace::new();
    place.write("several.ptx", KERNELS);
    let outcome = place.voltsim(&["instrument", "several.ptx"]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (2, ""));
    assert!(outcome.stderr.contains("several kernels: sum_list, remainder, walk"), "{}", outcome.stderr);
    assert_eq!(place.voltsim(&["instrument", "several.ptx", "--kernel", "walk"]).status, 0);
}

#[test]
fn an_instrumented_launch_replays_with_the_captured_results() {
    let captured = Captured::with(&["--only", "launch=2"]);
    let place = &captured.place;
    let outcome = place.voltsim(&["instrument", "captured/0002-remainder", "-o", "instrumented"]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""));
    // The parameters are the first that the kernel writes to registers.
    assert!(outcome.stdout.starts_with("0\t"), "{}", outcome.stdout);
    let plain = place.voltsim(&["replay", "captured/0002-remainder", "-o", "plain"]);
    let logged = place.voltsim(&["replay", "instrumented", "-o", "logged"]);
    assert_eq!((plain.status, logged.status), (0, 0), "{}", logged.stderr);
    assert_eq!(
        std::fs::read(place.path("plain/0.zst")).unwrap(),
        std::fs::read(place.path("logged/0.zst")).unwrap()
    );
}
