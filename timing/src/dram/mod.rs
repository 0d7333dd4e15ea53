//! DRAM channels: banks with rows, command and data buses, refresh, and who is served next.
//!
//! Time is cycles of the command clock. A column command moves an atom of 32 B, a sector.

mod bank;
mod channel;
mod checker;
mod command;
mod fcfs;
mod frfcfs;
mod refresh;
mod timing;

pub use channel::{Channel, Completed, Incoming};
pub use checker::{Checker, Violation};
pub use command::{Command, CommandKind};
pub use timing::Timing;

use crate::message::SECTOR_BYTES;
use crate::partition::Hash;
use crate::specification::{Document, SpecificationError};

crate::choice! {
    /// Who is served next.
    pub enum Scheduler {
        /// Accesses to open rows before others, then the oldest.
        FrFcfs = "fr-fcfs",
        /// In order of arrival; only accesses to different banks overlap.
        Fcfs = "fcfs",
    }
}

crate::choice! {
    /// How rows are refreshed.
    pub enum RefreshMode {
        /// Not at all.
        None = "none",
        /// All banks at once.
        AllBank = "all-bank",
        /// One bank after the other, while others work.
        PerBank = "per-bank",
    }
}

crate::specification! {
    /// DRAM channels. Timings are as JEDEC names them (tRCD is `rcd`).
    pub struct DramSpec in "dram" {
        /// Parts of a channel with banks and data buses of their own, which share the command buses.
        pseudo_channels: u32 ["pseudo-channels"],
        /// Bytes of the data bus (of a pseudo-channel).
        bus: u32 ["B"],
        /// Beats of a burst.
        burst: u32 ["beats"],
        /// Beats in a cycle of the command clock.
        beats_per_cycle: u32 ["beats"],
        /// Banks (of a pseudo-channel).
        banks: u32 ["banks"],
        /// Groups of banks.
        bank_groups: u32 ["groups"],
        /// Bytes of a row.
        row: u32 ["B"],
        /// How rows are spread over banks.
        bank_hash: Hash ["choice"],
        /// Row and column commands have buses of their own.
        dual_command_bus: bool ["flag"],
        /// Who is served next.
        scheduler: Scheduler ["choice"],
        /// Reads that a channel (pseudo-channel) holds.
        read_queue: u32 ["sectors"],
        /// Writes that it holds.
        write_queue: u32 ["sectors"],
        /// Writes from which on they are served before reads.
        write_high: u32 ["sectors"],
        /// Writes down to which they then are.
        write_low: u32 ["sectors"],
        /// Fixed time from the end of a read's data on the bus to its arrival at the slice.
        latency: u32 ["core cycles"],
        /// From a column command to the next in another bank group.
        ccd_s: u32 ["DRAM cycles"],
        /// From a column command to the next in the same bank group.
        ccd_l: u32 ["DRAM cycles"],
        /// From activation to a column command.
        rcd: u32 ["DRAM cycles"],
        /// From activation to precharge.
        ras: u32 ["DRAM cycles"],
        /// From precharge to activation.
        rp: u32 ["DRAM cycles"],
        /// From activation to activation of the same bank.
        rc: u32 ["DRAM cycles"],
        /// From activation to activation of another bank.
        rrd: u32 ["DRAM cycles"],
        /// In which at most four rows are activated.
        faw: u32 ["DRAM cycles"],
        /// From a read to its data.
        cl: u32 ["DRAM cycles"],
        /// From a write to its data.
        wl: u32 ["DRAM cycles"],
        /// From the end of a write's data to a read.
        wtr: u32 ["DRAM cycles"],
        /// From the end of a write's data to precharge.
        wr: u32 ["DRAM cycles"],
        /// From a read to precharge.
        rtp: u32 ["DRAM cycles"],
        /// From a read's data to a write's on the bus.
        turnaround: u32 ["DRAM cycles"],
        /// How rows are refreshed.
        refresh: RefreshMode ["choice"],
        /// In which all banks are refreshed once.
        refi: u32 ["DRAM cycles"],
        /// From a refresh to an activation: of all banks, or of one where it is per bank.
        rfc: u32 ["DRAM cycles"],
    }
}

