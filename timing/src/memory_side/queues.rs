//! The memory side as queues: ports of the crossbar, L2 slices and DRAM channels, each with its
//! next free cycle. L2's tags follow the order of requests.
//!
//! A request is served when the memory side accepts it. A reply waits until the epoch before its
//! arrival, and then for the SM's port.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::partitions::{Clocks, Held};
use crate::clock::Clock;
use crate::dram::DramCounters;
use crate::fidelity::{Dram, Interconnect, L2};
use crate::l2::Served;
use crate::message::{LINE_BYTES, Level, MemoryReply, MemoryRequest, Performed, RequestKind, Timed};
use crate::restore::{Validity, ensure, near};
use crate::specification::GpuSpec;

/// Recent fetches remembered: lines whose sectors may still be on their way.
const RECENT: usize = 1 << 13;

/// A reply on its way.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Coming {
    /// Core cycle of the arrival at the SM's port.
    cycle: u64,
    /// Core cycle of the request's departure from the SM.
    sent: u64,
    reply: MemoryReply,
}

/// A line that DRAM was asked for.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Fetched {
    line: u64,
    /// L2 cycle of the sectors' arrival.
    there: u64,
}

/// State of the queues. Vectors are empty before the first request.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Queues {
    /// Next free crossbar cycle of the SMs' ports, for requests and for replies.
    requests: Vec<u64>,
    replies: Vec<u64>,
    /// Next free L2 cycle of each slice.
    slices: Vec<u64>,
    /// Next free DRAM cycle of each channel, times the efficiency in per cent.
    channels: Vec<u64>,
    /// By low bits of the line number.
    recent: Vec<Fetched>,
    /// Replies by the epoch of their arrival, from `first` on.
    coming: VecDeque<Vec<Coming>>,
    /// Epoch of the first element.
    first: u64,
    pub(super) dram: DramCounters,
}

/// Surroundings of a request.
pub(super) struct Around<'a, 'p> {
    pub(super) gpu: &'a GpuSpec,
    pub(super) clocks: &'a Clocks,
    pub(super) crossbar: Clock,
    pub(super) partitions: &'a mut Held<'p>,
    pub(super) performed: &'a mut Vec<Performed>,
}

impl Queues {
    fn prepare(&mut self, gpu: &GpuSpec) {
        let ports = gpu.chip.sms.div_ceil(gpu.crossbar.sms_per_port) as usize;
        let channels = (gpu.partition.channels * gpu.dram.pseudo_channels) as usize;
        self.requests = vec![0; ports];
        self.replies = vec![0; ports];
        self.slices = vec![0; gpu.partition.all_slices() as usize];
        self.channels = vec![0; channels];
        self.recent = vec![Fetched::default(); RECENT];
    }

    /// Checks restored queues at a core cycle.
    pub(super) fn check(&self, gpu: &GpuSpec, now: u64) -> Validity {
        let mut other = Queues::default();
        other.prepare(gpu);
        let sizes = |queues: &Queues| {
            let Queues { requests, replies, slices, channels, recent, .. } = queues;
            [requests.len(), replies.len(), slices.len(), channels.len(), recent.len()]
        };
        let fits = self.slices.is_empty() || sizes(self) == sizes(&other);
        ensure(fits, "the number of queues differs")?;
        ensure(self.first <= now, "replies are ahead of the clock")?;
        self.replies().try_for_each(|reply| reply.check(gpu.chip.sms))?;
        ensure(self.coming.iter().flatten().all(|coming| near(coming.cycle, now)), "a reply takes too long")
    }

    /// Replies on their way.
    pub(super) fn replies(&self) -> impl Iterator<Item = MemoryReply> {
        self.coming.iter().flatten().map(|coming| coming.reply)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.coming.iter().all(Vec::is_empty)
    }

    /// Core cycle in whose epoch the next replies must be delivered: that before their arrival.
    pub(super) fn next_event(&self, gpu: &GpuSpec) -> Option<u64> {
        let ahead = self.coming.iter().position(|replies| !replies.is_empty())?;
        Some((self.first + ahead as u64).saturating_sub(1) * gpu.epoch())
    }

