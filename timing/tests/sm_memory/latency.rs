//! One access at a time: its latency is what the formula says.

use timing::message::RequestKind;
use timing::specification::GpuSpec;
use warp_stream::{AccessKind, CacheOperator, MemorySpace, OperationClass};

use crate::bench::{Bench, FAR, Instruction};

/// From acceptance to the first tag lookup: a cycle in the dispatch latch, one in the address stage.
const STAGES: u64 = 2;

fn spec() -> GpuSpec {
    GpuSpec::built_in("titan-v").unwrap()
}

#[test]
fn a_hit_takes_the_stages_and_the_latency_of_l1() {
    let mut bench = Bench::new();
    bench.one(Instruction::load(0x1000));
    assert_eq!(bench.one(Instruction::load(0x1000)), STAGES + u64::from(spec().l1.latency));
}

#[test]
fn a_miss_takes_the_stages_the_way_and_the_latency_of_the_fill() {
    let latency = STAGES + FAR + u64::from(spec().l1.fill_latency);
    assert_eq!(Bench::new().one(Instruction::load(0x1000)), latency);
}

#[test]
fn a_line_per_lane_takes_a_cycle_of_the_address_stage_for_each() {
    let mut bench = Bench::new();
    let instruction =
        || Instruction::new(MemorySpace::Global, AccessKind::Load, 4, |lane| 0x10000 + 128 * lane);
    bench.one(instruction());
    assert_eq!(bench.one(instruction()), STAGES + 31 + u64::from(spec().l1.latency));
}

#[test]
fn shared_memory_takes_a_cycle_more_for_each_conflict() {
    for degree in [1, 2, 4, 8, 16, 32] {
        let instruction = Instruction::shared(4, |lane| 4 * degree * lane);
        let latency = STAGES + u64::from(spec().shared.latency) + degree - 1;
        assert_eq!(Bench::new().one(instruction), latency, "degree {degree}");
    }
}

#[test]
fn a_broadcast_from_shared_memory_takes_one_pass() {
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
fn a_shuffle_takes_its_own_latency() {
    let mut instruction = Instruction::shared(4, |_| 0);
    instruction.class = OperationClass::Shuffle;
    assert_eq!(Bench::new().one(instruction), STAGES + u64::from(spec().shared.shuffle_latency));
}

#[test]
fn a_store_completes_when_it_is_acknowledged() {
    let mut bench = Bench::new();
    assert_eq!(bench.one(Instruction::store(0x1000)), STAGES + FAR);
    assert_eq!(bench.requests(RequestKind::Write), [(0x1000, 0xf)]);
    assert_eq!(bench.sent[0].message.bytes, u128::MAX);
}

#[test]
fn an_access_of_no_lane_completes_and_asks_nobody() {
    let mut bench = Bench::new();
    let latency = STAGES + u64::from(spec().shared.latency);
    assert_eq!(bench.one(Instruction::load(0x1000).active(0).deferred(3)), latency);
    assert_eq!(bench.counters().coalescer.global_load_requests, 0);
    assert_eq!((bench.sent.len(), bench.performed), (0, vec![3]));
}

#[test]
fn coherent_loads_and_those_of_l2_only_pass_by_l1() {
    for cache in [CacheOperator::Coherent, CacheOperator::GlobalOnly] {
        let mut bench = Bench::new();
        bench.one(Instruction::load(0x1000));
        bench.one(Instruction::load(0x1000).cache(cache));
        assert_eq!(bench.requests(RequestKind::Read).len(), 2, "{cache:?}");
        assert_eq!(bench.counters().l1.load_sectors_bypassed, 4);
    }
}

#[test]
fn a_read_only_load_is_cached() {
    let mut bench = Bench::new();
    bench.one(Instruction::load(0x1000).cache(CacheOperator::ReadOnly));
    bench.one(Instruction::load(0x1000).cache(CacheOperator::ReadOnly));
    assert_eq!(bench.requests(RequestKind::Read).len(), 1);
}

#[test]
fn an_atomic_operation_goes_to_l2_with_its_lanes_and_its_last_request_has_what_is_deferred() {
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
fn a_deferred_shared_operation_is_performed_by_the_unit() {
    let mut bench = Bench::new();
    let instruction = Instruction::new(MemorySpace::Shared, AccessKind::Atomic, 4, |_| 0);
    let interval = u64::from(spec().shared.atomic_interval);
    let latency = STAGES + u64::from(spec().shared.latency) + 31 * interval;
    assert_eq!(bench.one(instruction.deferred(5)), latency);
    assert_eq!(bench.performed, [5]);
}
