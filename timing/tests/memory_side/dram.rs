//! A DRAM channel alone: latencies, order of decisions, throughput, conservation.

use proptest::prelude::*;
use timing::dram::{Cell, DramSpec, Queues, RefreshMode, Scheduler, Timing};
use timing::policy::dram_scheduler::Parameters;
use timing::specification::GpuSpec;

use crate::harness::{Access, Event, alone_in_channel, titan_v};

/// One pseudo-channel of a TITAN V without refresh, with all command slots.
fn spec(change: impl FnOnce(&mut DramSpec)) -> DramSpec {
    let mut spec = titan_v(|_| ()).dram;
    spec.pseudo_channels = 1;
    spec.refresh = RefreshMode::None;
    change(&mut spec);
    spec
}

fn access(cycle: u64, write: bool, (bank, row, column): (u8, u64, u16)) -> Access {
    Access { cycle, write, cell: Cell { bank, row, column }, source: 0 }
}

/// A read of a bank, row and column from a cycle on.
fn read(cycle: u64, cell: (u8, u64, u16)) -> Access {
    access(cycle, false, cell)
}

fn write(cycle: u64, cell: (u8, u64, u16)) -> Access {
    access(cycle, true, cell)
}

/// Index and cycle of each read command.
fn reads(spec: &DramSpec, accesses: &[Access]) -> Vec<(usize, u64)> {
    let events = alone_in_channel(spec, 0, accesses);
    let read = |(cycle, event)| match event {
        Event::Read(number, _) => Some((number, cycle)),
        _ => None,
    };
    events.into_iter().filter_map(read).collect()
}

fn order(spec: &DramSpec, accesses: &[Access]) -> Vec<usize> {
    reads(spec, accesses).into_iter().map(|(number, _)| number).collect()
}

/// Cycles of a kind of command.
fn cycles_of(events: &[(u64, Event)], kind: Event) -> Vec<u64> {
    events.iter().filter(|(_, event)| *event == kind).map(|(cycle, _)| *cycle).collect()
}

// Latency.

/// Latency of a read after other accesses, from arrival to end of data.
fn latency(spec: &DramSpec, before: &[Access], last: Access) -> u64 {
    let events = alone_in_channel(spec, 0, &[before, &[last]].concat());
    let end = events.iter().find_map(|(_, event)| match event {
        Event::Read(number, end) | Event::Forwarded(number, end) if *number == before.len() => Some(*end),
        _ => None,
    });
    end.unwrap() - last.cycle
}

#[test]
fn read_of_a_closed_bank_takes_trcd_cl_and_burst() {
    let spec = spec(|_| ());
    let expected = u64::from(spec.rcd) + Timing::new(&spec).read_data;
    assert_eq!(latency(&spec, &[], read(0, (3, 5, 1))), expected);
}

#[test]
fn row_hit_takes_cl_and_burst() {
    let spec = spec(|_| ());
    let expected = spec.cl + spec.burst / spec.beats_per_cycle;
    assert_eq!(latency(&spec, &[read(0, (3, 5, 1))], read(100, (3, 5, 2))), u64::from(expected));
}

#[test]
fn row_conflict_takes_trp_trcd_cl_and_burst() {
    let spec = spec(|_| ());
    let expected = u64::from(spec.rp + spec.rcd) + Timing::new(&spec).read_data;
    assert_eq!(latency(&spec, &[read(0, (3, 5, 1))], read(100, (3, 6, 1))), expected);
}

#[test]
fn row_stays_open_for_tras() {
    let spec = spec(|_| ());
    let expected = u64::from(spec.ras + spec.rp + spec.rcd) + Timing::new(&spec).read_data;
    assert_eq!(latency(&spec, &[read(0, (3, 5, 1))], read(1, (3, 6, 1))), expected - 1);
}

#[test]
fn read_after_write_waits_for_the_turnaround() {
    let spec = spec(|_| ());
    let before = [read(0, (0, 5, 0)), read(0, (1, 5, 0)), write(100, (0, 5, 0))];
    let turned = spec.wl + spec.burst / spec.beats_per_cycle + spec.wtr;
    let expected = u64::from(turned) - 1 + Timing::new(&spec).read_data;
    assert_eq!(latency(&spec, &before, read(101, (1, 5, 1))), expected);
}

