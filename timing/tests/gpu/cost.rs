//! Cost of the model: host instructions per warp instruction, counted by callgrind and compared
//! with a committed baseline. `cargo xtask test` runs this in release mode; `--nocapture` prints
//! the figures for a new baseline.

use std::process::Command;

use timing::gpu::Gpu;
use timing::series::Interval;

use crate::bench::{sgemm_of, sum_of_vectors_by};
use crate::script::{Script, count, launch, titan_v};

/// By kernel: warp instructions, and host instructions for each.
const BASELINE: &str = include_str!("cost.tsv");

/// Permitted excess over the baseline.
const MORE: f64 = 1.1;

fn run(mut gpu: Gpu, script: &Script) {
    println!("{} warp instructions", count(&launch(&mut gpu, script), "sm.warp_instructions"));
}

#[test]
#[ignore = "callgrind runs it"]
fn sgemm_alone() {
    run(titan_v(&[]), &sgemm_of(256, 32));
}

#[test]
#[ignore = "callgrind runs it"]
fn streaming_alone() {
    run(titan_v(&[]), &sum_of_vectors_by(2560));
}

/// A GPU that counts over time, as reports do.
fn with_series() -> Gpu {
    titan_v(&[]).with_series(Some(Interval::Auto))
}

#[test]
#[ignore = "callgrind runs it"]
fn sgemm_with_series() {
    run(with_series(), &sgemm_of(256, 32));
}

#[test]
#[ignore = "callgrind runs it"]
fn streaming_with_series() {
    run(with_series(), &sum_of_vectors_by(2560));
}

#[test]
#[ignore = "callgrind runs it"]
fn sgemm_with_source_counts() {
    run(titan_v(&[]).with_pc_counts(true), &sgemm_of(256, 32));
}

#[test]
#[ignore = "callgrind runs it"]
fn streaming_with_source_counts() {
    run(titan_v(&[]).with_pc_counts(true), &sum_of_vectors_by(2560));
}

/// The number before a word in the output.
fn number_before(text: &str, word: &str) -> Option<f64> {
    let (before, _) = text.split_once(word)?;
    before.split_whitespace().last()?.parse().ok()
}

/// Warp instructions of a test in this file, and host instructions for each.
fn measured(name: &str) -> (f64, f64) {
    let mut callgrind = Command::new("valgrind");
    callgrind
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().unwrap());
    let output = callgrind.args(["--exact", "--ignored", "--nocapture", name]).output().unwrap();
    let [out, error] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    let warp = number_before(&out, " warp instructions").unwrap_or_else(|| panic!("{out}{error}"));
    let (_, collected) = error.split_once("Collected : ").unwrap_or_else(|| panic!("{error}"));
    let host: f64 = collected.split_whitespace().next().unwrap().parse().unwrap();
    (warp, host / warp)
}

#[test]
#[ignore = "needs valgrind and the release build"]
fn host_instructions_stay_within_a_tenth_of_baseline() {
    let mut exceeded = Vec::new();
    for line in BASELINE.lines() {
        let [name, warp, host] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let (instructions, cost) = measured(&format!("cost::{name}"));
        println!("{name}\t{instructions}\t{cost:.0}\tbaseline {host}");
        assert_eq!(
            instructions,
            warp.parse::<f64>().unwrap(),
            "{name} is another kernel than that of the baseline"
        );
        if cost > host.parse::<f64>().unwrap() * MORE {
            exceeded.push(name);
        }
    }
    assert!(exceeded.is_empty(), "a tenth more than the baseline: {exceeded:?}");
}
