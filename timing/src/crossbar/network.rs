//! One network of the crossbar.

use serde::{Deserialize, Serialize};

use super::{Arbiter, MAXIMUM_PORTS, islip, round_robin};
use crate::clock::Clock;
use crate::restore::{MOST_COUNTED, Validity, ensure, near};
use crate::slab::{NONE, Slab};
use crate::wheel::Wheel;

/// Parameters shared by both networks.
#[derive(Debug, Clone, Copy)]
pub struct Wires {
    /// Clock of the crossbar.
    pub clock: Clock,
    /// Crossbar cycles from input to output.
    pub latency: u32,
    /// Arbitration between inputs.
    pub arbiter: Arbiter,
    /// Grant-and-accept rounds.
    pub iterations: u32,
}

/// Most flits of a packet in a restored state.
const MOST_FLITS: u32 = 1 << 16;

/// A packet in flight.
#[derive(Debug, Clone, Copy)]
pub struct Packet<T> {
    /// Input port.
    pub input: u8,
    /// Output port.
    pub output: u8,
    /// Content.
    pub message: T,
}

/// Route of a packet, apart from the content, which queue traversals do not touch.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Link {
    /// Next packet in the queue.
    next: u32,
    flits: u32,
    input: u8,
    output: u8,
}

/// Demand and round-robin pointers of the arbiters. Masks have a bit per port.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Matching {
    /// Inputs with packets, for each output.
    #[serde(skip)]
    pub(super) inputs_of: Vec<u128>,
    /// Outputs with packets, for each input.
    #[serde(skip)]
    pub(super) outputs_of: Vec<u128>,
    /// Round-robin pointer of each output.
    pub(super) input_turn: Vec<u8>,
    /// Round-robin pointer of each input.
    pub(super) output_turn: Vec<u8>,
    /// Input that chooses first.
    pub(super) first: u8,
    /// Outputs that granted each input; empty between cycles.
    #[serde(skip)]
    pub(super) granted: Vec<u128>,
    /// Matched inputs and outputs of this cycle; empty between cycles.
    #[serde(skip)]
    pub(super) pairs: Vec<(u8, u8)>,
}

/// Mask of the ports from each port on.
static FROM: [u128; MAXIMUM_PORTS as usize] = {
    let mut masks = [0; MAXIMUM_PORTS as usize];
    let mut port = 0;
    while port < masks.len() {
        masks[port] = u128::MAX << port;
        port += 1;
    }
    masks
};

/// First port of a non-empty mask in round-robin order from `start`.
pub(super) fn first_from(mask: u128, start: u8) -> u8 {
    let upper = mask & FROM[usize::from(start) % FROM.len()];
    let mask = if upper == 0 { mask } else { upper };
    match mask as u64 {
        0 => 64 + ((mask >> 64) as u64).trailing_zeros() as u8,
        lower => lower.trailing_zeros() as u8,
    }
}

/// Mask of one port.
pub(super) fn only(port: u8) -> u128 {
    let bit = 1_u64 << (port % 64);
    if port < 64 { u128::from(bit) } else { u128::from(bit) << 64 }
}

/// Ports of a mask.
pub(super) fn ports(mask: u128) -> impl Iterator<Item = u8> {
    let (mut half, mut upper, mut first) = (mask as u64, (mask >> 64) as u64, 0);
    std::iter::from_fn(move || {
        if half == 0 {
            (half, first) = (std::mem::take(&mut upper), 64);
            if half == 0 {
                return None;
            }
        }
        let port = first + half.trailing_zeros() as u8;
        half &= half - 1;
        Some(port)
    })
}

/// Cycles ahead for which port ends are recorded.
const REACH: u64 = 64;

/// Ports in the middle of a packet, by the low bits of the cycle in which it may end: inputs,
/// outputs.
#[derive(Debug, Clone)]
struct Endings(Vec<(u128, u128)>);

impl Default for Endings {
    fn default() -> Endings {
        Endings(vec![(0, 0); REACH as usize])
    }
}

