//! Checksums of memory after launches, through the built libraries.

#![allow(clippy::expect_used, clippy::panic)]

mod common;

use common::steps::{LAUNCHES, Place, command, steps, text};
use saved_run::checksums::{Compared, first_difference};
use std::path::{Path, PathBuf};

impl Place {
    /// Runs `steps` with arguments and settings, and writes checksums; gives their file, and what the run says on standard error.
    fn record(&self, name: &str, arguments: &[&str], settings: &[(&str, &str)]) -> (PathBuf, String) {
        let file = self.path(name);
        let mut command = command(steps());
        command.args(arguments).env("VOLTSIM_CHECKSUMS", &file).envs(settings.iter().copied());
        let output = command.output().expect("the program starts");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
        (file.into(), said)
    }
}

/// After how many launches two runs have the same in memory, if they do not differ after any. What the program has registered may lie
/// elsewhere.
fn same(one: &Path, other: &Path) -> u64 {
    let Compared { launches, difference, .. } = first_difference(one, other).expect("comparable");
    assert_eq!(difference, Vec::<String>::new());
    launches
}

#[test]
fn two_runs_have_the_same_in_memory_whatever_the_number_of_threads_and_in_both_modes() {
    let place = Place::new();
    let (one, said) = place.record("one", &[], &[("VOLTSIM_THREADS", "1")]);
    assert_eq!(said, "");
    let modelled = [("VOLTSIM_MODE", "detailed"), ("VOLTSIM_GPU", "tiny")];
    for (name, settings) in [("two", &[("VOLTSIM_THREADS", "2")][..]), ("timed", &modelled)] {
        let (other, _) = place.record(name, &[], settings);
        assert_eq!(same(&one, &other), LAUNCHES, "{name}");
    }
}

#[test]
fn a_resumed_run_has_the_memory_of_the_undisturbed_one_after_each_launch_from_the_point_on() {
    let place = Place::new();
    let (undisturbed, _) = place.record("undisturbed", &[], &[]);
    let checkpoint = place.path("here.vck");
    for (point, left) in
        [("kernel=1", 14), ("kernel=7", 8), ("kernel=7,cta=20,ctas=3,instructions=4", 8), ("kernel=14", 1)]
    {
        place.record(
            "saved",
            &[],
            &[("VOLTSIM_CHECKPOINT", point), ("VOLTSIM_CHECKPOINT_FILE", &checkpoint)],
        );
        let (resumed, _) = place.record("resumed", &[], &[("VOLTSIM_RESUME", &checkpoint)]);
        assert_eq!(same(&undisturbed, &resumed), left, "{point}");
    }
}

#[test]
fn the_first_launch_after_which_memory_differs_is_named_with_the_allocation() {
    let place = Place::new();
    let (one, _) = place.record("one", &[], &[]);
    let (other, _) = place.record("other", &["3"], &[]);
    let Compared { launches, difference, .. } = first_difference(&one, &other).expect("comparable");
    assert_eq!(launches, 2);
    assert_eq!(difference.len(), 2, "{difference:?}");
    assert!(difference[0].starts_with("after launch 3 of add memory differs"), "{difference:?}");
    assert!(difference[1].starts_with("device 0, Device allocation 1, 65536 bytes at 0x"), "{difference:?}");
}

#[test]
fn an_allocation_that_only_one_run_has_is_named_and_what_lies_elsewhere_for_it_is_told() {
    let place = Place::new();
    let (one, _) = place.record("one", &[], &[]);
    let (other, _) = place.record("other", &["7", "allocate"], &[]);
    let Compared { difference, .. } = first_difference(&one, &other).expect("comparable");
    assert!(difference[0].starts_with("after launch 7 of add"), "{difference:?}");
    assert!(difference[1..].iter().any(|line| line.ends_with("in the second run only")), "{difference:?}");
}

#[test]
fn checksums_of_some_launches_are_those_of_all_there() {
    let place = Place::new();
    let (all, _) = place.record("all", &[], &[]);
    let (some, _) = place.record("some", &[], &[("VOLTSIM_CHECKSUMS_EVERY", "4")]);
    assert_eq!(same(&all, &some), LAUNCHES / 4);
}

#[test]
fn a_file_that_cannot_be_written_is_told_and_the_program_goes_on() {
    let place = Place::new();
    let (file, said) = place.record("none/file", &[], &[]);
    assert!(said.contains("VOLTSIM_CHECKSUMS") && said.contains("none/file"), "{said}");
    assert!(!file.exists());
    let (file, said) = place.record("file", &[], &[("VOLTSIM_CHECKSUMS_EVERY", "0")]);
    assert!(said.contains("VOLTSIM_CHECKSUMS_EVERY"), "{said}");
    assert!(!file.exists());
}
