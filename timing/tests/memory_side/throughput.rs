//! Streams reach peak throughput.

use std::collections::VecDeque;

use timing::message::{MemoryRequest, RequestKind};
use timing::specification::GpuSpec;

use crate::harness::{Bench, read, titan_v, write};

/// Lines from 0 on, distributed over all SMs round robin.
fn dealt(lines: u64, request: impl Fn(u64) -> MemoryRequest) -> Vec<VecDeque<MemoryRequest>> {
    let mut streams = vec![VecDeque::new(); 80];
    for number in 0..lines {
        let sm = (number % 80) as u16;
        streams[usize::from(sm)].push_back(MemoryRequest { sm, ..request(number * 128) });
    }
    streams
}

/// Bytes per core cycle, without the latency of the first and last request.
fn rate(bytes: u64, start: u64, end: u64) -> f64 {
    bytes as f64 / (end - start - 400) as f64
}

#[test]
fn streaming_reads_reach_dram_peak_less_refresh() {
    let gigabytes = streamed_reads(192);
    assert!((0.90..=1.0).contains(&(gigabytes / 652.8)), "{gigabytes} GB/s");
}

#[test]
fn few_mshrs_limit_streaming_reads() {
    let [few, twice, own] = [20, 40, 80].map(streamed_reads);
    assert!((1.8..=2.0).contains(&(twice / few)), "{few} and {twice} GB/s");
    // STREAM triad reaches 82 % of a TITAN V's peak (Khairy et al.).
    assert!((0.78..=0.86).contains(&(own / 652.8)), "{own} GB/s");
}

/// GB/s of reads on a TITAN V with `mshrs` MSHRs per slice.
fn streamed_reads(mshrs: u32) -> f64 {
    let mut bench = Bench::new(titan_v(|gpu| gpu.l2.mshrs = mshrs));
    let lines = 100_000;
    let end = bench.stream(dealt(lines, |line| read(line, 15)), 1);
    rate(lines * 128, 0, end) * 1.2
}

#[test]
fn streaming_reads_reach_hbm1_peak_less_refresh() {
    let mut gpu = GpuSpec::built_in("titan-v-hbm1").unwrap();
    gpu.tlb.walk = 0;
    let mut bench = Bench::new(gpu);
    let lines = 60_000;
    let end = bench.stream(dealt(lines, |line| read(line, 15)), 1);
    let gigabytes = rate(lines * 128, 0, end) * 1.2;
    assert!((0.90..=1.0).contains(&(gigabytes / 384.0)), "{gigabytes} GB/s");
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
fn streaming_writes_are_written_back_without_fetches() {
    let mut bench = Bench::new(titan_v(|_| ()));
    let lines = 60_000;
    bench.stream(dealt(lines, |line| write(line, u128::MAX)), 1);
    let (l2, dram) = (bench.side.l2_counters(), bench.side.dram_counters());
    assert_eq!(dram.reads, 0);
    assert_eq!(l2.partial_write_backs, 0);
    let kept = 48 * 336 * 4;
    assert!((lines * 4 - kept..=lines * 4 - kept + 2000).contains(&dram.writes), "{}", dram.writes);
}

/// Reductions of warps on all SMs, each on words from an address on.
fn reductions(each: u64, bytes: u128, address: impl Fn(u64) -> u64) -> (u64, u64) {
    let mut bench = Bench::new(titan_v(|_| ()));
    let stream = |bench: &mut Bench| {
        let start = bench.now;
        let request = |number| MemoryRequest {
            kind: RequestKind::Reduction,
            lanes: !0,
            ..write(address(number), bytes)
        };
        let requests = dealt(80 * each, |line| request(line / 128));
        bench.stream(requests, 1) - start
    };
    stream(&mut bench);
    let before = bench.side.l2_counters().atomic_conflicts;
    let cycles = stream(&mut bench);
    (cycles, bench.side.l2_counters().atomic_conflicts - before)
}

#[test]
fn atomics_at_one_address_take_a_cycle_per_16_lanes() {
    let (cycles, conflicts) = reductions(64, 0xf, |_| 0);
    assert_eq!(conflicts, 80 * 64);
    assert!((10_240..10_240 + 400).contains(&cycles), "{cycles}");
}

#[test]
fn scattered_atomics_take_a_cycle_per_sector_and_slice() {
    let (cycles, conflicts) = reductions(100, u128::MAX, |number| number * 128);
    assert_eq!(conflicts, 0);
    let sectors = (80 * 100 * 4) as f64 / (cycles - 250) as f64;
    assert!(sectors / 48.0 > 0.8, "{sectors} sectors a cycle");
}