#[test]
fn write_after_read_waits_for_the_turnaround() {
    let spec = spec(|_| ());
    let opened = [read(0, (0, 5, 0)), read(0, (1, 5, 0)), read(100, (0, 5, 1)), write(101, (1, 5, 1))];
    let written = cycles_of(&alone_in_channel(&spec, 0, &opened), Event::Written);
    let end = 100 + Timing::new(&spec).read_data;
    assert_eq!(written, [end + u64::from(spec.turnaround) - u64::from(spec.wl)]);
}

#[test]
fn read_of_a_queued_write_is_forwarded() {
    let spec = spec(|_| ());
    let busy = read(0, (0, 5, 0));
    let before = [busy, write(1, (1, 5, 3))];
    assert_eq!(latency(&spec, &before, read(2, (1, 5, 3))), Timing::new(&spec).read_data);
    let events = alone_in_channel(&spec, 0, &[&before[..], &[read(2, (1, 5, 3))]].concat());
    assert!(!events.iter().any(|(_, event)| matches!(event, Event::Read(2, _))), "it is read all the same");
}

#[test]
fn pseudo_channels_alternate_command_slots() {
    let spec = spec(|dram| dram.pseudo_channels = 2);
    let accesses: Vec<_> =
        (0..64_u8).map(|n| access(0, n % 3 == 0, (n % 16, u64::from(n / 16), 0))).collect();
    for slot in [0, 1] {
        let events = alone_in_channel(&spec, slot, &accesses);
        let mut commands = events.iter().filter(|(_, event)| !matches!(event, Event::Taken(_)));
        assert!(commands.all(|(cycle, _)| cycle % 2 == u64::from(slot)));
    }
}

// Order.

/// Reads of a bank, the second of which needs another row.
const CONFLICT: [(u8, u64, u16); 3] = [(0, 0, 0), (0, 1, 0), (0, 0, 1)];

fn conflict() -> Vec<Access> {
    CONFLICT.map(|cell| read(0, cell)).to_vec()
}

#[test]
fn fr_fcfs_serves_row_hits_before_an_older_conflict() {
    let spec = spec(|dram| dram.scheduler = Scheduler::FrFcfs);
    let first = u64::from(spec.rcd);
    // The row is closed as soon as tRAS permits.
    let conflict_at = u64::from(spec.ras + spec.rp + spec.rcd);
    let expected = [(0, first), (2, first + u64::from(spec.ccd_l)), (1, conflict_at)];
    assert_eq!(reads(&spec, &conflict()), expected);
}

#[test]
fn fcfs_serves_a_bank_in_arrival_order() {
    let spec = spec(|dram| dram.scheduler = Scheduler::Fcfs);
    assert_eq!(order(&spec, &conflict()), [0, 1, 2]);
}

/// Scheduler parameters with one change.
fn scheduling(change: &str) -> Parameters {
    GpuSpec::changed("titan-v", [change]).unwrap().dram.scheduling
}

#[test]
fn cap_of_one_lets_one_row_hit_pass_a_conflict() {
    let hits = [(0, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 2)].map(|cell| read(0, cell));
    let with_cap = |cap| {
        spec(|dram| {
            dram.scheduler = Scheduler::FrFcfsCap;
            dram.scheduling = scheduling(&format!("dram.cap={cap}"));
        })
    };
    assert_eq!(order(&with_cap(1), &hits), [0, 2, 1, 3]);
    assert_eq!(order(&with_cap(2), &hits), [0, 2, 3, 1]);
}

/// Mean latency of SM 1's reads, and the end of all reads, in DRAM cycles. SM 0 streams through a
/// row of the same bank, one read every other cycle, while SM 1 sometimes needs another row.
fn beside_a_stream(scheduler: Scheduler) -> (u64, u64) {
    const EVERY: u64 = 200;
    let spec = spec(|dram| dram.scheduler = scheduler);
    let streamed = (0..600).map(|n| Access { source: 0, ..read(2 * n, (0, n / 300, (n % 32) as u16)) });
    let wanted = (0..5).map(|n| Access { source: 1, ..read(100 + EVERY * n, (0, 10 + n, 0)) });
    let mut accesses: Vec<Access> = streamed.chain(wanted).collect();
    accesses.sort_by_key(|access| access.cycle);
    let events = alone_in_channel(&spec, 0, &accesses);
    let mut taken = vec![0; accesses.len()];
    let (mut latency, mut end) = (0, 0);
    for (cycle, event) in events {
        match event {
            Event::Taken(number) => taken[number] = cycle,
            Event::Read(number, done) if accesses[number].source == 1 => latency += done - taken[number],
            Event::Read(_, done) => end = end.max(done),
            _ => {}
        }
    }
    (latency / 5, end)
}

