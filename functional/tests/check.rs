//! What checkers find in kernels, and what they do not take for a mistake.

#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "check/barriers.rs"]
mod barriers;
#[path = "check/bench.rs"]
mod bench;
#[path = "check/memory.rs"]
mod memory;
#[path = "check/races.rs"]
mod races;
#[path = "check/stack.rs"]
mod stack;
#[path = "check/uninitialised.rs"]
mod uninitialised;

use functional::check::{Check, Checks};

#[test]
fn checks_are_named_one_by_one_or_all_together() {
    let some: Checks = "memory, barriers".parse().unwrap();
    assert!(some.has(Check::Memory) && some.has(Check::Barriers));
    let all: Checks = "all".parse().unwrap();
    assert!(Check::ALL.into_iter().all(|check| all.has(check)));
}

#[test]
fn an_unknown_check_is_an_error_that_names_those_there_are() {
    let error = "memory,luck".parse::<Checks>().unwrap_err().to_string();
    assert!(error.contains("`luck`") && error.contains("memory") && error.contains("all"), "{error}");
}
