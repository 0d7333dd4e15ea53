//! Copies between host and device.

use timing::gpu::{Copy, Direction, Ended};

use crate::script::{Script, count, launch, titan_v};

const MEBIBYTE: u64 = 1 << 20;

fn to_device(bytes: u64) -> Copy {
    Copy { direction: Direction::ToDevice, address: MEBIBYTE, bytes }
}

#[test]
fn copy_takes_latency_plus_bus_time() {
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

/// Nanoseconds of two copies that start together.
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
fn copies_in_one_direction_share_the_bus() {
    // Twice 12 MB at 12 GB/s, and 1,200 cycles at 1.2 GHz.
    let times = [Direction::ToDevice, Direction::FromDevice].map(|direction| both([direction; 2]));
    assert!(times.iter().all(|time| (2_001_000..2_001_700).contains(time)), "{times:?}");
}

#[test]
fn copies_in_opposite_directions_overlap() {
    let time = both([Direction::ToDevice, Direction::FromDevice]);
    assert!((1_001_000..1_001_500).contains(&time), "{time}");
}

/// Loads 64 KiB from the copy's target, one line per warp.
fn reader() -> Script {
    Script::new(8, 512).load(8, &[], |thread| MEBIBYTE + thread.number * 16).exit()
}

#[test]
fn data_copied_to_the_device_is_in_l2() {
    let mut gpu = titan_v(&[]);
    gpu.copy(to_device(65536)).unwrap();
    let record = launch(&mut gpu, &reader());
    assert_eq!(count(&record, "l2.sectors_copy"), 0);
    // Only an instruction line is read.
    assert_eq!(count(&record, "dram.reads"), 4);
}

#[test]
fn copies_that_bypass_l2_leave_nothing_there() {
    let mut gpu = titan_v(&["copy.through_l2=false"]);
    gpu.copy(to_device(65536)).unwrap();
    let record = launch(&mut gpu, &reader());
    assert!(count(&record, "dram.reads") >= 65536 / 32);
}

#[test]
fn cold_launch_misses_copied_data() {
    let mut gpu = titan_v(&["launch.cold=true"]);
    gpu.copy(to_device(65536)).unwrap();
    let record = launch(&mut gpu, &reader());
    assert!(count(&record, "dram.reads") >= 65536 / 32);
}

#[test]
fn cold_launch_keeps_code_but_reads_data() {
    let mut gpu = titan_v(&["launch.cold=true"]);
    for _ in 0..2 {
        let record = launch(&mut gpu, &reader());
        assert_eq!(count(&record, "front_end.l2_lines"), 0);
        assert_eq!(count(&record, "dram.reads"), 65536 / 32);
    }
}

#[test]
fn copy_beyond_l2_size_goes_through_l2_in_part() {
    let mut gpu = titan_v(&["chip.sms=4", "l2.size=6144"]);
    gpu.copy(to_device(64 * MEBIBYTE)).unwrap();
    let start = gpu.now().cycle;
    assert!(start > 6_000_000, "{start}");
    let record = launch(&mut gpu, &Script::new(1, 32).exit());
    // Activity before a launch does not count for it.
    assert_eq!(count(&record, "gpu.copy_requests"), 0);
}