#[test]
fn bliss_is_fair_to_an_sm_beside_a_streaming_sm() {
    let [(unfair, end), (fair, later)] = [Scheduler::FrFcfs, Scheduler::Bliss].map(beside_a_stream);
    assert!(2 * fair < unfair, "latencies: bliss {fair}, fr-fcfs {unfair}");
    assert!(later < 2 * end, "end: bliss {later}, fr-fcfs {end}");
}

#[test]
fn fcfs_activates_no_row_behind_a_blocked_access() {
    let accesses = [read(0, (0, 0, 0)), read(1, (0, 1, 0)), read(2, (1, 0, 0))];
    let second_activation = |scheduler| {
        let spec = spec(|dram| dram.scheduler = scheduler);
        cycles_of(&alone_in_channel(&spec, 0, &accesses), Event::Activated)[1]
    };
    let spec = spec(|_| ());
    assert_eq!(second_activation(Scheduler::FrFcfs), u64::from(spec.rrd));
    // The bank is free for the second access after the first read.
    assert_eq!(second_activation(Scheduler::Fcfs), u64::from(spec.rcd) + 1);
}

#[test]
fn fcfs_treats_sectors_of_a_request_as_one() {
    let line = (0..4).map(|column| read(0, (0, 0, column)));
    let accesses: Vec<_> = line.chain([read(1, (1, 0, 0))]).collect();
    let second_activation = |request| {
        let spec = spec(|dram| (dram.scheduler, dram.request) = (Scheduler::Fcfs, request));
        cycles_of(&alone_in_channel(&spec, 0, &accesses), Event::Activated)[1]
    };
    let spec = spec(|_| ());
    assert_eq!(second_activation(128), u64::from(spec.rrd));
    // Sectors must be read one by one until the last is the bank's first.
    assert!(second_activation(32) > u64::from(spec.rcd + 2 * spec.ccd_l));
}

#[test]
fn fcfs_activates_rows_of_several_banks_concurrently() {
    let spec = spec(|dram| dram.scheduler = Scheduler::Fcfs);
    let accesses: Vec<_> = (0..4).map(|bank| read(0, (bank, 0, 0))).collect();
    let activated = cycles_of(&alone_in_channel(&spec, 0, &accesses), Event::Activated);
    assert_eq!(activated, [0, 1, 2, 3].map(|bank| bank * u64::from(spec.rrd)));
}

#[test]
fn ready_bank_with_the_oldest_access_is_served() {
    let spec = spec(|_| ());
    let opened = [0, 1, 2].map(|bank| read(0, (bank, 0, 0)));
    for banks in [[0, 1, 2], [0, 2, 1], [2, 0, 1], [2, 1, 0]] {
        // The first read keeps the bus busy until both others have arrived.
        let then = [0, 1, 2].map(|i| read(100 + i as u64, (banks[i], 0, 1)));
        assert_eq!(order(&spec, &[opened, then].concat())[3..], [3, 4, 5], "{banks:?}");
    }
}

#[test]
fn closed_bank_with_the_oldest_access_is_activated() {
    let spec = spec(|_| ());
    for banks in [[0, 1, 2], [0, 2, 1], [2, 0, 1], [2, 1, 0]] {
        let accesses = [0, 1, 2].map(|i| read(0, (banks[i], 0, 0)));
        assert_eq!(order(&spec, &accesses), [0, 1, 2], "{banks:?}");
    }
}

/// Reads that keep a bank busy, and writes to another bank that arrive meanwhile. Returns the
/// served accesses as runs.
fn runs(spec: &DramSpec, reads: u16, writes: u32) -> Vec<(bool, u32)> {
    let hits = (0..reads).map(|n| read(u64::from(n), (0, 0, n)));
    let written = (0..writes).map(|n| write(u64::from(reads), (1, 0, n as u16)));
    let events = alone_in_channel(spec, 0, &hits.chain(written).collect::<Vec<_>>());
    let mut runs: Vec<(bool, u32)> = Vec::new();
    for (_, event) in events {
        let written = match event {
            Event::Read(..) => false,
            Event::Written => true,
            _ => continue,
        };
        match runs.last_mut() {
            Some((kind, count)) if *kind == written => *count += 1,
            _ => runs.push((written, 1)),
        }
    }
    runs
}

