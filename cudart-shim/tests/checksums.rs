//! Checksums of memory after launches, with the built libraries.

#![allow(clippy::expect_used, clippy::panic)]

mod common;

use common::steps::{LAUNCHES, Place, command, steps, text};
use saved_run::checksums::{Compared, first_difference};
use std::path::{Path, PathBuf};

impl Place {
    /// Runs `steps` with checksums. Returns the file and the standard error output.
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

/// Number of launches after which two equal runs were compared. Addresses of registered memory may
/// differ.
fn same(one: &Path, other: &Path) -> u64 {
    let Compared { launches, difference, .. } = first_difference(one, other).expect("comparable");
    assert_eq!(difference, Vec::<String>::new());
    launches
}

#[test]
fn memory_does_not_depend_on_threads_or_mode() {
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
fn resumed_run_has_equal_memory_after_each_launch() {
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
fn first_difference_names_launch_and_allocation() {
    let place = Place::new();
    let (one, _) = place.record("one", &[], &[]);
    let (other, _) = place.record("other", &["3"], &[]);
    let Compared { launches, difference, .. } = first_difference(&one, &other).expect("comparable");
    assert_eq!(launches, 2);
    assert_eq!(difference.len(), 2, "{difference:?}");
    assert!(difference[0].starts_with("memory differs after launch 3 of add"), "{difference:?}");
    assert!(difference[1].starts_with("device 0, Device allocation 1, 65536 bytes at 0x"), "{difference:?}");
}

#[test]
fn extra_allocation_is_named_with_its_consequences() {
    let place = Place::new();
    let (one, _) = place.record("one", &[], &[]);
    let (other, _) = place.record("other", &["7", "allocate"], &[]);
    let Compared { difference, .. } = first_difference(&one, &other).expect("comparable");
    assert!(difference[0].starts_with("memory differs after launch 7 of add"), "{difference:?}");
    assert!(difference[1..].iter().any(|line| line.ends_with("in the second run only")), "{difference:?}");
}

#[test]
fn partial_checksums_match_full_ones() {
    let place = Place::new();
    let (all, _) = place.record("all", &[], &[]);
    let (some, _) = place.record("some", &[], &[("VOLTSIM_CHECKSUMS_EVERY", "4")]);
    assert_eq!(same(&all, &some), LAUNCHES / 4);
}

#[test]
fn unwritable_checksum_file_is_reported() {
    let place = Place::new();
    let (file, said) = place.record("none/file", &[], &[]);
    assert!(said.contains("VOLTSIM_CHECKSUMS") && said.contains("none/file"), "{said}");
    assert!(!file.exists());
    let (file, said) = place.record("file", &[], &[("VOLTSIM_CHECKSUMS_EVERY", "0")]);
    assert!(said.contains("VOLTSIM_CHECKSUMS_EVERY"), "{said}");
    assert!(!file.exists());
}
