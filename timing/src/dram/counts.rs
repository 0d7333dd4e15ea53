//! What each channel and each of its banks has counted. Channels have accesses that banks have not the same number of, and some
//! kernels keep few of either busy, which sums do not show.

use serde::{Deserialize, Serialize};

use super::{DramCounters, DramSpec};
use crate::restore::{Fits, MOST_COUNTED, fits};
use crate::statistics::Counter;

/// A counter of DRAM.
const fn counter(name: &'static str, unit: &'static str, meaning: &'static str) -> Counter {
    Counter::sum("dram", name, unit, meaning)
}

/// What is counted of a bank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BankCounts {
    /// Sectors read.
    pub reads: u64,
    /// Sectors written.
    pub writes: u64,
    /// Those of both whose row was open when they came.
    pub row_hits: u64,
    /// Rows opened.
    pub activates: u64,
    /// Cycles with accesses that wait for the bank, or with their data on the bus. DRAM cycles.
    pub busy_cycles: u64,
}

impl BankCounts {
    /// What they mean, in the order of [`BankCounts::values`].
    pub const COUNTERS: [Counter; 5] = [
        counter("bank.reads", "sectors", "Sectors that a bank has read, bank by bank, channel by channel."),
        counter("bank.writes", "sectors", "Sectors that it has written."),
        counter("bank.row_hits", "sectors", "Those of both whose row did not have to be opened for them."),
        counter("bank.activates", "commands", "Rows that were opened."),
        counter(
            "bank.busy_cycles",
            "DRAM cycles",
            "Cycles with accesses in the queues that are for the bank, or with their data on the bus.",
        ),
    ];

    /// As numbers.
    pub fn values(&self) -> [u64; 5] {
        [self.reads, self.writes, self.row_hits, self.activates, self.busy_cycles]
    }

    fn of([reads, writes, row_hits, activates, busy_cycles]: [u64; 5]) -> BankCounts {
        BankCounts { reads, writes, row_hits, activates, busy_cycles }
    }
}

/// What is counted of a channel (of a pseudo-channel where there are some).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ChannelCounts {
    /// Sectors read.
    pub reads: u64,
    /// Sectors written.
    pub writes: u64,
    /// Cycles in which data was on the bus. DRAM cycles.
    pub bus_cycles: u64,
    /// Cycles with accesses in the queues, or with data on the bus. DRAM cycles.
    pub busy_cycles: u64,
    /// Of each of its banks.
    pub banks: Vec<BankCounts>,
}

impl ChannelCounts {
    /// What they mean, in the order of [`ChannelCounts::values`].
    pub const COUNTERS: [Counter; 4] = [
        counter(
            "channel.reads",
            "sectors",
            "Sectors that a channel has read, channel by channel, their pseudo-channels one after the other.",
        ),
        counter("channel.writes", "sectors", "Sectors that it has written."),
        counter("channel.bus_cycles", "DRAM cycles", "Cycles in which data was on its bus."),
        counter(
            "channel.busy_cycles",
            "DRAM cycles",
            "Cycles with accesses in its queues, or with data on its bus.",
        ),
    ];

    /// What these give of each channel, in per cent.
    pub const RATES: [Counter; 2] = [
        counter("channel.utilisation", "%", "Cycles in which data was on a channel's bus."),
        counter("channel.efficiency", "%", "The same, of those in which it had something to do."),
    ];

    /// Of a channel with these banks.
    pub fn new(counters: &DramCounters, banks: Vec<BankCounts>) -> ChannelCounts {
        let DramCounters { reads, writes, bus_cycles, busy_cycles, .. } = *counters;
        ChannelCounts { reads, writes, bus_cycles, busy_cycles, banks }
    }

    /// As numbers, without the banks.
    pub fn values(&self) -> [u64; 4] {
        [self.reads, self.writes, self.bus_cycles, self.busy_cycles]
    }