#[test]
fn writes_below_the_high_mark_wait_for_idle_reads() {
    let spec = spec(|_| ());
    let writes = spec.write_high - 1;
    assert_eq!(runs(&spec, 32, writes)[0], (false, 32));
}

#[test]
fn write_drain_runs_from_high_to_low_mark() {
    let spec = spec(|dram| (dram.write_high, dram.write_low) = (8, 3));
    let runs = runs(&spec, 32, 8);
    let [(false, before), (true, drained), (false, after), (true, rest)] = runs[..] else {
        panic!("{runs:?}");
    };
    assert_eq!((before + after, drained, rest), (32, 8 - 3, 3));
    assert!(before > 0 && after > 0);
}

/// Served accesses in command order; true for a write.
fn kinds(spec: &DramSpec, accesses: &[Access]) -> Vec<bool> {
    let kind = |(_, event)| match event {
        Event::Read(..) => Some(false),
        Event::Written => Some(true),
        _ => None,
    };
    alone_in_channel(spec, 0, accesses).into_iter().filter_map(kind).collect()
}

#[test]
fn one_queue_serves_an_older_write_before_row_hits() {
    let accesses: Vec<_> = [read(0, (0, 0, 0)), write(1, (0, 0, 1))]
        .into_iter()
        .chain((2..10).map(|n| read(n, (0, 0, n as u16))))
        .collect();
    let kinds = |queues| kinds(&spec(|dram| dram.queues = queues), &accesses);
    assert_eq!(kinds(Queues::One)[..3], [false, true, false]);
    assert!(kinds(Queues::Apart)[9], "the write is the last");
}

#[test]
fn one_queue_serves_write_row_hits_before_older_reads() {
    let spec = spec(|dram| dram.queues = Queues::One);
    let accesses = [read(0, (0, 0, 0)), read(1, (0, 1, 0)), write(2, (0, 0, 1)), write(3, (0, 0, 2))];
    assert_eq!(kinds(&spec, &accesses), [false, true, true, false]);
}

#[test]
fn one_queue_activates_for_the_oldest_access() {
    let spec = spec(|dram| dram.queues = Queues::One);
    let accesses = [write(0, (0, 0, 0)), read(0, (0, 1, 0))];
    assert_eq!(kinds(&spec, &accesses), [true, false]);
}

#[test]
fn one_queue_fcfs_serves_in_arrival_order() {
    let spec = spec(|dram| (dram.queues, dram.scheduler) = (Queues::One, Scheduler::Fcfs));
    let accesses = [read(0, (0, 0, 0)), write(1, (0, 1, 0)), read(2, (0, 0, 1)), write(3, (0, 0, 2))];
    assert_eq!(kinds(&spec, &accesses), [false, true, false, true]);
}

#[test]
fn one_queue_holds_reads_and_writes_together() {
    let spec = spec(|dram| (dram.queues, dram.read_queue) = (Queues::One, 4));
    let accesses: Vec<_> = (0..100).map(|n| access(0, n % 2 == 0, (0, n, 0))).collect();
    let (mut waiting, mut most) = (0, 0);
    for (_, event) in alone_in_channel(&spec, 0, &accesses) {
        waiting += match event {
            Event::Taken(_) => 1,
            Event::Read(..) | Event::Written => -1,
            _ => 0,
        };
        most = most.max(waiting);
    }
    assert_eq!((waiting, most), (0, 4));
}

// Refresh.

/// Reads of the banks' open rows in rotation, one every `apart` cycles for `cycles` cycles.
fn in_turn(spec: &DramSpec, apart: u64, cycles: u64) -> Vec<Access> {
    let bank = |n: u64| (n % u64::from(spec.banks)) as u8;
    (0..cycles / apart).map(|n| read(n * apart, (bank(n), 0, (n / 16 % 32) as u16))).collect()
}

