//! Copies within the device, and fills.

use std::ops::ControlFlow;

use timing::gpu::{Copy, Direction, Ended, Gpu, LaunchError, Observer, Progress, Rows, Transfer};
use timing::record::TransferRecord;

use crate::script::{Script, launch, titan_v};

const MEBIBYTE: u64 = 1 << 20;
const HERE: u64 = 1 << 30;
const THERE: u64 = 1 << 31;

fn fill(bytes: u64) -> Transfer {
    Transfer { to: Rows::row(HERE, bytes), from: None }
}

fn copy(bytes: u64) -> Transfer {
    Transfer { to: Rows::row(HERE, bytes), from: Some(Rows::row(THERE, bytes)) }
}

fn run(gpu: &mut Gpu, transfer: Transfer) -> TransferRecord {
    gpu.transfer(transfer, 0, &mut ()).unwrap_or_else(|error| panic!("{error}"))
}

fn count(record: &TransferRecord, name: &str) -> u64 {
    timing::statistics::value(&record.counters, name).unwrap_or_else(|| panic!("no counter {name}"))
}

/// Core cycles of a request that L2 serves: two crossbar traversals, one of them with four flits,
/// plus the slice's latency.
const AT_L2: u64 = 2 * 40 + 3 + 114;

#[test]
fn fill_of_a_line_takes_a_launch_and_an_l2_access() {
    let record = run(&mut titan_v(&[]), fill(128));
    let cycles = record.cycles - 642 - 700;
    assert!((AT_L2..=AT_L2 + 8).contains(&cycles), "{cycles}");
    assert_eq!([count(&record, "dram.reads"), count(&record, "l2.sectors_written")], [0, 4]);
}

#[test]
fn copy_of_a_line_reads_before_it_writes() {
    let mut gpu = titan_v(&[]);
    run(&mut gpu, Transfer { to: Rows::row(THERE, 128), from: None });
    let record = run(&mut gpu, copy(128));
    let cycles = record.cycles - 642 - 700;
    assert!((2 * AT_L2..=2 * AT_L2 + 16).contains(&cycles), "{cycles}");
    assert_eq!([count(&record, "l2.sectors_read"), count(&record, "l2.sectors_written")], [4, 4]);
}

/// Fraction of DRAM's peak bandwidth, for `moved` bytes transferred per byte written.
fn share_of_peak(transfer: fn(u64) -> Transfer, moved: u64) -> f64 {
    let cycles = |mebibytes| run(&mut titan_v(&[]), transfer(mebibytes * MEBIBYTE)).cycles;
    let nanoseconds = (cycles(48) - cycles(16)) as f64 / 1.2;
    (32 * MEBIBYTE * moved) as f64 / nanoseconds / 652.8
}

#[test]
fn large_fill_reaches_the_measured_write_bandwidth() {
    let share = share_of_peak(fill, 1);
    // V100, init: 897 of 900 GB/s.
    assert!((0.92..=1.0).contains(&share), "{share}");
}

#[test]
fn large_copy_reaches_the_measured_copy_bandwidth() {
    let share = share_of_peak(copy, 2);
    // V100, scale: 809 of 900 GB/s.
    assert!((0.9 * 0.9..=0.9 * 1.1).contains(&share), "{share}");
}

#[test]
fn filled_lines_are_dirty_in_l2_and_hit_by_copies() {
    let mut gpu = titan_v(&[]);
    let filled = run(&mut gpu, fill(MEBIBYTE));
    assert_eq!(count(&filled, "l2.sectors_written"), MEBIBYTE / 32);
    assert_eq!([count(&filled, "l2.write_backs"), count(&filled, "dram.reads")], [0, 0]);
    // A fill concurrent with the copy has its counters.
    let mut session = gpu.session();
    session.begin_transfer(Transfer { to: Rows::row(THERE, MEBIBYTE / 4), from: None }, 0, 0).unwrap();
    session.begin_copy(Copy { direction: Direction::FromDevice, address: HERE, bytes: MEBIBYTE / 64 }, 0);
    let ends = [0; 2].map(|_| session.run_until_one_ends(&mut ()).unwrap());
    let record = ends.iter().find_map(|end| match end {
        Ended::Transfer { record, .. } => Some(record),
        _ => None,
    });
    let counted = |name| count(record.unwrap(), name);
    assert!(counted("gpu.copy_sectors_read") > 0 && counted("dram.reads") == 0, "{ends:?}");
}

#[test]
fn kernel_hits_filled_lines_in_l2() {
    let mut gpu = titan_v(&[]);
    run(&mut gpu, fill(65536));
    let reader = Script::new(8, 512).load(8, &[], |thread| HERE + thread.number * 16).exit();
    let record = launch(&mut gpu, &reader);
    // Only an instruction line is read.
    assert_eq!(crate::script::count(&record, "dram.reads"), 4);
}

#[test]
fn lines_beyond_the_dirty_limit_are_written_back() {
    let record = run(&mut titan_v(&[]), fill(16 * MEBIBYTE));
    // 336 lines of each of 48 slices remain dirty.
    assert_eq!(count(&record, "dram.writes"), (16 * MEBIBYTE - 336 * 48 * 128) / 32);
}

