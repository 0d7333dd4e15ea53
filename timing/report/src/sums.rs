//! Sums over records, updated as records arrive.

use std::collections::{BTreeMap, HashMap};

use timing::dram::{ChannelCounts, counts};
use timing::record::{LaunchRecord, TransferRecord};
use timing::statistics::Counts;

/// Sums over transfers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Transfers {
    /// Transfers.
    pub number: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Core cycles of all transfers; concurrent ones count each.
    pub cycles: u64,
}

/// Sums over launches, device copies and fills.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Total {
    /// Launches.
    pub launches: u64,
    /// Device copies and fills; their other values are part of these sums too.
    pub transfers: Transfers,
    /// Core cycles of all records; concurrent ones count each.
    pub cycles: u64,
    /// Counts.
    pub counters: Counts,
    /// Counts of each DRAM channel.
    pub channels: Vec<ChannelCounts>,
}

impl Total {
    /// Adds a launch.
    pub fn add(&mut self, launch: &LaunchRecord) {
        self.launches += 1;
        self.add_counts(launch.cycles, &launch.counters, &launch.channels);
    }

    /// Adds a device copy or fill.
    pub fn add_transfer(&mut self, transfer: &TransferRecord) {
        let TransferRecord { bytes, cycles, counters, channels, .. } = transfer;
        self.transfers.number += 1;
        self.transfers.bytes += bytes;
        self.transfers.cycles += cycles;
        self.add_counts(*cycles, counters, channels);
    }

    fn add_counts(&mut self, cycles: u64, counters: &Counts, channels: &[ChannelCounts]) {
        self.cycles += cycles;
        counts::add(&mut self.channels, channels);
        if self.counters.is_empty() {
            self.counters.clone_from(counters);
            return;
        }
        // All records have the same counters in the same order.
        for ((counter, sum), (_, value)) in self.counters.iter_mut().zip(counters) {
            *sum = counter.kind.joined(*sum, *value);
        }
    }

    /// Adds other sums.
    fn join(&mut self, other: &Total) {
        let Total { launches, transfers, cycles, counters, channels } = other;
        self.launches += launches;
        self.transfers.number += transfers.number;
        self.transfers.bytes += transfers.bytes;
        self.transfers.cycles += transfers.cycles;
        self.add_counts(*cycles, counters, channels);
    }
}

/// Sums of a run, written after its records.
#[derive(Debug, Clone, Default)]
pub(super) struct Sums {
    pub(super) total: Total,
    /// Sums by stream number.
    pub(super) streams: BTreeMap<u64, Total>,
    /// Sums by kernel, in the order of first launches.
    pub(super) kernels: Named,
    /// Sums of copies and fills, in the order of first occurrence.
    pub(super) transfers: Named,
    /// Core cycles of launches that were simulated.
    pub(super) simulated_cycles: u64,
}

impl Sums {
    pub(super) fn add(&mut self, launch: &LaunchRecord) {
        self.total.add(launch);
        self.streams.entry(launch.stream).or_default().add(launch);
        self.kernels.of(&launch.kernel).add(launch);
        self.simulated_cycles += launch.simulated_cycles();
    }

    pub(super) fn add_transfer(&mut self, transfer: &TransferRecord) {
        self.total.add_transfer(transfer);
        self.streams.entry(transfer.stream).or_default().add_transfer(transfer);
        self.transfers.of(transfer.name()).add_transfer(transfer);
    }

    pub(super) fn join(&mut self, other: &Sums) {
        self.total.join(&other.total);
        for (stream, total) in &other.streams {
            self.streams.entry(*stream).or_default().join(total);
        }
        self.kernels.join(&other.kernels);
        self.transfers.join(&other.transfers);
        self.simulated_cycles += other.simulated_cycles;
    }
}

/// Sums by name, in the order of first occurrence.
#[derive(Debug, Clone, Default)]
pub(super) struct Named {
    totals: Vec<(String, Total)>,
    places: HashMap<String, usize>,
}

impl Named {
    fn of(&mut self, name: &str) -> &mut Total {
        let place = match self.places.get(name) {
            Some(place) => *place,
            None => {
                self.places.insert(name.to_owned(), self.totals.len());
                self.totals.push((name.to_owned(), Total::default()));
                self.totals.len() - 1
            }
        };
        &mut self.totals[place].1
    }

    fn join(&mut self, other: &Named) {
        for (name, total) in &other.totals {
            self.of(name).join(total);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Total)> {
        self.totals.iter().map(|(name, total)| (name.as_str(), total))
    }
}