    /// Part of the cycles of a channel in which data was on the bus; nothing if there were none.
    pub fn utilisation(&self, cycles: f64) -> Option<f64> {
        (cycles > 0.0).then(|| self.bus_cycles as f64 / cycles)
    }

    /// The same, of those in which there was something to do.
    pub fn efficiency(&self) -> Option<f64> {
        self.utilisation(self.busy_cycles as f64)
    }

    /// Each number made of its own and of that of another channel.
    #[must_use]
    pub fn combined(&self, other: &ChannelCounts, combine: impl Fn(u64, u64) -> u64) -> ChannelCounts {
        let (own, others) = (self.values(), other.values());
        let [reads, writes, bus_cycles, busy_cycles] = std::array::from_fn(|i| combine(own[i], others[i]));
        let nothing = BankCounts::default();
        let of_others = other.banks.iter().chain(std::iter::repeat(&nothing));
        let banks = self.banks.iter().zip(of_others).map(|(own, other)| {
            let (own, other) = (own.values(), other.values());
            BankCounts::of(std::array::from_fn(|i| combine(own[i], other[i])))
        });
        ChannelCounts { reads, writes, bus_cycles, busy_cycles, banks: banks.collect() }
    }
}

/// Each channel combined with its counterpart; those of `channels` that have none with nothing.
pub fn combined(
    channels: &[ChannelCounts],
    others: &[ChannelCounts],
    combine: impl Fn(u64, u64) -> u64,
) -> Vec<ChannelCounts> {
    let nothing = ChannelCounts::default();
    let others = others.iter().chain(std::iter::repeat(&nothing));
    channels.iter().zip(others).map(|(own, other)| own.combined(other, &combine)).collect()
}

/// Adds channels; what had none gets these.
pub fn add(channels: &mut Vec<ChannelCounts>, others: &[ChannelCounts]) {
    if channels.len() < others.len() {
        *channels = combined(others, channels, |other, own| own + other);
    } else {
        *channels = combined(channels, others, |own, other| own + other);
    }
}

/// Whether counts that were read can be of so many channels, or none.
pub(crate) fn check(channels: &[ChannelCounts], spec: &DramSpec, count: u32) -> Fits {
    let as_many = channels.is_empty() || channels.len() == (count * spec.pseudo_channels) as usize;
    let banks = channels.iter().all(|channel| channel.banks.len() == spec.banks as usize);
    fits(as_many && banks, "another number of banks was counted")?;
    let of_banks = |channel: &ChannelCounts| channel.banks.iter().flat_map(BankCounts::values).max();
    let mut most = channels.iter().flat_map(|channel| channel.values().into_iter().chain(of_banks(channel)));
    fits(most.all(|value| value < MOST_COUNTED), "a count is too large")
}

/// What a channel keeps of its banks.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct BankActivity {
    pub(super) counts: BankCounts,
    /// Since when it is busy, or up to when it was.
    pub(super) busy_since: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(reads: u64, of_banks: [u64; 2]) -> ChannelCounts {
        let bank = |reads| BankCounts { reads, ..BankCounts::default() };
        ChannelCounts { reads, banks: of_banks.map(bank).to_vec(), ..ChannelCounts::default() }
    }

    #[test]
    fn channels_add_up_one_by_one() {
        let mut sum = Vec::new();
        add(&mut sum, &[channel(1, [1, 0]), channel(2, [0, 2])]);
        add(&mut sum, &[channel(3, [0, 3]), channel(4, [4, 0])]);
        add(&mut sum, &[]);
        assert_eq!(sum, [channel(4, [1, 3]), channel(6, [4, 2])]);
    }

    #[test]
    fn efficiency_is_of_the_cycles_with_something_to_do() {
        let channel = ChannelCounts { bus_cycles: 2, busy_cycles: 8, ..ChannelCounts::default() };
        assert_eq!((channel.utilisation(100.0), channel.efficiency()), (Some(0.02), Some(0.25)));
        assert_eq!(ChannelCounts::default().efficiency(), None);
    }
}
