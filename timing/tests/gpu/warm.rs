//! CTAs that are executed without time, and what the caches hold after them.

use timing::gpu::{Gpu, LaunchError, Window};
use timing::report::LaunchRecord;
use warp_stream::OperationClass;

use crate::script::{Script, Thread, count, launch, titan_v};

const MEBIBYTE: u64 = 1 << 20;

/// Caches small enough to run over: 192 KiB of L2.
const SMALL: &[&str] = &["l2.size=4096", "l2.ways=16"];

/// Loads so many bytes from an address on, 2 KiB each CTA.
fn reader(address: u64, bytes: u64) -> Script {
    Script::new((bytes / 2048) as u32, 512).load(8, &[], move |thread| address + thread.number * 4).exit()
}

fn writer(address: u64, bytes: u64) -> Script {
    Script::new((bytes / 2048) as u32, 512).store(&[1], move |thread| address + thread.number * 4).exit()
}

/// Loads and stores all over 256 KiB, with atomic operations and barriers.
fn scattered() -> Script {
    let anywhere =
        |thread: Thread, prime: u64| MEBIBYTE + (thread.number * prime + thread.iteration * 7919) % 65536 * 4;
    Script::new(100, 256)
        .load(8, &[], move |thread| anywhere(thread, 104_729))
        .operation(OperationClass::Fp32, 9, &[8])
        .barrier()
        .atomic(10, &[9], |thread| 2 * MEBIBYTE + thread.number % 97 * 4)
        .store(&[10], move |thread| anywhere(thread, 15_485_863))
        .repeat(0, 3)
        .exit()
}

fn warm(gpu: &mut Gpu, script: &Script) {
    let untimed = gpu.execute(script, u64::MAX, &mut ()).unwrap();
    assert!(untimed.warp_instructions > 0);
}

fn window(gpu: &mut Gpu, script: &Script, (first, last): (u64, u64), warm: u64) -> LaunchRecord {
    let window = Window { first, last, warm, warm_after: false };
    gpu.launch_window(script, &window, &mut ()).unwrap().0
}

#[test]
fn what_was_accessed_without_time_is_in_l2_and_its_code_in_the_instruction_caches() {
    let mut gpu = titan_v(&[]);
    let script = reader(MEBIBYTE, 65536);
    warm(&mut gpu, &script);
    let record = launch(&mut gpu, &script);
    assert_eq!(count(&record, "l2.read_hits"), 65536 / 32);
    assert_eq!(["dram.reads", "front_end.l2_lines"].map(|name| count(&record, name)), [0, 0]);
}

#[test]
fn a_launch_finds_in_l2_what_it_finds_after_a_timed_launch() {
    let counts = |before: fn(&mut Gpu, &Script)| -> [u64; 4] {
        let mut gpu = titan_v(&[]);
        before(&mut gpu, &scattered());
        let record = launch(&mut gpu, &scattered());
        ["l2.tag_misses", "l2.fetches", "dram.reads", "front_end.l2_lines"].map(|name| count(&record, name))
    };
    let timed = counts(|gpu, script| {
        launch(gpu, script);
    });
    assert_eq!(counts(warm), timed);
}

#[test]
fn only_the_last_ctas_leave_their_traces_if_only_those_are_to() {
    let mut gpu = titan_v(&[]);
    let script = reader(MEBIBYTE, 65536);
    gpu.execute(&script, 8, &mut ()).unwrap();
    let record = launch(&mut gpu, &script);
    assert_eq!(count(&record, "dram.reads"), 24 * 2048 / 32);
}

#[test]
fn what_had_to_make_room_is_fetched_again() {
    let mut gpu = titan_v(SMALL);
    let script = reader(MEBIBYTE, 65536);
    warm(&mut gpu, &script);
    warm(&mut gpu, &reader(4 * MEBIBYTE, 2 * MEBIBYTE));
    let record = launch(&mut gpu, &script);
    assert_eq!(count(&record, "l2.read_hits"), 0);
}

