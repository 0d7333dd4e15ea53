//! `CUDA_VISIBLE_DEVICES`: selection and order of three devices.

#![allow(clippy::expect_used)]

mod common;

use std::path::{Path, PathBuf};

fn program(name: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/settings").join(name).with_extension("c");
    common::compile(&source).expect("the program compiles")
}

/// Output line of the program with three devices: code, count, total, and for each device its bus
/// and the number in its UUID.
fn devices(visible: Option<&str>) -> String {
    let mut command = common::command(&program("visible"));
    command
        .env("VOLTSIM_DEVICES", "3")
        .env("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
        .env_remove("CUDA_VISIBLE_DEVICES");
    if let Some(visible) = visible {
        command.env("CUDA_VISIBLE_DEVICES", visible);
    }
    let output = command.output().expect("the program starts");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.is_empty(), "{visible:?}: {}: {told}", output.status);
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// The parts of the line that identify devices: `0000:01:00.0-7c`.
fn named(line: &str) -> Vec<&str> {
    line.split_once(':').map_or(Vec::new(), |(_, devices)| devices.split_whitespace().collect())
}

#[test]
fn visible_devices_are_selected_and_ordered() {
    let all = devices(None);
    let [first, second, third] = named(&all)[..] else { panic!("{all}") };
    assert!(all.starts_with("0 3 of 3:"), "{all}");
    for (visible, expected) in [
        ("1,0", vec![second, first]),
        ("2", vec![third]),
        ("0,1,2,3", vec![first, second, third]),
        ("1,7,0", vec![second]),
        ("2,-1,0", vec![third]),
    ] {
        let line = devices(Some(visible));
        assert_eq!(named(&line), expected, "{visible}");
        assert!(line.starts_with(&format!("0 {} of 3:", expected.len())), "{line}");
    }
}

#[test]
fn no_visible_device_is_the_no_device_error() {
    for visible in ["", "-1", "3", "0,0", "MIG-1234", "GPU-nothing"] {
        assert_eq!(devices(Some(visible)), "100 0 of 3:", "{visible}");
    }
}
