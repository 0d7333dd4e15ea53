//! Host memory of the model.

use std::fs;
use std::process::Command;

use timing::gpu::Gpu;

use crate::script::{Script, Thread, launch, titan_v};

/// Limit for the model in bytes. A timed run may take 1 GB beyond the program's own memory,
/// including up to 160 MiB of registers for 2,048 threads on 80 SMs.
const MOST: u64 = 256 << 20;

/// Scattered words over 4 GiB, on a different line for each lane.
fn scattered(turn: u64) -> impl Fn(Thread) -> u64 {
    move |thread| ((thread.number * 8 + turn).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) & !0x7f
}

/// Fills all SMs with warps whose lanes load, add to and store to their own lines, without
/// dependences.
fn all_queues_full() -> Script {
    let loads = (0..4)
        .fold(Script::new(160, 1024), |script, turn| script.load(8 + turn as u16, &[], scattered(turn)));
    loads.atomic(12, &[], scattered(4)).store(&[], scattered(5)).store(&[], scattered(6)).exit()
}

/// Peak resident memory of this process in bytes.
fn most_resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

#[test]
#[ignore = "runs in a process of its own"]
fn full_alone() {
    let mut gpu: Gpu = titan_v(&[]);
    let record = launch(&mut gpu, &all_queues_full());
    println!("{} cycles, {} bytes", record.cycles, most_resident());
}

#[test]
fn saturated_titan_v_takes_at_most_256_mib() {
    let mut alone = Command::new(std::env::current_exe().unwrap());
    alone.args(["--exact", "--ignored", "--nocapture", "memory::full_alone"]);
    let output = alone.output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let bytes = said.split_once(" bytes").and_then(|(before, _)| before.split_whitespace().last());
    let bytes: u64 = bytes.unwrap_or_else(|| panic!("{said}")).parse().unwrap();
    assert!(bytes < MOST, "{} MiB", bytes >> 20);
}
