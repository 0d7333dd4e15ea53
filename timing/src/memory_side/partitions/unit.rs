//! A memory partition: a channel and its slices.

use serde::{Deserialize, Serialize};

use super::group::{self, ChannelUnit, SliceChannelGroup, SliceUnit, channel_of};
use crate::clock::Clock;
use crate::dram::{Channel, Timing};
use crate::hang_report::{ChannelName, Located, SectorRead};
use crate::l2::{Outbox, Served, Slice, Surroundings};
use crate::message::{MemoryReply, MemoryRequest, Timed};
use crate::restore::{RestoreError, Validity, ensure, of_unit};
use crate::specification::GpuSpec;

/// Clocks and gaps shared by all partitions.
#[derive(Debug, Clone, Copy)]
pub struct Clocks {
    /// Clock of the slices.
    pub l2: Clock,
    /// Command clock of the channel.
    pub dram: Clock,
    /// Minimum gaps between DRAM commands.
    pub timing: Timing,
}

/// A channel (with its pseudo-channels) and its slices.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Partition {
    /// First core cycle not simulated yet.
    now: u64,
    slices: Vec<SliceUnit>,
    channels: Vec<ChannelUnit>,
    /// Next slice in the round robin of DRAM accesses.
    first: usize,
}

impl Partition {
    /// The partition of a channel.
    pub fn new(gpu: &GpuSpec, timing: &Timing, channel: u32) -> Partition {
        let slice =
            |slice| Slice::new(&gpu.l2, slice * gpu.partition.channels + channel, gpu.crossbar.input_buffer);
        Partition {
            now: 0,
            slices: (0..gpu.partition.slices).map(slice).map(SliceUnit::new).collect(),
            channels: (0..gpu.dram.pseudo_channels)
                .map(|slot| ChannelUnit::new(Channel::new(&gpu.dram, timing, slot)))
                .collect(),
            first: 0,
        }
    }

    /// Restores the partition of a channel at a core cycle.
    ///
    /// # Errors
    /// The state is invalid.
    pub(crate) fn restore(
        &mut self,
        gpu: &GpuSpec,
        clocks: &Clocks,
        channel: u32,
        now: u64,
    ) -> Result<(), RestoreError> {
        let unit = || format!("memory partition {channel}");
        self.check(gpu, now).map_err(of_unit(unit()))?;
        let around = Surroundings {
            sms: gpu.chip.sms,
            reply_room: gpu.crossbar.input_buffer,
            partition: &gpu.partition,
        };
        let mut expected = Vec::with_capacity(self.slices.len());
        for (unit, index) in self.slices.iter_mut().zip(0..) {
            let number = index * gpu.partition.channels + channel;
            let checked = unit.slice.restore(&gpu.l2, around, number, clocks.l2.from_core(now));
            expected.push(checked.map_err(of_unit(format!("L2 slice {number}")))?);
        }
        let parts = self.channels.len();
        for (ChannelUnit { channel: part, .. }, number) in self.channels.iter_mut().zip(0..) {
            let restored = part.restore(&gpu.dram, number, clocks.dram.from_core(now));
            restored.map_err(of_unit(format!("DRAM channel {channel}, part {number}")))?;
            part.reads().try_for_each(|(slice, slot, sectors)| {
                let slice = usize::from(slice);
                let its_own = channel_of(slice, parts) == number as usize;
                let slice =
                    expected.get_mut(slice).filter(|_| its_own).ok_or("a sector is read for a missing slice");
                slice.and_then(|slice| slice.find(slot, sectors)).map_err(of_unit(unit()))
            })?;
        }
        expected.iter().try_for_each(|slice| slice.all_found()).map_err(of_unit(unit()))?;
        self.slices.iter_mut().for_each(|unit| unit.changed(clocks));
        self.channels.iter_mut().for_each(|unit| unit.changed(clocks));
        Ok(())
    }