    /// Serves a request that leaves its SM at a core cycle.
    pub(super) fn serve(&mut self, around: &mut Around<'_, '_>, cycle: u64, request: &MemoryRequest) {
        let Around { gpu, clocks, crossbar, partitions, performed } = around;
        if self.slices.is_empty() {
            self.prepare(gpu);
        }
        let latency = u64::from(gpu.crossbar.latency);
        let mut at_slice = crossbar.from_core(cycle);
        if gpu.fidelity.interconnect == Interconnect::Analytical {
            let port = &mut self.requests[(u32::from(request.sm) / gpu.crossbar.sms_per_port) as usize];
            let flits = u64::from(gpu.crossbar.request_flits(request));
            at_slice = occupy(port, at_slice, flits) + flits - 1;
        }
        let at_slice = crossbar.to_core(at_slice + latency);
        let place = gpu.partition.place(request.line);
        let (channel, slice) = gpu.partition.channel(place.slice);
        let arrived = clocks.l2.from_core(at_slice);
        let cycles = gpu.l2.occupancy(request);
        let mut done = arrived;
        let mut served = Served::default();
        let partition = &mut partitions.get(channel as usize).partition;
        if gpu.fidelity.l2 == L2::Analytical {
            done = occupy(&mut self.slices[place.slice as usize], arrived, cycles) + cycles - 1;
            let line = place.offset / LINE_BYTES;
            served = match request.level() {
                None => partition.serve(gpu, slice, done, line, request),
                Some(level) => partition.serve_at(gpu, slice, level == Level::Dram, request),
            };
            let recent = (request.line / LINE_BYTES) as usize % RECENT;
            let part = channel * gpu.dram.pseudo_channels + slice % gpu.dram.pseudo_channels;
            let fetched = self.fetch(gpu, clocks, part as usize, done, &served);
            match fetched {
                Some(there) => {
                    self.recent[recent] = Fetched { line: request.line, there };
                    done = if served.waits { there } else { done };
                }
                // The sectors of an earlier request for the line may not have arrived.
                None if request.kind != RequestKind::Write => {
                    let Fetched { line, there } = self.recent[recent];
                    done = if line == request.line { done.max(there) } else { done };
                }
                None => {}
            }
        }
        if let Some(deferred) = request.deferred {
            let cycle = clocks.l2.to_core(arrived);
            performed.push(Performed { cycle, sm: request.sm, deferred });
        }
        let leaves = done.max(served.performed) + u64::from(gpu.l2.latency);
        if gpu.fidelity.l2 == L2::Analytical {
            partition.count_served(slice, served.waits, leaves - arrived);
        }
        let there = crossbar.from_core(clocks.l2.to_core(leaves)) + latency;
        self.answer(gpu, Coming { cycle: crossbar.to_core(there), sent: cycle, reply: request.reply() });
    }

    /// Sectors to and from DRAM, from an L2 cycle on. Returns the L2 cycle of the last read sector's
    /// arrival.
    fn fetch(
        &mut self,
        gpu: &GpuSpec,
        clocks: &Clocks,
        part: usize,
        cycle: u64,
        served: &Served,
    ) -> Option<u64> {
        let Served { fetched, written_back, .. } = *served;
        if fetched + written_back == 0 {
            return None;
        }
        self.dram.reads += u64::from(fetched);
        self.dram.writes += u64::from(written_back);
        let dram = &gpu.dram;
        let cycle = clocks.dram.from_core(clocks.l2.to_core(cycle));
        let mut end = cycle + u64::from(fetched * dram.ccd_s);
        if gpu.fidelity.dram == Dram::Analytical {
            let efficiency = u64::from(gpu.fidelity.dram_efficiency);
            let channel = &mut self.channels[part];
            let work = |sectors: u32| u64::from(sectors * dram.ccd_s) * 100;
            let start = occupy(channel, cycle * efficiency, work(fetched));
            end = (start + work(fetched)).div_ceil(efficiency);
            *channel += work(written_back);
        }
        let there = end + u64::from(dram.rcd + dram.cl);
        let there = clocks.dram.to_core(there) + u64::from(dram.latency);
        (fetched > 0).then(|| clocks.l2.from_core(there))
    }

    fn answer(&mut self, gpu: &GpuSpec, coming: Coming) {
        let epoch = (coming.cycle / gpu.epoch()).max(self.first);
        let ahead = (epoch - self.first) as usize;
        if self.coming.len() <= ahead {
            self.coming.resize_with(ahead + 1, Vec::new);
        }
        self.coming[ahead].push(coming);
    }

    /// Delivers the replies that arrive before the end of the epoch that starts at `until`, in the
    /// order of arrival. Calls `deliver` with the request's departure and the reply.
    pub(super) fn deliver(
        &mut self,
        gpu: &GpuSpec,
        crossbar: Clock,
        until: u64,
        mut deliver: impl FnMut(u64, Timed<MemoryReply>),
    ) {
        let last = until / gpu.epoch();
        while self.first <= last {
            let mut replies = self.coming.pop_front().unwrap_or_default();
            self.first += 1;
            replies.sort_by_key(|coming| coming.cycle);
            for Coming { cycle, sent, reply } in replies.drain(..) {
                let mut cycle = cycle.max(until);
                if gpu.fidelity.interconnect == Interconnect::Analytical {
                    let port = &mut self.replies[(u32::from(reply.sm) / gpu.crossbar.sms_per_port) as usize];
                    let flits = u64::from(gpu.crossbar.reply_flits(reply.kind, reply.sectors));
                    cycle = crossbar.to_core(occupy(port, crossbar.from_core(cycle), flits) + flits - 1);
                }
                deliver(sent, Timed { cycle, message: reply });
            }
            if self.coming.is_empty() {
                self.first = last + 1;
            }
        }
    }
}

/// Occupies a resource for some cycles from the first possible one on, and returns that.
fn occupy(free: &mut u64, from: u64, cycles: u64) -> u64 {
    let start = from.max(*free);
    *free = start + cycles;
    start
}