/// Gaps above `longer` cycles between a bank's reads: cycle before the gap, and bank.
fn stops(spec: &DramSpec, accesses: &[Access], longer: u64) -> Vec<(u64, u8)> {
    let reads = reads(spec, accesses);
    let of = |bank: u8| {
        let own = |(number, _): &&(usize, u64)| accesses[*number].cell.bank == bank;
        let cycles: Vec<_> = reads.iter().filter(own).map(|(_, cycle)| *cycle).collect();
        let stop = |pair: &[u64]| (pair[1] - pair[0] >= longer).then_some((pair[0], bank));
        cycles.windows(2).filter_map(stop).collect::<Vec<_>>()
    };
    let mut stops: Vec<_> = (0..spec.banks as u8).flat_map(of).collect();
    stops.sort_unstable();
    stops
}

/// Minimum gap between the reads before and after a refresh.
fn stop(spec: &DramSpec) -> u64 {
    u64::from(spec.rp + spec.rfc + spec.rcd)
}

#[test]
fn per_bank_refresh_blocks_banks_in_rotation() {
    let spec = spec(|dram| dram.refresh = RefreshMode::PerBank);
    let interval = Timing::new(&spec).refresh_interval;
    let accesses = in_turn(&spec, 4, 19 * interval);
    let stops = stops(&spec, &accesses, stop(&spec));
    let banks: Vec<_> = stops.iter().map(|(_, bank)| *bank).collect();
    assert_eq!(banks[..18], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1]);
    for ((cycle, _), number) in stops.into_iter().zip(1..) {
        let due = number * interval;
        assert!((due - 64..due + 64).contains(&cycle), "{cycle} {due}");
    }
}

#[test]
fn other_banks_are_served_during_per_bank_refresh() {
    let spec = spec(|dram| dram.refresh = RefreshMode::PerBank);
    let apart = 4;
    let accesses = in_turn(&spec, apart, 19 * Timing::new(&spec).refresh_interval);
    let reads = reads(&spec, &accesses);
    // The bank's own read is missing once per rotation.
    assert!(reads.windows(2).all(|pair| pair[1].1 - pair[0].1 <= 2 * apart));
}

#[test]
fn each_bank_is_refreshed_once_per_trefi() {
    for (refresh, times) in [(RefreshMode::None, 0), (RefreshMode::AllBank, 1), (RefreshMode::PerBank, 16)] {
        let spec = spec(|dram| dram.refresh = refresh);
        let rounds = 3;
        let accesses = in_turn(&spec, 8, u64::from(spec.refi) * rounds + 100);
        let refreshed = cycles_of(&alone_in_channel(&spec, 0, &accesses), Event::Refreshed);
        assert_eq!(refreshed.len() as u64, rounds * times, "{refresh:?}");
    }
}

#[test]
fn all_bank_refresh_blocks_all_banks() {
    let spec = spec(|dram| dram.refresh = RefreshMode::AllBank);
    let accesses = in_turn(&spec, 4, u64::from(spec.refi) + 400);
    let events = alone_in_channel(&spec, 0, &accesses);
    let refreshed = cycles_of(&events, Event::Refreshed);
    assert_eq!(refreshed.len(), 1);
    let stopped = refreshed[0] - u64::from(spec.rp)..refreshed[0] + u64::from(spec.rfc + spec.rcd);
    let reads = reads(&spec, &accesses);
    assert!(!reads.iter().any(|(_, cycle)| stopped.contains(cycle)));
    assert_eq!(cycles_of(&events, Event::Precharged).len(), 16, "each is closed for it");
}

// Throughput.

/// Mean interval between commands of a kind.
fn mean_interval(cycles: &[u64]) -> f64 {
    (cycles[cycles.len() - 1] - cycles[0]) as f64 / (cycles.len() - 1) as f64
}

/// Mean interval between reads of a stream, without the first few.
fn interval(spec: &DramSpec, cell: impl Fn(u64) -> (u8, u64, u16)) -> f64 {
    let accesses: Vec<_> = (0..1000).map(|n| read(0, cell(n))).collect();
    let cycles: Vec<_> = reads(spec, &accesses)[100..].iter().map(|(_, cycle)| *cycle).collect();
    mean_interval(&cycles)
}

#[test]
fn row_hits_over_bank_groups_saturate_the_data_bus() {
    let spec = spec(|_| ());
    let burst = f64::from(spec.burst / spec.beats_per_cycle);
    assert_eq!(interval(&spec, |n| ((n % 4) as u8, 0, (n / 4 % 32) as u16)), burst);
}

