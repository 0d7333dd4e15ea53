//! Streams reach peak throughput.

use warp_stream::{AccessKind, MemorySpace, OperationClass};

use crate::bench::{Bench, Instruction};

/// Cycles per instruction for many instructions of one kind on all sub-cores, with their data in
/// L1.
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
fn l1_hits_stream_at_128_bytes_a_cycle() {
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
fn shared_bank_conflicts_divide_throughput() {
    for degree in [2, 4, 8, 16, 32] {
        assert_close(interval(|_| Instruction::shared(4, |lane| 4 * degree * lane)), degree as f64);
    }
}

#[test]
fn shuffle_throughput_is_one_a_cycle() {
    let shuffle = |_| Instruction { class: OperationClass::Shuffle, ..Instruction::shared(4, |_| 0) };
    assert_close(interval(shuffle), 1.0);
}

#[test]
fn store_takes_four_cycles_per_line() {
    for (bytes, cycles) in [(1, 4.0), (4, 4.0), (8, 8.0)] {
        let store = |_| {
            Instruction::new(MemorySpace::Global, AccessKind::Store, 4, move |lane| {
                0x1000 + bytes * lane / 4 * 4
            })
        };
        assert_close(interval(store), cycles);
    }
}

/// Alternating loads from L1 and shared memory.
fn both(i: u64) -> Instruction {
    match (i / 4).is_multiple_of(2) {
        true => Instruction::load(0x1000),
        false => Instruction::shared(4, |lane| 4 * lane),
    }
}

#[test]
fn unified_l1_and_shared_memory_share_a_data_stage() {
    assert_close(interval(both), 1.0);
}

#[test]
fn separate_l1_and_shared_memory_overlap() {
    let apart = [("l1", "unified", toml::Value::Boolean(false))];
    assert_close(interval_of(&mut Bench::with(&apart), both), 0.5);
}