impl Endings {
    /// Records that packets of ports end at a cycle after `now`; a cycle too far ahead is checked
    /// again later.
    fn add(&mut self, now: u64, cycle: u64, inputs: u128, outputs: u128) {
        let (all_inputs, all_outputs) = &mut self.0[(cycle.min(now + REACH) % REACH) as usize];
        *all_inputs |= inputs;
        *all_outputs |= outputs;
    }

    fn take(&mut self, cycle: u64) -> (u128, u128) {
        std::mem::take(&mut self.0[(cycle % REACH) as usize])
    }
}

/// Counts of a network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkCounts {
    /// Packets moved.
    pub packets: u64,
    /// Flits moved.
    pub flits: u64,
    /// Input cycles with packets that could not be sent.
    pub conflicts: u64,
    /// Output cycles that waited for credits.
    pub buffer_stalls: u64,
}

/// Inputs, outputs, and the packets between them.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound(serialize = "T: Copy + Serialize", deserialize = "T: Copy + Deserialize<'de>"))]
pub struct Network<T> {
    /// Packets that have not reached their input.
    coming: Wheel<u32>,
    /// Packets that reach their input in this cycle; empty between cycles.
    #[serde(skip)]
    admitted: Vec<u32>,
    /// Contents of all packets on the way to an input or queued there.
    messages: Slab<T>,
    /// Routes; entries without a message are stale.
    links: Vec<Link>,
    /// First and last packet of each queue, by input (major) and output.
    queues: Vec<(u32, u32)>,
    matching: Matching,
    /// Ports with packets, ports in the middle of a packet, and the end of these packets.
    #[serde(skip)]
    waiting_inputs: u128,
    #[serde(skip)]
    wanted_outputs: u128,
    #[serde(skip)]
    busy_inputs: u128,
    #[serde(skip)]
    busy_outputs: u128,
    input_busy_until: Vec<u64>,
    output_busy_until: Vec<u64>,
    #[serde(skip)]
    endings: Endings,
    credits: Vec<u32>,
    #[serde(skip)]
    without_credit: u128,
    now: u64,
    counts: NetworkCounts,
}

impl<T: Copy> Network<T> {
    /// A network of up to 128 ports a side; each output has `output_buffer` credits.
    pub fn new(inputs: u32, outputs: u32, output_buffer: u32) -> Network<T> {
        let (inputs, outputs) = (inputs as usize, outputs as usize);
        Network {
            coming: Wheel::default(),
            admitted: Vec::new(),
            messages: Slab::default(),
            links: Vec::new(),
            queues: vec![(NONE, NONE); inputs * outputs],
            matching: Matching {
                inputs_of: vec![0; outputs],
                outputs_of: vec![0; inputs],
                input_turn: vec![0; outputs],
                output_turn: vec![0; inputs],
                first: 0,
                granted: vec![0; inputs],
                pairs: Vec::new(),
            },
            waiting_inputs: 0,
            wanted_outputs: 0,
            busy_inputs: 0,
            busy_outputs: 0,
            input_busy_until: vec![0; inputs],
            output_busy_until: vec![0; outputs],
            endings: Endings::default(),
            credits: vec![output_buffer; outputs],
            without_credit: 0,
            now: 0,
            counts: NetworkCounts::default(),
        }
    }

    /// Packets on the way to an input or queued there.
    pub fn packets(&self) -> impl Iterator<Item = Packet<T>> {
        let mut queues = self.queues.iter();
        let mut index = NONE;
        let queued = std::iter::from_fn(move || {
            while index == NONE {
                index = queues.next()?.0;
            }
            let packet = self.packet(index);
            index = self.links[index as usize].next;
            Some(packet)
        });
        queued.chain(self.coming.things().map(|(_, index)| self.packet(index)))
    }

    fn packet(&self, index: u32) -> Packet<T> {
        let Link { input, output, .. } = self.links[index as usize];
        Packet { input, output, message: self.messages[index] }
    }

