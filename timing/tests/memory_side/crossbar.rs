//! A single crossbar network.

use proptest::prelude::*;
use timing::clock::Clock;
use timing::crossbar::{Arbiter, MAXIMUM_PORTS, Network, Wires};

const ARBITERS: [Arbiter; 2] = [Arbiter::RoundRobin, Arbiter::Islip];

/// A packet: source, destination, flits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Packet {
    /// Core cycle of arrival at the input.
    comes: u64,
    input: u8,
    output: u8,
    flits: u32,
}

fn packet(input: u8, output: u8, flits: u32) -> Packet {
    Packet { comes: 0, input, output, flits }
}

/// Single-flit packets.
fn short(ways: &[(u8, u8)]) -> Vec<Packet> {
    ways.iter().map(|&(input, output)| packet(input, output, 1)).collect()
}

/// A delivered packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sent {
    /// Index of the packet.
    number: usize,
    packet: Packet,
    /// Core cycle of the first flit at the ports.
    start: u64,
}

impl Sent {
    fn way(&self) -> (u8, u8) {
        (self.packet.input, self.packet.output)
    }
}

/// A network that runs in the core's clock.
struct Bench {
    wires: Wires,
    network: Network<usize>,
    packets: Vec<Packet>,
}

impl Bench {
    fn new(arbiter: Arbiter, ports: u32, output_buffer: u32) -> Bench {
        let wires = Wires { clock: Clock::new(1, 1), latency: 40, arbiter, iterations: 2 };
        Bench { wires, network: Network::new(ports, ports, output_buffer), packets: Vec::new() }
    }

    fn send(&mut self, packets: &[Packet]) {
        for packet in packets {
            let Packet { comes, input, output, flits } = *packet;
            self.network.send(self.wires.clock, comes, input, output, flits, self.packets.len());
            self.packets.push(*packet);
        }
    }

    /// Simulates up to a cycle. Returns the delivered packets in order.
    fn run(&mut self, until: u64) -> Vec<Sent> {
        let Bench { wires, network, packets } = self;
        let mut all = Vec::new();
        network.run(wires, until, |input, output, arrival, number| {
            let packet = packets[number];
            assert_eq!((input, output), (packet.input, packet.output));
            let start = arrival + 1 - u64::from(wires.latency) - u64::from(packet.flits);
            all.push(Sent { number, packet, start });
        });
        all
    }
}

/// Delivery of packets with unlimited credits.
fn sent(arbiter: Arbiter, ports: u32, packets: &[Packet]) -> Vec<Sent> {
    let mut bench = Bench::new(arbiter, ports, packets.len() as u32);
    bench.send(packets);
    let flits: u64 = packets.iter().map(|packet| u64::from(packet.flits)).sum();
    let last = packets.iter().map(|packet| packet.comes).max().unwrap_or(0);
    let sent = bench.run(last + flits);
    assert!(bench.network.is_idle());
    sent
}

fn starts(sent: &[Sent]) -> Vec<u64> {
    sent.iter().map(|sent| sent.start).collect()
}

/// Sources and destinations of the packets delivered in a cycle, sorted.
fn ways_at(sent: &[Sent], cycle: u64) -> Vec<(u8, u8)> {
    let mut ways: Vec<_> = sent.iter().filter(|sent| sent.start == cycle).map(Sent::way).collect();
    ways.sort_unstable();
    ways
}

/// `times` single-flit packets from each port to each.
fn everywhere(ports: u8, times: usize) -> Vec<Packet> {
    let ways = (0..ports).flat_map(|input| (0..ports).map(move |output| packet(input, output, 1)));
    ways.flat_map(|packet| std::iter::repeat_n(packet, times)).collect()
}

// Latency.

/// Core cycle at which a lone packet arrives.
fn arrival(wires: &Wires, comes: u64, flits: u32) -> u64 {
    let mut network = Network::new(2, 2, 1);
    network.send(wires.clock, comes, 0, 1, flits, ());
    let mut arrivals = Vec::new();
    network.run(wires, 1000, |_, _, cycle, ()| arrivals.push(cycle));
    assert_eq!(arrivals.len(), 1);
    arrivals[0]
}