impl DramSpec {
    pub(crate) fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        let wrong = |name, reason| Err(document.wrong("dram", name, reason));
        let slices: u32 = document.get("partition", "slices", "slices")?;
        if self.latencies().any(|cycles| cycles > 1 << 16) {
            return wrong("rc", "a timing is above 65,536 cycles");
        }
        if self.pseudo_channels == 0 || !slices.is_multiple_of(self.pseudo_channels) {
            return wrong("pseudo_channels", "the channel's slices have to be shared evenly among them");
        }
        if u64::from(self.bus) * u64::from(self.burst) != SECTOR_BYTES {
            return wrong("burst", "bus width times burst is not 32 B");
        }
        if self.beats_per_cycle == 0 || !self.burst.is_multiple_of(self.beats_per_cycle) {
            return wrong("beats_per_cycle", "a burst is no whole number of cycles");
        }
        if self.ccd_s < self.burst / self.beats_per_cycle {
            return wrong("ccd_s", "bursts would overlap");
        }
        if self.ccd_l < self.ccd_s {
            return wrong("ccd_l", "shorter than between groups");
        }
        let slices = slices / self.pseudo_channels;
        if self.banks == 0 || self.banks > 64 || !self.banks.is_multiple_of(slices) {
            return wrong("banks", "there are 1 to 64, the same number for each slice");
        }
        if self.bank_groups == 0 || !self.banks.is_multiple_of(self.bank_groups) {
            return wrong("bank_groups", "the banks have to be shared evenly among them");
        }
        if self.row < 128 || !self.row.is_power_of_two() || self.row > 1 << 20 {
            return wrong("row", "a power of two from 128 B to 1 MiB is needed");
        }
        if self.read_queue == 0 {
            return wrong("read_queue", "nothing could be read");
        }
        if self.write_high == 0 || self.write_high > self.write_queue {
            return wrong("write_high", "the queue is full before");
        }
        if self.write_low >= self.write_high {
            return wrong("write_low", "it is below the high mark");
        }
        if self.ras > self.rc {
            return wrong("ras", "longer than rc");
        }
        let busy = u64::from(self.rfc) + u64::from(self.rp) + u64::from(self.ras);
        if self.refresh != RefreshMode::None && Timing::new(self).refresh_interval <= busy {
            return wrong("refi", "there would be no time but for refresh");
        }
        Ok(())
    }

    fn latencies(&self) -> impl Iterator<Item = u32> {
        [
            self.rcd, self.ras, self.rp, self.rc, self.rrd, self.faw, self.cl, self.wl, self.wtr, self.wr,
            self.rtp,
        ]
        .into_iter()
        .chain([self.turnaround, self.ccd_l, self.rfc])
    }

    /// Where a sector of a slice's memory is: bank, row and column. `slice` counts within the (pseudo-)channel.
    pub fn cell(&self, slices: u32, slice: u32, line: u64, sector: u8) -> Cell {
        let columns = u64::from(self.row) / SECTOR_BYTES;
        let atom = line * 4 + u64::from(sector);
        let own = self.banks / slices;
        let above = atom / columns;
        let row = above / u64::from(own);
        let bank = self.bank_hash.permuted((above % u64::from(own)) as u32, row, own);
        Cell { bank: (bank * slices + slice) as u8, row, column: (atom % columns) as u16 }
    }

    /// The bank group of a bank.
    pub fn group(&self, bank: u8) -> usize {
        usize::from(bank) % self.bank_groups as usize
    }
}

/// Where a sector is in a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Cell {
    /// Bank.
    pub bank: u8,
    /// Row.
    pub row: u64,
    /// Sector of the row.
    pub column: u16,
}

crate::counters! {
    /// DRAM channels.
    pub struct DramCounters in "dram" {
        /// Sectors read.
        reads: "sectors" = "dram__sectors_read.sum",
        /// Sectors written.
        writes: "sectors" = "dram__sectors_write.sum",
        /// Reads answered from the write queue.
        forwarded: "sectors" = "",
        /// Rows activated.
        activates: "commands" = "",
        /// Rows closed.
        precharges: "commands" = "",
        /// Refreshes.
        refreshes: "commands" = "",
        /// Reads whose row was open when they arrived.
        read_row_hits: "sectors" = "",
        /// Reads whose row had to be opened.
        read_row_misses: "sectors" = "",
        /// Writes whose row was open when they were served.
        write_row_hits: "sectors" = "",
        /// Writes whose row had to be opened.
        write_row_misses: "sectors" = "",
        /// Cycles in which data was on the bus.
        bus_cycles: "DRAM cycles" = "dram__cycles_active.sum",
        /// Cycles with accesses in the queues.
        busy_cycles: "DRAM cycles" = "",
        /// Accesses in the read queue, summed over cycles.
        read_queue_occupancy: "sector cycles" = "",
        /// Accesses in the write queue, summed over cycles.
        write_queue_occupancy: "sector cycles" = "",
        /// Times that writes were served before reads because of the high mark.
        drains: "times" = "",
    }
}
