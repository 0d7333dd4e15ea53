//! Latency of single requests: the sum of the specified parts.

use timing::message::MemoryRequest;
use timing::specification::GpuSpec;

use crate::harness::{Bench, read, titan_v, write};

/// Latency of two crossbar traversals and the slice.
fn hit(gpu: &GpuSpec) -> u64 {
    u64::from(gpu.crossbar.latency * 2 + gpu.l2.latency)
}

/// Core cycles of `cycles` DRAM cycles, with the loss of the clock crossing.
fn dram(gpu: &GpuSpec, cycles: u32) -> std::ops::RangeInclusive<u64> {
    let cycles = u64::from(cycles * gpu.clocks.core).div_ceil(u64::from(gpu.clocks.dram));
    cycles + u64::from(gpu.dram.latency)..=cycles + u64::from(gpu.dram.latency) + 3
}

/// Burst length in DRAM cycles.
fn burst(gpu: &GpuSpec) -> u32 {
    gpu.dram.burst / gpu.dram.beats_per_cycle
}

/// A specification without refresh, with consecutive banks.
fn plain() -> GpuSpec {
    titan_v(|gpu| {
        gpu.l2.fetch = timing::l2::Fetch::Sector;
        gpu.dram.refresh = timing::dram::RefreshMode::None;
        gpu.dram.bank_hash = timing::policy::address_map::AddressMap::Consecutive;
        gpu.partition.hash = timing::policy::address_map::AddressMap::Consecutive;
    })
}

/// An address in one slice at a byte offset within the slice.
fn in_slice(gpu: &GpuSpec, offset: u64) -> u64 {
    gpu.partition.address(timing::partition::Place { slice: 0, offset })
}

#[test]
fn l2_hit_takes_two_crossbar_traversals_and_the_slice() {
    let gpu = plain();
    let mut bench = Bench::new(gpu.clone());
    bench.alone(read(0, 1));
    assert_eq!(bench.alone(read(0, 1)), hit(&gpu));
}

#[test]
fn l2_hit_latency_at_the_sm_is_in_the_measured_range() {
    let sm = 9;
    assert!((193..=215).contains(&(hit(&plain()) + sm)));
}

#[test]
fn further_sector_takes_a_slice_and_a_crossbar_cycle() {
    let gpu = plain();
    let mut bench = Bench::new(gpu.clone());
    bench.alone(read(0, 15));
    // 8 + 4 × 32 bytes in flits of 40.
    assert_eq!(bench.alone(read(0, 15)), hit(&gpu) + 3 + 3);
}

#[test]
fn written_sector_is_a_hit() {
    let gpu = plain();
    let mut bench = Bench::new(gpu.clone());
    assert_eq!(bench.alone(write(0, 0xffff_ffff)), hit(&gpu));
    assert_eq!(bench.alone(read(0, 1)), hit(&gpu));
}

#[test]
fn l2_miss_to_closed_row_adds_trcd_cl_and_burst() {
    let gpu = plain();
    let latency = Bench::new(gpu.clone()).alone(read(0, 1));
    let expected = dram(&gpu, gpu.dram.rcd + gpu.dram.cl + burst(&gpu));
    assert!(expected.contains(&(latency - hit(&gpu))), "{latency}");
}

#[test]
fn l2_miss_to_open_row_adds_cl_and_burst() {
    let gpu = plain();
    let mut bench = Bench::new(gpu.clone());
    bench.alone(read(0, 1));
    let latency = bench.alone(read(in_slice(&gpu, 128), 1));
    assert!(dram(&gpu, gpu.dram.cl + burst(&gpu)).contains(&(latency - hit(&gpu))), "{latency}");
    assert_eq!(bench.side.dram_counters().read_row_hits, 1);
}

#[test]
fn l2_miss_with_row_conflict_adds_trp_trcd_cl_and_burst() {
    let gpu = plain();
    let mut bench = Bench::new(gpu.clone());
    bench.alone(read(0, 1));
    let sharing = gpu.partition.slices / gpu.dram.pseudo_channels;
    let row = u64::from(gpu.dram.row) * u64::from(gpu.dram.banks / sharing);
    let latency = bench.alone(read(in_slice(&gpu, row), 1));
    let expected = dram(&gpu, gpu.dram.rp + gpu.dram.rcd + gpu.dram.cl + burst(&gpu));
    assert!(expected.contains(&(latency - hit(&gpu))), "{latency}");
}

#[test]
fn slices_of_one_channel_alternate_by_sector() {
    let mut gpu = plain();
    (gpu.dram.pseudo_channels, gpu.dram.ccd_l) = (1, gpu.dram.ccd_s);
    // Lines in both slices of a channel, for SMs on different ports.
    let lines = |offset| {
        [0, gpu.partition.channels].map(|slice| {
            let line = gpu.partition.address(timing::partition::Place { slice, offset });
            MemoryRequest { sm: if slice == 0 { 0 } else { 40 }, ..read(line, 15) }
        })
    };
    let mut bench = Bench::new(gpu.clone());
    bench.together(&lines(0));
    let ends = bench.together(&lines(128));
    let sector = u64::from(gpu.dram.ccd_s * gpu.clocks.core).div_ceil(u64::from(gpu.clocks.dram));
    assert!(ends[0].abs_diff(ends[1]) < 2 * sector, "{ends:?}, {sector} for a sector");
}

#[test]
fn dram_load_latency_at_the_sm_is_in_the_measured_range() {
    let sm = 9;
    let gpu = titan_v(|_| ());
    assert!((375..=434).contains(&(Bench::new(gpu).alone(read(0, 1)) + sm)));
}

#[test]
fn every_access_misses_after_invalidation() {
    let gpu = plain();
    let mut bench = Bench::new(gpu.clone());
    bench.alone(read(0, 1));
    bench.side.invalidate();
    assert!(bench.alone(read(0, 1)) > hit(&gpu));
}

#[test]
fn first_access_to_a_page_waits_for_its_walk() {
    let gpu = titan_v(|gpu| gpu.tlb.walk = 654);
    let (mut walked, mut there) = (Bench::new(gpu.clone()), Bench::new(titan_v(|_| {})));
    // The clock phases differ by then, and a pseudo-channel has every other command slot.
    let later = walked.alone(read(0, 1)) - there.alone(read(0, 1));
    assert!((653..=656).contains(&later), "{later}");
    assert_eq!(walked.alone(read(0, 1)), hit(&gpu));
    assert_eq!(walked.side.counters().page_walks, 1);
}

#[test]
fn pages_are_walked_again_after_a_cold_start() {
    let mut bench = Bench::new(titan_v(|gpu| gpu.tlb.walk = 654));
    bench.alone(read(0, 1));
    bench.side.invalidate();
    assert!(bench.alone(read(0, 1)) > 654);
    assert_eq!(bench.side.counters().page_walks, 2);
}