#[test]
fn packet_takes_latency_plus_a_cycle_per_further_flit() {
    for arbiter in ARBITERS {
        let wires = Wires { clock: Clock::new(1, 1), latency: 7, arbiter, iterations: 1 };
        for (comes, flits) in [(0, 1), (5, 1), (5, 2), (5, 200)] {
            assert_eq!(arrival(&wires, comes, flits), comes + 7 + u64::from(flits) - 1);
        }
    }
}

#[test]
fn crossbar_latency_is_in_its_own_clock() {
    // A 600 MHz network in a 1200 MHz core: starts at network cycle 3 for core cycle 5, plus
    // latency 7 and the second flit.
    let wires = Wires { clock: Clock::new(600, 1200), latency: 7, arbiter: Arbiter::Islip, iterations: 1 };
    assert_eq!(arrival(&wires, 5, 2), 2 * (3 + 7 + 1));
}

// Order.

#[test]
fn packets_between_two_ports_keep_their_order() {
    for arbiter in ARBITERS {
        let numbers: Vec<_> =
            sent(arbiter, 4, &[packet(2, 3, 2); 5]).iter().map(|sent| sent.number).collect();
        assert_eq!(numbers, [0, 1, 2, 3, 4]);
    }
}

#[test]
fn inputs_for_one_output_are_served_round_robin() {
    for (arbiter, flits) in [(ARBITERS[0], 1), (ARBITERS[0], 3), (ARBITERS[1], 1), (ARBITERS[1], 3)] {
        let packets: Vec<_> = (0..40).map(|number| packet(number / 10, 2, flits)).collect();
        let inputs: Vec<_> = sent(arbiter, 4, &packets).iter().map(|sent| sent.packet.input).collect();
        assert_eq!(inputs, [0, 1, 2, 3].repeat(10), "{arbiter:?}");
    }
}

#[test]
fn outputs_of_one_input_are_served_round_robin() {
    for arbiter in ARBITERS {
        let packets: Vec<_> = (0..40).map(|number| packet(1, number / 10, 1)).collect();
        let outputs: Vec<_> = sent(arbiter, 4, &packets).iter().map(|sent| sent.packet.output).collect();
        assert_eq!(outputs, [0, 1, 2, 3].repeat(10), "{arbiter:?}");
    }
}

#[test]
fn round_robin_rotates_the_first_input_each_cycle() {
    let sent = sent(Arbiter::RoundRobin, 3, &short(&[(0, 0), (1, 0), (1, 0), (2, 0), (2, 0), (0, 0)]));
    let first: Vec<_> = sent.iter().map(|sent| sent.packet.input).collect();
    assert_eq!(first, [0, 1, 2, 0, 1, 2]);
}

#[test]
fn later_input_takes_another_output() {
    let sent = sent(Arbiter::RoundRobin, 2, &short(&[(0, 0), (1, 0), (1, 1)]));
    assert_eq!(ways_at(&sent, 0), [(0, 0), (1, 1)]);
}

/// Deliveries of the first two cycles for three inputs and two outputs, with a number of iSLIP
/// iterations.
fn islip(iterations: u32) -> [Vec<(u8, u8)>; 2] {
    let mut bench = Bench::new(Arbiter::Islip, 3, 100);
    bench.wires.iterations = iterations;
    let three_of_each = everywhere(3, 3).into_iter().filter(|packet| packet.output < 2).collect::<Vec<_>>();
    bench.send(&three_of_each);
    let sent = bench.run(100);
    [0, 1].map(|cycle| ways_at(&sent, cycle))
}

#[test]
fn islip_serves_other_inputs_in_the_next_iteration() {
    // Both outputs grant input 0, which accepts one.
    assert_eq!(islip(1)[0], [(0, 0)]);
    assert_eq!(islip(2)[0], [(0, 0), (1, 1)]);
}

#[test]
fn islip_pointers_move_only_in_the_first_iteration() {
    // Output 1 was matched in the second iteration, so it still grants input 0 first.
    assert_eq!(islip(2)[1], [(0, 1), (1, 0)]);
}

