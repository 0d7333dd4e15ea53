//! What the libraries do on request of the environment, and what they say when something is missing.

#![allow(clippy::expect_used)]

mod common;

use std::path::{Path, PathBuf};
use std::process::Output;

/// Compiles a program of `tests/settings`, which the other tests do not run.
fn program(name: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/settings").join(name).with_extension("c");
    common::compile(&source).expect("the program compiles")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn run(program: &Path, settings: &[(&str, &Path)]) -> Output {
    let mut command = common::command(program);
    command.envs(settings.iter().copied());
    command.output().expect("the program starts")
}

#[test]
fn without_settings_nothing_is_printed() {
    let output = run(&program("device_name"), &[]);
    assert_eq!((text(&output.stdout), text(&output.stderr)), ("NVIDIA TITAN V\n".into(), String::new()));
}

#[test]
fn the_log_has_each_call_with_arguments_and_result() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    run(&program("device_name"), &[("VOLTSIM_LOG", &log)]);
    let log = std::fs::read_to_string(log).expect("the log");
    assert!(log.contains("] cudaGetDeviceProperties(prop=0x"), "{log}");
    assert!(log.contains("device=0) = cudaSuccess"), "{log}");
    assert!(log.contains("device=9) = cudaErrorInvalidDevice"), "{log}");
}

#[test]
fn the_log_names_a_function_without_a_body_and_its_caller_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    let program = program("unsupported");
    let output = run(&program, &[("VOLTSIM_LOG", &log)]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let log = std::fs::read_to_string(log).expect("the log");
    let lines: Vec<_> = log.lines().filter(|line| line.contains("is not supported")).collect();
    assert_eq!(lines.len(), 1, "{log}");
    assert!(lines[0].contains("cudaGraphicsMapResources") && lines[0].contains("unsupported"), "{log}");
}

#[test]
fn the_summary_counts_calls_and_instructions_of_each_kernel() {
    let folder = tempfile::tempdir().expect("a folder");
    let summary = folder.path().join("summary.json");
    let launches = common::compile(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/launch.c"));
    run(&launches.expect("the program compiles"), &[("VOLTSIM_SUMMARY", &summary)]);
    let summary: serde_json::Value =
        serde_json::from_slice(&std::fs::read(summary).expect("the summary")).expect("JSON");
    assert_eq!(summary["device"], "NVIDIA TITAN V");
    assert!(summary["api_calls"].as_u64() > Some(20));
    let kernels = summary["kernels"].as_array().expect("kernels");
    let add_one = kernels.iter().find(|kernel| kernel["name"] == "add_one").expect("the kernel");
    assert_eq!(add_one["launches"], 4);
    // 32 warps a launch; the kernel has 14 instructions.
    let executed = add_one["warp_instructions"].as_u64().expect("a number");
    assert!((4 * 32 * 10..=4 * 32 * 20).contains(&executed), "{add_one}");
}

#[test]
fn the_device_is_the_one_the_environment_names() {
    let output = run(&program("device_name"), &[("VOLTSIM_DEVICE", Path::new("v100"))]);
    assert_eq!(text(&output.stdout), "Tesla V100-SXM2-16GB\n");
}

#[test]
fn a_mistake_in_a_device_profile_is_told_with_file_and_key() {
    let folder = tempfile::tempdir().expect("a folder");
    let profile = folder.path().join("mine.toml");
    std::fs::write(&profile, "base = \"titan-v\"\n[attributes]\nwarp_sise = 32\n").expect("the profile");
    let output = run(&program("device_name"), &[("VOLTSIM_DEVICE", &profile)]);
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stderr);
    assert!(said.contains("mine.toml") && said.contains("attributes.warp_sise"), "{said}");
}

#[test]
fn without_the_core_every_call_returns_an_error_and_one_message_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["libcudart.so.13", "libcuda.so.1"] {
        std::fs::copy(common::libraries().join(name), folder.path().join(name)).expect("a copy of the front");
    }
    let mut command = common::command(&program("device_name"));
    let output = command.env("LD_LIBRARY_PATH", folder.path()).output().expect("the program starts");
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stderr);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("libcudart.so.13") && said.contains("libvoltsim_core.so"), "{said}");
}
