//! Copies and fills within the device in the timing model.

#![allow(clippy::expect_used)]

mod common;

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Core cycles of an empty launch: start and end.
const LAUNCH: f64 = 642.0 + 700.0;

/// Output of the program `transfers` and its statistics.
struct Ran {
    /// Milliseconds by name and KiB.
    times: BTreeMap<String, f64>,
    right: String,
    statistics: String,
}

fn program() -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/settings/transfers.c");
    common::compile(&source).expect("the program compiles")
}

fn run(settings: &[(&str, &str)]) -> Ran {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.json");
    let file = path.to_str().expect("a name in UTF-8");
    let mut command = common::command(&program());
    command.envs([("VOLTSIM_MODE", "detailed"), ("VOLTSIM_GPU", "tiny"), ("VOLTSIM_STATISTICS", file)]);
    let output = command.envs(settings.iter().copied()).output().expect("the program starts");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let (times, right) = printed.trim_end().rsplit_once('\n').expect("lines");
    let time = |line: &str| {
        let (what, milliseconds) = line.rsplit_once(' ').expect("a time");
        (what.to_owned(), milliseconds.parse().expect("a number"))
    };
    let statistics = std::fs::read_to_string(&path).unwrap_or_default();
    Ran { times: times.lines().map(time).collect(), right: right.to_owned(), statistics }
}

#[test]
fn device_transfer_time_grows_with_bytes() {
    let Ran { times, right, .. } = run(&[]);
    let launch = LAUNCH / 1200.0 / 1000.0;
    let bytes = |name: &str| times[name] - launch;
    assert!(times["nothing.0"] < 1e-5, "{times:?}");
    for name in ["fill", "copy"] {
        let [small, middle, large] = ["128", "1024", "8192"].map(|size| bytes(&format!("{name}.{size}")));
        assert!(small > 0.0, "{times:?}");
        // Data that fits L2 need not go to DRAM.
        assert!((6.0..24.0).contains(&(middle / small)), "{times:?}");
        assert!((7.5..8.5).contains(&(large / middle)), "{times:?}");
    }
    // A copy also reads.
    assert!((1.8..2.5).contains(&(bytes("copy.8192") / bytes("fill.8192"))), "{times:?}");
    assert!((0.99..1.01).contains(&(times["words.8192"] / times["fill.8192"])), "{times:?}");
    assert!(bytes("fill2d.195") > 0.0 && bytes("copy2d.195") > bytes("fill2d.195"), "{times:?}");
    assert_eq!(right, "8388608");
}

#[test]
fn transfers_are_serial_in_a_stream_and_overlap_others() {
    let Ran { times, .. } = run(&[]);
    assert!((1.95..2.05).contains(&(times["after.16384"] / times["fill.8192"])), "{times:?}");
    let both = times["fill.8192"] + times["copy.8192"];
    assert!((0.95..1.05).contains(&(times["graph.8192"] / both)), "{times:?}");
    // 128 KiB take 10.9 us on the bus, plus 1 us latency.
    assert!((0.0119..0.0130).contains(&times["beside.128"]), "{times:?}");
}

#[test]
fn statistics_list_transfers_by_stream_and_in_total() {
    let Ran { times, statistics, .. } = run(&[]);
    let all: Value = serde_json::from_str(&statistics).expect("JSON");
    let transfers = all["transfers"].as_array().expect("transfers");
    let kinds = |kind| transfers.iter().filter(|transfer| transfer["kind"] == kind).count();
    assert_eq!([kinds("fill"), kinds("copy")], [9, 5]);
    let cycles = transfers[0]["cycles"].as_f64().expect("a number");
    assert!((times["fill.128"] / (cycles / 1.2e6) - 1.0).abs() < 0.01, "{times:?} {cycles}");
    let sum: u64 = transfers.iter().filter_map(|transfer| transfer["bytes"].as_u64()).sum();
    assert_eq!(all["total"]["transfers"]["bytes"].as_u64(), Some(sum));
    assert_eq!(all["streams"].as_array().map(Vec::len), Some(1));
    assert_eq!(all["streams"][0]["transfers"], all["total"]["transfers"]);
    assert!(all["total"]["counters"]["dram.writes"].as_u64() > Some(0));
}

#[test]
fn transfer_times_do_not_depend_on_threads() {
    let [one, two] = ["1", "2"].map(|threads| run(&[("VOLTSIM_THREADS", threads)]));
    assert_eq!((one.times, one.statistics), (two.times, two.statistics));
}

#[test]
fn transfers_work_without_a_model() {
    assert_eq!(run(&[("VOLTSIM_MODE", "functional")]).right, run(&[]).right);
}

#[test]
fn plan_lists_transfer_counts_and_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    let mut command = common::command(&program());
    command.arg("launch").env("VOLTSIM_IMAGE", file("plan.vks")).env("VOLTSIM_PLAN", file("plan.toml"));
    let output = command.output().expect("the program starts");
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr)), (Some(0), "".into()));
    let plan = std::fs::read_to_string(file("plan.toml")).expect("the plan");
    let largest = 8 << 20;
    let [fills, copies] = [1, 0].map(|words| (1 << 17) + (1 << 20) + largest + words * largest + 200_000);
    let fills = fills + 2 * largest + (1 << 17) + largest;
    let copies = copies + largest;
    let section = |name: &str, number, bytes| format!("[{name}]\nnumber = {number}\nbytes = {bytes}\n");
    assert!(plan.contains(&section("fills", 9, fills)), "{plan}");
    assert!(plan.contains(&section("device_copies", 5, copies)), "{plan}");
}
