//! Counters of the memory side in small known runs.

use timing::dram::{BankCounts, Cell, DramSpec, RefreshMode, Timing};
use timing::l2::Fetch;
use timing::specification::GpuSpec;
use timing::statistics::Counters;

use crate::harness::{Access, Bench, Event, alone_and_counted, read, titan_v, write};

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

/// A GPU whose L2 runs in the core's clock.
fn one_clock() -> GpuSpec {
    titan_v(|gpu| gpu.clocks.l2 = gpu.clocks.core)
}

#[test]
fn l2_hits_and_misses_have_separate_histograms() {
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
fn request_waits_a_cycle_per_sector_of_its_predecessor() {
    let gpu = one_clock();
    let l2_latency = u64::from(gpu.l2.latency);
    let mut bench = Bench::new(gpu);
    bench.alone(read(0, 15));
    let before = bench.side.l2_counters();
    bench.together(&[read(0, 15), read(0, 1)]);
    let after = bench.side.l2_counters();
    // The first request takes three cycles for its further sectors. The second arrives a cycle
    // later and waits three cycles, too.
    let latency = value(&after, "hit_latency") - value(&before, "hit_latency");
    assert_eq!(latency, 2 * (l2_latency + 3));
}

/// One pseudo-channel of a TITAN V without refresh, with all command slots.
fn channel() -> DramSpec {
    let mut spec = titan_v(|_| ()).dram;
    spec.pseudo_channels = 1;
    spec.refresh = RefreshMode::None;
    spec
}

fn access(cycle: u64, write: bool, bank: u8, row: u64, column: u16) -> Access {
    Access { cycle, write, cell: Cell { bank, row, column }, source: 0 }
}

#[test]
fn dram_read_latency_spans_arrival_to_end_of_data() {
    let spec = channel();
    let (_, counters, _) = alone_and_counted(&spec, 0, &[access(0, false, 3, 5, 1)]);
    let latency = u64::from(spec.rcd) + Timing::new(&spec).read_data;
    assert_eq!(values(&counters, ["read_requests", "read_latency"]), [1, latency]);
}

#[test]
fn counted_read_latencies_match_observed_ones() {
    let accesses = [
        access(0, true, 1, 7, 0),
        access(0, false, 1, 7, 0),
        access(1, false, 1, 7, 1),
        access(2, false, 1, 8, 1),
        access(2, false, 2, 8, 1),
        access(300, false, 2, 8, 2),
    ];
    let (events, counters, _) = alone_and_counted(&channel(), 0, &accesses);
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

#[test]
fn bank_counts_reads_writes_and_activations() {
    let spec = channel();
    let accesses = [
        access(0, false, 3, 5, 1),
        access(100, false, 3, 5, 2),
        access(200, true, 3, 6, 1),
        access(300, false, 1, 5, 1),
    ];
    let (_, _, counts) = alone_and_counted(&spec, 0, &accesses);
    let burst = Timing::new(&spec).burst;
    let [rcd, rp] = [spec.rcd, spec.rp].map(u64::from);
    // The first access waits for its row, the second for nothing, the third for closing the other
    // row and opening its own.
    let busy_cycles = rcd + (rp + rcd) + 3 * burst;
    let expected = BankCounts { reads: 2, writes: 1, row_hits: 1, activates: 2, busy_cycles };
    assert_eq!(counts.banks[3], expected);
    assert_eq!(
        counts.banks[1],
        BankCounts { reads: 1, writes: 0, row_hits: 0, activates: 1, busy_cycles: rcd + burst }
    );
    assert_eq!(counts.banks[0], BankCounts::default());
    assert_eq!(counts.values(), [3, 1, 4 * burst, busy_cycles + rcd + burst]);
}

#[test]
fn overlapping_busy_banks_count_once_for_the_channel() {
    let spec = channel();
    let (_, _, counts) = alone_and_counted(&spec, 0, &[access(0, false, 3, 5, 1), access(0, false, 2, 5, 1)]);
    let sum: u64 = counts.banks.iter().map(|bank| bank.busy_cycles).sum();
    assert!(counts.busy_cycles < sum && counts.bus_cycles <= counts.busy_cycles, "{counts:?}");
}

#[test]
fn channel_and_bank_counts_add_up_to_dram_counters() {
    let mut bench = Bench::new(titan_v(|gpu| gpu.l2.size = 4096));
    let requests: Vec<_> = (0..400)
        .map(|number| match number % 3 {
            0 => write(number * 128, u128::MAX),
            _ => read(number * 7 * 128, 0b1010),
        })
        .collect();
    bench.together(&requests);
    let (dram, channels) = (bench.side.dram_counters(), bench.side.channel_counts());
    let banks = channels.iter().flat_map(|channel| &channel.banks);
    let sum = |of: fn(&BankCounts) -> u64| banks.clone().map(of).sum::<u64>();
    assert_eq!([sum(|bank| bank.reads), sum(|bank| bank.writes)], [dram.reads, dram.writes]);
    assert_eq!(sum(|bank| bank.row_hits), dram.read_row_hits + dram.write_row_hits);
    assert_eq!(sum(|bank| bank.activates), dram.activates);
    assert_eq!(channels.iter().map(|channel| channel.busy_cycles).sum::<u64>(), dram.busy_cycles);
    assert!(channels.iter().all(|channel| channel.bus_cycles <= channel.busy_cycles));
}

#[test]
fn mshr_occupancy_and_maximum_are_counted() {
    let gpu = one_clock();
    let on_the_way = |latency: u64| latency - u64::from(2 * gpu.crossbar.latency + gpu.l2.latency);
    let mut bench = Bench::new(gpu.clone());
    let first = on_the_way(bench.alone(read(0, 1)));
    let pair = u64::from(gpu.l2.fetch != Fetch::Sector) + 1;
    let names = ["mshr_occupancy", "mshr_cycles", "most_mshrs"];
    let [occupancy, cycles, most] = values(&bench.side.l2_counters(), names);
    // The other sector of a pair arrives at a different time.
    assert!((pair * first).abs_diff(occupancy) <= 8, "{occupancy}");
    assert!((first..=first + 8).contains(&cycles), "{cycles}");
    assert_eq!(most, pair);
    bench.side.restart_counts();
    assert_eq!(value(&bench.side.l2_counters(), "most_mshrs"), 0);
}