#[test]
fn row_hits_in_one_bank_group_are_tccdl_apart() {
    let spec = spec(|_| ());
    assert_eq!(interval(&spec, |n| ((n % 4 * 4) as u8, 0, (n / 4 % 32) as u16)), f64::from(spec.ccd_l));
}

#[test]
fn activations_of_one_bank_are_trc_apart() {
    let spec = spec(|dram| dram.rc = 50);
    assert_eq!(interval(&spec, |n| (3, n, 0)), 50.0);
}

#[test]
fn activation_rate_is_limited_by_trrd_and_tfaw() {
    for (rrd, faw, apart) in [(4, 14, 4.0), (4, 32, 8.0)] {
        let spec = spec(|dram| (dram.rrd, dram.faw) = (rrd, faw));
        let measured = interval(&spec, |n| ((n % 16) as u8, n / 16, 0));
        assert!((apart * 0.99..apart * 1.01).contains(&measured), "{measured}");
    }
}

#[test]
fn write_row_hits_over_bank_groups_saturate_the_data_bus() {
    let spec = spec(|_| ());
    let accesses: Vec<_> = (0..1000).map(|n| write(0, ((n % 4) as u8, 0, (n / 4 % 32) as u16))).collect();
    let written = cycles_of(&alone_in_channel(&spec, 0, &accesses), Event::Written);
    let burst = f64::from(spec.burst / spec.beats_per_cycle);
    assert_eq!(mean_interval(&written[100..]), burst);
}

// Conservation and back-pressure.

#[test]
fn channel_respects_its_queue_capacities() {
    let spec = spec(|dram| (dram.read_queue, dram.write_queue, dram.write_high) = (4, 6, 6));
    for (write, room) in [(false, 4), (true, 6)] {
        let accesses: Vec<_> = (0..100).map(|n| access(0, write, (0, n, 0))).collect();
        let (mut waiting, mut most) = (0, 0);
        for (_, event) in alone_in_channel(&spec, 0, &accesses) {
            match event {
                Event::Taken(_) => waiting += 1,
                Event::Read(..) | Event::Written => waiting -= 1,
                _ => {}
            }
            most = most.max(waiting);
        }
        assert_eq!((waiting, most), (0, room));
    }
}

fn any_spec() -> impl Strategy<Value = DramSpec> {
    let schedulers = prop::sample::select(vec![Scheduler::FrFcfs, Scheduler::Fcfs]);
    let refreshes = prop::sample::select(vec![RefreshMode::None, RefreshMode::AllBank, RefreshMode::PerBank]);
    let queues = prop::sample::select(vec![Queues::Apart, Queues::One]);
    (schedulers, refreshes, queues, any::<bool>(), 1_u32..20, 10_u32..40).prop_map(
        |(scheduler, refresh, queues, dual, queue, faw)| {
            spec(|dram| {
                (dram.scheduler, dram.refresh, dram.dual_command_bus) = (scheduler, refresh, dual);
                dram.queues = queues;
                (dram.read_queue, dram.write_queue) = (queue, queue + 1);
                (dram.write_high, dram.write_low) = (queue, queue / 2);
                dram.faw = faw;
            })
        },
    )
}

proptest! {
    #[test]
    fn each_access_is_served_once_without_timing_violation(
        spec in any_spec(),
        accesses in prop::collection::vec((0_u64..4000, any::<bool>(), 0_u8..16, 0_u64..3, 0_u16..4), 0..300)
    ) {
        let mut accesses: Vec<_> = accesses
            .into_iter()
            .map(|(cycle, write, bank, row, column)| access(cycle, write, (bank, row, column)))
            .collect();
        accesses.sort_by_key(|access| access.cycle);
        let mut reads: Vec<usize> = Vec::new();
        let mut writes = 0;
        // Checks for violations.
        for (_, event) in alone_in_channel(&spec, 0, &accesses) {
            match event {
                Event::Read(number, _) | Event::Forwarded(number, _) => reads.push(number),
                Event::Written => writes += 1,
                _ => {}
            }
        }
        reads.sort_unstable();
        let expected: Vec<_> = (0..accesses.len()).filter(|number| !accesses[*number].write).collect();
        prop_assert_eq!(writes, accesses.len() - expected.len());
        prop_assert_eq!(reads, expected);
    }
}
