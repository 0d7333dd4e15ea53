//! Test harness: simulates a memory side by epochs as the GPU does, or a single DRAM channel.

use std::collections::VecDeque;
use std::sync::Arc;

use timing::dram::{Cell, Channel, ChannelCounts, DramCounters, DramSpec, Incoming, Timing};
use timing::memory_side::MemorySide;
use timing::message::{MemoryReply, MemoryRequest, Performed, RequestKind, Requester, Timed};
use timing::specification::{GpuSpec, gpu};

/// A TITAN V without page walks, with changes.
pub fn titan_v(change: impl FnOnce(&mut GpuSpec)) -> GpuSpec {
    let mut gpu = GpuSpec::read(&gpu::built_in("titan-v").unwrap()).unwrap();
    gpu.tlb.walk = 0;
    change(&mut gpu);
    gpu
}

/// A read of sectors of a line.
pub fn read(line: u64, sectors: u8) -> MemoryRequest {
    MemoryRequest {
        line,
        sectors,
        bytes: 0,
        kind: RequestKind::Read,
        lanes: 0,
        requester: Requester::Global,
        sm: 0,
        tag: 0,
        deferred: None,
    }
}

/// A write of bytes of a line.
pub fn write(line: u64, bytes: u128) -> MemoryRequest {
    let sectors = (0..4).filter(|sector| (bytes >> (sector * 32)) as u32 != 0);
    let sectors = sectors.fold(0, |mask, sector| mask | 1 << sector);
    MemoryRequest { sectors, bytes, kind: RequestKind::Write, ..read(line, 0) }
}

/// A memory side and its clock.
pub struct Bench {
    pub side: MemorySide,
    epoch: u64,
    pub now: u64,
    queues: Vec<VecDeque<Timed<MemoryReply>>>,
    pub credits: Vec<u32>,
    pub performed: Vec<Performed>,
}

impl Bench {
    pub fn new(gpu: GpuSpec) -> Bench {
        let sms = gpu.chip.sms as usize;
        let epoch = gpu.epoch();
        let side = MemorySide::new(&Arc::new(gpu));
        let credits = vec![side.credits(); sms];
        Bench { side, epoch, now: 0, queues: vec![VecDeque::new(); sms], credits, performed: Vec::new() }
    }

    /// Simulates an epoch with its requests. Returns the replies.
    pub fn epoch(&mut self, requests: &[Timed<MemoryRequest>]) -> Vec<Timed<MemoryReply>> {
        let until = self.now + self.epoch;
        for request in requests {
            assert!((self.now..until).contains(&request.cycle));
        }
        let partitions = self.side.partitions();
        let step = |active: &[u32], until| {
            active.iter().for_each(|channel| partitions.run(*channel as usize, until))
        };
        self.side.run(until, requests, &mut self.queues, &mut self.performed, &mut self.credits, &step);
        self.now = until;
        let replies: Vec<_> = self.queues.iter_mut().flat_map(|queue| queue.drain(..)).collect();
        assert!(replies.iter().all(|reply| reply.cycle >= until));
        assert_eq!(self.side.violation(), None);
        replies
    }

    /// Simulates until idle, skipping epochs without events. Returns the replies by cycle.
    pub fn finish(&mut self) -> Vec<Timed<MemoryReply>> {
        let mut replies = Vec::new();
        while let Some(next) = self.side.next_event() {
            self.now = self.now.max(next / self.epoch * self.epoch);
            replies.extend(self.epoch(&[]));
        }
        assert!(self.side.is_idle(), "{:?}", self.side.waiting());
        replies.sort_by_key(|reply| reply.cycle);
        replies
    }

    /// Sends requests at the start of the next epoch and waits for all of them. Returns the cycles
    /// until each reply.
    pub fn together(&mut self, requests: &[MemoryRequest]) -> Vec<u64> {
        let start = self.now;
        let requests: Vec<_> =
            requests.iter().map(|message| Timed { cycle: start, message: *message }).collect();
        let mut replies = self.epoch(&requests);
        replies.extend(self.finish());
        assert_eq!(replies.len(), requests.len());
        replies.iter().map(|reply| reply.cycle - start).collect()
    }

    /// Sends a request and waits. Returns the cycles until its reply.
    pub fn alone(&mut self, request: MemoryRequest) -> u64 {
        self.together(&[request])[0]
    }

