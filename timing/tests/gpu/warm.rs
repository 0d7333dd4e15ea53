//! Untimed CTAs and their effect on caches.

use timing::gpu::{Gpu, LaunchError, Window};
use timing::record::LaunchRecord;
use warp_stream::OperationClass;

use crate::script::{Script, Thread, count, launch, titan_v};

const MEBIBYTE: u64 = 1 << 20;

/// Small caches: 192 KiB of L2.
const SMALL: &[&str] = &["l2.size=4096", "l2.ways=16"];

/// Loads `bytes` bytes from an address on, 2 KiB per CTA.
fn reader(address: u64, bytes: u64) -> Script {
    Script::new((bytes / 2048) as u32, 512).load(8, &[], move |thread| address + thread.number * 4).exit()
}

fn writer(address: u64, bytes: u64) -> Script {
    Script::new((bytes / 2048) as u32, 512).store(&[1], move |thread| address + thread.number * 4).exit()
}

/// Scattered loads and stores over 256 KiB, with atomic operations and barriers.
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
fn untimed_accesses_fill_l2_and_instruction_caches() {
    let mut gpu = titan_v(&[]);
    let script = reader(MEBIBYTE, 65536);
    warm(&mut gpu, &script);
    let record = launch(&mut gpu, &script);
    assert_eq!(count(&record, "l2.read_hits"), 65536 / 32);
    assert_eq!(["dram.reads", "front_end.l2_lines"].map(|name| count(&record, name)), [0, 0]);
}

#[test]
fn l2_after_warm_up_matches_l2_after_timing() {
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
fn only_selected_ctas_warm_the_caches() {
    let mut gpu = titan_v(&[]);
    let script = reader(MEBIBYTE, 65536);
    gpu.execute(&script, 8, &mut ()).unwrap();
    let record = launch(&mut gpu, &script);
    assert_eq!(count(&record, "dram.reads"), 24 * 2048 / 32);
}

#[test]
fn lines_evicted_untimed_are_fetched_again() {
    let mut gpu = titan_v(SMALL);
    let script = reader(MEBIBYTE, 65536);
    warm(&mut gpu, &script);
    warm(&mut gpu, &reader(4 * MEBIBYTE, 2 * MEBIBYTE));
    let record = launch(&mut gpu, &script);
    assert_eq!(count(&record, "l2.read_hits"), 0);
}

#[test]
fn untimed_dirty_line_is_written_back_by_timed_eviction() {
    let mut gpu = titan_v(SMALL);
    warm(&mut gpu, &writer(MEBIBYTE, 65536));
    let record = launch(&mut gpu, &reader(4 * MEBIBYTE, 2 * MEBIBYTE));
    assert_eq!(["l2.write_backs", "dram.writes"].map(|name| count(&record, name)), [65536 / 32; 2]);
}

#[test]
fn untimed_eviction_writes_nothing_back() {
    let mut gpu = titan_v(SMALL);
    warm(&mut gpu, &writer(MEBIBYTE, 65536));
    warm(&mut gpu, &reader(4 * MEBIBYTE, 2 * MEBIBYTE));
    let record = launch(&mut gpu, &reader(4 * MEBIBYTE, 2 * MEBIBYTE));
    assert_eq!(count(&record, "l2.write_backs"), 0);
}

#[test]
fn untimed_execution_takes_no_time_and_counts_nothing() {
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
fn window_times_its_ctas_and_executes_all_once() {
    let mut gpu = titan_v(&[]);
    let script = reader(MEBIBYTE, 512 * 1024);
    let record = window(&mut gpu, &script, (100, 139), 30);
    assert_eq!([count(&record, "gpu.ctas_started"), record.warp_instructions], [40, 40 * 16 * 2]);
    let started: Vec<u64> = script.started().into_iter().map(|(cta, _)| cta).collect();
    assert_eq!(started, (0..256).collect::<Vec<u64>>());
    // Timed CTAs are assigned to SMs as in a full launch.
    assert!(script.started()[100..140].iter().zip(0..).all(|((_, sm), number)| *sm == number));
}

#[test]
fn window_hits_l1_lines_of_earlier_ctas() {
    // All CTAs read the same 2 KiB, two CTAs per SM.
    let script = || Script::new(240, 512).load(8, &[], |thread| MEBIBYTE + thread.number % 512 * 4).exit();
    let misses =
        |warm| count(&window(&mut titan_v(&[]), &script(), (160, 239), warm), "l1.load_sector_misses");
    assert_eq!(misses(160), 0);
    assert_eq!(misses(40), 40 * 2048 / 32);
    assert_eq!(misses(0), 80 * 2048 / 32);
}

#[test]
fn window_of_all_ctas_equals_the_launch() {
    let whole = launch(&mut titan_v(&[]), &scattered());
    assert_eq!(window(&mut titan_v(&[]), &scattered(), (0, 99), 0), whole);
}

#[test]
fn statistics_after_warm_up_do_not_depend_on_threads() {
    let run = |threads| {
        let mut gpu = titan_v(&[]).with_threads(threads);
        warm(&mut gpu, &scattered());
        window(&mut gpu, &scattered(), (40, 80), 20)
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn warps_waiting_for_ever_are_an_error() {
    let error = titan_v(&[]).execute(&Script::new(2, 64).hang().exit(), 0, &mut ()).unwrap_err();
    assert!(matches!(&error, LaunchError::Stuck(stuck) if stuck.to_string().contains("hangs")), "{error}");
}

#[test]
fn fault_names_its_cta() {
    let script = reader(MEBIBYTE, 65536).faulting(7);
    let error = titan_v(&[]).execute(&script, u64::MAX, &mut ()).unwrap_err();
    assert!(error.to_string().contains("a bad address"), "{error}");
}
