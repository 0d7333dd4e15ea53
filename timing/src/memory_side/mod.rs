//! The memory side: crossbar, L2 slices, DRAM.
//!
//! The memory side runs an epoch at a time. Requests cross the crossbar, partitions run
//! independently on any thread, then replies cross back. Credits, which flow the other way, are
//! exchanged at ends of epochs. A slice knows of a reply one L2 latency before the reply leaves.
//! Replies therefore cross ahead of time, and an epoch may exceed a crossbar traversal.

mod hang_report;
mod partitions;
mod queues;

use std::collections::VecDeque;
use std::sync::{Arc, MutexGuard};

use serde::{Deserialize, Serialize};

use self::partitions::{Clocks, Partition, PartitionCell, Partitions};
use self::queues::{Around, Queues};
use crate::clock::Clock;
use crate::crossbar::{CrossbarCounters, CrossbarSpec, Network, Wires};
use crate::dram::{Channel, ChannelCounts, DramCounters, Timing, Violation};
use crate::l2::{L2Counters, Reply};
use crate::message::{LINE_BYTES, MemoryReply, MemoryRequest, Performed, Requester, Timed};
use crate::page_walks::PageWalks;
use crate::restore::{LATEST, RestoreError, Validity, countable, ensure, near, of_unit};
use crate::specification::GpuSpec;
use crate::statistics::Counters;

crate::counters! {
    /// Requests as SMs see them, from departure to the reply's arrival.
    pub struct MemoryCounters in "memory" {
        /// Requests sent.
        requests: "requests" = "",
        /// Page walks.
        page_walks: "pages" = "",
    } with {
        /// Reply latencies.
        replies: ReplyLatencies,
    }
}

crate::latencies! {
    /// Latency of delivered replies.
    pub struct ReplyLatencies in "memory" { replies: "requests", latency: "core cycles" }
}

/// All mutable state except the partitions.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct State {
    /// Core cycle up to which everything has run.
    now: u64,
    page_walks: PageWalks,
    requests: Network<Timed<MemoryRequest>>,
    /// Lower bound of each partition's next event in core cycles; `u64::MAX` for none.
    wakes: Vec<u64>,
    replies: Network<Reply>,
    /// The units as queues, if they are not simulated in cycles.
    queues: Queues,
    counters: MemoryCounters,
}

/// Crossbar ports on the SMs' side.
fn ports(gpu: &GpuSpec) -> u32 {
    gpu.chip.sms.div_ceil(gpu.crossbar.sms_per_port)
}

fn wires(gpu: &GpuSpec) -> Wires {
    let CrossbarSpec { latency, arbiter, iterations, .. } = gpu.crossbar;
    Wires { clock: Clock::new(gpu.clocks.crossbar, gpu.clocks.core), latency, arbiter, iterations }
}

fn clocks(gpu: &GpuSpec) -> Clocks {
    let clock = |own| Clock::new(own, gpu.clocks.core);
    Clocks { l2: clock(gpu.clocks.l2), dram: clock(gpu.clocks.dram), timing: Timing::new(&gpu.dram) }
}

impl State {
    /// Makes restored state runnable, and checks it against a core cycle.
    fn restore(&mut self, gpu: &GpuSpec, now: u64) -> Validity {
        ensure(self.now <= now && now < LATEST, "the clock differs")?;
        countable(&self.counters)?;
        self.page_walks.check(now)?;
        self.queues.check(gpu, now)?;
        let (ports, slices) = (ports(gpu), gpu.partition.all_slices());
        let room = gpu.crossbar.output_buffer;
        let cycle = wires(gpu).clock.from_core(self.now);
        self.requests.restore(ports, slices, room, cycle)?;
        let ahead = wires(gpu).clock.from_core(self.now + gpu.reply_lead());
        self.replies.restore(slices, ports, room, ahead)?;
        ensure(self.wakes.len() == gpu.partition.channels as usize, "the number of channels differs")?;
        let port = |reply: &MemoryReply| u32::from(reply.sm) / gpu.crossbar.sms_per_port;
        let slice = |reply: &MemoryReply| gpu.partition.place(reply.line).slice;
        for Timed { cycle, message } in self.page_walks.requests() {
            message.check(gpu.chip.sms)?;
            ensure(near(*cycle, now), "a request takes too long")?;
        }
        for packet in self.requests.packets() {
            let Timed { cycle, message } = packet.message;
            let reply = message.reply();
            reply.check(gpu.chip.sms)?;
            let way = (u32::from(packet.input), u32::from(packet.output));
            ensure(
                way == (port(&reply), slice(&reply)) && near(cycle, now),
                "a request is on another route",
            )?;
        }
        for packet in self.replies.packets() {
            let Reply { sent, message } = packet.message;
            message.check(gpu.chip.sms)?;
            let way = (u32::from(packet.input), u32::from(packet.output));
            ensure(
                way == (slice(&message), port(&message)) && near(sent, now),
                "a reply is on another route",
            )?;
        }
        Ok(())
    }
}

