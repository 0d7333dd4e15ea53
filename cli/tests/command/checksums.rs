//! `voltsim run --checksums` and what `voltsim checkpoint` says of such files.

use super::Workplace;
use super::launches::{Captured, SUM, libraries};

/// Runs the program, which repeats three of its four launches so often, with checksums in a file.
fn record(place: &Workplace, file: &str, options: &[&str], repetitions: &str) {
    let program = ["--", "./launches", repetitions];
    let outcome = place.voltsim(&[&["run", "--checksums", file], options, &program].concat());
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    assert!(outcome.stderr.is_empty() || options.contains(&"detailed"), "{}", outcome.stderr);
    assert!(repetitions != "2" || outcome.stdout == SUM, "{}", outcome.stdout);
}

#[test]
fn runs_that_are_the_same_are_told_so() {
    let captured = Captured::program();
    let place = &captured.place;
    record(place, "one.sums", &[], "2");
    record(place, "timed.sums", &["--mode", "detailed", "--gpu", "titan-v"], "2");
    let same = place.voltsim(&["checkpoint", "diff", "one.sums", "timed.sums"]);
    assert_eq!((same.status, same.stdout.as_str()), (0, "the same memory after each of 7 launches\n"));
}

#[test]
fn first_launch_with_another_kernel_is_named() {
    let captured = Captured::program();
    let place = &captured.place;
    record(place, "one.sums", &[], "1");
    record(place, "two.sums", &[], "2");
    let other = place.voltsim(&["checkpoint", "diff", "one.sums", "two.sums"]);
    assert_eq!(other.status, 1, "{}", other.stderr);
    let told = "the first run continues with launch 4 of scale, the second with launch 4 of sum_list";
    assert!(other.stdout.contains(told), "{}", other.stdout);
}

#[test]
fn a_resumed_run_writes_them_from_its_point_on() {
    let captured = Captured::program();
    let place = &captured.place;
    record(place, "one.sums", &["--checkpoint", "kernel=4", "-o", "here.vck"], "2");
    let resumed = ["resume", "here.vck", "--checksums", "resumed.sums", "--", "./launches", "2"];
    assert_eq!(place.voltsim(&resumed).status, 0);
    let info = place.voltsim(&["checkpoint", "info", "resumed.sums"]);
    assert!(info.stdout.contains("4, from 4 to 7") && info.stdout.contains("launches 2"), "{}", info.stdout);
    let same = place.voltsim(&["checkpoint", "diff", "one.sums", "resumed.sums"]);
    assert_eq!((same.status, same.stdout.as_str()), (0, "the same memory after each of 4 launches\n"));
}

#[test]
fn a_damaged_or_foreign_file_is_refused_with_its_name_and_place() {
    let captured = Captured::program();
    let place = &captured.place;
    record(place, "one.sums", &[], "2");
    let bytes = std::fs::read(place.path("one.sums")).unwrap();
    let mut damaged = bytes.clone();
    let middle = bytes.len() / 2;
    damaged[middle] ^= 1;
    place.write("damaged.sums", damaged);
    place.write("short.sums", &bytes[..middle]);
    place.write("empty.sums", "");
    place.write("foreign.sums", "no checksums");
    for (file, place_in_it) in [
        ("damaged.sums", "line"),
        ("short.sums", "line"),
        ("empty.sums", "the file is empty"),
        ("foreign.sums", "not a file of checksums"),
    ] {
        let outcome = place.voltsim(&["checkpoint", "diff", "one.sums", file]);
        assert_eq!(outcome.status, 2, "{}", outcome.stdout);
        for told in [file, place_in_it, "remedy"] {
            assert!(outcome.stderr.contains(told), "{told}: {}", outcome.stderr);
        }
    }
    for file in ["damaged.sums", "short.sums"] {
        for command in ["info", "verify"] {
            assert_eq!(place.voltsim(&["checkpoint", command, file]).status, 2, "{command} {file}");
        }
    }
    let verified = place.voltsim(&["checkpoint", "verify", "one.sums"]);
    assert_eq!((verified.status, verified.stdout.as_str()), (0, "one.sums: whole\n"));
}

#[test]
fn wrong_checksum_options_are_refused_before_the_start() {
    libraries();
    let place = Workplace::new();
    let refused: [&[&str]; 3] = [
        &["--checksums-every", "2"],
        &["--checksums", "a.sums", "--checksums-every", "0"],
        &["--checksums", "none/a.sums"],
    ];
    for options in refused {
        let outcome = place.voltsim(&[&["run"], options, &["--", "touch", "started"]].concat());
        assert_eq!(outcome.status, 2, "{}", outcome.stderr);
    }
    assert!(!place.path("started").exists());
}
