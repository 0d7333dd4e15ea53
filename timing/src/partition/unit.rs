//! A partition at work: a channel's slices and the channel.

use serde::{Deserialize, Serialize};

use crate::clock::Clock;
use crate::dram::{Channel, Incoming, Timing};
use crate::l2::{Outbox, Slice};
use crate::message::{MemoryRequest, Timed};
use crate::specification::GpuSpec;

/// What a partition needs beside its specification.
#[derive(Debug, Clone, Copy)]
pub struct Clocks {
    /// Clock of the slices.
    pub l2: Clock,
    /// Command clock of the channel.
    pub dram: Clock,
    /// Gaps between DRAM commands.
    pub timing: Timing,
}

/// A channel (its pseudo-channels) with its slices.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Partition {
    slices: Vec<Slice>,
    channels: Vec<Channel>,
    /// The slice whose access to DRAM is taken first.
    first: usize,
}

impl Partition {
    /// The partition of a channel.
    pub fn new(gpu: &GpuSpec, timing: &Timing, channel: u32) -> Partition {
        let slice =
            |slice| Slice::new(&gpu.l2, slice * gpu.partition.channels + channel, gpu.crossbar.input_buffer);
        Partition {
            slices: (0..gpu.partition.slices).map(slice).collect(),
            channels: (0..gpu.dram.pseudo_channels)
                .map(|slot| Channel::new(&gpu.dram, timing, slot))
                .collect(),
            first: 0,
        }
    }

    /// Its slices.
    pub fn slices(&self) -> &[Slice] {
        &self.slices
    }

    /// Its slices, to be given credits.
    pub fn slices_mut(&mut self) -> &mut [Slice] {
        &mut self.slices
    }

    /// Its channel's parts.
    pub fn channels(&self) -> &[Channel] {
        &self.channels
    }

    /// A request arrives at a slice at a core cycle; `line` is the number of its line within the slice.
    pub fn arrive(
        &mut self,
        clocks: &Clocks,
        cycle: u64,
        slice: u32,
        line: u64,
        request: Timed<MemoryRequest>,
    ) {
        self.slices[slice as usize].arrive(clocks.l2, cycle, line, request);
    }

    /// The core cycle of the next thing to do.
    pub fn next_event(&self, clocks: &Clocks) -> Option<u64> {
        let slices = self.slices.iter().filter_map(|slice| Some(clocks.l2.within_core(slice.next_event()?)));
        let channels =
            self.channels.iter().filter_map(|channel| Some(clocks.dram.within_core(channel.next_event()?)));
        slices.chain(channels).min()
    }

    /// Whether nothing is here or expected.
    pub fn is_idle(&self) -> bool {
        self.slices.iter().all(Slice::is_idle) && self.channels.iter().all(Channel::is_idle)
    }

    /// Runs from one core cycle to another.
    pub fn run(&mut self, gpu: &GpuSpec, clocks: &Clocks, from: u64, until: u64, out: &mut Outbox) {
        let mut now = from;
        while let Some(next) = self.next_event(clocks) {
            now = now.max(next);
            if now >= until {
                return;
            }
            self.run_slices(gpu, clocks, now, out);
            self.take_misses(gpu, clocks, now);
            self.run_channels(gpu, clocks, now);
            self.take_misses(gpu, clocks, now);
            now += 1;
        }
    }

    /// All L2 cycles that start in a core cycle, or are late.
    fn run_slices(&mut self, gpu: &GpuSpec, clocks: &Clocks, now: u64, out: &mut Outbox) {
        let (start, end) = (clocks.l2.from_core(now), clocks.l2.from_core(now + 1));
        for slice in &mut self.slices {
            while let Some(next) = slice.next_event().filter(|next| *next < end) {
                let cycle = next.max(start);
                if cycle >= end {
                    break;
                }
                slice.step(&gpu.l2, clocks.l2, cycle, out);
            }
        }
    }

    /// The same for the channel; data that comes is on its way to its slice.
    fn run_channels(&mut self, gpu: &GpuSpec, clocks: &Clocks, now: u64) {
        let (start, end) = (clocks.dram.from_core(now), clocks.dram.from_core(now + 1));
        let Partition { slices, channels, .. } = self;
        for channel in channels {
            while let Some(next) = channel.next_event().filter(|next| *next < end) {
                let cycle = next.max(start);
                if cycle >= end {
                    break;
                }
                if let Some(read) = channel.step(&gpu.dram, &clocks.timing, cycle) {
                    let arrival = clocks.dram.to_core(read.cycle) + u64::from(gpu.dram.latency);
                    slices[usize::from(read.slice)].fill(clocks.l2, arrival, read.slot, read.sector);
                }
            }
        }
    }

    /// Accesses of slices go to the channel as long as it has room, one of each slice in turn.
    fn take_misses(&mut self, gpu: &GpuSpec, clocks: &Clocks, now: u64) {
        let count = self.slices.len();
        let mut refused = 0;
        while refused < count {
            let slice = self.first;
            self.first = (self.first + 1) % count;
            refused = if self.take_miss(gpu, clocks, now, slice) { 0 } else { refused + 1 };
        }
    }

    fn take_miss(&mut self, gpu: &GpuSpec, clocks: &Clocks, now: u64, slice: usize) -> bool {
        let parts = self.channels.len();
        let channel = &mut self.channels[slice % parts];
        let Some(access) = self.slices[slice].next_miss().copied() else { return false };
        if !channel.has_room(&gpu.dram, access.write) {
            return false;
        }
        let sharing = (self.slices.len() / parts) as u32;
        let cell = gpu.dram.cell(sharing, (slice / parts) as u32, access.line, access.sector);
        let (write, slot, sector) = (access.write, access.slot, access.sector);
        let incoming = Incoming { cell, write, slice: slice as u8, slot, sector };
        let cycle = clocks.dram.from_core(now + 1);
        let forwarded = channel.accept(&gpu.dram, &clocks.timing, cycle, incoming);
        self.slices[slice].take_miss();
        if let Some(read) = forwarded {
            let arrival = clocks.dram.to_core(read.cycle) + u64::from(gpu.dram.latency);
            self.slices[slice].fill(clocks.l2, arrival, slot, sector);
        }
        true
    }
}
