//! What of a partition shares nothing with the rest of it, at work: a slice with a channel of its
//! own, or all of its slices and channels.

use serde::{Deserialize, Serialize};

use super::Clocks;
use crate::dram::{Cell, Channel, Completed, Incoming};
use crate::l2::{DramAccess, Outbox, Slice};
use crate::specification::GpuSpec;

/// A slice, with what a partition knows of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct SliceUnit {
    pub(super) slice: Slice,
    /// When it has something to do. Core cycles; `u64::MAX` for never.
    #[serde(skip)]
    wake: u64,
    /// The last line of which an access was taken, with the cell of its first sector.
    #[serde(skip)]
    cell: Option<(u64, Cell)>,
}

impl SliceUnit {
    pub(super) fn new(slice: Slice) -> SliceUnit {
        SliceUnit { slice, wake: u64::MAX, cell: None }
    }

    /// Something has changed that it may have to do.
    // Called for each request several times over: a call costs as much as what it does.
    #[inline(always)]
    pub(super) fn changed(&mut self, clocks: &Clocks) {
        let next = self.slice.next_event();
        self.wake = if next == u64::MAX { next } else { clocks.l2.within_core(next) };
    }

    /// Sectors that the channel has read are sent to the slice.
    fn fill(&mut self, gpu: &GpuSpec, clocks: &Clocks, read: &Completed) {
        let arrival = clocks.dram.to_core(read.cycle) + u64::from(gpu.dram.latency);
        self.slice.fill(clocks.l2, arrival, read.slot, read.sectors);
    }
}

/// A channel, with what a partition knows of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct ChannelUnit {
    pub(super) channel: Channel,
    /// When it has something to do. Core cycles; `u64::MAX` for never.
    #[serde(skip)]
    wake: u64,
}

impl ChannelUnit {
    pub(super) fn new(channel: Channel) -> ChannelUnit {
        ChannelUnit { channel, wake: u64::MAX }
    }

    /// Something has changed that it may have to do.
    #[inline(always)]
    pub(super) fn changed(&mut self, clocks: &Clocks) {
        let next = self.channel.next_event();
        self.wake = if next == u64::MAX { next } else { clocks.dram.within_core(next) };
    }
}

/// The core cycle of the next thing that some slices and channels have to do; `u64::MAX` for
/// nothing.
#[inline(always)]
pub(super) fn next_event(slices: &[SliceUnit], channels: &[ChannelUnit]) -> u64 {
    let wakes = slices.iter().map(|unit| unit.wake).chain(channels.iter().map(|unit| unit.wake));
    wakes.fold(u64::MAX, u64::min)
}

/// Slices and channels that share nothing with others. As arrays of one each what is done for all
/// of them is done for that one.
pub(super) struct SliceChannelGroup<'p, S: ?Sized, C: ?Sized> {
    pub(super) gpu: &'p GpuSpec,
    pub(super) clocks: &'p Clocks,
    pub(super) slices: &'p mut S,
    pub(super) channels: &'p mut C,
    /// Number of the first slice.
    pub(super) number: usize,
    /// The slice whose access to DRAM is taken first.
    pub(super) first: &'p mut usize,
    pub(super) out: &'p mut Outbox,
}

