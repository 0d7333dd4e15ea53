//! Counters of an SM's memory unit in small known runs.

use timing::statistics::Counters;
use warp_stream::{AccessKind, CacheOperator, MemorySpace};

use crate::bench::{Bench, FAR, Instruction};

/// Cycles from the address stage to the first tag lookup.
const LOOKUP: u64 = 1;

/// A counter by section and name.
fn value(bench: &Bench, name: &str) -> u64 {
    let mut found = None;
    bench.counters().each(&mut |counter, value| {
        if format!("{}.{}", counter.section, counter.name) == name {
            found = Some(value);
        }
    });
    found.unwrap_or_else(|| panic!("no counter {name}"))
}

fn values<const N: usize>(bench: &Bench, names: [&str; N]) -> [u64; N] {
    names.map(|name| value(bench, name))
}

#[test]
fn l1_hits_and_misses_have_separate_histograms() {
    let mut bench = Bench::new();
    let spec = bench.spec.l1.clone();
    bench.one(Instruction::load(0x1000));
    bench.one(Instruction::load(0x1000));
    assert_eq!(values(&bench, ["l1.loads", "l1.load_hits", "l1.load_misses"]), [2, 1, 1]);
    let hit = LOOKUP + u64::from(spec.latency);
    assert_eq!(values(&bench, ["l1.load_hit_latency", "l1.load_hit_latency_below_32"]), [hit, 1]);
    let miss = LOOKUP + FAR + u64::from(spec.fill_latency);
    assert_eq!(values(&bench, ["l1.load_miss_latency", "l1.load_miss_latency_below_256"]), [miss, 1]);
}

#[test]
fn partly_hitting_load_counts_as_a_miss() {
    let mut bench = Bench::new();
    bench.one(Instruction::load(0x1000));
    bench.one(Instruction::load(0x1040));
    assert_eq!(values(&bench, ["l1.loads", "l1.load_hits", "l1.load_misses"]), [2, 0, 2]);
}

#[test]
fn bypassing_load_waits_for_l2_despite_l1_line() {
    let mut bench = Bench::new();
    bench.one(Instruction::load(0x1000));
    bench.one(Instruction::load(0x1000).cache(CacheOperator::GlobalOnly));
    assert_eq!(values(&bench, ["l1.load_hits", "l1.load_misses"]), [0, 2]);
}

#[test]
fn tlb_waits_have_a_separate_histogram() {
    let mut bench = Bench::with(&[("tlb", "miss", toml::Value::Integer(50))]);
    let names = ["l1.load_hits", "l1.load_misses", "l1.load_tlb_waits"];
    let alone = bench.one(Instruction::load(0x1000));
    assert_eq!(values(&bench, names), [0, 0, 1]);
    let spec = &bench.spec.l1;
    let latency = LOOKUP + 50 + FAR + u64::from(spec.fill_latency);
    let names_of_latency = ["l1.load_tlb_wait_latency", "l1.load_tlb_wait_latency_below_256"];
    assert_eq!(values(&bench, names_of_latency), [latency, 1]);
    // Now the page is present, then the line.
    assert_eq!(bench.one(Instruction::load(0x2000)), alone - 50);
    bench.one(Instruction::load(0x2000));
    assert_eq!(values(&bench, names), [1, 1, 1]);
}

#[test]
fn merged_load_inherits_the_translation_wait() {
    let mut bench = Bench::with(&[("tlb", "miss", toml::Value::Integer(50))]);
    let names = ["l1.load_hits", "l1.load_misses", "l1.load_tlb_waits"];
    bench.run(&[Instruction::load(0x1000), Instruction::load(0x1000)]);
    assert_eq!(values(&bench, names), [0, 0, 2]);
    // A load that merges with a request without translation wait has none either.
    bench.run(&[Instruction::load(0x3000), Instruction::load(0x3000)]);
    assert_eq!(values(&bench, names), [0, 2, 2]);
    // A load that bypasses L1, to another page.
    bench.one(Instruction::load(1 << 40).cache(CacheOperator::GlobalOnly));
    assert_eq!(values(&bench, names), [0, 2, 3]);
}

#[test]
fn stores_shared_and_empty_loads_are_no_l1_loads() {
    let mut bench = Bench::new();
    bench.run(&[
        Instruction::store(0x1000),
        Instruction::shared(4, |lane| 4 * lane),
        Instruction::load(0x1000).active(0),
        Instruction::new(MemorySpace::Global, AccessKind::Reduction, 4, |_| 0x2000),
    ]);
    assert_eq!(values(&bench, ["l1.loads", "l1.load_hits", "l1.load_misses"]), [0, 0, 0]);
}

