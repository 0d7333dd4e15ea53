//! One request at a time: the latency is what the Spec adds up to.

use timing::message::MemoryRequest;
use timing::specification::GpuSpec;

use crate::harness::{Bench, read, titan_v, write};

/// There and back through the crossbar and the pipeline of a slice.
fn hit(gpu: &GpuSpec) -> u64 {
    u64::from(gpu.crossbar.latency * 2 + gpu.l2.latency)
}

/// DRAM cycles of core cycles, with what is lost on the way into that clock.
fn dram(gpu: &GpuSpec, cycles: u32) -> std::ops::RangeInclusive<u64> {
    let cycles = u64::from(cycles * gpu.clocks.core).div_ceil(u64::from(gpu.clocks.dram));
    cycles + u64::from(gpu.dram.latency)..=cycles + u64::from(gpu.dram.latency) + 3
}

/// A sector on the bus. DRAM cycles.
fn burst(gpu: &GpuSpec) -> u32 {
    gpu.dram.burst / gpu.dram.beats_per_cycle
}

/// A spec without refresh, whose banks follow one another plainly.
fn plain() -> GpuSpec {
    titan_v(|gpu| {
        gpu.l2.fetch = timing::l2::Fetch::Sector;
        gpu.dram.refresh = timing::dram::RefreshMode::None;
        gpu.dram.bank_hash = timing::policy::address_map::AddressMap::Consecutive;
        gpu.partition.hash = timing::policy::address_map::AddressMap::Consecutive;
    })
}

/// Addresses of one slice that are so many of its bytes apart.
fn in_slice(gpu: &GpuSpec, offset: u64) -> u64 {
    gpu.partition.address(timing::partition::Place { slice: 0, offset })
}

#[test]
fn a_hit_takes_the_crossbar_twice_and_the_slice() {
    let gpu = plain();
    let mut bench = Bench::new(gpu.clone());
    bench.alone(read(0, 1));
    assert_eq!(bench.alone(read(0, 1)), hit(&gpu));
}

#[test]
fn a_hit_as_an_sm_sees_it_is_within_the_measured_range() {
    let sm = 9;
    assert!((193..=215).contains(&(hit(&plain()) + sm)));
}

#[test]
fn each_further_sector_of_a_hit_takes_a_cycle_of_the_slice_and_one_of_the_crossbar() {
    let gpu = plain();
    let mut bench = Bench::new(gpu.clone());
    bench.alone(read(0, 15));
    // 8 + 4 * 32 bytes in flits of 40.
    assert_eq!(bench.alone(read(0, 15)), hit(&gpu) + 3 + 3);
}

#[test]
fn a_written_sector_is_a_hit() {
    let gpu = plain();
    let mut bench = Bench::new(gpu.clone());
    assert_eq!(bench.alone(write(0, 0xffff_ffff)), hit(&gpu));
    assert_eq!(bench.alone(read(0, 1)), hit(&gpu));
}

#[test]
fn a_miss_to_a_closed_row_adds_activation_read_and_burst() {
    let gpu = plain();
    let latency = Bench::new(gpu.clone()).alone(read(0, 1));
    let expected = dram(&gpu, gpu.dram.rcd + gpu.dram.cl + burst(&gpu));
    assert!(expected.contains(&(latency - hit(&gpu))), "{latency}");
}

#[test]
fn a_miss_to_an_open_row_adds_read_and_burst() {
    let gpu = plain();
    let mut bench = Bench::new(gpu.clone());
    bench.alone(read(0, 1));
    let latency = bench.alone(read(in_slice(&gpu, 128), 1));
    assert!(dram(&gpu, gpu.dram.cl + burst(&gpu)).contains(&(latency - hit(&gpu))), "{latency}");
    assert_eq!(bench.side.dram_counters().read_row_hits, 1);
}

#[test]
fn a_miss_to_a_bank_with_another_row_adds_precharge_activation_read_and_burst() {
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
fn slices_that_share_a_channel_take_turns_sector_by_sector() {
    let mut gpu = plain();
    (gpu.dram.pseudo_channels, gpu.dram.ccd_l) = (1, gpu.dram.ccd_s);
    // Lines of the two slices of a channel, for SMs with ports of their own.
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
fn a_load_from_dram_as_an_sm_sees_it_is_within_the_measured_range() {
    let sm = 9;
    let gpu = titan_v(|_| ());
    assert!((375..=434).contains(&(Bench::new(gpu).alone(read(0, 1)) + sm)));
}

#[test]
fn after_invalidation_everything_misses() {
    let gpu = plain();
    let mut bench = Bench::new(gpu.clone());
    bench.alone(read(0, 1));
    bench.side.invalidate();
    assert!(bench.alone(read(0, 1)) > hit(&gpu));
}

#[test]
fn the_first_access_to_a_page_waits_for_its_walk() {
    let gpu = titan_v(|gpu| gpu.tlb.walk = 654);
    let (mut walked, mut there) = (Bench::new(gpu.clone()), Bench::new(titan_v(|_| {})));
    // Clocks stand otherwise to each other by then, and a pseudo-channel commands in every other cycle.
    let later = walked.alone(read(0, 1)) - there.alone(read(0, 1));
    assert!((653..=656).contains(&later), "{later}");
    assert_eq!(walked.alone(read(0, 1)), hit(&gpu));
    assert_eq!(walked.side.counters().page_walks, 1);
}

#[test]
fn pages_are_walked_to_again_after_a_cold_start() {
    let mut bench = Bench::new(titan_v(|gpu| gpu.tlb.walk = 654));
    bench.alone(read(0, 1));
    bench.side.invalidate();
    assert!(bench.alone(read(0, 1)) > 654);
    assert_eq!(bench.side.counters().page_walks, 2);
}
