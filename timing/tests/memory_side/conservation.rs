//! Conservation of requests, replies and counts.

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;
use timing::crossbar::Arbiter;
use timing::dram::{RefreshMode, Scheduler};
use timing::l2::{Fetch, WriteAllocation};
use timing::message::{MemoryRequest, RequestKind, Requester, Timed};
use timing::policy::address_map::AddressMap;
use timing::specification::GpuSpec;

use crate::harness::{Bench, read, titan_v};

/// A TITAN V with small structures, which are sometimes full.
fn small(change: impl FnOnce(&mut GpuSpec)) -> GpuSpec {
    titan_v(|gpu| {
        gpu.chip.sms = 6;
        gpu.partition.channels = 3;
        gpu.l2.size = 4096;
        gpu.l2.ways = 4;
        gpu.l2.modified = 8;
        gpu.tlb.walk = 654;
        gpu.tlb.page = 4096;
        gpu.tlb.walk_page = 4096;
        gpu.l2.mshrs = 8;
        gpu.l2.merges = 2;
        gpu.l2.miss_queue = 8;
        gpu.crossbar.input_buffer = 8;
        gpu.crossbar.output_buffer = 8;
        gpu.dram.read_queue = 4;
        gpu.dram.write_queue = 8;
        gpu.dram.write_high = 6;
        gpu.dram.write_low = 2;
        gpu.dram.refi = 3315;
        change(gpu);
    })
}

fn policies() -> impl Strategy<Value = GpuSpec> {
    let writes =
        vec![WriteAllocation::LazyFetchOnRead, WriteAllocation::FetchOnWrite, WriteAllocation::WriteValidate];
    (
        prop::sample::select(writes),
        prop::sample::select(vec![Fetch::Sector, Fetch::SectorPair, Fetch::Line]),
        prop::sample::select(Scheduler::ALL),
        prop::sample::select(vec![RefreshMode::None, RefreshMode::AllBank, RefreshMode::PerBank]),
        prop::sample::select(vec![Arbiter::RoundRobin, Arbiter::Islip]),
        prop::sample::select(vec![AddressMap::Consecutive, AddressMap::Xor, AddressMap::Ipoly]),
        any::<bool>(),
        1_u32..=2,
        (1_u32..=2, 300_u32..2000, 300_u32..2000),
    )
        .prop_map(
            |(write, fetch, scheduler, refresh, arbiter, hash, dual, pseudo, (shared, l2, dram))| {
                small(|gpu| {
                    gpu.l2.write_allocation = write;
                    gpu.l2.fetch = fetch;
                    gpu.dram.scheduler = scheduler;
                    gpu.dram.refresh = refresh;
                    gpu.dram.dual_command_bus = dual;
                    gpu.crossbar.arbiter = arbiter;
                    gpu.crossbar.sms_per_port = shared;
                    gpu.partition.hash = hash;
                    gpu.dram.bank_hash = if hash == AddressMap::Ipoly { AddressMap::Xor } else { hash };
                    gpu.clocks.l2 = l2;
                    gpu.clocks.dram = dram;
                    if pseudo == 2 {
                        gpu.dram.pseudo_channels = 2;
                        gpu.dram.bus = 8;
                        gpu.dram.burst = 4;
                        gpu.dram.ccd_s = 2;
                        gpu.dram.ccd_l = 4;
                    }
                })
            },
        )
}

fn requests() -> impl Strategy<Value = Vec<MemoryRequest>> {
    let kinds = vec![
        RequestKind::Read,
        RequestKind::Read,
        RequestKind::Write,
        RequestKind::Atomic,
        RequestKind::Reduction,
    ];
    let origins = vec![Requester::Global, Requester::Local, Requester::Constant, Requester::Copy];
    let request = (
        0_u64..400,
        0_u8..16,
        any::<u128>(),
        prop::sample::select(kinds),
        any::<u32>(),
        0_u16..6,
        prop::sample::select(origins),
        any::<bool>(),
    );
    let request = request.prop_map(|(line, sectors, bytes, kind, lanes, sm, requester, deferred)| {
        let mask = (0..4)
            .filter(|sector| sectors >> sector & 1 != 0)
            .fold(0, |mask, sector| mask | 0xffff_ffff_u128 << (sector * 32));
        MemoryRequest {
            sectors,
            bytes: if kind == RequestKind::Read { 0 } else { bytes & mask },
            kind,
            lanes,
            requester,
            sm,
            deferred: deferred.then_some(7),
            ..read(line * 128, 0)
        }
    });
    prop::collection::vec(request, 0..400)
}

