//! History before a launch and its effect on the launch.

use timing::gpu::Gpu;
use timing::record::LaunchRecord;
use warp_stream::{AccessKind, Executed, MemorySpace, OperationClass, Past, Trace, UsedPage, local_memory};

use crate::script::{Script, Thread, count, launch, titan_v};

const PAGE: u64 = 4 << 20;

/// Each CTA loads a line of its own and has four lines of code; 80 CTAs run on one SM each.
fn script(ctas: u32) -> Script {
    let script = Script::new(ctas, 32).load(8, &[], |thread| PAGE + thread.number * 4);
    let work = |script: Script, _| script.operation(OperationClass::Integer, 9, &[9]);
    (0..30).fold(script, work).exit()
}

fn after(executed: &[Executed]) -> LaunchRecord {
    let mut gpu = titan_v(&[]);
    let script = script(80);
    gpu.recall_code(&script, executed).unwrap();
    launch(&mut gpu, &script)
}

fn executed(same: bool, ctas: u64, bytes: u64) -> Executed {
    Executed { same, ctas, bytes }
}

fn lines(record: &LaunchRecord) -> u64 {
    count(record, "front_end.l1_lines")
}

#[test]
fn code_is_cached_on_sms_that_ran_the_kernel() {
    let cold = lines(&after(&[]));
    assert!(cold > 0 && cold.is_multiple_of(80), "{cold}");
    assert_eq!(lines(&after(&[executed(true, 1000, 0)])), 0);
    assert_eq!(lines(&after(&[executed(true, 20, 0)])), cold / 80 * 60);
    assert_eq!(lines(&after(&[executed(true, 20, 0), executed(true, 8, 0)])), cold / 80 * 60);
}

#[test]
fn code_of_other_kernels_evicts_earlier_code() {
    let [cold, small, large] = [0, 4 << 10, 1 << 20].map(|bytes| match bytes {
        0 => lines(&after(&[executed(false, 1000, 1 << 20)])),
        _ => lines(&after(&[executed(true, 1000, 0), executed(false, 1000, bytes)])),
    });
    assert_eq!((small, large), (0, cold));
    let narrow = [executed(true, 1000, 0), executed(false, 40, 1 << 20)];
    assert_eq!(lines(&after(&narrow)), cold / 2);
    let before = [executed(false, 1000, 1 << 20), executed(true, 1000, 0)];
    assert_eq!(lines(&after(&before)), 0);
}

fn recalled(past: &Past) -> Gpu {
    let mut gpu = titan_v(&[]);
    gpu.recall(past);
    gpu
}

#[test]
fn pages_are_in_tlbs_of_sms_that_used_them() {
    let waits = |ctas: Option<u64>| {
        let pages = ctas.into_iter().map(|ctas| UsedPage { address: PAGE, ctas }).collect();
        let record = launch(&mut recalled(&Past { pages, ..Past::default() }), &script(80));
        ["tlb.misses", "memory.page_walks"].map(|name| count(&record, name))
    };
    assert_eq!(waits(None), [80, 1]);
    assert_eq!([waits(Some(0)), waits(Some(20)), waits(Some(1000))], [[80, 0], [60, 0], [0, 0]]);
}

#[test]
fn local_memory_pages_are_in_tlbs_of_used_sms() {
    let mut script = Script::new(80, 32);
    script.kernel.local_bytes = 8;
    let own = |thread: Thread| local_memory::of_warp(thread.cta as u32, 0, 64, 8) + thread.number % 32 * 4;
    let script = script.access(MemorySpace::Local, AccessKind::Store, None, own).exit();
    let waits = |executed: &[Executed]| {
        let mut gpu = titan_v(&[]);
        gpu.recall_code(&script, executed).unwrap();
        let record = launch(&mut gpu, &script);
        ["tlb.misses", "memory.page_walks"].map(|name| count(&record, name))
    };
    assert_eq!(waits(&[executed(false, 1000, 0)]), [80, 1]);
    let same = [0, 20, 1000].map(|ctas| waits(&[executed(true, ctas, 0)]));
    assert_eq!(same, [[80, 1], [60, 0], [0, 0]]);
}

#[test]
fn partly_written_sector_is_not_valid() {
    let there = |trace: Trace| {
        let past = Past { traces: vec![Trace { line: PAGE, ..trace }], ..Past::default() };
        count(&launch(&mut recalled(&past), &script(1)), "l2.global_read_hits")
    };
    let written = |bytes| Trace { written: 0xf, bytes, ..Trace::default() };
    assert_eq!(there(Trace::default()), 0);
    assert_eq!(there(written(u128::MAX)), 4);
    assert_eq!(there(written(u128::MAX >> 8)), 3);
    assert_eq!(there(Trace { read: 0b1000, ..written(u128::MAX >> 8) }), 4);
}

#[test]
fn lines_beyond_l2_capacity_are_evicted() {
    let trace = Trace { line: PAGE, read: 0xf, read_away: [0, 143, 145, 1000], ..Trace::default() };
    let past = Past { traces: vec![trace], ..Past::default() };
    // The L2 of a TITAN V has 4.5 MB: 144 × 256 lines.
    assert_eq!(count(&launch(&mut recalled(&past), &script(1)), "l2.global_read_hits"), 2);
}