impl<S, C> SliceChannelGroup<'_, S, C>
where
    S: AsRef<[SliceUnit]> + AsMut<[SliceUnit]> + ?Sized,
    C: AsRef<[ChannelUnit]> + AsMut<[ChannelUnit]> + ?Sized,
{
    /// Runs from a core cycle to another.
    pub(super) fn run(&mut self, from: u64, until: u64) {
        let mut now = from.max(self.next_event());
        while now < until {
            // Accesses move on only after a slice has asked for the first, or a channel has done
            // one.
            let asked = self.run_slices(now);
            if asked || self.channels.as_ref().iter().any(|unit| unit.wake <= now) {
                let after = self.clocks.dram.from_core(now + 1);
                if asked {
                    self.take_misses(after);
                }
                if self.run_channels(now, after) {
                    self.take_misses(after);
                }
            }
            now = self.next_event().max(now + 1);
        }
    }

    #[inline(always)]
    fn next_event(&self) -> u64 {
        next_event(self.slices.as_ref(), self.channels.as_ref())
    }

    /// All L2 cycles that start in a core cycle, or are late; whether a slice has asked for its
    /// first access to DRAM.
    #[inline(always)]
    fn run_slices(&mut self, now: u64) -> bool {
        let SliceChannelGroup { gpu, clocks, out, .. } = self;
        let mut asked = false;
        for unit in self.slices.as_mut().iter_mut().filter(|unit| unit.wake <= now) {
            let (start, end) = (clocks.l2.from_core(now), clocks.l2.from_core(now + 1));
            let slice = &mut unit.slice;
            let had_none = slice.next_miss().is_none();
            while slice.next_event() < end && start < end {
                slice.step(&gpu.l2, clocks.l2, slice.next_event().max(start), out);
            }
            asked |= had_none && slice.next_miss().is_some();
            unit.changed(clocks);
        }
        asked
    }

    /// The same for the channels' cycles before `end`; data that comes is on its way to its slice.
    /// Whether one has room for more accesses than before.
    #[inline(always)]
    fn run_channels(&mut self, now: u64, end: u64) -> bool {
        let SliceChannelGroup { gpu, clocks, slices, number, .. } = self;
        let slices = slices.as_mut();
        let mut has_more_room = false;
        for unit in self.channels.as_mut().iter_mut().filter(|unit| unit.wake <= now) {
            let channel = &mut unit.channel;
            let start = clocks.dram.from_core(now);
            let queued = channel.queued();
            while channel.next_event() < end && start < end {
                let cycle = channel.next_event().max(start);
                if let Some(read) = channel.step(&gpu.dram, &clocks.timing, cycle) {
                    let one = slices.len() == 1;
                    let slice = &mut slices[if one { 0 } else { usize::from(read.slice) - *number }];
                    slice.fill(gpu, clocks, &read);
                    slice.changed(clocks);
                }
            }
            has_more_room |= channel.queued() != queued;
            unit.changed(clocks);
        }
        has_more_room
    }

    /// Accesses of slices go to their channels as long as these have room, one of each slice in
    /// turn, or as many as there is room for of one that has a channel of its own, at a cycle of
    /// the channels' clock.
    #[inline(always)]
    fn take_misses(&mut self, cycle: u64) {
        if let Some(slice) = self.next_to_take() {
            self.take_misses_from(cycle, slice);
        }
    }

    // Out of line: mostly there is none to take, and what it needs would be saved and restored each
    // time.
    #[inline(never)]
    fn take_misses_from(&mut self, cycle: u64, first: usize) {
        let mut next = Some(first);
        while let Some(slice) = next {
            *self.first = if slice + 1 < self.slices.as_ref().len() { slice + 1 } else { 0 };
            self.take_miss(cycle, slice);
            next = self.next_to_take();
        }
        self.slices.as_mut().iter_mut().for_each(|unit| unit.changed(self.clocks));
        self.channels.as_mut().iter_mut().for_each(|unit| unit.changed(self.clocks));
    }

    /// The next slice whose access its channel has room for.
    #[inline(always)]
    fn next_to_take(&self) -> Option<usize> {
        let (slices, channels) = (self.slices.as_ref(), self.channels.as_ref());
        let is_next = |slice: &usize| {
            let channel = &channels[channel_of(*slice, channels.len())].channel;
            let access = slices[*slice].slice.next_miss();
            access.is_some_and(|access| channel.room(&self.gpu.dram, access.write) > 0)
        };
        if slices.len() == 1 {
            return Some(0).filter(is_next);
        }
        (*self.first..slices.len()).find(is_next).or_else(|| (0..*self.first).find(is_next))
    }

    #[inline(always)]
    fn take_miss(&mut self, cycle: u64, slice: usize) {
        let SliceChannelGroup { gpu, clocks, slices, channels, number, .. } = self;
        let (slices, channels) = (slices.as_mut(), channels.as_mut());
        let (all, parts) = (slices.len(), channels.len());
        let unit = &mut slices[slice];
        let channel = &mut channels[channel_of(slice, parts)].channel;
        let Some(next) = unit.slice.next_miss() else { return };
        let most = if all == 1 { channel.room(&gpu.dram, next.write) } else { 1 };
        let Some(access) = unit.slice.take_miss(&gpu.l2, most) else { return };
        let cell = match unit.cell {
            // A line is in one row.
            Some((line, cell)) if line == access.line => cell,
            _ => {
                let cell = gpu.dram.cell((all / parts) as u32, (slice / parts) as u32, access.line, 0);
                unit.cell = Some((access.line, cell));
                cell
            }
        };
        let DramAccess { write, source, slot, sectors, .. } = access;
        let incoming = Incoming { cell, write, slice: (*number + slice) as u8, source, slot, sectors };
        if let Some(read) = channel.accept(&gpu.dram, &clocks.timing, cycle, incoming) {
            unit.fill(gpu, clocks, &read);
        }
    }
}

/// The channel, of so many, that a slice's memory is in.
#[inline(always)]
pub(super) fn channel_of(slice: usize, channels: usize) -> usize {
    match channels {
        1 => 0,
        _ if slice < channels => slice,
        _ => slice % channels,
    }
}
