//! Counters of a whole GPU.

use serde::{Deserialize, Serialize};

use crate::crossbar::CrossbarCounters;
use crate::dram::{ChannelCounts, DramCounters, counts};
use crate::l2::L2Counters;
use crate::memory_side::MemoryCounters;
use crate::power::PowerCounters;
use crate::sm::SmCounters;
use crate::statistics::saved::Name;
use crate::statistics::{Counter, Counters, Counts};

crate::counters! {
    /// The GPU as a whole.
    pub struct GpuCounters in "gpu" {
        /// Core cycles of the launch.
        cycles: "core cycles" = "gpc__cycles_elapsed.max",
        /// Duration of the launch.
        nanoseconds: "ns" = "gpu__time_duration.sum",
        /// Core cycles, summed over SMs.
        sm_cycles: "core cycles" = "sm__cycles_elapsed.sum",
        /// Warp slots of all SMs, summed over core cycles.
        warp_slot_cycles: "warps x core cycles" = "",
        /// L2 cycles, summed over slices.
        l2_cycles: "L2 cycles" = "lts__cycles_elapsed.sum",
        /// DRAM cycles, summed over channels.
        dram_cycles: "DRAM cycles" = "dram__cycles_elapsed.sum",
        /// CTAs started.
        ctas_started: "CTAs" = "sm__ctas_launched.sum",
        /// CTAs completed.
        ctas_ended: "CTAs" = "",
        /// Requests of copy engines to L2.
        copy_requests: "requests" = "",
        /// Replies of L2 to copy engines.
        copy_replies: "requests" = "",
        /// Sectors that copy engines read through L2.
        copy_sectors_read: "sectors" = "",
        /// Sectors that copy engines wrote through L2.
        copy_sectors_written: "sectors" = "",
    }
}

/// Counters of all units, those of a kind added up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// The GPU as a whole.
    pub gpu: GpuCounters,
    /// SMs.
    pub sm: SmCounters,
    /// Requests of SMs to the memory side.
    pub memory: MemoryCounters,
    /// Crossbar.
    pub crossbar: CrossbarCounters,
    /// L2 slices.
    pub l2: L2Counters,
    /// DRAM channels.
    pub dram: DramCounters,
    /// Energy; 0 while launches run, computed for each record. No saved state holds it.
    #[serde(skip)]
    pub power: PowerCounters,
    /// DRAM channels, one by one.
    pub channels: Vec<ChannelCounts>,
}

impl Counters for Totals {
    fn each(&self, tell: &mut dyn FnMut(&'static Counter, u64)) {
        self.gpu.each(tell);
        self.sm.each(tell);
        self.memory.each(tell);
        self.crossbar.each(tell);
        self.l2.each(tell);
        self.dram.each(tell);
        self.power.each(tell);
    }

    fn add(&mut self, other: &Totals) {
        self.gpu.add(&other.gpu);
        self.sm.add(&other.sm);
        self.memory.add(&other.memory);
        self.crossbar.add(&other.crossbar);
        self.l2.add(&other.l2);
        self.dram.add(&other.dram);
        self.power.add(&other.power);
        counts::add(&mut self.channels, &other.channels);
    }

    fn restart(&mut self) {
        self.gpu.restart();
        self.sm.restart();
        self.memory.restart();
        self.crossbar.restart();
        self.l2.restart();
        self.dram.restart();
        self.power.restart();
    }

    fn save(&self, write: &mut dyn FnMut(Name, u64)) {
        self.gpu.save(write);
        self.sm.save(write);
        self.memory.save(write);
        self.crossbar.save(write);
        self.l2.save(write);
        self.dram.save(write);
    }

    fn load(&mut self, read: &mut dyn FnMut(Name) -> u64) {
        self.gpu.load(read);
        self.sm.load(read);
        self.memory.load(read);
        self.crossbar.load(read);
        self.l2.load(read);
        self.dram.load(read);
    }
}

impl Totals {
    /// Counts since `before`.
    pub(crate) fn since(&self, before: &Totals) -> Counts {
        let mut counts = Counts::new();
        self.each(&mut |counter, value| counts.push((counter, value)));
        let mut index = 0;
        before.each(&mut |_, value| {
            // Of launches that end in one epoch, the first to be recorded may be the last to end.
            let (counter, now) = &mut counts[index];
            *now = counter.kind.since(value, *now);
            index += 1;
        });
        counts
    }

    /// Counts of each channel since `before`; empty if DRAM was idle.
    pub(crate) fn channels_since(&self, before: &Totals) -> Vec<ChannelCounts> {
        let since = counts::combined(&self.channels, &before.channels, u64::saturating_sub);
        if since.iter().any(|channel| *channel != channel.combined(channel, |_, _| 0)) {
            since
        } else {
            Vec::new()
        }
    }
}
