//! Host memory that the model takes.

use std::fs;
use std::process::Command;

use timing::gpu::Gpu;

use crate::script::{Script, Thread, launch, titan_v};

/// What the model may take. Bytes. All that a timed run takes beside the program's own is to be under 1 GB, of which registers of
/// 2,048 threads on 80 SMs are 160 MiB at most.
const MOST: u64 = 256 << 20;

/// Words all over 4 GiB, another line for each lane.
fn scattered(turn: u64) -> impl Fn(Thread) -> u64 {
    move |thread| ((thread.number * 8 + turn).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) & !0x7f
}

/// Fills all SMs with warps whose lanes load, add to, and store to lines of their own, none waiting for the one before.
fn all_queues_full() -> Script {
    let loads = (0..4)
        .fold(Script::new(160, 1024), |script, turn| script.load(8 + turn as u16, &[], scattered(turn)));
    loads.atomic(12, &[], scattered(4)).store(&[], scattered(5)).store(&[], scattered(6)).exit()
}

/// The most memory that this process has had. Bytes.
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
fn a_titan_v_whose_queues_are_full_takes_a_quarter_of_a_gigabyte_at_most() {
    let mut alone = Command::new(std::env::current_exe().unwrap());
    alone.args(["--exact", "--ignored", "--nocapture", "memory::full_alone"]);
    let output = alone.output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let bytes = said.split_once(" bytes").and_then(|(before, _)| before.split_whitespace().last());
    let bytes: u64 = bytes.unwrap_or_else(|| panic!("{said}")).parse().unwrap();
    assert!(bytes < MOST, "{} MiB", bytes >> 20);
}