#[test]
fn busy_islip_ports_desynchronise_to_full_throughput() {
    let ports = 8;
    let mut bench = Bench::new(Arbiter::Islip, ports, 1000);
    bench.wires.iterations = 1;
    bench.send(&everywhere(8, 30));
    let sent = bench.run(100);
    let in_cycle = |cycle| sent.iter().filter(|sent| sent.start == cycle).count();
    assert!(in_cycle(0) < ports as usize);
    assert!((u64::from(ports)..100).all(|cycle| in_cycle(cycle) == ports as usize));
}

#[test]
fn virtual_output_queues_avoid_head_of_line_blocking() {
    for arbiter in ARBITERS {
        let mut bench = Bench::new(arbiter, 2, 1);
        bench.send(&short(&[(0, 0), (0, 0), (0, 1)]));
        let ways: Vec<_> = bench.run(100).iter().map(Sent::way).collect();
        assert_eq!(ways, [(0, 0), (0, 1)], "{arbiter:?}");
    }
}

// Throughput.

#[test]
fn packet_holds_its_ports_for_a_cycle_per_flit() {
    // The search window is 64.
    for (arbiter, flits) in
        ARBITERS.iter().flat_map(|arbiter| [2, 63, 64, 65, 200].map(|flits| (*arbiter, flits)))
    {
        let of = |ways: [(u8, u8); 3]| ways.map(|(input, output)| packet(input, output, flits));
        let starts = |ways| starts(&sent(arbiter, 3, &of(ways)));
        let flits = u64::from(flits);
        assert_eq!(starts([(0, 0), (0, 1), (0, 2)]), [0, flits, 2 * flits], "an input");
        assert_eq!(starts([(0, 0), (1, 0), (2, 0)]), [0, flits, 2 * flits], "an output");
        assert_eq!(starts([(0, 1), (1, 2), (2, 0)]), [0, 0, 0], "ports of their own");
    }
}

#[test]
fn permutation_traffic_reaches_full_throughput() {
    for (arbiter, ports) in
        ARBITERS.iter().flat_map(|arbiter| [4, 80, MAXIMUM_PORTS].map(|ports| (*arbiter, ports)))
    {
        let (times, flits) = (20, 3);
        let own = |input: u32| packet(input as u8, ((input + 5) % ports) as u8, flits);
        let packets: Vec<_> = (0..times).flat_map(|_| (0..ports).map(own)).collect();
        let mut bench = Bench::new(arbiter, ports, times);
        bench.send(&packets);
        let sent = bench.run(u64::from(times * flits));
        assert_eq!(sent.len(), packets.len(), "{arbiter:?}");
        let counts = bench.network.counts();
        let moved = u64::from(ports * times);
        assert_eq!((counts.packets, counts.flits, counts.conflicts), (moved, moved * u64::from(flits), 0));
    }
}

#[test]
fn contended_output_is_always_busy_and_shared_evenly() {
    for arbiter in ARBITERS {
        let (ports, flits) = (80, 2);
        let packets: Vec<_> = (0..ports * 3).map(|number| packet(number % ports, 7, flits)).collect();
        let sent = sent(arbiter, u32::from(ports), &packets);
        assert!((0..).step_by(flits as usize).zip(&sent).all(|(cycle, sent)| sent.start == cycle));
        for round in sent.chunks(usize::from(ports)) {
            let mut inputs: Vec<_> = round.iter().map(|sent| sent.packet.input).collect();
            inputs.sort_unstable();
            assert!(inputs.into_iter().eq(0..ports), "{arbiter:?}");
        }
    }
}

#[test]
fn losing_input_counts_a_conflict_per_cycle() {
    for arbiter in ARBITERS {
        let mut bench = Bench::new(arbiter, 4, 10);
        bench.send(&short(&[(0, 0), (1, 0), (2, 0), (3, 1)]));
        bench.run(100);
        assert_eq!(bench.network.counts().conflicts, 2 + 1, "{arbiter:?}");
    }
}

// Back-pressure.

