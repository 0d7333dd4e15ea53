//! Instruction counts are independent of how often warps wait.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use functional::device::{Device, DeviceSpec, Settings};
use functional::launch::{LaunchConfig, launch};
use functional::module::Module;
use warp_stream::LaunchShape;

/// A kernel launch.
struct Case {
    code: &'static str,
    grid: u32,
    block: u32,
    cluster: Option<[u32; 3]>,
}

/// Warp and lane instructions executed on `threads` workers.
fn executed(case: &Case, threads: usize, timed: bool) -> (u64, u64) {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64
         .visible .entry test() {{ .reg .pred %p<9>; .reg .b32 %r<9>; mov.u32 %r1, %tid.x; {} }}",
        case.code
    );
    let settings = Settings { threads, timed, ..Settings::default() };
    let device = Arc::new(Device::new(DeviceSpec::default(), settings).unwrap());
    let ptx = Arc::new(ptx_frontend::Module::parse(text, "counts.ptx").unwrap());
    let module = Module::load(&device, vec![ptx]).unwrap();
    let config = LaunchConfig {
        shape: LaunchShape::new([case.grid, 1, 1], [case.block, 1, 1]),
        cluster: case.cluster,
        ..LaunchConfig::default()
    };
    let executed = launch(&device, &module.kernel("test").unwrap(), config).unwrap();
    (executed.warp_instructions, executed.lane_instructions)
}

fn assert_counts(case: &Case, warps: u64, lanes: u64) {
    for threads in [1, 3] {
        for timed in [false, true] {
            let counts = executed(case, threads, timed);
            assert_eq!(counts, (warps, lanes), "{}, {threads} workers, timed: {timed}", case.code);
        }
    }
}

#[test]
fn waiting_warps_count_a_barrier_once() {
    let code = "bar.sync 0; barrier.red.popc.u32 %r2, 1, 1; bar.sync 0; ret;";
    // Three warps, the last with 16 lanes.
    let case = Case { code, grid: 7, block: 80, cluster: None };
    assert_counts(&case, 7 * 3 * 5, 7 * 80 * 5);
}

#[test]
fn diverged_lanes_count_a_barrier_once() {
    let code = "setp.lt.u32 %p1, %r1, 40; @%p1 bar.sync 1, 64; @!%p1 bar.sync 1, 64; ret;";
    let case = Case { code, grid: 2, block: 64, cluster: None };
    // The second warp is diverged from the first barrier on.
    assert_counts(&case, 2 * (5 + 3 + 2 * 2), 2 * 64 * 4);
}

#[test]
fn waiting_warps_count_a_cluster_barrier_once() {
    let code =
        "barrier.cluster.arrive; barrier.cluster.wait; barrier.cluster.arrive; barrier.cluster.wait; ret;";
    let case = Case { code, grid: 8, block: 64, cluster: Some([4, 1, 1]) };
    assert_counts(&case, 8 * 2 * 6, 8 * 64 * 6);
}

#[test]
fn waiting_lanes_count_a_warp_instruction_once() {
    // Only eight lanes take the branch; they exit while the others wait for them.
    let code = "setp.lt.u32 %p1, %r1, 8; @%p1 bra LEAVE; bar.warp.sync -1; LEAVE: ret;";
    let case = Case { code, grid: 2, block: 32, cluster: None };
    // In machine code, the branch is an exit.
    assert_eq!(executed(&case, 1, false), (2 * 6, 2 * (3 * 32 + 8 + 24)));
    assert_eq!(executed(&case, 1, true), (2 * 5, 2 * (2 * 32 + 8 + 24 + 24)));
}
