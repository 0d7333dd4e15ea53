//! Counts of each DRAM channel and bank. Sums over channels hide uneven load: some kernels keep
//! only few channels or banks busy.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{DramCounters, DramSpec};
use crate::restore::{MOST_COUNTED, Validity, ensure};
use crate::statistics::Counter;
use crate::statistics::saved::{Name, Values};

/// A DRAM counter that equals no profiler metric.
const fn counter(name: &'static str, unit: &'static str, meaning: &'static str) -> Counter {
    Counter::sum("dram", name, unit, meaning)
}

/// Counts of a bank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BankCounts {
    /// Sectors read.
    pub reads: u64,
    /// Sectors written.
    pub writes: u64,
    /// Reads and writes that hit the open row.
    pub row_hits: u64,
    /// Rows activated.
    pub activates: u64,
    /// DRAM cycles with accesses waiting for the bank or with their data on the bus.
    pub busy_cycles: u64,
}

impl BankCounts {
    /// Descriptions, in the order of [`BankCounts::values`].
    pub const COUNTERS: [Counter; 5] = [
        counter("bank.reads", "sectors", "Sectors read by each bank, channel by channel."),
        counter("bank.writes", "sectors", "Sectors written by each bank."),
        counter("bank.row_hits", "sectors", "Reads and writes of each bank that hit its open row."),
        counter("bank.activates", "commands", "Rows activated in each bank."),
        counter(
            "bank.busy_cycles",
            "DRAM cycles",
            "Cycles of each bank with queued accesses or with their data on the bus.",
        ),
    ];

    /// Counts in the order of [`BankCounts::COUNTERS`].
    pub fn values(&self) -> [u64; 5] {
        [self.reads, self.writes, self.row_hits, self.activates, self.busy_cycles]
    }

    fn of([reads, writes, row_hits, activates, busy_cycles]: [u64; 5]) -> BankCounts {
        BankCounts { reads, writes, row_hits, activates, busy_cycles }
    }
}

/// Counts of a channel (pseudo-channel where channels have them).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChannelCounts {
    /// Sectors read.
    pub reads: u64,
    /// Sectors written.
    pub writes: u64,
    /// DRAM cycles with data on the bus.
    pub bus_cycles: u64,
    /// DRAM cycles with queued accesses or with data on the bus.
    pub busy_cycles: u64,
    /// Counts of each bank.
    pub banks: Vec<BankCounts>,
}

impl ChannelCounts {
    /// Descriptions, in the order of [`ChannelCounts::values`].
    pub const COUNTERS: [Counter; 4] = [
        counter("channel.reads", "sectors", "Sectors read by each channel, pseudo-channels in order."),
        counter("channel.writes", "sectors", "Sectors written by each channel."),
        counter("channel.bus_cycles", "DRAM cycles", "Cycles of each channel with data on the bus."),
        counter(
            "channel.busy_cycles",
            "DRAM cycles",
            "Cycles of each channel with queued accesses or with data on the bus.",
        ),
    ];

    /// Derived rates of each channel, in per cent.
    pub const RATES: [Counter; 2] = [
        counter("channel.utilisation", "%", "Share of each channel's cycles with data on the bus."),
        counter("channel.efficiency", "%", "Share of each channel's busy cycles with data on the bus."),
    ];

    /// Counts of a channel and its banks.
    pub fn new(counters: &DramCounters, banks: Vec<BankCounts>) -> ChannelCounts {
        let DramCounters { reads, writes, bus_cycles, busy_cycles, .. } = *counters;
        ChannelCounts { reads, writes, bus_cycles, busy_cycles, banks }
    }

    /// Counts in the order of [`ChannelCounts::COUNTERS`].
    pub fn values(&self) -> [u64; 4] {
        [self.reads, self.writes, self.bus_cycles, self.busy_cycles]
    }

    /// Share of `cycles` with data on the bus; `None` for no cycles.
    pub fn utilisation(&self, cycles: f64) -> Option<f64> {
        (cycles > 0.0).then(|| self.bus_cycles as f64 / cycles)
    }

    /// Share of busy cycles with data on the bus.
    pub fn efficiency(&self) -> Option<f64> {
        self.utilisation(self.busy_cycles as f64)
    }

    /// Combines each count with that of another channel.
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

/// Values by the names of their counters, as saved states hold them.
fn saved<const N: usize>(counters: &[Counter; N], values: [u64; N]) -> Values {
    let mut saved = Values::default();
    counters.iter().zip(values).for_each(|(counter, value)| saved.add(Name::of(counter), value));
    saved
}

/// Values of counters in a saved state.
fn read<const N: usize>(saved: &Values, counters: &[Counter; N]) -> [u64; N] {
    std::array::from_fn(|place| saved.get(Name::of(&counters[place])))
}

impl Serialize for BankCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        saved(&BankCounts::COUNTERS, self.values()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for BankCounts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<BankCounts, D::Error> {
        Values::deserialize(deserializer).map(|saved| BankCounts::of(read(&saved, &BankCounts::COUNTERS)))
    }
}

impl Serialize for ChannelCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (saved(&ChannelCounts::COUNTERS, self.values()), &self.banks).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ChannelCounts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ChannelCounts, D::Error> {
        let (saved, banks) = <(Values, Vec<BankCounts>)>::deserialize(deserializer)?;
        let [reads, writes, bus_cycles, busy_cycles] = read(&saved, &ChannelCounts::COUNTERS);
        Ok(ChannelCounts { reads, writes, bus_cycles, busy_cycles, banks })
    }
}

/// Combines each channel with its counterpart; a missing counterpart counts as zeros.
pub fn combined(
    channels: &[ChannelCounts],
    others: &[ChannelCounts],
    combine: impl Fn(u64, u64) -> u64,
) -> Vec<ChannelCounts> {
    let nothing = ChannelCounts::default();
    let others = others.iter().chain(std::iter::repeat(&nothing));
    channels.iter().zip(others).map(|(own, other)| own.combined(other, &combine)).collect()
}

/// Adds counts channel by channel; the longer list sets the length.
pub fn add(channels: &mut Vec<ChannelCounts>, others: &[ChannelCounts]) {
    if channels.len() < others.len() {
        *channels = combined(others, channels, |other, own| own + other);
    } else {
        *channels = combined(channels, others, |own, other| own + other);
    }
}

/// Checks restored counts: all channels or none, and every value below the limit.
pub(crate) fn check(channels: &[ChannelCounts], spec: &DramSpec, count: u32) -> Validity {
    let as_many = channels.is_empty() || channels.len() == (count * spec.pseudo_channels) as usize;
    let banks = channels.iter().all(|channel| channel.banks.len() == spec.banks as usize);
    ensure(as_many && banks, "the number of banks in the counts differs")?;
    let of_banks = |channel: &ChannelCounts| channel.banks.iter().flat_map(BankCounts::values).max();
    let mut most = channels.iter().flat_map(|channel| channel.values().into_iter().chain(of_banks(channel)));
    ensure(most.all(|value| value < MOST_COUNTED), "a count is too large")
}

/// State that a channel keeps per bank.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct BankActivity {
    pub(super) counts: BankCounts,
    /// Cycle since which the bank is busy, or until which it was.
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
    fn efficiency_is_the_bus_share_of_busy_cycles() {
        let channel = ChannelCounts { bus_cycles: 2, busy_cycles: 8, ..ChannelCounts::default() };
        assert_eq!((channel.utilisation(100.0), channel.efficiency()), (Some(0.02), Some(0.25)));
        assert_eq!(ChannelCounts::default().efficiency(), None);
    }
}
