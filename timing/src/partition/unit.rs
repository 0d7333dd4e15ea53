//! A partition at work: a channel's slices and the channel.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::clock::Clock;
use crate::dram::{Cell, Channel, Completed, Incoming, Timing};
use crate::l2::{DramAccess, Outbox, Slice};
use crate::message::{MemoryReply, MemoryRequest, Timed};
use crate::restore::{Fits, RestoreError, fits, of_unit};
use crate::specification::GpuSpec;
use crate::whereabouts::{ChannelName, Located, SectorRead};

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

/// What of a partition shares nothing with the rest of it: a slice with a channel of its own (`ONE`), or all.
#[derive(Debug, Clone, Copy)]
struct Part<const ONE: bool>(usize);

impl<const ONE: bool> Part<ONE> {
    /// The numbers of its slices, or channels, of so many.
    #[inline(always)]
    fn range(self, count: usize) -> Range<usize> {
        if ONE { self.0..self.0 + 1 } else { 0..count }
    }
}

/// A channel (its pseudo-channels) with its slices.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Partition {
    /// Core cycle from which on it runs.
    now: u64,
    slices: Vec<Slice>,
    channels: Vec<Channel>,
    /// When each slice and each channel has something to do. Core cycles; `u64::MAX` for never.
    #[serde(skip)]
    slice_wakes: Vec<u64>,
    #[serde(skip)]
    channel_wakes: Vec<u64>,
    /// The slice whose access to DRAM is taken first.
    first: usize,
    /// For each slice the last line of which an access was taken, with the cell of its first sector.
    #[serde(skip)]
    cells: Vec<Option<(u64, Cell)>>,
}

impl Partition {
    /// The partition of a channel.
    pub fn new(gpu: &GpuSpec, timing: &Timing, channel: u32) -> Partition {
        let slice =
            |slice| Slice::new(&gpu.l2, slice * gpu.partition.channels + channel, gpu.crossbar.input_buffer);
        Partition {
            now: 0,
            slices: (0..gpu.partition.slices).map(slice).collect(),
            channels: (0..gpu.dram.pseudo_channels)
                .map(|slot| Channel::new(&gpu.dram, timing, slot))
                .collect(),
            slice_wakes: vec![u64::MAX; gpu.partition.slices as usize],
            channel_wakes: vec![u64::MAX; gpu.dram.pseudo_channels as usize],
            first: 0,
            cells: vec![None; gpu.partition.slices as usize],
        }
    }

    /// Makes one that was read ready to run, as that of a channel, at a core cycle.
    ///
    /// # Errors
    /// It can have no such state.
    pub(crate) fn restore(
        &mut self,
        gpu: &GpuSpec,
        clocks: &Clocks,
        channel: u32,
        now: u64,
    ) -> Result<(), RestoreError> {
        let unit = || format!("memory partition {channel}");
        self.check(gpu, now).map_err(of_unit(unit()))?;
        let mut expected = Vec::with_capacity(self.slices.len());
        for (slice, index) in self.slices.iter_mut().zip(0..) {
            let number = index * gpu.partition.channels + channel;
            let checked = slice.restore(gpu, number, clocks.l2.from_core(now));
            expected.push(checked.map_err(of_unit(format!("L2 slice {number}")))?);
        }
        for (part, number) in self.channels.iter_mut().zip(0..) {
            let restored = part.restore(&gpu.dram, number, clocks.dram.from_core(now));
            restored.map_err(of_unit(format!("DRAM channel {channel}, part {number}")))?;
            part.reads().try_for_each(|(slice, slot, sectors)| {
                let slice = expected.get_mut(usize::from(slice)).ok_or("a sector is read for no slice");
                slice.and_then(|slice| slice.find(slot, sectors)).map_err(of_unit(unit()))
            })?;
        }
        expected.iter().try_for_each(|slice| slice.all_found()).map_err(of_unit(unit()))?;
        self.slice_wakes = vec![u64::MAX; self.slices.len()];
        self.channel_wakes = vec![u64::MAX; self.channels.len()];
        self.cells = vec![None; self.slices.len()];
        (0..self.slices.len()).for_each(|slice| self.slice_changed(clocks, slice));
        (0..self.channels.len()).for_each(|channel| self.channel_changed(clocks, channel));
        Ok(())
    }

