//! Independent group within a partition: a slice with a channel of its own, or all slices and
//! channels.

use serde::{Deserialize, Serialize};

use super::Clocks;
use crate::dram::{Cell, Channel, Completed, Incoming};
use crate::fidelity::Dram;
use crate::l2::{DramAccess, Outbox, Slice};
use crate::specification::GpuSpec;

/// A slice with its cached wake-up.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct SliceUnit {
    pub(super) slice: Slice,
    /// Next event in core cycles; `u64::MAX` for never.
    #[serde(skip)]
    wake: u64,
    /// Line of the last access taken, with the cell of its first sector.
    #[serde(skip)]
    cell: Option<(u64, Cell)>,
}

impl SliceUnit {
    pub(super) fn new(slice: Slice) -> SliceUnit {
        SliceUnit { slice, wake: u64::MAX, cell: None }
    }

    /// Updates the wake-up after a change.
    // Inlined: it is called several times per request and does little.
    #[inline(always)]
    pub(super) fn changed(&mut self, clocks: &Clocks) {
        let next = self.slice.next_event();
        self.wake = if next == u64::MAX { next } else { clocks.l2.within_core(next) };
    }

    /// Forwards a completed read from the channel.
    fn fill(&mut self, gpu: &GpuSpec, clocks: &Clocks, read: &Completed) {
        let arrival = clocks.dram.to_core(read.cycle) + u64::from(gpu.dram.latency);
        self.slice.fill(clocks.l2, arrival, read.slot, read.sectors);
    }
}

/// A channel with its cached wake-up.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct ChannelUnit {
    pub(super) channel: Channel,
    /// Next event in core cycles; `u64::MAX` for never.
    #[serde(skip)]
    wake: u64,
}

impl ChannelUnit {
    pub(super) fn new(channel: Channel) -> ChannelUnit {
        ChannelUnit { channel, wake: u64::MAX }
    }

    /// Updates the wake-up after a change.
    #[inline(always)]
    pub(super) fn changed(&mut self, clocks: &Clocks) {
        let next = self.channel.next_event();
        self.wake = if next == u64::MAX { next } else { clocks.dram.within_core(next) };
    }
}

/// Core cycle of the next event of some slices and channels; `u64::MAX` for none.
#[inline(always)]
pub(super) fn next_event(slices: &[SliceUnit], channels: &[ChannelUnit]) -> u64 {
    let wakes = slices.iter().map(|unit| unit.wake).chain(channels.iter().map(|unit| unit.wake));
    wakes.fold(u64::MAX, u64::min)
}

/// Slices and channels independent of all others. One-element arrays let the compiler specialise
/// the common case.
pub(super) struct SliceChannelGroup<'p, S: ?Sized, C: ?Sized> {
    pub(super) gpu: &'p GpuSpec,
    pub(super) clocks: &'p Clocks,
    pub(super) slices: &'p mut S,
    pub(super) channels: &'p mut C,
    /// Number of the first slice.
    pub(super) number: usize,
    /// Next slice in the round robin of DRAM accesses.
    pub(super) first: &'p mut usize,
    pub(super) out: &'p mut Outbox,
}

impl<S, C> SliceChannelGroup<'_, S, C>
where
    S: AsRef<[SliceUnit]> + AsMut<[SliceUnit]> + ?Sized,
    C: AsRef<[ChannelUnit]> + AsMut<[ChannelUnit]> + ?Sized,
{
    /// Simulates from a core cycle to another.
    pub(super) fn run(&mut self, from: u64, until: u64) {
        let mut now = from.max(self.next_event());
        while now < until {
            // Accesses advance only after a slice's first access or a channel's completion.
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

    /// Simulates all L2 cycles due in a core cycle. Returns whether a slice queued its first DRAM
    /// access.
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

    /// Simulates the channels' cycles before `end` and forwards completed reads. Returns whether a
    /// queue gained space.
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

    /// Moves DRAM accesses from slices to channels at a cycle of the channels' clock, as far as
    /// they fit. Slices that share a channel move one access each, round robin; a slice with its
    /// own channel moves as many as fit.
    #[inline(always)]
    fn take_misses(&mut self, cycle: u64) {
        if let Some(slice) = self.next_to_take() {
            self.take_misses_from(cycle, slice);
        }
    }

    // Not inlined: usually there is none, and the register saves would cost on each call.
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

    /// The next slice with an access that fits its channel.
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
            // A line lies in a single row.
            Some((line, cell)) if line == access.line => cell,
            _ => {
                let cell = gpu.dram.cell((all / parts) as u32, (slice / parts) as u32, access.line, 0);
                unit.cell = Some((access.line, cell));
                cell
            }
        };
        let DramAccess { write, source, slot, sectors, .. } = access;
        let incoming = Incoming { cell, write, slice: (*number + slice) as u8, source, slot, sectors };
        if gpu.fidelity.dram != Dram::Detailed {
            let is_analytical = gpu.fidelity.dram == Dram::Analytical;
            let efficiency = is_analytical.then_some(gpu.fidelity.dram_efficiency);
            if let Some(read) = channel.pass(&gpu.dram, efficiency, cycle, &incoming) {
                unit.fill(gpu, clocks, &read);
            }
            return;
        }
        if let Some(read) = channel.accept(&gpu.dram, &clocks.timing, cycle, incoming) {
            unit.fill(gpu, clocks, &read);
        }
    }
}

/// The channel of a slice's memory, out of `channels`.
#[inline(always)]
pub(super) fn channel_of(slice: usize, channels: usize) -> usize {
    match channels {
        1 => 0,
        _ if slice < channels => slice,
        _ => slice % channels,
    }
}