    /// Sends streams as early as credits permit, `per_cycle` requests of each SM in a cycle, one
    /// stream per SM. Returns the cycle of the last reply.
    pub fn stream(&mut self, mut streams: Vec<VecDeque<MemoryRequest>>, per_cycle: usize) -> u64 {
        let mut last = 0;
        while streams.iter().any(|stream| !stream.is_empty()) {
            let mut requests = Vec::new();
            for cycle in self.now..self.now + self.epoch {
                for (stream, credits) in streams.iter_mut().zip(&mut self.credits) {
                    for _ in 0..per_cycle.min(*credits as usize) {
                        if let Some(message) = stream.pop_front() {
                            *credits -= 1;
                            requests.push(Timed { cycle, message });
                        }
                    }
                }
            }
            last = self.epoch(&requests).iter().map(|reply| reply.cycle).fold(last, u64::max);
        }
        self.finish().last().map_or(last, |reply| last.max(reply.cycle))
    }
}

/// An access to a DRAM channel.
#[derive(Debug, Clone, Copy)]
pub struct Access {
    /// Earliest arrival in DRAM cycles.
    pub cycle: u64,
    pub write: bool,
    pub cell: Cell,
    /// Requesting SM.
    pub source: u16,
}

/// Events at a channel. Accesses are identified by index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// An access entered a queue.
    Taken(usize),
    /// A read was served from the write queue; end of data.
    Forwarded(usize, u64),
    /// A read command was issued; end of data.
    Read(usize, u64),
    /// A write command was issued.
    Written,
    Activated,
    Precharged,
    Refreshed,
}

/// Sends accesses to an idle channel, pseudo-channel `slot`, in order, at most one a cycle and each
/// once it has arrived and fits. Simulates until all are done and returns the events with their
/// cycles.
pub fn alone_in_channel(spec: &DramSpec, slot: u32, accesses: &[Access]) -> Vec<(u64, Event)> {
    alone_and_counted(spec, slot, accesses).0
}

/// [`alone_in_channel`] with the channel's counters.
pub fn alone_and_counted(
    spec: &DramSpec,
    slot: u32,
    accesses: &[Access],
) -> (Vec<(u64, Event)>, DramCounters, ChannelCounts) {
    let timing = Timing::new(spec);
    let mut channel = Channel::new(spec, &timing, slot);
    let mut events = Vec::new();
    let mut left = (0_u32..).zip(accesses).peekable();
    let mut cycle = 0;
    let limit = accesses.last().map_or(0, |last| last.cycle) + 1000 * accesses.len() as u64;
    while left.peek().is_some() || !channel.is_idle() {
        let before = *channel.counters();
        let room =
            |(_, access): &(u32, &Access)| access.cycle <= cycle && channel.room(spec, access.write) > 0;
        if let Some((slot, Access { write, cell, source, .. })) = left.next_if(room) {
            let incoming =
                Incoming { cell: *cell, write: *write, slice: 0, source: *source, slot, sectors: 1 };
            events.push((cycle, Event::Taken(slot as usize)));
            if let Some(read) = channel.accept(spec, &timing, cycle, incoming) {
                events.push((cycle, Event::Forwarded(read.slot as usize, read.cycle)));
            }
        }
        let stepped = channel.next_event() <= cycle;
        let completed = if stepped { channel.step(spec, &timing, cycle) } else { None };
        let read = completed.map(|read| Event::Read(read.slot as usize, read.cycle));
        let commanded = read.into_iter().chain(counted(&before, channel.counters()));
        events.extend(commanded.map(|event| (cycle, event)));
        cycle += 1;
        assert!(cycle <= limit, "it stands still");
    }
    assert_eq!(channel.violation(), None);
    (events, *channel.counters(), channel.counts())
}

/// Commands that were counted, except reads.
fn counted(before: &DramCounters, after: &DramCounters) -> impl Iterator<Item = Event> {
    let kinds = [
        (Event::Written, after.writes - before.writes),
        (Event::Activated, after.activates - before.activates),
        (Event::Precharged, after.precharges - before.precharges),
        (Event::Refreshed, after.refreshes - before.refreshes),
    ];
    kinds.into_iter().flat_map(|(event, times)| std::iter::repeat_n(event, times as usize))
}