#[test]
fn full_sectors_are_written_without_fetches() {
    let record = run(&mut titan_v(&[]), Transfer { to: Rows::row(HERE + 96, 64), from: None });
    assert_eq!([count(&record, "gpu.copy_requests"), count(&record, "l2.sectors_written")], [2, 2]);
    assert_eq!(count(&record, "l2.fetches"), 0);
}

#[test]
fn pitched_copy_skips_the_gaps_between_rows() {
    let rows = |address| Rows { address, width: 100, height: 3, depth: 2, pitch: 512, slice: 8192 };
    let record = run(&mut titan_v(&[]), Transfer { to: rows(HERE), from: Some(rows(THERE + 64)) });
    assert_eq!(record.bytes, 600);
    // Each target row is in one line, each source row in two.
    assert_eq!([count(&record, "gpu.copy_requests"), count(&record, "l2.sectors_written")], [6 * 3, 6 * 4]);
}

#[test]
fn transfers_of_different_streams_share_bandwidth() {
    let alone = run(&mut titan_v(&[]), fill(16 * MEBIBYTE)).cycles;
    let mut gpu = titan_v(&[]);
    let mut session = gpu.session();
    for (stream, address) in [(1, HERE), (2, THERE)] {
        let to = Rows::row(address, 16 * MEBIBYTE);
        session.begin_transfer(Transfer { to, from: None }, stream, 0).unwrap();
    }
    let mut record = || match session.run_until_one_ends(&mut ()).unwrap() {
        Ended::Transfer { record, .. } => *record,
        _ => panic!("no transfer"),
    };
    let records = [record(), record()];
    assert!(records.iter().all(|record| record.shared));
    let last = records.iter().map(|record| record.cycles).max().unwrap();
    assert!((alone * 19 / 10 - 1400..alone * 21 / 10).contains(&last), "{last} {alone}");
}

#[test]
fn fill_overlaps_a_launch() {
    let script = || {
        let script = Script::new(80, 32);
        (0..50)
            .fold(script, |script, _| script.operation(warp_stream::OperationClass::Fp32, 8, &[8]))
            .repeat(0, 500)
            .exit()
    };
    let alone =
        [launch(&mut titan_v(&[]), &script()).cycles, run(&mut titan_v(&[]), fill(8 * MEBIBYTE)).cycles];
    let mut gpu = titan_v(&[]);
    let script = script();
    let mut session = gpu.session();
    session.begin(&script, 0).unwrap();
    session.begin_transfer(fill(8 * MEBIBYTE), 7, 0).unwrap();
    for _ in 0..2 {
        let (cycles, alone) = match session.run_until_one_ends(&mut ()).unwrap() {
            Ended::Launch { record, .. } => (record.cycles, alone[0]),
            Ended::Transfer { record, .. } => {
                assert_eq!(record.stream, 7);
                (record.cycles, alone[1])
            }
            ended => panic!("{ended:?}"),
        };
        assert!(cycles.abs_diff(alone) * 20 < alone, "{cycles} {alone}");
    }
}

#[test]
fn records_do_not_depend_on_threads() {
    let records = |threads| {
        let mut gpu = titan_v(&[]).with_threads(threads);
        [copy(3 * MEBIBYTE + 77), fill(5 * MEBIBYTE)].map(|transfer| run(&mut gpu, transfer))
    };
    let one = records(1);
    assert!(one == records(2));
    assert!(one == records(5));
}

#[test]
fn transfer_rate_limits_requests_per_cycle() {
    let cycles = |rate: &str| run(&mut titan_v(&[rate]), fill(MEBIBYTE)).cycles;
    let slow = cycles("transfer.rate=1");
    assert!((MEBIBYTE / 80..MEBIBYTE / 80 + 2000).contains(&slow), "{slow}");
    assert!(cycles("transfer.rate=64") < slow / 4);
}

/// Cancels any work.
struct Cancelled;

impl Observer for Cancelled {
    fn progress(&mut self, _: &Progress<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn is_cancelled(&self) -> bool {
        true
    }
}

#[test]
fn observer_cancels_a_lone_transfer() {
    let mut gpu = titan_v(&[]);
    let error = gpu.transfer(fill(MEBIBYTE), 0, &mut Cancelled).unwrap_err();
    assert!(matches!(error, LaunchError::Cancelled), "{error}");
    run(&mut gpu, fill(MEBIBYTE));
}

#[test]
fn transfer_beyond_device_memory_is_rejected() {
    let transfer = Transfer { to: Rows::row(u64::MAX - 5, 100), from: None };
    let error = titan_v(&[]).transfer(transfer, 0, &mut ()).unwrap_err();
    assert!(matches!(error, LaunchError::Transfer(_)), "{error}");
    let other = Transfer { from: Some(Rows::row(THERE, 99)), ..fill(100) };
    assert!(titan_v(&[]).transfer(other, 0, &mut ()).is_err());
}

#[test]
fn hung_transfer_is_reported_with_its_progress() {
    let never = ["dram.refresh=all-bank", "dram.refi=2000", "dram.rcd=4000", "tlb.walk=0"];
    let error = titan_v(&never).transfer(copy(4096), 0, &mut ()).unwrap_err();
    let text = error.to_string();
    let told = "launch 0, copy within the device: 0 of 4096 bytes requested, 32 requests are outstanding";
    assert!(text.contains(told), "{text}");
}
