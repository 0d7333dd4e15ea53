//! Findings of the sanitizer, and correct kernels without findings.

#![allow(clippy::unwrap_used, clippy::panic)]

mod barriers;
mod bench;
mod host;
mod memory;
mod races;
mod stack;
mod uninitialised;

use functional::sanitizer::{Check, Checks};

#[test]
fn checks_parse_single_names_and_all() {
    let some: Checks = "memory, barriers".parse().unwrap();
    assert!(some.has(Check::Memory) && some.has(Check::Barriers));
    let all: Checks = "all".parse().unwrap();
    assert!(Check::KERNELS.into_iter().all(|check| all.has(check)));
}

#[test]
fn unknown_check_error_lists_the_checks() {
    let error = "memory,luck".parse::<Checks>().unwrap_err().to_string();
    assert!(error.contains("`luck`") && error.contains("memory") && error.contains("all"), "{error}");
}

#[test]
fn all_leaves_out_the_checks_of_the_host() {
    let all: Checks = "all".parse().unwrap();
    assert!(!all.has(Check::Leaks) && !all.has(Check::Calls));
    let more: Checks = "all,leaks".parse().unwrap();
    assert!(more.has(Check::Races) && more.has(Check::Leaks));
}