    /// Makes a restored network runnable and checks it against ports, buffers and clock.
    ///
    /// # Errors
    /// The state is impossible.
    pub(crate) fn restore(&mut self, inputs: u32, outputs: u32, output_buffer: u32, now: u64) -> Validity {
        let (inputs, outputs) = (inputs as usize, outputs as usize);
        let Matching { input_turn, output_turn, first, .. } = &self.matching;
        let lengths = [
            (input_turn.len(), outputs),
            (output_turn.len(), inputs),
            (self.input_busy_until.len(), inputs),
            (self.output_busy_until.len(), outputs),
            (self.credits.len(), outputs),
            (self.queues.len(), inputs * outputs),
        ];
        ensure(lengths.iter().all(|(there, needed)| there == needed), "the number of ports differs")?;
        let turns = input_turn.iter().chain(output_turn).all(|turn| u32::from(*turn) < MAXIMUM_PORTS);
        ensure(turns && usize::from(*first) < inputs, "an arbiter's pointer is beyond the ports")?;
        ensure(self.credits.iter().all(|credits| *credits <= output_buffer), "a port has too many credits")?;
        ensure(self.now == now && self.coming.now() <= now + 1, "the clock differs")?;
        let mut busy = self.input_busy_until.iter().chain(&self.output_busy_until);
        ensure(
            busy.all(|until| *until <= now + u64::from(MOST_FLITS)),
            "a port is busy too far into the future",
        )?;
        ensure(
            self.coming.things().all(|(cycle, _)| near(cycle, now)),
            "a packet arrives too far in the future",
        )?;
        let NetworkCounts { packets, flits, conflicts, buffer_stalls } = self.counts;
        let most = packets.max(flits).max(conflicts).max(buffer_stalls);
        ensure(most < MOST_COUNTED, "a count is too large")?;
        self.check_lists(inputs, outputs)?;
        self.derive(inputs, outputs);
        Ok(())
    }

    /// Recomputes derived state.
    fn derive(&mut self, inputs: usize, outputs: usize) {
        let mask = |set: &mut dyn Iterator<Item = bool>| {
            (0..).zip(set).fold(0_u128, |mask, (port, set)| mask | u128::from(set) << port)
        };
        let Matching { inputs_of, outputs_of, granted, .. } = &mut self.matching;
        let waits = |input: usize, output: usize| self.queues[input * outputs + output].0 != NONE;
        *inputs_of =
            (0..outputs).map(|output| mask(&mut (0..inputs).map(|input| waits(input, output)))).collect();
        *outputs_of =
            (0..inputs).map(|input| mask(&mut (0..outputs).map(|output| waits(input, output)))).collect();
        *granted = vec![0; inputs];
        self.waiting_inputs = mask(&mut outputs_of.iter().map(|outputs| *outputs != 0));
        self.wanted_outputs = mask(&mut inputs_of.iter().map(|inputs| *inputs != 0));
        self.busy_inputs = mask(&mut self.input_busy_until.iter().map(|until| *until > self.now));
        self.busy_outputs = mask(&mut self.output_busy_until.iter().map(|until| *until > self.now));
        self.without_credit = mask(&mut self.credits.iter().map(|credits| *credits == 0));
        self.endings = Endings::default();
        for input in ports(self.busy_inputs) {
            self.endings.add(self.now, self.input_busy_until[input as usize], 1 << input, 0);
        }
        for output in ports(self.busy_outputs) {
            self.endings.add(self.now, self.output_busy_until[output as usize], 0, 1 << output);
        }
    }

