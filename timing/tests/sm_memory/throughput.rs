//! Streams reach the peak.

use warp_stream::{AccessKind, MemorySpace, OperationClass};

use crate::bench::{Bench, Instruction};

/// Cycles per instruction of many of a kind from all sub-cores, once what they touch is in L1.
fn interval(make: impl Fn(u64) -> Instruction) -> f64 {
    interval_of(&mut Bench::new(), make)
}

fn interval_of(bench: &mut Bench, make: impl Fn(u64) -> Instruction) -> f64 {
    const COUNT: u64 = 400;
    let instructions: Vec<Instruction> = (0..COUNT).map(|i| make(i).sub_core((i % 4) as u8)).collect();
    bench.run(&instructions);
    let times = bench.run(&instructions);
    let first = times.iter().map(|times| times.completed).min().unwrap();
    let last = times.iter().map(|times| times.completed).max().unwrap();
    (last - first) as f64 / (COUNT - 1) as f64
}

fn assert_close(value: f64, expected: f64) {
    assert!((value - expected).abs() <= 0.04 * expected, "{value} is not {expected}");
}

#[test]
fn hits_of_consecutive_words_stream_at_128_bytes_a_cycle() {
    for (width, cycles) in [(4, 1.0), (8, 2.0), (16, 4.0)] {
        let bytes = u64::from(width) * 32;
        let load = |i: u64| {
            let start = i % 8 * bytes;
            Instruction::new(MemorySpace::Global, AccessKind::Load, width, |lane| {
                start + u64::from(width) * lane
            })
        };
        assert_close(interval(load), cycles);
    }
}

#[test]
fn shared_memory_streams_at_128_bytes_a_cycle() {
    for (width, cycles) in [(4, 1.0), (8, 2.0), (16, 4.0)] {
        assert_close(interval(|_| Instruction::shared(width, |lane| u64::from(width) * lane)), cycles);
    }
}

#[test]
fn conflicts_of_shared_memory_divide_its_rate() {
    for degree in [2, 4, 8, 16, 32] {
        assert_close(interval(|_| Instruction::shared(4, |lane| 4 * degree * lane)), degree as f64);
    }
}

#[test]
fn one_shuffle_goes_through_a_cycle() {
    let shuffle = |_| Instruction { class: OperationClass::Shuffle, ..Instruction::shared(4, |_| 0) };
    assert_close(interval(shuffle), 1.0);
}

#[test]
fn a_store_takes_a_cycle_for_each_of_its_sectors() {
    for (bytes, cycles) in [(1, 1.0), (4, 4.0)] {
        let store = |_| {
            Instruction::new(MemorySpace::Global, AccessKind::Store, 4, move |lane| {
                0x1000 + bytes * lane / 4 * 4
            })
        };
        assert_close(interval(store), cycles);
    }
}

/// Loads from L1 and from shared memory in turn.
fn both(i: u64) -> Instruction {
    match (i / 4).is_multiple_of(2) {
        true => Instruction::load(0x1000),
        false => Instruction::shared(4, |lane| 4 * lane),
    }
}

#[test]
fn a_unified_l1_and_shared_memory_have_one_data_stage() {
    assert_close(interval(both), 1.0);
}

#[test]
fn shared_memory_and_an_l1_of_its_own_work_at_the_same_time() {
    let apart = [("l1", "unified", toml::Value::Boolean(false))];
    assert_close(interval_of(&mut Bench::with(&apart), both), 0.5);
}