fn streams(requests: &[MemoryRequest]) -> Vec<VecDeque<MemoryRequest>> {
    let mut streams = vec![VecDeque::new(); 6];
    for (tag, request) in requests.iter().enumerate() {
        streams[usize::from(request.sm)].push_back(MemoryRequest { tag: tag as u32, ..*request });
    }
    streams
}

/// Sends streams as fast as credits allow. Returns the replies by tag.
fn replies(bench: &mut Bench, mut streams: Vec<VecDeque<MemoryRequest>>) -> BTreeMap<u32, (u64, u8)> {
    let mut replies = BTreeMap::new();
    let mut quiet = 0;
    while quiet < 1000 && (streams.iter().any(|stream| !stream.is_empty()) || !bench.side.is_idle()) {
        let mut requests = Vec::new();
        for (stream, credits) in streams.iter_mut().zip(&mut bench.credits) {
            for _ in 0..*credits {
                if let Some(message) = stream.pop_front() {
                    *credits -= u32::from(message.requester != Requester::Copy);
                    requests.push(Timed { cycle: bench.now, message });
                }
            }
        }
        let come = bench.epoch(&requests);
        quiet = if come.is_empty() { quiet + 1 } else { 0 };
        for reply in come {
            let before = replies.insert(reply.message.tag, (reply.cycle, reply.message.sectors));
            assert_eq!(before, None, "a second reply");
        }
    }
    assert!(bench.side.is_idle(), "{:#?}", bench.side.waiting());
    replies
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_request_has_one_reply_and_counts_add_up(gpu in policies(), requests in requests()) {
        let mut bench = Bench::new(gpu.clone());
        let replies = replies(&mut bench, streams(&requests));
        prop_assert_eq!(replies.len(), requests.len());
        for (tag, request) in requests.iter().enumerate() {
            prop_assert_eq!(replies[&(tag as u32)].1, request.sectors);
        }
        let deferred = requests.iter().filter(|request| request.deferred.is_some()).count();
        prop_assert_eq!(bench.performed.len(), deferred);
        prop_assert!(bench.credits.iter().all(|credits| *credits == bench.side.credits()));

        let (l2, dram, memory) = (bench.side.l2_counters(), bench.side.dram_counters(), bench.side.counters());
        let sectors: u64 = requests.iter().map(|request| u64::from(request.sectors.count_ones())).sum();
        prop_assert_eq!(l2.hits + l2.misses, sectors);
        prop_assert_eq!(l2.sectors_read + l2.sectors_written + l2.sectors_atomic + l2.sectors_reduction, sectors);
        prop_assert_eq!(l2.read_hits + l2.write_hits + l2.atomic_hits + l2.reduction_hits, l2.hits);
        prop_assert_eq!(l2.sectors_global + l2.sectors_local + l2.sectors_constant + l2.sectors_copy, sectors);
        prop_assert_eq!(l2.tag_hits + l2.tag_misses, requests.len() as u64);
        prop_assert_eq!(l2.fetches, dram.reads + dram.forwarded);
        prop_assert_eq!(l2.write_backs, dram.writes);
        prop_assert_eq!(dram.read_row_hits + dram.read_row_misses, dram.reads);
        prop_assert_eq!(dram.write_row_hits + dram.write_row_misses, dram.writes);
        prop_assert!(dram.precharges <= dram.activates);
        let sent = requests.len() as u64;
        prop_assert_eq!((memory.requests, memory.replies.count()), (sent, sent));
        prop_assert_eq!(l2.request_hits.count() + l2.request_misses.count(), sent);
        prop_assert_eq!(dram.read_latencies.count(), l2.fetches);
        let crossbar = bench.side.crossbar_counters();
        prop_assert_eq!((crossbar.request_packets, crossbar.reply_packets), (sent, sent));
    }

    #[test]
    fn equal_requests_give_equal_cycles(gpu in policies(), requests in requests()) {
        let run = || replies(&mut Bench::new(gpu.clone()), streams(&requests));
        prop_assert_eq!(run(), run());
    }
}