#[test]
fn what_was_modified_without_time_is_written_back_when_a_timed_access_takes_its_place() {
    let mut gpu = titan_v(SMALL);
    warm(&mut gpu, &writer(MEBIBYTE, 65536));
    let record = launch(&mut gpu, &reader(4 * MEBIBYTE, 2 * MEBIBYTE));
    assert_eq!(["l2.write_backs", "dram.writes"].map(|name| count(&record, name)), [65536 / 32; 2]);
}

#[test]
fn what_is_modified_and_makes_room_without_time_is_not_written_back() {
    let mut gpu = titan_v(SMALL);
    warm(&mut gpu, &writer(MEBIBYTE, 65536));
    warm(&mut gpu, &reader(4 * MEBIBYTE, 2 * MEBIBYTE));
    let record = launch(&mut gpu, &reader(4 * MEBIBYTE, 2 * MEBIBYTE));
    assert_eq!(count(&record, "l2.write_backs"), 0);
}

#[test]
fn time_stands_still_and_nothing_is_counted() {
    let mut gpu = titan_v(&[]);
    let alone = launch(&mut titan_v(&[]), &reader(MEBIBYTE, 65536));
    warm(&mut gpu, &writer(8 * MEBIBYTE, 65536).with(|kernel| kernel.code_address += 1 << 20));
    assert_eq!(gpu.now().cycle, 0);
    let record = launch(&mut gpu, &reader(MEBIBYTE, 65536));
    for name in
        ["l2.requests", "l2.sectors_written", "memory.requests", "l1.load_sectors", "gpu.ctas_started"]
    {
        assert_eq!(count(&record, name), count(&alone, name), "{name}");
    }
}

#[test]
fn ctas_of_a_window_are_timed_and_all_are_executed_once() {
    let mut gpu = titan_v(&[]);
    let script = reader(MEBIBYTE, 512 * 1024);
    let record = window(&mut gpu, &script, (100, 139), 30);
    assert_eq!([count(&record, "gpu.ctas_started"), record.warp_instructions], [40, 40 * 16 * 2]);
    let started: Vec<u64> = script.started().into_iter().map(|(cta, _)| cta).collect();
    assert_eq!(started, (0..256).collect::<Vec<u64>>());
    // The timed ones are dealt to SMs as those of a launch are.
    assert!(script.started()[100..140].iter().zip(0..).all(|((_, sm), number)| *sm == number));
}

#[test]
fn a_window_finds_in_l1_what_the_ctas_before_it_have_left() {
    // All read the same 2 KiB, two CTAs on each SM.
    let script = || Script::new(240, 512).load(8, &[], |thread| MEBIBYTE + thread.number % 512 * 4).exit();
    let misses =
        |warm| count(&window(&mut titan_v(&[]), &script(), (160, 239), warm), "l1.load_sector_misses");
    assert_eq!(misses(160), 0);
    assert_eq!(misses(40), 40 * 2048 / 32);
    assert_eq!(misses(0), 80 * 2048 / 32);
}

#[test]
fn a_window_of_all_ctas_is_the_launch() {
    let whole = launch(&mut titan_v(&[]), &scattered());
    assert_eq!(window(&mut titan_v(&[]), &scattered(), (0, 99), 0), whole);
}

#[test]
fn threads_are_not_in_the_statistics_of_what_was_warmed() {
    let run = |threads| {
        let mut gpu = titan_v(&[]).with_threads(threads);
        warm(&mut gpu, &scattered());
        window(&mut gpu, &scattered(), (40, 80), 20)
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn warps_that_wait_for_ever_are_an_error() {
    let error = titan_v(&[]).execute(&Script::new(2, 64).hang().exit(), 0, &mut ()).unwrap_err();
    assert!(matches!(&error, LaunchError::Stuck(stuck) if stuck.to_string().contains("hangs")), "{error}");
}

#[test]
fn a_fault_names_its_cta() {
    let script = reader(MEBIBYTE, 65536).faulting(7);
    let error = titan_v(&[]).execute(&script, u64::MAX, &mut ()).unwrap_err();
    assert!(error.to_string().contains("a bad address"), "{error}");
}