    fn check(&self, gpu: &GpuSpec, now: u64) -> Validity {
        ensure(self.slices.len() == gpu.partition.slices as usize, "the number of slices differs")?;
        let parts = gpu.dram.pseudo_channels as usize;
        ensure(self.channels.len() == parts, "the number of pseudo-channels differs")?;
        ensure(self.first < self.slices.len(), "the round-robin pointer of the slices is invalid")?;
        ensure(self.now <= now, "the clock differs")
    }

    /// Replies that requests in flight will cause, with the deferred effect of each request.
    pub fn under_way(&self) -> impl Iterator<Item = (MemoryReply, Option<u32>)> {
        self.slices().flat_map(Slice::under_way)
    }

    /// Locations of a slice's requests in the partition of `channel`.
    pub fn locate(&self, gpu: &GpuSpec, channel: u32, slice: usize) -> Vec<Located> {
        let part = channel_of(slice, self.channels.len());
        self.slices[slice].slice.locate(|slot, sector| SectorRead::Channel {
            channel: self.channel_name(channel, part),
            bank: self.channels[part].channel.bank_queue(&gpu.dram, slice as u8, slot, sector),
        })
    }

    /// One line for each busy unit and bank of the partition of `channel`.
    pub fn waiting(&self, gpu: &GpuSpec, channel: u32) -> Vec<String> {
        let slices = self.slices().filter(|slice| !slice.is_idle());
        let mut lines: Vec<String> = slices.map(Slice::waiting).collect();
        for (number, part) in self.channels().enumerate().filter(|(_, part)| !part.is_idle()) {
            let name = self.channel_name(channel, number);
            let banks = part.waiting_banks(&gpu.dram);
            let [reads, writes] =
                [0, 1].map(|direction: usize| banks.iter().map(|bank| bank.queued[direction]).sum::<usize>());
            lines.push(format!("{name}: {reads} reads and {writes} writes queued"));
            lines.extend(banks.iter().map(|bank| format!("{name}, {bank}")));
        }
        lines
    }

    fn channel_name(&self, number: u32, part: usize) -> ChannelName {
        ChannelName { number, part: (self.channels.len() > 1).then_some(part as u32) }
    }

    /// Slices of the partition.
    pub fn slices(&self) -> impl ExactSizeIterator<Item = &Slice> {
        self.slices.iter().map(|unit| &unit.slice)
    }

    /// Returns credits for a slice's replies, from a core cycle on.
    pub fn give_back(&mut self, clocks: &Clocks, now: u64, slice: usize, replies: u32) {
        self.now = self.now.max(now);
        self.slices[slice].slice.give_back(replies);
        self.slices[slice].changed(clocks);
    }

    /// Requests that a slice took from its input since the last call.
    pub fn taken(&mut self, slice: usize) -> u32 {
        self.slices[slice].slice.taken()
    }

    /// Executes an untimed request in a slice of an idle partition.
    pub fn warm(&mut self, gpu: &GpuSpec, slice: u32, line: u64, request: &MemoryRequest) {
        self.slices[slice as usize].slice.warm(&gpu.l2, line, request);
    }

    /// Serves a request in a slice without queues; `cycle` is the L2 cycle of its last lookup.
    pub fn serve(
        &mut self,
        gpu: &GpuSpec,
        slice: u32,
        cycle: u64,
        line: u64,
        request: &MemoryRequest,
    ) -> Served {
        self.slices[slice as usize].slice.serve(&gpu.l2, cycle, line, request)
    }

    /// Serves a read whose level load rates give; the tags stay as they are.
    pub fn serve_at(&mut self, gpu: &GpuSpec, slice: u32, in_dram: bool, request: &MemoryRequest) -> Served {
        self.slices[slice as usize].slice.serve_at(&gpu.l2, in_dram, request)
    }

    /// Counts the latency of a request that a slice served without queues.
    pub fn count_served(&mut self, slice: u32, waited: bool, latency: u64) {
        self.slices[slice as usize].slice.count_served(waited, latency);
    }

    /// Invalidates the slices for a cold launch. Dirty data is dropped.
    pub fn invalidate(&mut self) {
        self.slices.iter_mut().for_each(|unit| unit.slice.invalidate());
    }

