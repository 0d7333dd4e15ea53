//! Streaming reaches the peaks.

use std::collections::VecDeque;

use timing::message::MemoryRequest;

use crate::harness::{Bench, read, titan_v, write};

/// Lines from 0 on, dealt to all SMs in turn.
fn dealt(lines: u64, request: impl Fn(u64) -> MemoryRequest) -> Vec<VecDeque<MemoryRequest>> {
    let mut streams = vec![VecDeque::new(); 80];
    for number in 0..lines {
        let sm = (number % 80) as u16;
        streams[usize::from(sm)].push_back(MemoryRequest { sm, ..request(number * 128) });
    }
    streams
}

/// Bytes per core cycle, without the way of the first and last request.
fn rate(bytes: u64, start: u64, end: u64) -> f64 {
    bytes as f64 / (end - start - 400) as f64
}

#[test]
fn streaming_reads_reach_the_peak_of_dram_less_refresh() {
    let mut bench = Bench::new(titan_v(|_| ()));
    let lines = 100_000;
    let end = bench.stream(dealt(lines, |line| read(line, 15)), 1);
    let gigabytes = rate(lines * 128, 0, end) * 1.2;
    assert!((0.90..=1.0).contains(&(gigabytes / 652.8)), "{gigabytes} GB/s");
}

#[test]
fn hits_reach_a_sector_a_cycle_and_slice() {
    let mut bench = Bench::new(titan_v(|_| ()));
    let lines = 24_000;
    bench.stream(dealt(lines, |line| read(line, 15)), 1);
    let start = bench.now;
    let before = bench.side.l2_counters();
    let end = bench.stream(dealt(lines, |line| read(line, 15)), 1);
    let hits = bench.side.l2_counters().hits - before.hits;
    assert!(hits as f64 > 0.99 * (lines * 4) as f64, "{hits}");
    let rate = rate(lines * 128, start, end);
    assert!(rate / (48.0 * 32.0) > 0.85, "{rate} B a cycle");
}

#[test]
fn streaming_writes_are_written_back_and_nothing_is_fetched() {
    let mut bench = Bench::new(titan_v(|_| ()));
    let lines = 60_000;
    bench.stream(dealt(lines, |line| write(line, u128::MAX)), 1);
    let (l2, dram) = (bench.side.l2_counters(), bench.side.dram_counters());
    assert_eq!(dram.reads, 0);
    assert_eq!(l2.partial_write_backs, 0);
    let kept = 48 * 96 * 1024 / 32;
    assert!((lines * 4 - kept..=lines * 4 - kept + 2000).contains(&dram.writes), "{}", dram.writes);
}
