//! L1: contents, requests and counters.

use timing::message::RequestKind;
use warp_stream::{AccessKind, MemorySpace};

use crate::bench::{Bench, FAR, Instruction};

/// A load of a word by lane 0.
fn word(address: u64) -> Instruction {
    Instruction::load(address).active(1)
}

/// Loads that fill `lines` lines from `start` on.
fn lines(start: u64, lines: u64) -> Vec<Instruction> {
    (0..lines).map(|line| Instruction::load(start + 128 * line)).collect()
}

fn check_conservation(bench: &Bench) {
    let l1 = bench.counters().l1;
    assert_eq!(l1.load_sector_hits + l1.load_sectors_merged + l1.load_sector_misses, l1.load_sectors);
    let read: u32 = bench.requests(RequestKind::Read).iter().map(|(_, sectors)| sectors.count_ones()).sum();
    assert_eq!(u64::from(read), l1.sectors_fetched + l1.load_sectors_bypassed);
    let pipeline = bench.counters().pipeline;
    assert_eq!(
        (pipeline.requests_sent, pipeline.replies),
        (bench.sent.len() as u64, bench.sent.len() as u64)
    );
    assert!(bench.unit.is_idle());
}

#[test]
fn sector_miss_on_a_resident_line_fetches_the_sector() {
    let mut bench = Bench::new();
    bench.run(&[word(0x1000)]);
    bench.run(&[word(0x1020)]);
    assert_eq!(bench.requests(RequestKind::Read), [(0x1000, 1), (0x1000, 2)]);
    let l1 = bench.counters().l1;
    assert_eq!((l1.load_lines, l1.load_line_hits, l1.load_sector_hits, l1.load_sector_misses), (2, 1, 0, 2));
    check_conservation(&bench);
}

#[test]
fn load_of_outstanding_sectors_merges() {
    let mut bench = Bench::new();
    let times = bench.run(&[word(0x1000), word(0x1004), word(0x1008)]);
    assert_eq!(bench.requests(RequestKind::Read).len(), 1);
    assert_eq!(bench.counters().l1.load_sectors_merged, 2);
    assert_eq!(times[1].completed, times[0].completed + 1);
    assert_eq!(times[2].completed, times[0].completed + 2);
    check_conservation(&bench);
}

#[test]
fn partly_outstanding_load_requests_the_rest() {
    let mut bench = Bench::new();
    bench.run(&[word(0x1000), Instruction::load(0x1000)]);
    assert_eq!(bench.requests(RequestKind::Read), [(0x1000, 1), (0x1000, 0xe)]);
    check_conservation(&bench);
}

#[test]
fn eviction_is_of_whole_lines() {
    let mut bench = Bench::new();
    bench.run(&lines(0, 1024));
    bench.run(&lines(1024 * 128, 1));
    assert_eq!(bench.counters().l1.evictions, 1);
    // All sectors of line 0 are evicted; those of line 1 are not.
    let before = bench.counters().l1;
    bench.run(&[Instruction::load(128)]);
    bench.run(&[Instruction::load(0)]);
    let after = bench.counters().l1;
    assert_eq!(after.load_sector_hits - before.load_sector_hits, 4);
    assert_eq!(after.load_sector_misses - before.load_sector_misses, 4);
    check_conservation(&bench);
}

#[test]
fn l1_capacity_is_the_rest_of_unified_memory() {
    for (shared, lines_left) in [(0, 1024), (1, 960), (8 << 10, 960), (48 << 10, 512), (96 << 10, 256)] {
        let mut bench = Bench::new();
        bench.unit.set_shared(shared);
        assert_eq!(u64::from(bench.unit.l1_bytes()), 128 * lines_left);
        bench.run(&lines(0, lines_left));
        bench.run(&lines(0, lines_left));
        assert_eq!(bench.counters().l1.load_sector_hits, 4 * lines_left, "{shared} bytes");
        assert_eq!(bench.counters().l1.evictions, 0);
        bench.run(&lines(128 * lines_left, 1));
        assert_eq!(bench.counters().l1.evictions, 1);
    }
}

#[test]
fn store_updates_a_resident_line_and_allocates_none() {
    let mut bench = Bench::new();
    bench.run(&[Instruction::load(0x1000)]);
    bench.run(&[Instruction::store(0x1000), Instruction::store(0x2000)]);
    bench.run(&[Instruction::load(0x1000), Instruction::load(0x2000)]);
    let l1 = bench.counters().l1;
    assert_eq!((l1.store_lines, l1.store_line_hits), (2, 1));
    assert_eq!(bench.requests(RequestKind::Read), [(0x1000, 0xf), (0x2000, 0xf)]);
    assert_eq!(bench.requests(RequestKind::Write), [(0x1000, 0xf), (0x2000, 0xf)]);
    check_conservation(&bench);
}

#[test]
fn outstanding_lines_may_exceed_l1_ways() {
    let mut bench = Bench::with(&[("memory_pipeline", "credits", toml::Value::Integer(4096))]);
    bench.unit.set_shared(96 << 10);
    // One line per lane; 40 warps can request that many before the first reply.
    let instructions: Vec<Instruction> = (0..40)
        .map(|warp| {
            let address = move |lane| 0x10_0000 + 128 * (32 * warp + lane);
            Instruction::new(MemorySpace::Global, AccessKind::Load, 4, address).sub_core((warp % 4) as u8)
        })
        .collect();
    bench.run(&instructions);
    let first_reply = bench.sent[0].cycle + FAR;
    let on_their_way = bench.sent.iter().filter(|sent| sent.cycle < first_reply).count();
    assert_eq!(on_their_way as u64, FAR, "one leaves each cycle");
    let l1 = bench.counters().l1;
    assert_eq!((l1.miss_reservation_failures, l1.line_reservation_failures), (0, 0));
    check_conservation(&bench);
}

#[test]
fn kernel_starts_with_an_empty_l1() {
    let mut bench = Bench::new();
    bench.run(&lines(0, 8));
    bench.unit.invalidate();
    bench.run(&lines(0, 8));
    assert_eq!(bench.counters().l1.load_sector_hits, 0);
    check_conservation(&bench);
}

#[test]
fn invalidation_with_outstanding_lines_frees_all_ways() {
    let mut bench = Bench::new();
    bench.step();
    bench.accept(0, &Instruction::load(0));
    while bench.sent.is_empty() {
        bench.cycle += 1;
        bench.step();
    }
    bench.unit.invalidate();
    while bench.unit.next_completion(0, bench.cycle).is_none() {
        bench.cycle += 1;
        bench.step();
    }
    let loads = lines(0x10_0000, 8);
    bench.run(&loads);
    assert_eq!(bench.counters().l1.load_sector_hits, 0);
    bench.run(&loads);
    assert_eq!((bench.counters().l1.load_sector_hits, bench.counters().l1.evictions), (32, 0));
    check_conservation(&bench);
}

#[test]
fn atomics_invalidate_their_l1_sectors() {
    let mut bench = Bench::new();
    bench.run(&[Instruction::load(0x1000)]);
    bench.run(&[Instruction::new(MemorySpace::Global, AccessKind::Reduction, 4, |_| 0x1000)]);
    bench.run(&[Instruction::load(0x1000)]);
    assert_eq!(bench.requests(RequestKind::Read), [(0x1000, 0xf), (0x1000, 1)]);
}
