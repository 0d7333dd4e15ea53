//! Choice of code for a device.

use ptx_frontend::container::resource_usage::ResourceUsage;
use ptx_frontend::container::select::{choose_ptx, resource_usage, sass_kernels};

use super::builder::{EXACT, EntryBuilder, FAMILY, assembled_cubin, container};
use super::entries;

/// Returns the architecture chosen for `device` from PTX entries of these architectures.
fn chosen(architectures: &[&str], device: u32) -> Option<String> {
    let entry = |name: &&str| {
        let flags = match name.as_bytes().last() {
            Some(b'a') => EXACT,
            Some(b'f') => FAMILY,
            _ => 0,
        };
        let capability = name.trim_end_matches(['a', 'f']).parse().unwrap();
        EntryBuilder::ptx(capability, "").flags(flags)
    };
    let bytes = container(&architectures.iter().map(entry).collect::<Vec<_>>());
    let entries = entries(&bytes).unwrap();
    choose_ptx(&entries, device).map(|entry| entry.architecture.to_string())
}

#[test]
fn the_highest_architecture_not_above_the_device_is_chosen() {
    assert_eq!(chosen(&["52", "70", "60", "80"], 75).as_deref(), Some("sm_70"));
    assert_eq!(chosen(&["52", "70", "75"], 75).as_deref(), Some("sm_75"));
}

#[test]
fn the_lowest_architecture_is_chosen_if_all_exceed_the_device() {
    assert_eq!(chosen(&["90", "75", "80"], 70).as_deref(), Some("sm_75"));
}

#[test]
fn architecture_specific_code_is_preferred_on_its_device() {
    assert_eq!(chosen(&["90", "90a"], 90).as_deref(), Some("sm_90a"));
    assert_eq!(chosen(&["100", "100f"], 103).as_deref(), Some("sm_100f"));
}

#[test]
fn architecture_specific_code_is_last_on_other_devices() {
    assert_eq!(chosen(&["90a", "75"], 100).as_deref(), Some("sm_75"));
    assert_eq!(chosen(&["100f", "90"], 120).as_deref(), Some("sm_90"));
    assert_eq!(chosen(&["90a", "90"], 70).as_deref(), Some("sm_90"));
    assert_eq!(chosen(&["90a"], 100).as_deref(), Some("sm_90a"));
}

#[test]
fn machine_code_is_never_chosen() {
    let bytes = container(&[EntryBuilder::cubin(75, &["k"])]);
    assert!(choose_ptx(&entries(&bytes).unwrap(), 75).is_none());
    assert_eq!(chosen(&[], 75), None);
}

#[test]
fn kernels_of_machine_code_are_listed_with_their_architectures() {
    let bytes = container(&[
        EntryBuilder::cubin(75, &["both", "old"]),
        EntryBuilder::ptx(75, ".visible .entry ptx_only() {}"),
        EntryBuilder::cubin(80, &["both"]).zstd(),
    ]);
    let kernels = sass_kernels(&entries(&bytes).unwrap()).unwrap();
    let listed: Vec<_> = kernels
        .iter()
        .map(|(name, architectures)| {
            (name.as_str(), architectures.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
        })
        .collect();
    assert_eq!(listed, [("both", "sm_75 sm_80".to_owned()), ("old", "sm_75".to_owned())]);
}

#[test]
fn resource_usage_is_that_of_exactly_the_device() {
    let of = |registers| EntryBuilder::new(2, 70, &assembled_cubin(&[("k", registers, 96), ("l", 255, 0)]));
    let other = EntryBuilder::new(2, 72, &assembled_cubin(&[("k", 99, 0)]));
    let bytes = container(&[EntryBuilder::ptx(70, ""), other, of(40).lz4()]);
    let entries = entries(&bytes).unwrap();
    let usage = resource_usage(&entries, 70).unwrap();
    let k = ResourceUsage { registers: 40, static_shared: 96, local_bytes: 0 };
    assert_eq!((usage.len(), usage["k"], usage["l"].registers), (2, k, 255));
    assert!(resource_usage(&entries, 75).unwrap().is_empty());
}

#[test]
fn unlinked_machine_code_has_no_resource_usage() {
    let bytes = container(&[EntryBuilder::cubin(70, &["k"])]);
    assert!(resource_usage(&entries(&bytes).unwrap(), 70).unwrap().is_empty());
}