/// Saved form of the memory side.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MemorySideState {
    state: State,
    /// By channel.
    partitions: Vec<Partition>,
}

/// The memory side.
#[derive(Debug)]
pub struct MemorySide {
    gpu: Arc<GpuSpec>,
    wires: Wires,
    clocks: Clocks,
    /// Core cycles by which replies run ahead: L2 knows of them this long before they leave.
    lead: u64,
    /// Behind locks, for threads.
    partitions: Partitions,
    state: State,
    /// Scratch: channels with events in an epoch.
    active: Vec<u32>,
}

impl MemorySide {
    /// An idle memory side with cold caches.
    pub fn new(gpu: &Arc<GpuSpec>) -> MemorySide {
        let (ports, slices) = (ports(gpu), gpu.partition.all_slices());
        let room = gpu.crossbar.output_buffer;
        let channels = 0..gpu.partition.channels;
        let timing = Timing::new(&gpu.dram);
        let mut replies = Network::new(slices, ports, room);
        replies.run(&wires(gpu), gpu.reply_lead(), |_, _, _, _| {});
        let state = State {
            now: 0,
            page_walks: PageWalks::default(),
            requests: Network::new(ports, slices, room),
            wakes: vec![u64::MAX; channels.len()],
            replies,
            queues: Queues::default(),
            counters: MemoryCounters::default(),
        };
        let partitions = channels.map(|channel| Partition::new(gpu, &timing, channel)).collect();
        MemorySide::with(gpu, MemorySideState { state, partitions })
    }

    fn with(gpu: &Arc<GpuSpec>, MemorySideState { state, partitions }: MemorySideState) -> MemorySide {
        let clocks = clocks(gpu);
        MemorySide {
            gpu: Arc::clone(gpu),
            wires: wires(gpu),
            clocks,
            lead: gpu.reply_lead(),
            partitions: Partitions::new(gpu, clocks, partitions),
            state,
            active: Vec::new(),
        }
    }

    /// Mutable state.
    pub fn state(&self) -> MemorySideState {
        let partitions = self.partitions.each().map(|cell| cell.partition.clone()).collect();
        MemorySideState { state: self.state.clone(), partitions }
    }

    /// Restores a state at a core cycle.
    ///
    /// # Errors
    /// The state is impossible.
    pub fn restore(
        gpu: &Arc<GpuSpec>,
        mut saved: MemorySideState,
        now: u64,
    ) -> Result<MemorySide, RestoreError> {
        let clocks = clocks(gpu);
        saved.state.restore(gpu, now).map_err(of_unit("the crossbar"))?;
        let MemorySideState { state, partitions } = &mut saved;
        let as_many = partitions.len() == state.wakes.len();
        ensure(as_many, "the number of channels differs").map_err(of_unit("the memory side"))?;
        for ((partition, wake), channel) in partitions.iter_mut().zip(&state.wakes).zip(0..) {
            partition.restore(gpu, &clocks, channel, state.now)?;
            let looked_at =
                ensure(*wake <= partition.next_event(), "the wake-up lies after the partition's next event");
            looked_at.map_err(of_unit(format!("memory partition {channel}")))?;
        }
        Ok(MemorySide::with(gpu, saved))
    }

