//! What the memory side counts of small known runs.

use timing::dram::{Cell, DramSpec, RefreshMode, Timing};
use timing::specification::GpuSpec;
use timing::statistics::Counters;

use crate::harness::{Access, Bench, Event, alone_and_counted, read, titan_v};

/// A counter by its name.
fn value(counters: &impl Counters, name: &str) -> u64 {
    let mut found = None;
    counters.each(&mut |counter, value| {
        if counter.name == name {
            found = Some(value);
        }
    });
    found.unwrap_or_else(|| panic!("no counter {name}"))
}

fn values<const N: usize>(counters: &impl Counters, names: [&str; N]) -> [u64; N] {
    names.map(|name| value(counters, name))
}

/// L2 runs with the core's clock.
fn one_clock() -> GpuSpec {
    titan_v(|gpu| gpu.clocks.l2 = gpu.clocks.core)
}

#[test]
fn a_request_that_waits_for_dram_and_one_that_does_not_are_in_histograms_of_their_own() {
    let gpu = one_clock();
    let mut bench = Bench::new(gpu.clone());
    let crossbar = u64::from(2 * gpu.crossbar.latency);
    let miss = bench.alone(read(0, 1)) - crossbar;
    let hit = u64::from(gpu.l2.latency);
    assert_eq!(bench.alone(read(0, 1)) - crossbar, hit);
    let l2 = bench.side.l2_counters();
    assert_eq!(values(&l2, ["request_hits", "hit_latency", "hit_latency_below_128"]), [1, hit, 1]);
    assert_eq!(values(&l2, ["request_misses", "miss_latency", "miss_latency_below_384"]), [1, miss, 1]);
}

#[test]
fn a_request_waits_a_cycle_for_each_sector_of_the_one_before_it() {
    let gpu = one_clock();
    let l2_latency = u64::from(gpu.l2.latency);
    let mut bench = Bench::new(gpu);
    bench.alone(read(0, 15));
    let before = bench.side.l2_counters();
    bench.together(&[read(0, 15), read(0, 1)]);
    let after = bench.side.l2_counters();
    // Three cycles for the further sectors of the first, which the second comes a cycle after: that waits for three, too.
    let latency = value(&after, "hit_latency") - value(&before, "hit_latency");
    assert_eq!(latency, 2 * (l2_latency + 3));
}

/// One pseudo-channel of a TITAN V, not refreshed, with all command slots its own.
fn channel() -> DramSpec {
    let mut spec = titan_v(|_| ()).dram;
    spec.pseudo_channels = 1;
    spec.refresh = RefreshMode::None;
    spec
}

fn access(cycle: u64, write: bool, bank: u8, row: u64, column: u16) -> Access {
    Access { cycle, write, cell: Cell { bank, row, column } }
}

#[test]
fn a_read_is_counted_from_its_coming_to_the_end_of_its_data() {
    let spec = channel();
    let (_, counters) = alone_and_counted(&spec, 0, &[access(0, false, 3, 5, 1)]);
    let latency = u64::from(spec.rcd) + Timing::new(&spec).read_data;
    assert_eq!(values(&counters, ["read_requests", "read_latency"]), [1, latency]);
}

#[test]
fn latencies_of_reads_are_those_that_the_channel_shows() {
    let accesses = [
        access(0, true, 1, 7, 0),
        access(0, false, 1, 7, 0),
        access(1, false, 1, 7, 1),
        access(2, false, 1, 8, 1),
        access(2, false, 2, 8, 1),
        access(300, false, 2, 8, 2),
    ];
    let (events, counters) = alone_and_counted(&channel(), 0, &accesses);
    let taken = |number: usize| {
        let taken = events.iter().find(|(_, event)| *event == Event::Taken(number));
        taken.unwrap().0
    };
    let latency = |(_, event): &(u64, Event)| match event {
        Event::Read(number, end) | Event::Forwarded(number, end) => Some(end - taken(*number)),
        _ => None,
    };
    let sum: u64 = events.iter().filter_map(latency).sum();
    assert_eq!(values(&counters, ["forwarded", "reads", "read_requests", "read_latency"]), [1, 4, 5, sum]);
}
