//! `libnccl.so.2` among the devices of several processes, and of one.

#![allow(clippy::expect_used)]

mod common;

use std::path::Path;

/// Runs a case of `settings/nccl.c` with as many devices as ranks; returns what it says.
fn run(case: &str, ranks: usize) -> (String, String) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/settings/nccl.c");
    let nccl = common::libraries().join("libnccl.so.2");
    let program = common::compile_with(&source, &[nccl.to_str().expect("a path of text")]);
    let mut command = common::command(&program.expect("the program compiles"));
    command.env("VOLTSIM_DEVICES", ranks.to_string());
    let output = command.args([case, &ranks.to_string()]).output().expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let (printed, error) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{}: {printed}{error}", output.status);
    (printed, error)
}

#[test]
fn ranks_of_several_processes_exchange_their_elements() {
    for ranks in [1, 2, 5] {
        assert_eq!(run("operations", ranks).0, "");
    }
}

#[test]
fn ranks_of_one_process_exchange_their_elements() {
    assert_eq!(run("one-process", 3).0, "");
}

#[test]
fn rank_that_dies_ends_the_operations_of_the_others() {
    let (printed, error) = run("dies", 3);
    assert_eq!(printed, "");
    assert!(error.contains("voltsim: NCCL: rank 1 (process "), "{error}");
}

#[test]
fn rank_that_aborts_ends_the_operations_of_the_others() {
    assert_eq!(run("aborts", 2).0, "");
}

#[test]
fn two_ranks_of_one_device_are_refused_with_a_remedy() {
    let (_, error) = run("twins", 2);
    assert!(error.contains("use the same device 0; give each rank its device"), "{error}");
}