    /// Future replies of work in flight, with the deferred instruction that each request performs
    /// at its slice.
    pub fn under_way(&self) -> Vec<(MemoryReply, Option<u32>)> {
        let State { page_walks, requests, replies, queues, .. } = &self.state;
        let sent = requests.packets().map(|packet| packet.message);
        let sent = sent.chain(page_walks.requests().copied()).map(|request| request.message);
        let sent = sent.map(|request| (request.reply(), request.deferred));
        let mut under_way: Vec<_> = sent.collect();
        self.partitions.each().for_each(|cell| under_way.extend(cell.partition.under_way()));
        under_way.extend(replies.packets().map(|packet| (packet.message.message, None)));
        under_way.extend(queues.replies().map(|reply| (reply, None)));
        under_way
    }

    /// Requests of an SM in the crossbar's buffer; [`run`](MemorySide::run) returns credits.
    pub fn credits(&self) -> u32 {
        self.gpu.crossbar.credits()
    }

    /// Handle of the partitions, for threads.
    pub fn partitions(&self) -> Partitions {
        self.partitions.clone()
    }

    /// Runs up to a core cycle (exclusive). `step` must run the partitions of the given channels to
    /// a cycle with `Partitions::run`, in any order or in parallel.
    ///
    /// `requests` are those sent since the last call, by (cycle, SM, sequence). `replies` has a
    /// queue per SM; additions are in cycle order and never before `until`. `performed` receives
    /// deferred requests that reached their slices, by (cycle, SM, number). `credits` grow by each
    /// SM's requests that left its port's buffer. Missing SMs are ignored.
    pub fn run<'r>(
        &mut self,
        until: u64,
        requests: impl IntoIterator<Item = &'r Timed<MemoryRequest>>,
        replies: &mut [VecDeque<Timed<MemoryReply>>],
        performed: &mut Vec<Performed>,
        credits: &mut [u32],
        step: &dyn Fn(&[u32], u64),
    ) {
        if self.gpu.fidelity.has_queues() {
            return self.run_queues(until, requests, replies, performed, credits);
        }
        for request in requests {
            self.release(request.cycle);
            self.accept(request);
        }
        self.release(until);
        self.run_requests(until, credits);
        self.run_partitions(until, performed, step);
        self.run_replies(until, replies);
        self.state.now = self.state.now.max(until);
    }

    /// Runs the units as queues up to a core cycle.
    fn run_queues<'r>(
        &mut self,
        until: u64,
        requests: impl IntoIterator<Item = &'r Timed<MemoryRequest>>,
        replies: &mut [VecDeque<Timed<MemoryReply>>],
        performed: &mut Vec<Performed>,
        credits: &mut [u32],
    ) {
        // Nothing crosses the networks, whose clocks go on.
        self.state.requests.run(&self.wires, until, |_, _, _, _| {});
        self.state.replies.run(&self.wires, until + self.lead, |_, _, _, _| {});
        let State { page_walks, queues, counters, now, .. } = &mut self.state;
        let (gpu, clocks, crossbar) = (&*self.gpu, &self.clocks, self.wires.clock);
        let before = performed.len();
        let mut partitions = self.partitions.hold();
        let mut around = Around { gpu, clocks, crossbar, partitions: &mut partitions, performed };
        for request in requests {
            while let Some((cycle, waiting)) = page_walks.take(request.cycle) {
                queues.serve(&mut around, cycle, &waiting.message);
            }
            counters.requests += 1;
            if let Some(credits) = credits.get_mut(usize::from(request.message.sm))
                && request.message.requester != Requester::Copy
            {
                *credits += 1;
            }
            if page_walks.translate(&gpu.tlb, request) {
                queues.serve(&mut around, request.cycle, &request.message);
            }
        }
        while let Some((cycle, waiting)) = page_walks.take(until) {
            queues.serve(&mut around, cycle, &waiting.message);
        }
        performed[before..].sort_unstable();
        queues.deliver(gpu, crossbar, until, |sent, reply| {
            counters.replies.add_one(reply.cycle.saturating_sub(sent));
            if let Some(queue) = replies.get_mut(usize::from(reply.message.sm)) {
                queue.push_back(reply);
            }
        });
        *now = (*now).max(until);
    }

    #[inline(always)]
    fn accept(&mut self, request: &Timed<MemoryRequest>) {
        if u32::from(request.message.sm) >= self.gpu.chip.sms {
            return;
        }
        self.state.counters.requests += 1;
        if self.state.page_walks.translate(&self.gpu.tlb, request) {
            self.send(request.cycle, request);
        }
    }

    /// Releases requests whose page walk ended before a cycle.
    fn release(&mut self, until: u64) {
        while let Some((cycle, request)) = self.state.page_walks.take(until) {
            self.send(cycle, &request);
        }
    }

    /// Sends a translated request into the crossbar.
    #[inline(always)]
    fn send(&mut self, cycle: u64, request: &Timed<MemoryRequest>) {
        let message = &request.message;
        let crossbar = &self.gpu.crossbar;
        let port = u32::from(message.sm) / crossbar.sms_per_port;
        let slice = self.gpu.partition.place(message.line).slice;
        let flits = crossbar.request_flits(message);
        self.state.requests.send(self.wires.clock, cycle, port as u8, slice as u8, flits, *request);
    }

    fn run_requests(&mut self, until: u64, credits: &mut [u32]) {
        let State { requests, wakes, .. } = &mut self.state;
        let (gpu, clocks, mut partitions) = (&self.gpu, &self.clocks, self.partitions.hold());
        requests.run(&self.wires, until, |_, output, cycle, request| {
            let (channel, slice) = gpu.partition.channel(u32::from(output));
            let line = gpu.partition.offset(request.message.line) / LINE_BYTES;
            partitions.get(channel as usize).partition.arrive(gpu, clocks, cycle, slice, line, request);
            wakes[channel as usize] = wakes[channel as usize].min(cycle);
            let of_sm = request.message.requester != Requester::Copy;
            if let Some(credits) = credits.get_mut(usize::from(request.message.sm)).filter(|_| of_sm) {
                *credits += 1;
            }
        });
    }

    fn run_partitions(&mut self, until: u64, performed: &mut Vec<Performed>, step: &dyn Fn(&[u32], u64)) {
        let State { requests, wakes, replies, .. } = &mut self.state;
        let (gpu, active) = (&self.gpu, &mut self.active);
        active.clear();
        active.extend((0..).zip(&*wakes).filter(|(_, wake)| **wake < until).map(|(channel, _)| channel));
        step(active, until);
        let before = performed.len();
        for channel in active.iter().copied() {
            let PartitionCell { partition, outbox } = &mut *self.partitions.lock(channel as usize);
            wakes[channel as usize] = partition.next_event();
            // Copying replies in place avoids store-forwarding stalls of values reassembled from
            // parts.
            for &(cycle, slice, ref reply) in &outbox.replies {
                let MemoryReply { sm, kind, sectors, .. } = reply.message;
                let port = u32::from(sm) / gpu.crossbar.sms_per_port;
                let flits = gpu.crossbar.reply_flits(kind, sectors);
                replies.send(self.wires.clock, cycle, slice as u8, port as u8, flits, *reply);
            }
            outbox.replies.clear();
            performed.append(&mut outbox.performed);
            for slice in 0..gpu.partition.slices {
                let number = slice * gpu.partition.channels + channel;
                requests.give_back(number as u8, partition.taken(slice as usize));
            }
        }
        performed[before..].sort_unstable();
    }

    fn run_replies(&mut self, until: u64, queues: &mut [VecDeque<Timed<MemoryReply>>]) {
        let State { wakes, replies, counters, .. } = &mut self.state;
        let partitions = &self.partitions;
        let channels = self.gpu.partition.channels as usize;
        let [mut sent, mut delivered] = [[0_u32; crate::crossbar::MAXIMUM_PORTS as usize]; 2];
        replies.run(&self.wires, until + self.lead, |slice, port, cycle, reply| {
            sent[usize::from(slice)] += 1;
            counters.replies.add_one(cycle.saturating_sub(reply.sent));
            if let Some(queue) = queues.get_mut(usize::from(reply.message.sm)) {
                queue.push_back(Timed { cycle: cycle.max(until), message: reply.message });
            }
            delivered[usize::from(port)] += 1;
        });
        for (slice, packets) in sent.into_iter().enumerate().filter(|(_, packets)| *packets > 0) {
            let (channel, index) = (slice % channels, slice / channels);
            let partition = &mut partitions.lock(channel).partition;
            partition.give_back(&self.clocks, until, index, packets);
            wakes[channel] = partition.next_event();
        }
        for (port, packets) in delivered.into_iter().enumerate().filter(|(_, packets)| *packets > 0) {
            replies.give_back(port as u8, packets);
        }
    }

    /// Core cycle of the next event; `None` while waiting for requests.
    pub fn next_event(&self) -> Option<u64> {
        let State { now, page_walks, requests, wakes, replies, queues, .. } = &self.state;
        let replies = replies.next_event(self.wires.clock).map(|next| next.saturating_sub(self.lead));
        let queued = queues.next_event(&self.gpu);
        let crossbar = [page_walks.next_event(), requests.next_event(self.wires.clock), replies, queued];
        let partitions = wakes.iter().copied().filter(|wake| *wake != u64::MAX);
        crossbar.into_iter().flatten().chain(partitions).min().map(|next| next.max(*now))
    }

    /// True without work in flight.
    pub fn is_idle(&self) -> bool {
        let State { page_walks, requests, replies, queues, .. } = &self.state;
        let crossbar = page_walks.next_event().is_none() && requests.is_idle() && replies.is_idle();
        let crossbar = crossbar && queues.is_idle();
        crossbar && self.partitions.each().all(|cell| cell.partition.is_idle())
    }

    /// Applies untimed requests to L2 in an idle memory side.
    pub fn warm(&mut self, requests: impl Iterator<Item = MemoryRequest>) {
        for request in requests {
            self.state.page_walks.warm(&self.gpu.tlb, &request);
            let place = self.gpu.partition.place(request.line);
            let (channel, slice) = self.gpu.partition.channel(place.slice);
            let partition = &mut self.partitions.lock(channel as usize).partition;
            partition.warm(&self.gpu, slice, place.offset / LINE_BYTES, &request);
        }
    }

    /// Marks pages as present in the L2 TLB of an idle memory side.
    pub fn warm_pages(&mut self, address: u64, bytes: u64) {
        self.state.page_walks.warm_range(&self.gpu.tlb, address, bytes);
    }

    /// Empties L2 and its TLB for a cold launch; dirty lines are dropped.
    pub fn invalidate(&mut self) {
        self.state.page_walks.invalidate();
        self.partitions.each().for_each(|mut cell| cell.partition.invalidate());
    }

    /// Request counters.
    pub fn counters(&self) -> MemoryCounters {
        MemoryCounters { page_walks: self.state.page_walks.walked, ..self.state.counters }
    }

    /// Crossbar counters.
    pub fn crossbar_counters(&self) -> CrossbarCounters {
        let (requests, replies) = (self.state.requests.counts(), self.state.replies.counts());
        CrossbarCounters {
            request_packets: requests.packets,
            request_flits: requests.flits,
            request_conflicts: requests.conflicts,
            request_buffer_stalls: requests.buffer_stalls,
            reply_packets: replies.packets,
            reply_flits: replies.flits,
            reply_conflicts: replies.conflicts,
            reply_buffer_stalls: replies.buffer_stalls,
        }
    }

    /// Summed counters of all slices.
    pub fn l2_counters(&self) -> L2Counters {
        let mut sum = L2Counters::default();
        for cell in self.partitions.each() {
            cell.partition.slices().for_each(|slice| sum.add(&slice.counters()));
        }
        sum
    }

    /// Summed counters of all channels.
    pub fn dram_counters(&self) -> DramCounters {
        let mut sum = self.state.queues.dram;
        for cell in self.partitions.each() {
            cell.partition.channels().for_each(|channel| sum.add(channel.counters()));
        }
        sum
    }

    /// Restarts counters that hold a maximum.
    pub fn restart_counts(&mut self) {
        self.partitions.each().for_each(|mut cell| cell.partition.restart_counts());
    }

    /// Counts of each channel, by pseudo-channel.
    pub fn channel_counts(&self) -> Vec<ChannelCounts> {
        let of =
            |cell: MutexGuard<'_, PartitionCell>| cell.partition.channels().map(Channel::counts).collect();
        self.partitions.each().flat_map::<Vec<_>, _>(of).collect()
    }

    /// First DRAM command that violated a timing rule; detected in debug builds only.
    pub fn violation(&self) -> Option<Violation> {
        let of =
            |cell: &PartitionCell| cell.partition.channels().find_map(|channel| channel.violation().cloned());
        self.partitions.each().find_map(|cell| of(&cell))
    }
}
