//! Copies between host and device.

use timing::gpu::{Copy, Direction, Ended};

use crate::script::{Script, count, launch, titan_v};

const MEBIBYTE: u64 = 1 << 20;

fn to_device(bytes: u64) -> Copy {
    Copy { direction: Direction::ToDevice, address: MEBIBYTE, bytes }
}

#[test]
fn a_copy_takes_its_latency_and_its_bytes_over_the_bus() {
    let mut gpu = titan_v(&[]);
    let mut copy = |direction| {
        let start = gpu.now();
        gpu.copy(Copy { direction, ..to_device(12 * 1000 * 1000) }).unwrap();
        gpu.now().nanoseconds - start.nanoseconds
    };
    // 12 MB at 12 GB/s, and 1,200 cycles at 1.2 GHz.
    for direction in [Direction::ToDevice, Direction::FromDevice] {
        let time = copy(direction);
        assert!((1_001_000..1_001_500).contains(&time), "{time}");
    }
}

/// Nanoseconds that two copies take which begin together.
fn both(directions: [Direction; 2]) -> u64 {
    let mut gpu = titan_v(&[]);
    let mut session = gpu.session();
    for direction in directions {
        session.begin_copy(Copy { direction, ..to_device(12 * 1000 * 1000) }, 0);
    }
    for _ in directions {
        assert!(matches!(session.run_until_one_ends(&mut ()), Ok(Ended::Copy { .. })));
    }
    drop(session);
    gpu.now().nanoseconds
}

#[test]
fn copies_that_go_the_same_way_follow_each_other_on_the_bus() {
    // Twice 12 MB at 12 GB/s, and 1,200 cycles at 1.2 GHz.
    let times = [Direction::ToDevice, Direction::FromDevice].map(|direction| both([direction; 2]));
    assert!(times.iter().all(|time| (2_001_000..2_001_700).contains(time)), "{times:?}");
}

#[test]
fn copies_that_go_different_ways_do_not_hinder_each_other() {
    let time = both([Direction::ToDevice, Direction::FromDevice]);
    assert!((1_001_000..1_001_500).contains(&time), "{time}");
}

/// Loads 64 KiB, one line each warp, from where copies go.
fn reader() -> Script {
    Script::new(8, 512).load(8, &[], |thread| MEBIBYTE + thread.number * 16).exit()
}

#[test]
fn what_was_copied_to_the_device_is_in_l2() {
    let mut gpu = titan_v(&[]);
    gpu.copy(to_device(65536)).unwrap();
    let record = launch(&mut gpu, &reader());
    assert_eq!(count(&record, "l2.sectors_copy"), 0);
    // Only a line of instructions is read.
    assert_eq!(count(&record, "dram.reads"), 4);
}

#[test]
fn copies_that_pass_by_l2_leave_nothing_there() {
    let mut gpu = titan_v(&["copy.through_l2=false"]);
    gpu.copy(to_device(65536)).unwrap();
    let record = launch(&mut gpu, &reader());
    assert!(count(&record, "dram.reads") >= 65536 / 32);
}

#[test]
fn a_cold_launch_finds_nothing_of_a_copy() {
    let mut gpu = titan_v(&["launch.cold=true"]);
    gpu.copy(to_device(65536)).unwrap();
    let record = launch(&mut gpu, &reader());
    assert!(count(&record, "dram.reads") >= 65536 / 32);
}

#[test]
fn a_cold_launch_has_its_code_and_reads_its_data_alone() {
    let mut gpu = titan_v(&["launch.cold=true"]);
    for _ in 0..2 {
        let record = launch(&mut gpu, &reader());
        assert_eq!(count(&record, "front_end.l2_lines"), 0);
        assert_eq!(count(&record, "dram.reads"), 65536 / 32);
    }
}

#[test]
fn of_a_copy_larger_than_l2_only_what_fits_goes_through_it() {
    let mut gpu = titan_v(&["chip.sms=4", "l2.size=6144"]);
    gpu.copy(to_device(64 * MEBIBYTE)).unwrap();
    let start = gpu.now().cycle;
    assert!(start > 6_000_000, "{start}");
    let record = launch(&mut gpu, &Script::new(1, 32).exit());
    // What is before a launch is not counted as its.
    assert_eq!(count(&record, "gpu.copy_requests"), 0);
}
