//! Refused launches: messages, and whether the program has read the error.

#![allow(clippy::expect_used)]

mod common;

use saved_run::refusals::open_at_end;
use std::path::{Path, PathBuf};
use std::process::Output;

fn program() -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/settings/refused.c");
    common::compile(&source).expect("the program compiles")
}

fn run(arguments: &[&str], settings: &[(&str, &Path)]) -> Output {
    let library = common::library("refuser").expect("the library compiles");
    let mut command = common::command(&program());
    command.env_remove("VOLTSIM_STRICT").envs(settings.iter().copied());
    command.arg(library).args(arguments).output().expect("the program starts")
}

/// Tells whether a refusal of the library's kernel is open at exit.
fn is_open(arguments: &[&str]) -> bool {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let output = run(arguments, &[("VOLTSIM_REFUSED_STATUS", file.path())]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(said.matches("voltsim: kernel refused of ").count(), 1, "{said}");
    assert!(said.contains("refuser: ") && said.contains("tcgen05"), "{said}");
    let open = open_at_end(&std::fs::read_to_string(file.path()).expect("the file"));
    assert!(open.len() <= 1, "{open:?}");
    assert!(
        open.iter().all(|(kernel, holder)| kernel == "refused" && holder.ends_with("/refuser")),
        "{open:?}"
    );
    !open.is_empty()
}

#[test]
fn refusal_is_open_while_only_its_library_knows() {
    for function in ["launch", "launch_and_ask", "launch_by_driver"] {
        assert!(is_open(&[function]), "{function}");
    }
    assert!(is_open(&["launch", "synchronise"]), "a wait does not give the error");
    assert!(is_open(&["launch_and_ask", "last"]), "the library has taken the error");
}

#[test]
fn program_that_reads_the_error_closes_the_refusal() {
    assert!(!is_open(&["launch", "last"]));
    assert!(!is_open(&["launch_and_ask", "text"]));
    assert!(!is_open(&["launch_by_driver", "text"]));
}

#[test]
fn a_search_for_algorithms_tells_its_caller_of_refusals() {
    assert!(!is_open(&["cudnnFindAlgorithm"]));
}

#[test]
fn strict_ends_the_process_at_the_launch() {
    let output = run(&["launch", "last"], &[("VOLTSIM_STRICT", Path::new("1"))]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(88), b"".as_slice()), "{said}");
    assert!(said.contains("ending the run"), "{said}");
}
