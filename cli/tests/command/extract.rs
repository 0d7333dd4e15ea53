//! `voltsim extract`.

use std::process::Command;

use super::builder::{EntryBuilder, container, cubin, host_elf};
use super::{Workplace, ptx};

/// Two containers: an empty one, and one with PTX twice and a cubin.
fn fat_binary() -> Vec<u8> {
    let entries = [
        EntryBuilder::ptx(70, &ptx("first", "")).lz4().identifier("x.cu"),
        EntryBuilder::cubin(75, &["first", "second"]),
        EntryBuilder::ptx(80, &ptx("second", "")).zstd(),
    ];
    [container(&[]), container(&entries)].concat()
}

#[test]
fn each_ptx_entry_becomes_a_file_by_number_and_architecture() {
    let place = Workplace::new();
    place.write("program", host_elf(&[(".nv_fatbin", &fat_binary())]));
    let outcome = place.voltsim(&["extract", "program", "-o", "out/deep"]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""));
    assert_eq!(place.read("out/deep/0.sm_70.ptx"), ptx("first", "") + "\n");
    assert_eq!(place.read("out/deep/2.sm_80.ptx"), ptx("second", "") + "\n");
    assert_eq!(std::fs::read_dir(place.path("out/deep")).unwrap().count(), 2);
}

#[test]
fn the_list_shows_entries_and_kernels_and_writes_nothing() {
    let place = Workplace::new();
    place.write("a.fatbin", fat_binary());
    let outcome = place.voltsim(&["extract", "a.fatbin", "--list"]);
    let lines: Vec<Vec<&str>> =
        outcome.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0][..6], ["entry", "container", "kind", "architecture", "ptx", "compression"]);
    assert_eq!(lines[1][..6], ["0", "1", "ptx", "sm_70", "9.5", "lz4"]);
    assert_eq!(lines[2][..6], ["1", "1", "elf", "sm_75", "-", "none"]);
    assert_eq!(lines[3][..6], ["2", "1", "ptx", "sm_80", "9.5", "zstd"]);
    assert_eq!(lines[6..], [vec!["0", "1", "first"], vec!["1", "2", "second"]]);
    assert_eq!(std::fs::read_dir(place.path(".")).unwrap().count(), 1);
}

#[test]
fn the_list_as_json_names_kernels_offsets_and_written_files() {
    let place = Workplace::new();
    place.write("a.fatbin", fat_binary());
    let list = place.voltsim(&["extract", "a.fatbin", "-o", "out", "--json"]).json();
    let entry = |number: usize| &list["entries"][number];
    assert_eq!(entry(0)["written"], "out/0.sm_70.ptx");
    assert_eq!(entry(0)["identifier"], "x.cu");
    assert_eq!(entry(0)["offset"], 32);
    assert_eq!(entry(1)["written"], serde_json::Value::Null);
    assert_eq!(entry(1)["kernels"], serde_json::json!(["first", "second"]));
}

#[test]
fn cubins_and_ptx_text_are_listed_too() {
    let place = Workplace::new();
    place.write("a.cubin", cubin(&["kernel"]));
    place.write("a.ptx", ptx("other", ""));
    let kernels = |file| place.voltsim(&["extract", file, "--list", "--json"]).json()["entries"][0].clone();
    assert_eq!(kernels("a.cubin")["kernels"][0], "kernel");
    assert_eq!(kernels("a.ptx")["kernels"][0], "other");
}

#[test]
fn readable_entries_precede_the_error_of_a_damaged_file() {
    let place = Workplace::new();
    let mut bytes = fat_binary();
    bytes.extend(b"garbage, not a container");
    place.write("a.fatbin", &bytes);
    let outcome = place.voltsim(&["extract", "a.fatbin", "--list"]);
    assert_eq!(outcome.status, 2);
    assert!(outcome.stdout.contains("sm_80"), "{}", outcome.stdout);
    let offset = fat_binary().len();
    assert!(outcome.stderr.contains(&format!("a.fatbin at offset {offset:#x}: ")), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("remedy: "), "{}", outcome.stderr);
}

#[test]
fn payloads_beside_a_damaged_one_are_written() {
    let place = Workplace::new();
    let intact = EntryBuilder::ptx(80, &ptx("intact", ""));
    let damaged = EntryBuilder::ptx(70, &"text ".repeat(20)).lz4().claiming(3);
    place.write("a.fatbin", container(&[damaged.clone(), intact, damaged]));
    let outcome = place.voltsim(&["extract", "a.fatbin", "-o", "."]);
    assert_eq!(outcome.status, 2);
    assert_eq!(place.read("1.sm_80.ptx"), ptx("intact", "") + "\n");
    assert_eq!(outcome.stderr.matches("damaged lz4 payload").count(), 2, "{}", outcome.stderr);
}

#[test]
fn failures_leave_stdout_empty_and_exit_with_2() {
    let place = Workplace::new();
    place.write("text", "no image");
    place.write("a.fatbin", fat_binary());
    for arguments in [
        &["extract", "missing", "--list"][..],
        &["extract", "text", "--list"],
        &["extract", "a.fatbin", "-o", "text"],
        &["extract", "a.fatbin"],
        &["no-such-command"],
    ] {
        let outcome = place.voltsim(arguments);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(!outcome.stderr.is_empty());
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let place = Workplace::new();
    place.write("a.fatbin", fat_binary());
    let mut command = Command::new(env!("CARGO_BIN_EXE_voltsim"));
    command.current_dir(place.path(".")).args(["extract", "a.fatbin", "--list"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let result = command.stdout(writer).output().unwrap();
    assert_eq!((result.status.code(), result.stderr.as_slice()), (Some(0), &b""[..]));
}
