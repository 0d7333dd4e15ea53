//! Programs with endless work: termination by the watchdog or by the end of the program, and kernel
//! output meanwhile.

#![allow(clippy::expect_used)]

mod common;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Tolerance beyond the time limit on a loaded machine.
const BEYOND: Duration = Duration::from_secs(3);

fn program() -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/settings/endless.c");
    common::compile(&source).expect("the program compiles")
}

fn command(arguments: &[&str], settings: &[(&str, &str)]) -> Command {
    let mut command = common::command(&program());
    command.args(arguments).envs(settings.iter().copied());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn timed(arguments: &[&str], settings: &[(&str, &str)]) -> (Output, Duration) {
    let mut command = command(arguments, settings);
    let started = Instant::now();
    let output = command.output().expect("the program starts");
    (output, started.elapsed())
}

/// Settings for each execution mode.
const WAYS: [&[(&str, &str)]; 5] = [
    &[("VOLTSIM_THREADS", "1")],
    &[("VOLTSIM_DETERMINISTIC", "1")],
    &[("VOLTSIM_CHECK", "memory")],
    &[("VOLTSIM_MODE", "detailed"), ("VOLTSIM_THREADS", "1")],
    &[("VOLTSIM_MODE", "detailed"), ("VOLTSIM_THREADS", "2")],
];

#[test]
fn watchdog_ends_kernels_in_time_in_every_mode() {
    for way in WAYS {
        let settings = [way, &[("VOLTSIM_WATCHDOG", "1")]].concat();
        let (output, took) = timed(&["kernel"], &settings);
        let said = text(&output.stderr);
        assert!(said.contains("cudaErrorLaunchTimeout"), "{way:?}: {said}");
        assert!(said.contains("the watchdog's 1 s in kernel endless"), "{way:?}: {said}");
        assert!(took < Duration::from_secs(1) + BEYOND, "{way:?}: {took:?}");
    }
}

#[test]
fn watchdog_ends_waits_of_streams_for_memory() {
    let (output, took) = timed(&["wait"], &[("VOLTSIM_WATCHDOG", "1")]);
    let said = text(&output.stderr);
    assert!(said.contains("cudaErrorLaunchTimeout"), "{said}");
    assert!(said.contains("longer than the watchdog's limit of 1 s"), "{said}");
    assert!(took < Duration::from_secs(1) + BEYOND, "{took:?}");
}

#[test]
fn program_ends_when_main_returns_and_reports_say_so() {
    for way in [WAYS[0], WAYS[3], WAYS[4]] {
        let folder = tempfile::tempdir().expect("a folder");
        let summary = folder.path().join("summary.json");
        let settings = [way, &[("VOLTSIM_SUMMARY", summary.to_str().expect("a path"))]].concat();
        let (output, took) = timed(&["unfinished"], &settings);
        let said = text(&output.stderr);
        assert!(output.status.success() && text(&output.stdout) == "main returns\n", "{way:?}: {said}");
        assert!(said.contains("a launch of endless was unfinished"), "{way:?}: {said}");
        assert!(took < Duration::from_secs(2) + BEYOND, "{way:?}: {took:?}");
        let summary: serde_json::Value =
            serde_json::from_slice(&std::fs::read(summary).expect("the summary")).expect("JSON");
        let kernel = &summary["kernels"][0];
        assert_eq!(
            (&kernel["launches"], &kernel["unfinished"]),
            (&0.into(), &1.into()),
            "{way:?}: {summary}"
        );
    }
}

#[test]
fn program_ends_while_a_stream_waits_for_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let summary = folder.path().join("summary.json");
    let settings = [("VOLTSIM_SUMMARY", summary.to_str().expect("a path"))];
    let (output, took) = timed(&["unfinished_wait"], &settings);
    assert!(output.status.success() && took < Duration::from_secs(2) + BEYOND, "{took:?}");
    assert!(text(&output.stderr).contains("some work was unfinished"), "{}", text(&output.stderr));
}

#[test]
fn kernel_output_appears_while_the_kernel_runs() {
    let mut command = command(&["chat", "1000000000000"], &[("VOLTSIM_THREADS", "2")]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    let mut pipe = child.stdout.take().expect("a pipe");
    let mut chunk = vec![0; 8 << 20];
    let read = pipe.read_exact(&mut chunk);
    let memory = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    child.kill().expect("it runs");
    let _ = child.wait();
    read.expect("8 MB of text");
    assert!(chunk.starts_with(b"text of a kernel\ntext of a kernel\n"));
    let resident = memory.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    let kilobytes: u64 = resident.trim().trim_end_matches(" kB").parse().expect("a number");
    assert!(kilobytes < 200_000, "{kilobytes} kB");
}

#[test]
fn kernel_output_does_not_depend_on_buffer_size() {
    // 4 CTAs of 64 threads print 40 lines each: 174 KB.
    let out = |settings: &[(&str, &str)]| timed(&["chat", "40"], settings).0.stdout;
    let expected = "text of a kernel\n".repeat(4 * 64 * 40);
    for way in [WAYS[0], WAYS[1], WAYS[3]] {
        assert!(text(&out(way)) == expected, "{way:?}");
    }
}