#[test]
fn l1_miss_occupancy_and_maximum_are_counted() {
    let mut bench = Bench::new();
    // Three lines requested in consecutive cycles with equal latency, then a single one.
    bench.one(Instruction::new(MemorySpace::Global, AccessKind::Load, 4, |lane| 0x10000 + 128 * (lane % 3)));
    bench.one(Instruction::load(0x20000));
    let sent = |index: usize| bench.sent[index].cycle;
    let busy = sent(2) - sent(0) + 2 * FAR;
    assert_eq!(values(&bench, ["l1.miss_occupancy", "l1.miss_cycles", "l1.most_misses"]), [4 * FAR, busy, 3]);
    bench.unit.restart_counts();
    assert_eq!(value(&bench, "l1.most_misses"), 0);
    bench.one(Instruction::load(0x30000));
    assert_eq!(value(&bench, "l1.most_misses"), 1);
}

#[test]
fn sectors_are_counted_by_memory_space() {
    let mut bench = Bench::new();
    let access = |space, kind| Instruction::new(space, kind, 4, |lane| 0x8000 + 4 * lane);
    bench.one(Instruction::load(0x1000));
    bench.one(Instruction::load(0x1000));
    bench.one(access(MemorySpace::Local, AccessKind::Load));
    bench.one(access(MemorySpace::Local, AccessKind::Store));
    bench.one(Instruction::store(0x20000));
    let names =
        ["load_sectors", "load_sector_hits", "load_sector_misses", "store_sectors", "store_sector_hits"];
    let of = |source: &str| names.map(|name| value(&bench, &format!("l1.{source}_{name}")));
    assert_eq!(of("global"), [8, 4, 4, 4, 0]);
    assert_eq!(of("local"), [4, 0, 4, 4, 4]);
    assert_eq!(of("texture"), [0; 5]);
    assert_eq!(names.map(|name| value(&bench, &format!("l1.{name}"))), [12, 4, 8, 8, 4]);
}

#[test]
fn bank_conflicts_are_counted_by_kind_of_access() {
    let [bytes, line] = [64, 0].map(toml::Value::Integer);
    let mut bench = Bench::with(&[("l1", "store_bytes", bytes), ("l1", "store_line", line)]);
    let names = ["l1.passes", "l1.load_conflicts", "l1.store_conflicts", "l1.atomic_conflicts"];
    let access =
        |kind, stride| Instruction::new(MemorySpace::Global, kind, 8, move |lane| 0x10_0000 + stride * lane);
    // No conflicts.
    bench.run(&[access(AccessKind::Load, 8), access(AccessKind::Load, 0), access(AccessKind::Store, 8)]);
    assert_eq!(values(&bench, names), [2 + 2 + 4, 0, 0, 0]);
    // All words of each half warp are in one data bank.
    bench.one(access(AccessKind::Load, 128));
    assert_eq!(values(&bench, names), [8 + 32, 30, 0, 0]);
    bench.one(access(AccessKind::Reduction, 128).active(0xf));
    assert_eq!(values(&bench, names), [8 + 36, 30, 0, 3]);
    // Of the 32 written sectors, two are accepted a cycle in any case.
    bench.one(access(AccessKind::Store, 128));
    assert_eq!(values(&bench, names), [8 + 68, 30, 16, 3]);
}

#[test]
fn active_lanes_are_counted_by_kind_and_space() {
    let mut bench = Bench::new();
    let access =
        |space, kind, active| Instruction::new(space, kind, 4, |lane| 0x1000 + 4 * lane).active(active);
    bench.run(&[
        access(MemorySpace::Global, AccessKind::Load, !0),
        access(MemorySpace::Local, AccessKind::Load, 0b111),
        access(MemorySpace::Local, AccessKind::Store, 0xf),
        access(MemorySpace::Global, AccessKind::Atomic, 0x1f),
        access(MemorySpace::Global, AccessKind::Reduction, 1),
        access(MemorySpace::Shared, AccessKind::Load, 0x7f),
        access(MemorySpace::Shared, AccessKind::Atomic, 1),
        access(MemorySpace::Global, AccessKind::Load, 0),
    ]);
    let names = ["coalescer.load_lanes", "coalescer.store_lanes", "coalescer.atomic_lanes", "shared.lanes"];
    assert_eq!(values(&bench, names), [35, 4, 6, 8]);
}