    /// Checks that each packet is in the queue of its ports, or its record is free.
    fn check_lists(&self, inputs: usize, outputs: usize) -> Validity {
        let link_fits = |link: &Link| {
            let ports = usize::from(link.input) < inputs && usize::from(link.output) < outputs;
            ensure(ports && (1..=MOST_FLITS).contains(&link.flits), "a packet has an invalid port or size")
        };
        ensure(self.links.len() == self.messages.capacity() as usize, "packets lack their destinations")?;
        let mut records = self.messages.places()?;
        self.coming.things().try_for_each(|(_, index)| {
            records.reach(index)?;
            link_fits(&self.links[index as usize])
        })?;
        for (queue, (first, last)) in self.queues.iter().enumerate() {
            let (mut index, mut before) = (*first, *last);
            while index != NONE {
                records.reach(index)?;
                let link = &self.links[index as usize];
                link_fits(link)?;
                let own = usize::from(link.input) * outputs + usize::from(link.output) == queue;
                ensure(own, "a packet is in another port's queue")?;
                (index, before) = (link.next, index);
            }
            ensure(*first == NONE || before == *last, "the end of a queue is wrong")?;
        }
        records.all()
    }

    /// Accepts a packet for an input at a core cycle.
    pub fn send(&mut self, clock: Clock, cycle: u64, input: u8, output: u8, flits: u32, message: T) {
        let link = Link { next: NONE, flits, input, output };
        let index = self.messages.insert(message);
        match self.links.get_mut(index as usize) {
            Some(place) => *place = link,
            None => self.links.push(link),
        }
        self.coming.add(clock.from_core(cycle), index);
    }

    /// Returns credits of an output.
    pub fn give_back(&mut self, output: u8, packets: u32) {
        if packets > 0 {
            self.credits[output as usize] += packets;
            self.without_credit &= !(1 << output);
        }
    }

    /// True without packets queued or on the way to an input.
    pub fn is_idle(&self) -> bool {
        self.waiting_inputs == 0 && self.coming.is_empty()
    }

    /// Number of packets queued or on the way to an input.
    pub fn waiting(&self) -> usize {
        let at_inputs = self.matching.outputs_of.iter().map(|outputs| outputs.count_ones() as usize);
        self.coming.len() + at_inputs.sum::<usize>()
    }

    /// Credits of an output.
    pub fn room(&self, output: u8) -> u32 {
        self.credits[usize::from(output)]
    }

    /// Core cycle of the next event.
    pub fn next_event(&self, clock: Clock) -> Option<u64> {
        let next = match self.waiting_inputs {
            0 => self.coming.next_event()?,
            _ => self.now,
        };
        Some(clock.within_core(next))
    }

    /// Counts so far.
    pub fn counts(&self) -> NetworkCounts {
        self.counts
    }

    /// Runs up to a core cycle. `deliver` receives input, output, core cycle of arrival and
    /// message.
    pub fn run(&mut self, wires: &Wires, until: u64, mut deliver: impl FnMut(u8, u8, u64, T)) {
        let until = wires.clock.from_core(until);
        self.prefetch_host();
        while self.now < until {
            self.admit();
            let free = self.wanted_outputs & !self.busy_outputs;
            let (able, stalled) = (free & !self.without_credit, free & self.without_credit);
            let sent = if able == 0 { 0 } else { self.send_matched(wires, able, &mut deliver) };
            let next = self.next_cycle(sent > 0, stalled).min(until);
            self.counts.buffer_stalls += (next - self.now) * u64::from(stalled.count_ones());
            self.release(next);
            self.now = next;
        }
    }

    /// Prefetches the first packets of all queues into host caches.
    fn prefetch_host(&self) {
        let Matching { outputs_of, inputs_of, .. } = &self.matching;
        for input in ports(self.waiting_inputs) {
            for output in ports(outputs_of[usize::from(input)]) {
                let queue = usize::from(input) * inputs_of.len() + usize::from(output);
                self.messages.prefetch_host(self.queues[queue].0);
            }
        }
    }

    /// Queues the packets that reached their inputs.
    #[inline(always)]
    fn admit(&mut self) {
        let mut admitted = std::mem::take(&mut self.admitted);
        self.coming.take_until(self.now, |index| admitted.push(index));
        for index in admitted.drain(..) {
            self.enqueue(index);
        }
        self.admitted = admitted;
    }