    /// Restarts per-launch maxima.
    pub fn restart_counts(&mut self) {
        self.slices.iter_mut().for_each(|unit| unit.slice.restart_counts());
    }

    /// Pseudo-channels of the channel.
    pub fn channels(&self) -> impl Iterator<Item = &Channel> {
        self.channels.iter().map(|unit| &unit.channel)
    }

    /// Delivers a request to a slice at a core cycle; `line` is the line number within the slice.
    #[inline(always)]
    pub fn arrive(
        &mut self,
        gpu: &GpuSpec,
        clocks: &Clocks,
        cycle: u64,
        slice: u32,
        line: u64,
        request: Timed<MemoryRequest>,
    ) {
        let unit = &mut self.slices[slice as usize];
        unit.slice.arrive(&gpu.l2, clocks.l2, cycle, line, request);
        unit.changed(clocks);
    }

    /// Core cycle of the next event; `u64::MAX` for none.
    pub fn next_event(&self) -> u64 {
        group::next_event(&self.slices, &self.channels)
    }

    /// Tells whether nothing is queued or outstanding.
    pub fn is_idle(&self) -> bool {
        self.slices().all(Slice::is_idle) && self.channels().all(Channel::is_idle)
    }

    /// Simulates up to a core cycle, one independent group after the other.
    pub fn run(&mut self, gpu: &GpuSpec, clocks: &Clocks, until: u64, out: &mut Outbox) {
        let Partition { now, slices, channels, first, .. } = self;
        if slices.len() == channels.len() {
            let (slices, channels) = (slices.iter_mut(), channels.iter_mut());
            for (number, (slice, channel)) in slices.zip(channels).enumerate() {
                let (slices, channels) = (std::array::from_mut(slice), std::array::from_mut(channel));
                SliceChannelGroup { gpu, clocks, slices, channels, number, first, out }.run(*now, until);
            }
        } else {
            let (slices, channels) = (slices.as_mut_slice(), channels.as_mut_slice());
            SliceChannelGroup { gpu, clocks, slices, channels, number: 0, first, out }.run(*now, until);
        }
        *now = (*now).max(until);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dram::{Cell, Incoming};
    use crate::message::{RequestKind, Requester};

    /// A partition with a read of the first slice in a pseudo-channel.
    fn reading(gpu: &GpuSpec, clocks: &Clocks, part: usize) -> Partition {
        let mut partition = Partition::new(gpu, &clocks.timing, 0);
        let message = MemoryRequest {
            line: 0,
            sectors: 1,
            bytes: 0,
            kind: RequestKind::Read,
            lanes: 0,
            requester: Requester::Global,
            sm: 0,
            tag: 0,
            deferred: None,
        };
        partition.arrive(gpu, clocks, 0, 0, 0, Timed { cycle: 0, message });
        let slice = &mut partition.slices[0].slice;
        slice.step(&gpu.l2, clocks.l2, slice.next_event(), &mut Outbox::default());
        let access = slice.take_miss(&gpu.l2, 4).expect("it misses");
        slice.taken();
        let cell = Cell { bank: 0, row: 0, column: 0 };
        let (write, slot, sectors) = (access.write, access.slot, access.sectors);
        let incoming = Incoming { cell, write, slice: 0, source: 0, slot, sectors };
        partition.channels[part].channel.accept(&gpu.dram, &clocks.timing, 1, incoming);
        partition
    }

    #[test]
    fn read_for_another_channels_slice_is_rejected() {
        let gpu = GpuSpec::built_in("titan-v").unwrap();
        let clock = |own| Clock::new(own, gpu.clocks.core);
        let timing = Timing::new(&gpu.dram);
        let clocks = Clocks { l2: clock(gpu.clocks.l2), dram: clock(gpu.clocks.dram), timing };
        let restored = [0, 1].map(|part| reading(&gpu, &clocks, part).restore(&gpu, &clocks, 0, 100));
        let [own, anothers] = restored.map(|restored| restored.map_err(|error| error.to_string()));
        assert_eq!(own, Ok(()));
        assert!(anothers.is_err_and(|error| error.contains("a sector is read for a missing slice")));
    }
}