    fn check(&self, gpu: &GpuSpec, now: u64) -> Fits {
        fits(self.slices.len() == gpu.partition.slices as usize, "it has another number of slices")?;
        let parts = gpu.dram.pseudo_channels as usize;
        fits(self.channels.len() == parts, "it has another number of pseudo-channels")?;
        fits(self.first < self.slices.len(), "it is the turn of no slice")?;
        fits(self.now <= now, "its time is another one")
    }

    /// Replies that will come of what is here, with what will be performed when the request is looked up.
    pub fn under_way(&self) -> impl Iterator<Item = (MemoryReply, Option<u32>)> {
        self.slices.iter().flat_map(Slice::under_way)
    }

    /// Where the requests of a slice are; the partition is that of a channel.
    pub fn whereabouts(&self, gpu: &GpuSpec, channel: u32, slice: usize) -> Vec<Located> {
        let part = self.channel_of(slice);
        self.slices[slice].whereabouts(|slot, sector| SectorRead::Channel {
            channel: self.channel_name(channel, part),
            bank: self.channels[part].bank_queue(&gpu.dram, slice as u8, slot, sector),
        })
    }

    /// A line for each unit that is not idle, and for each of its banks; the partition is that of a channel.
    pub fn waiting(&self, gpu: &GpuSpec, channel: u32) -> Vec<String> {
        let slices = self.slices.iter().filter(|slice| !slice.is_idle());
        let mut lines: Vec<String> = slices.map(Slice::waiting).collect();
        for (number, part) in self.channels.iter().enumerate().filter(|(_, part)| !part.is_idle()) {
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

    /// Its slices.
    pub fn slices(&self) -> &[Slice] {
        &self.slices
    }

    /// The crossbar has room for so many replies of a slice more, from a core cycle on.
    pub fn give_back(&mut self, clocks: &Clocks, now: u64, slice: usize, replies: u32) {
        self.now = self.now.max(now);
        self.slices[slice].give_back(replies);
        self.slice_changed(clocks, slice);
    }

    /// Requests that a slice has taken from its input since the last call.
    pub fn taken(&mut self, slice: usize) -> u32 {
        self.slices[slice].taken()
    }

    /// A request for a line of a slice leaves its traces there without time; the partition is idle.
    pub fn warm(&mut self, gpu: &GpuSpec, slice: u32, line: u64, request: &MemoryRequest) {
        self.slices[slice as usize].warm(&gpu.l2, line, request);
    }

    /// Empties the slices, for launches that start cold. What was modified is not written to DRAM.
    pub fn invalidate(&mut self) {
        self.slices.iter_mut().for_each(Slice::invalidate);
    }

    /// What is the highest since a launch began starts anew.
    pub fn restart_counts(&mut self) {
        self.slices.iter_mut().for_each(Slice::restart_counts);
    }

    /// Its channel's parts.
    pub fn channels(&self) -> &[Channel] {
        &self.channels
    }

    /// A request arrives at a slice at a core cycle; `line` is the number of its line within the slice.
    pub fn arrive(
        &mut self,
        gpu: &GpuSpec,
        clocks: &Clocks,
        cycle: u64,
        slice: u32,
        line: u64,
        request: Timed<MemoryRequest>,
    ) {
        self.slices[slice as usize].arrive(&gpu.l2, clocks.l2, cycle, line, request);
        self.slice_changed(clocks, slice as usize);
    }

    /// The core cycle of the next thing to do; `u64::MAX` for nothing.
    pub fn next_event(&self) -> u64 {
        self.next_event_of(Part::<false>(0))
    }

    // Called for each request several times over: a call costs as much as what it does.
    #[inline(always)]
    fn slice_changed(&mut self, clocks: &Clocks, slice: usize) {
        let next = self.slices[slice].next_event();
        self.slice_wakes[slice] = if next == u64::MAX { next } else { clocks.l2.within_core(next) };
    }

    fn channel_changed(&mut self, clocks: &Clocks, channel: usize) {
        let next = self.channels[channel].next_event();
        self.channel_wakes[channel] = if next == u64::MAX { next } else { clocks.dram.within_core(next) };
    }

    /// Whether nothing is here or expected.
    pub fn is_idle(&self) -> bool {
        self.slices.iter().all(Slice::is_idle) && self.channels.iter().all(Channel::is_idle)
    }

    /// Runs to a core cycle: the parts that share nothing one after the other.
    pub fn run(&mut self, gpu: &GpuSpec, clocks: &Clocks, until: u64, out: &mut Outbox) {
        let (slices, channels) = (self.slices.len(), self.channels.len());
        if slices == channels {
            (0..channels).for_each(|part| self.run_part(gpu, clocks, until, Part::<true>(part), out));
        } else {
            self.run_part(gpu, clocks, until, Part::<false>(0), out);
        }
        self.now = self.now.max(until);
    }

    fn run_part<const ONE: bool>(
        &mut self,
        gpu: &GpuSpec,
        clocks: &Clocks,
        until: u64,
        part: Part<ONE>,
        out: &mut Outbox,
    ) {
        let mut now = self.now.max(self.next_event_of(part));
        while now < until {
            // Accesses move on only after a slice has asked for the first, or a channel has done one.
            let asked = self.run_slices(gpu, clocks, now, part, out);
            if asked || part.range(self.channels.len()).any(|channel| self.channel_wakes[channel] <= now) {
                let after = clocks.dram.from_core(now + 1);
                if asked {
                    self.take_misses(gpu, clocks, after, part);
                }
                if self.run_channels(gpu, clocks, now, after, part) {
                    self.take_misses(gpu, clocks, after, part);
                }
            }
            now = self.next_event_of(part).max(now + 1);
        }
    }

    /// The core cycle of a part's next thing to do; `u64::MAX` for nothing.
    #[inline(always)]
    fn next_event_of<const ONE: bool>(&self, part: Part<ONE>) -> u64 {
        let of_slices = part.range(self.slices.len()).map(|slice| self.slice_wakes[slice]);
        let of_channels = part.range(self.channels.len()).map(|channel| self.channel_wakes[channel]);
        of_slices.chain(of_channels).fold(u64::MAX, u64::min)
    }

    /// All L2 cycles that start in a core cycle, or are late; whether a slice has asked for its first access to DRAM.
    #[inline(always)]
    fn run_slices<const ONE: bool>(
        &mut self,
        gpu: &GpuSpec,
        clocks: &Clocks,
        now: u64,
        part: Part<ONE>,
        out: &mut Outbox,
    ) -> bool {
        let mut asked = false;
        for number in part.range(self.slices.len()) {
            if self.slice_wakes[number] > now {
                continue;
            }
            let (start, end) = (clocks.l2.from_core(now), clocks.l2.from_core(now + 1));
            let slice = &mut self.slices[number];
            let had_none = slice.next_miss().is_none();
            while slice.next_event() < end && start < end {
                slice.step(&gpu.l2, clocks.l2, slice.next_event().max(start), out);
            }
            asked |= had_none && slice.next_miss().is_some();
            self.slice_changed(clocks, number);
        }
        asked
    }

    /// The same for the channels' cycles before `end`; data that comes is on its way to its slice. Whether one has room for
    /// more accesses than before.
    #[inline(always)]
    fn run_channels<const ONE: bool>(
        &mut self,
        gpu: &GpuSpec,
        clocks: &Clocks,
        now: u64,
        end: u64,
        part: Part<ONE>,
    ) -> bool {
        let mut has_more_room = false;
        for number in part.range(self.channels.len()) {
            if self.channel_wakes[number] > now {
                continue;
            }
            let start = clocks.dram.from_core(now);
            let queued = self.channels[number].queued();
            while self.channels[number].next_event() < end && start < end {
                let cycle = self.channels[number].next_event().max(start);
                if let Some(read) = self.channels[number].step(&gpu.dram, &clocks.timing, cycle) {
                    self.fill(gpu, clocks, &read);
                    self.slice_changed(clocks, usize::from(read.slice));
                }
            }
            has_more_room |= self.channels[number].queued() != queued;
            self.channel_changed(clocks, number);
        }
        has_more_room
    }

    /// What a channel has read is on its way to its slice.
    fn fill(&mut self, gpu: &GpuSpec, clocks: &Clocks, read: &Completed) {
        let arrival = clocks.dram.to_core(read.cycle) + u64::from(gpu.dram.latency);
        self.slices[usize::from(read.slice)].fill(clocks.l2, arrival, read.slot, read.sectors);
    }

    /// Accesses of slices go to their channels as long as these have room, one of each slice in turn, or as many as there is
    /// room for of one that has a channel of its own, at a cycle of the channels' clock.
    #[inline(always)]
    fn take_misses<const ONE: bool>(&mut self, gpu: &GpuSpec, clocks: &Clocks, cycle: u64, part: Part<ONE>) {
        if let Some(slice) = self.next_to_take(gpu, part) {
            self.take_misses_from(gpu, clocks, cycle, part, slice);
        }
    }

    // Out of line: mostly there is none to take, and what it needs would be saved and restored each time.
    #[inline(never)]
    fn take_misses_from<const ONE: bool>(
        &mut self,
        gpu: &GpuSpec,
        clocks: &Clocks,
        cycle: u64,
        part: Part<ONE>,
        first: usize,
    ) {
        let mut next = Some(first);
        while let Some(slice) = next {
            self.first = self.after(slice);
            self.take_miss::<ONE>(gpu, clocks, cycle, slice);
            next = self.next_to_take(gpu, part);
        }
        part.range(self.slices.len()).for_each(|slice| self.slice_changed(clocks, slice));
        part.range(self.channels.len()).for_each(|channel| self.channel_changed(clocks, channel));
    }

    /// The next slice whose access its channel has room for.
    #[inline(always)]
    fn next_to_take<const ONE: bool>(&self, gpu: &GpuSpec, part: Part<ONE>) -> Option<usize> {
        let is_next = |slice: &usize| {
            let channel = &self.channels[self.channel_of(*slice)];
            self.slices[*slice].next_miss().is_some_and(|access| channel.room(&gpu.dram, access.write) > 0)
        };
        if ONE {
            return Some(part.0).filter(is_next);
        }
        let slices = part.range(self.slices.len());
        let first = self.first.clamp(slices.start, slices.end);
        (first..slices.end).find(is_next).or_else(|| (slices.start..first).find(is_next))
    }

    /// The slice whose turn is after that of another.
    fn after(&self, slice: usize) -> usize {
        if slice + 1 < self.slices.len() { slice + 1 } else { 0 }
    }

    /// The channel that a slice's memory is in.
    #[inline(always)]
    fn channel_of(&self, slice: usize) -> usize {
        match self.channels.len() {
            1 => 0,
            channels if slice < channels => slice,
            channels => slice % channels,
        }
    }

    #[inline(always)]
    fn take_miss<const ONE: bool>(&mut self, gpu: &GpuSpec, clocks: &Clocks, cycle: u64, slice: usize) {
        let channel = self.channel_of(slice);
        let Some(next) = self.slices[slice].next_miss() else { return };
        let most = if ONE { self.channels[channel].room(&gpu.dram, next.write) } else { 1 };
        let Some(access) = self.slices[slice].take_miss(&gpu.l2, most) else { return };
        let cell = match self.cells[slice] {
            // A line is in one row.
            Some((line, cell)) if line == access.line => cell,
            _ => {
                let parts = self.channels.len();
                let sharing = (self.slices.len() / parts) as u32;
                let cell = gpu.dram.cell(sharing, (slice / parts) as u32, access.line, 0);
                self.cells[slice] = Some((access.line, cell));
                cell
            }
        };
        let DramAccess { write, slot, sectors, .. } = access;
        let incoming = Incoming { cell, write, slice: slice as u8, slot, sectors };
        if let Some(read) = self.channels[channel].accept(&gpu.dram, &clocks.timing, cycle, incoming) {
            self.fill(gpu, clocks, &read);
        }
    }
}
