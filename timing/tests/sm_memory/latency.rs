//! Latency of single accesses.

use timing::message::RequestKind;
use timing::specification::GpuSpec;
use warp_stream::{AccessKind, CacheOperator, MemorySpace, OperationClass};

use crate::bench::{Bench, FAR, Instruction};

/// Cycles from acceptance to the first tag lookup: dispatch latch and address stage.
const STAGES: u64 = 2;

fn spec() -> GpuSpec {
    GpuSpec::built_in("titan-v").unwrap()
}

#[test]
fn l1_hit_takes_stages_plus_l1_latency() {
    let mut bench = Bench::new();
    bench.one(Instruction::load(0x1000));
    assert_eq!(bench.one(Instruction::load(0x1000)), STAGES + u64::from(spec().l1.latency));
}

#[test]
fn l1_miss_takes_stages_memory_and_fill_latency() {
    let latency = STAGES + FAR + u64::from(spec().l1.fill_latency);
    assert_eq!(Bench::new().one(Instruction::load(0x1000)), latency);
}

#[test]
fn each_line_takes_an_address_stage_cycle() {
    let mut bench = Bench::new();
    let instruction =
        || Instruction::new(MemorySpace::Global, AccessKind::Load, 4, |lane| 0x10000 + 128 * lane);
    bench.one(instruction());
    assert_eq!(bench.one(instruction()), STAGES + 31 + u64::from(spec().l1.latency));
}

#[test]
fn shared_bank_conflict_takes_an_extra_cycle() {
    for degree in [1, 2, 4, 8, 16, 32] {
        let instruction = Instruction::shared(4, |lane| 4 * degree * lane);
        let latency = STAGES + u64::from(spec().shared.latency) + degree - 1;
        assert_eq!(Bench::new().one(instruction), latency, "degree {degree}");
    }
}

#[test]
fn shared_broadcast_takes_one_pass() {
    let latency = STAGES + u64::from(spec().shared.latency);
    assert_eq!(Bench::new().one(Instruction::shared(4, |_| 64)), latency);
}

#[test]
fn wide_shared_accesses_take_two_and_four_passes() {
    for (width, passes) in [(8, 2), (16, 4)] {
        let instruction = Instruction::shared(width, |lane| u64::from(width) * lane);
        let latency = STAGES + u64::from(spec().shared.latency) + passes - 1;
        assert_eq!(Bench::new().one(instruction), latency);
    }
}

#[test]
fn shuffle_takes_its_own_latency() {
    let mut instruction = Instruction::shared(4, |_| 0);
    instruction.class = OperationClass::Shuffle;
    assert_eq!(Bench::new().one(instruction), STAGES + u64::from(spec().shared.shuffle_latency));
}

#[test]
fn store_completes_when_acknowledged() {
    let mut bench = Bench::new();
    assert_eq!(bench.one(Instruction::store(0x1000)), STAGES + FAR);
    assert_eq!(bench.requests(RequestKind::Write), [(0x1000, 0xf)]);
    assert_eq!(bench.sent[0].message.bytes, u128::MAX);
}

#[test]
fn access_without_lanes_completes_without_requests() {
    let mut bench = Bench::new();
    let latency = STAGES + u64::from(spec().shared.latency);
    assert_eq!(bench.one(Instruction::load(0x1000).active(0).deferred(3)), latency);
    assert_eq!(bench.counters().coalescer.global_load_requests, 0);
    assert_eq!((bench.sent.len(), bench.performed), (0, vec![3]));
}

#[test]
fn coherent_and_l2_only_loads_bypass_l1() {
    for cache in [CacheOperator::Coherent, CacheOperator::GlobalOnly] {
        let mut bench = Bench::new();
        bench.one(Instruction::load(0x1000));
        bench.one(Instruction::load(0x1000).cache(cache));
        assert_eq!(bench.requests(RequestKind::Read).len(), 2, "{cache:?}");
        assert_eq!(bench.counters().l1.load_sectors_bypassed, 4);
    }
}

#[test]
fn read_only_load_is_cached() {
    let mut bench = Bench::new();
    bench.one(Instruction::load(0x1000).cache(CacheOperator::ReadOnly));
    bench.one(Instruction::load(0x1000).cache(CacheOperator::ReadOnly));
    assert_eq!(bench.requests(RequestKind::Read).len(), 1);
}

#[test]
fn atomic_defers_its_effect_with_its_last_request() {
    let mut bench = Bench::new();
    let address = |lane: u64| 0x1000 + 128 * (lane % 2);
    let instruction = Instruction::new(MemorySpace::Global, AccessKind::Atomic, 4, address).active(7);
    let latency = STAGES + 1 + FAR + u64::from(spec().l1.fill_latency);
    assert_eq!(bench.one(instruction.deferred(9)), latency);
    let sent: Vec<_> = bench
        .sent
        .iter()
        .map(|sent| (sent.message.lanes, sent.message.bytes, sent.message.deferred))
        .collect();
    assert_eq!(sent, [(5, 0xf, None), (2, 0xf, Some(9))]);
    assert_eq!(bench.sent[0].message.sm, 7);
}

#[test]
fn deferred_shared_operation_is_performed_by_the_unit() {
    let mut bench = Bench::new();
    let instruction = Instruction::new(MemorySpace::Shared, AccessKind::Atomic, 4, |_| 0);
    let interval = u64::from(spec().shared.atomic_interval);
    let latency = STAGES + u64::from(spec().shared.latency) + 31 * interval;
    assert_eq!(bench.one(instruction.deferred(5)), latency);
    assert_eq!(bench.performed, [5]);
}