#[test]
fn full_output_receives_nothing() {
    for arbiter in ARBITERS {
        let mut bench = Bench::new(arbiter, 3, 2);
        bench.send(&short(&[(0, 0), (1, 0), (2, 0), (0, 0), (0, 1), (1, 1)]));
        let sent = bench.run(1000);
        let to = |output| sent.iter().filter(|sent| sent.packet.output == output).count();
        assert_eq!([to(0), to(1), bench.network.waiting()], [2, 2, 2], "{arbiter:?}");
    }
}

#[test]
fn returned_credits_are_used_immediately() {
    for (arbiter, flits) in [(ARBITERS[0], 1), (ARBITERS[0], 3), (ARBITERS[1], 1), (ARBITERS[1], 3)] {
        let mut bench = Bench::new(arbiter, 2, 1);
        bench.send(&[packet(0, 1, flits); 5]);
        assert_eq!(starts(&bench.run(100)), [0]);
        bench.network.give_back(1, 2);
        assert_eq!(starts(&bench.run(200)), [100, 100 + u64::from(flits)], "{arbiter:?}");
        bench.network.give_back(1, 2);
        assert_eq!(starts(&bench.run(300)), [200, 200 + u64::from(flits)], "{arbiter:?}");
        assert!(bench.network.is_idle());
    }
}

#[test]
fn output_without_credits_counts_a_stall_per_cycle() {
    for (arbiter, flits) in [(ARBITERS[0], 1), (ARBITERS[0], 3), (ARBITERS[1], 1), (ARBITERS[1], 3)] {
        let mut bench = Bench::new(arbiter, 3, 2);
        bench.send(&[packet(0, 0, flits); 3]);
        bench.send(&[packet(1, 1, flits); 2]);
        bench.run(1000);
        // From the cycle on in which the third could leave.
        assert_eq!(bench.network.counts().buffer_stalls, 1000 - 2 * u64::from(flits), "{arbiter:?}");
    }
}

// Conservation.

fn traffic() -> impl Strategy<Value = Vec<Packet>> {
    let packet = (0_u64..60, 0_u8..6, 0_u8..6, prop::sample::select(vec![1, 2, 5, 70]))
        .prop_map(|(comes, input, output, flits)| Packet { comes, input, output, flits });
    prop::collection::vec(packet, 0..120)
}

/// Tells whether each port carries at most one packet at a time.
fn in_turn(sent: &[Sent], port: impl Fn(&Sent) -> u8) -> bool {
    (0..6).all(|number| {
        let mut at_port: Vec<_> = sent.iter().filter(|sent| port(sent) == number).collect();
        at_port.sort_by_key(|sent| sent.start);
        at_port.windows(2).all(|pair| pair[0].start + u64::from(pair[0].packet.flits) <= pair[1].start)
    })
}

proptest! {
    #[test]
    fn packets_leave_once_and_one_at_a_time_per_port(
        packets in traffic(), arbiter in prop::sample::select(ARBITERS.to_vec()), iterations in 1_u32..4,
        room in 1_u32..5, epoch in 1_u64..50
    ) {
        let mut bench = Bench::new(arbiter, 6, room);
        bench.wires.iterations = iterations;
        bench.send(&packets);
        let (mut all, mut now) = (Vec::new(), 0);
        while !bench.network.is_idle() {
            now += epoch;
            let sent = bench.run(now);
            for output in 0..6 {
                let taken = sent.iter().filter(|sent| sent.packet.output == output).count() as u32;
                prop_assert!(taken <= room);
                bench.network.give_back(output, taken);
            }
            all.extend(sent);
            prop_assert!(now < 60 + 120 * (70 + epoch), "it stands still");
        }
        prop_assert!(all.iter().all(|sent| sent.start >= sent.packet.comes));
        prop_assert!(in_turn(&all, |sent| sent.packet.input));
        prop_assert!(in_turn(&all, |sent| sent.packet.output));
        let counts = bench.network.counts();
        let flits: u64 = packets.iter().map(|packet| u64::from(packet.flits)).sum();
        prop_assert_eq!((counts.packets, counts.flits), (packets.len() as u64, flits));
        let mut numbers: Vec<_> = all.iter().map(|sent| sent.number).collect();
        numbers.sort_unstable();
        prop_assert!(numbers.into_iter().eq(0..packets.len()));
    }
}
