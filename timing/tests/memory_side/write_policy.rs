//! Write allocation policies.

use timing::l2::{Fetch, WriteAllocation};
use timing::partition::Place;
use timing::specification::GpuSpec;

use crate::harness::{Bench, read, titan_v, write};

const A: u64 = 0;
const C: u64 = 1 << 20;

/// The kernel in figure 5 of Khairy et al. as one thread's L2 accesses. Returns whether lines 3 to
/// 6 hit: the writes of C[i] and C[i+1], the read of C[i], the reads of C[i] and C[i+1].
fn figure_5(gpu: GpuSpec) -> [bool; 5] {
    let mut bench = Bench::new(gpu);
    let mut hits = |request| {
        let before = bench.side.l2_counters().hits;
        bench.alone(request);
        bench.side.l2_counters().hits > before
    };
    hits(read(A, 1));
    let write_first = hits(write(C, 0xf));
    hits(read(A, 1));
    let write_second = hits(write(C, 0xf0));
    let read_first = hits(read(C, 1));
    let write_again = write(C, 0xf);
    hits(write_again);
    [write_first, write_second, read_first, hits(read(C, 1)), hits(read(C, 1))]
}

fn with(policy: WriteAllocation) -> GpuSpec {
    titan_v(|gpu| {
        gpu.l2.write_allocation = policy;
        gpu.l2.fetch = Fetch::Sector;
    })
}

#[test]
fn lazy_fetch_on_read_matches_khairy_fig_5() {
    assert_eq!(figure_5(with(WriteAllocation::LazyFetchOnRead)), [false, true, false, true, true]);
}

#[test]
fn write_validate_hits_partly_written_sectors() {
    assert_eq!(figure_5(with(WriteAllocation::WriteValidate)), [false, true, true, true, true]);
}

#[test]
fn fetch_on_write_fetches_the_whole_line() {
    let mut bench = Bench::new(with(WriteAllocation::FetchOnWrite));
    bench.alone(write(C, 0xf));
    assert_eq!(bench.side.dram_counters().reads, 4);
    bench.alone(read(C, 15));
    assert_eq!(bench.side.l2_counters().read_hits, 4);
}

#[test]
fn read_of_a_partly_written_sector_fetches_it_once() {
    let mut bench = Bench::new(with(WriteAllocation::LazyFetchOnRead));
    bench.alone(write(C, 0xf));
    assert_eq!(bench.side.dram_counters().reads, 0);
    bench.alone(read(C, 1));
    let counters = bench.side.l2_counters();
    assert_eq!((counters.fetches, counters.partial_fetches), (1, 1));
}

#[test]
fn miss_fetches_both_sectors_of_a_pair() {
    let mut bench = Bench::new(titan_v(|_| ()));
    for (sectors, reads) in [(0b0001, 2), (0b0010, 2), (0b1000, 4), (0b0100, 4)] {
        bench.alone(read(C, sectors));
        assert_eq!(bench.side.dram_counters().reads, reads, "{sectors:#b}");
    }
    assert_eq!(bench.side.l2_counters().read_hits, 2);
}

#[test]
fn miss_beside_a_valid_sector_fetches_one_sector() {
    let mut bench = Bench::new(titan_v(|_| ()));
    bench.alone(write(C, u128::from(u32::MAX)));
    bench.alone(read(C, 0b0010));
    assert_eq!(bench.side.dram_counters().reads, 1);
}

/// Lines of a slice with a single set and a limit of two dirty lines.
fn one_set() -> (Bench, impl Fn(u64) -> u64) {
    let gpu = titan_v(|gpu| {
        gpu.l2.size = gpu.l2.ways * 128;
        gpu.l2.modified = 2;
    });
    let partition = gpu.partition.clone();
    let address = move |number| partition.address(Place { slice: 0, offset: number * 128 });
    (Bench::new(gpu), address)
}

#[test]
fn write_beyond_the_dirty_limit_cleans_the_oldest_line() {
    let (mut bench, address) = one_set();
    let mut written = |number| {
        bench.alone(write(address(number), u128::MAX));
        (bench.side.dram_counters().writes, bench.side.l2_counters().cleanings)
    };
    assert_eq!([written(0), written(1), written(2), written(0)], [(0, 0), (0, 0), (4, 1), (8, 2)]);
}

#[test]
fn writes_to_dirty_lines_write_nothing_back() {
    let (mut bench, address) = one_set();
    for number in [0, 1, 0, 1] {
        bench.alone(write(address(number), u128::MAX));
    }
    assert_eq!(bench.side.dram_counters().writes, 0);
}

#[test]
fn cleaned_line_stays_valid() {
    let (mut bench, address) = one_set();
    for number in 0..5 {
        bench.alone(write(address(number), u128::MAX));
    }
    for number in 0..5 {
        bench.alone(read(address(number), 0xf));
    }
    assert_eq!((bench.side.dram_counters().reads, bench.side.l2_counters().evictions), (0, 0));
}