    fn enqueue(&mut self, index: u32) {
        let Link { input, output, .. } = self.links[index as usize];
        let (from, to) = (only(input), only(output));
        let (input, output) = (usize::from(input), usize::from(output));
        let queue = &mut self.queues[input * self.matching.inputs_of.len() + output];
        match *queue {
            (NONE, _) => {
                *queue = (index, index);
                self.matching.outputs_of[input] |= to;
                self.matching.inputs_of[output] |= from;
                self.waiting_inputs |= from;
                self.wanted_outputs |= to;
            }
            (first, last) => {
                *queue = (first, index);
                self.links[last as usize].next = index;
            }
        }
    }

    /// Removes the first packet of a queue; returns flits and message.
    #[inline(always)]
    fn dequeue(&mut self, input: u8, output: u8) -> (u32, T) {
        let (from, to) = (only(input), only(output));
        let (input, output) = (usize::from(input), usize::from(output));
        let queue = &mut self.queues[input * self.matching.inputs_of.len() + output];
        let index = queue.0;
        let Link { next, flits, .. } = self.links[index as usize];
        let message = self.messages.remove(index);
        if next != NONE {
            self.messages.prefetch_host(next);
        }
        queue.0 = next;
        if next == NONE {
            self.matching.outputs_of[input] &= !to;
            self.matching.inputs_of[output] &= !from;
            if self.matching.outputs_of[input] == 0 {
                self.waiting_inputs &= !from;
            }
            if self.matching.inputs_of[output] == 0 {
                self.wanted_outputs &= !to;
            }
        }
        (flits, message)
    }

    /// Sends from inputs to outputs that can take a packet; returns the number of packets.
    fn send_matched(&mut self, wires: &Wires, able: u128, deliver: &mut impl FnMut(u8, u8, u64, T)) -> u32 {
        let inputs = self.waiting_inputs & !self.busy_inputs;
        match wires.arbiter {
            Arbiter::RoundRobin => round_robin::choose(&mut self.matching, inputs, able),
            Arbiter::Islip => islip::choose(&mut self.matching, inputs, able, wires.iterations),
        }
        let mut pairs = std::mem::take(&mut self.matching.pairs);
        let sent = pairs.len() as u32;
        self.counts.conflicts += u64::from(inputs.count_ones() - sent);
        for (input, output) in pairs.drain(..) {
            let (flits, message) = self.dequeue(input, output);
            self.counts.packets += 1;
            self.counts.flits += u64::from(flits);
            let end = self.now + u64::from(flits);
            if flits > 1 {
                let (from, to) = (only(input), only(output));
                self.busy_inputs |= from;
                self.busy_outputs |= to;
                self.input_busy_until[input as usize] = end;
                self.output_busy_until[output as usize] = end;
                self.endings.add(self.now, end, from, to);
            }
            let credits = &mut self.credits[output as usize];
            *credits -= 1;
            if *credits == 0 {
                self.without_credit |= only(output);
            }
            let arrival = wires.clock.to_core(end - 1 + u64::from(wires.latency));
            deliver(input, output, arrival, message);
        }
        self.matching.pairs = pairs;
        sent
    }

    /// Next cycle with a possible event.
    fn next_cycle(&self, sent: bool, stalled: u128) -> u64 {
        if sent || self.wanted_outputs & !stalled != 0 {
            return self.now + 1;
        }
        self.coming.next_event().map_or(u64::MAX, |next| next.max(self.now + 1))
    }

    /// Frees ports whose packet ended at `next`.
    fn release(&mut self, next: u64) {
        if self.busy_inputs | self.busy_outputs == 0 {
            return;
        }
        for cycle in (self.now + 1..=next).take(REACH as usize) {
            let (inputs, outputs) = self.endings.take(cycle);
            for input in ports(inputs) {
                match self.input_busy_until[input as usize] {
                    until if until <= next => self.busy_inputs &= !only(input),
                    until => self.endings.add(next, until, only(input), 0),
                }
            }
            for output in ports(outputs) {
                match self.output_busy_until[output as usize] {
                    until if until <= next => self.busy_outputs &= !only(output),
                    until => self.endings.add(next, until, 0, only(output)),
                }
            }
        }
    }
}
