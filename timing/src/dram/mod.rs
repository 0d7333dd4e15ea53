//! DRAM channels: banks with rows, command and data buses, refresh, and who is served next.
//!
//! Time is cycles of the command clock. A column command moves an atom of 32 B, a sector.

mod bank;
mod channel;
mod checker;
mod command;
pub mod counts;
mod refresh;
mod timing;

pub use channel::{Channel, Completed, Incoming};
pub use checker::{Checker, Violation};
pub use command::{Command, CommandKind};
pub use counts::{BankCounts, ChannelCounts};
pub use timing::Timing;

use self::bank::Direction;
use crate::message::SECTOR_BYTES;
use crate::partition::Hash;
use crate::policy::dram_scheduler::Parameters;
pub use crate::policy::dram_scheduler::Scheduler;
use crate::specification::{Document, SpecificationError};

crate::choice! {
    /// Where reads and writes wait.
    pub enum Queues {
        /// Each in a queue of their own: reads are served until there are too many writes, which then are served together.
        Apart = "apart",
        /// In one queue: the direction is that of who is served next (GPGPU-Sim 3, or 4 without its write queue).
        One = "one",
    }
}

impl Queues {
    /// The queue in which accesses of a direction wait; that of reads where there is one.
    fn of(self, direction: Direction) -> Direction {
        match self {
            Queues::Apart => direction,
            Queues::One => Direction::Read,
        }
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
        /// Which access is served next.
        scheduler: Scheduler ["choice"],
        /// Accesses to an open row that pass an older access to another row, by the scheduler fr-fcfs-cap.
        cap: u32 ["accesses"] = 4,
        /// Neighbouring bytes that are one request where requests are served in the order of arrival.
        request: u32 ["B"],
        /// Where reads and writes wait.
        queues: Queues ["choice"],
        /// Reads that a channel (pseudo-channel) holds; with one queue, all that it holds.
        read_queue: u32 ["sectors"],
        /// Writes that it holds in a queue of their own.
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
        if let Some((name, _)) = self.latencies().into_iter().find(|(_, cycles)| *cycles > 1 << 16) {
            return wrong(name, "more than 65,536 cycles");
        }
        let positive = [
            ("pseudo_channels", self.pseudo_channels),
            ("beats_per_cycle", self.beats_per_cycle),
            ("bank_groups", self.bank_groups),
            ("read_queue", self.read_queue),
            ("write_high", self.write_high),
        ];
        if let Some((name, _)) = positive.iter().find(|(_, value)| *value == 0) {
            return wrong(name, "there is at least one");
        }
        if !(1..=64).contains(&self.banks) {
            return wrong("banks", "there are 1 to 64");
        }
        if self.row < 128 || !self.row.is_power_of_two() || self.row > 1 << 20 {
            return wrong("row", "a power of two from 128 B to 1 MiB is needed");
        }
        if !self.request.is_power_of_two() || !(32..=128).contains(&self.request) {
            return wrong("request", "32, 64 or 128 B are needed: a sector, or sectors of a line");
        }
        self.check_together(document)
    }

    /// Parameters of the schedulers.
    fn parameters(&self) -> Parameters {
        Parameters { cap: self.cap }
    }

    /// Columns of a request.
    fn columns_of_request(&self) -> u16 {
        (u64::from(self.request) / SECTOR_BYTES) as u16
    }

    /// Checks what values are beside each other.
    fn check_together(&self, document: &Document) -> Result<(), SpecificationError> {
        let disagree = |names: &[&'static str], reason| {
            let keys: Vec<_> = names.iter().map(|name| ("dram", *name)).collect();
            Err(document.disagree(&keys, reason))
        };
        self.check_banks(document)?;
        if u64::from(self.bus) * u64::from(self.burst) != SECTOR_BYTES {
            return disagree(&["burst", "bus"], "bus width times burst is not 32 B");
        }
        if !self.burst.is_multiple_of(self.beats_per_cycle) {
            return disagree(&["beats_per_cycle", "burst"], "a burst is no whole number of cycles");
        }
        if self.ccd_s < self.burst / self.beats_per_cycle {
            return disagree(&["ccd_s", "burst", "beats_per_cycle"], "bursts would overlap");
        }
        if self.ccd_l < self.ccd_s {
            return disagree(
                &["ccd_l", "ccd_s"],
                "columns of one bank group would be closer than those of two",
            );
        }
        if self.write_high > self.write_queue {
            return disagree(&["write_high", "write_queue"], "the queue is full before its high mark");
        }
        if self.write_low >= self.write_high {
            return disagree(&["write_low", "write_high"], "the low mark is below the high one");
        }
        if self.ras > self.rc {
            return disagree(&["ras", "rc"], "a row would be closed after the next is opened");
        }
        let busy = u64::from(self.rfc) + u64::from(self.rp) + u64::from(self.ras);
        if self.refresh != RefreshMode::None && Timing::new(self).refresh_interval <= busy {
            let keys = ["refi", "rfc", "rp", "ras", "banks", "refresh"];
            return disagree(&keys, "there would be no time but for refresh");
        }
        Ok(())
    }

    /// Checks how banks are shared out.
    fn check_banks(&self, document: &Document) -> Result<(), SpecificationError> {
        let slices: u32 = document.get("partition", "slices", "slices")?;
        if !slices.is_multiple_of(self.pseudo_channels) {
            let keys = [("dram", "pseudo_channels"), ("partition", "slices")];
            return Err(document
                .disagree(&keys, "the channel's slices have to be shared evenly among its pseudo-channels"));
        }
        if !self.banks.is_multiple_of(slices / self.pseudo_channels) {
            let keys = [("dram", "banks"), ("partition", "slices"), ("dram", "pseudo_channels")];
            return Err(document.disagree(&keys, "each slice has the same number of banks"));
        }
        if !self.banks.is_multiple_of(self.bank_groups) {
            let keys = [("dram", "bank_groups"), ("dram", "banks")];
            return Err(document.disagree(&keys, "each group has the same number of banks"));
        }
        Ok(())
    }

    fn latencies(&self) -> [(&'static str, u32); 15] {
        [
            ("ccd_s", self.ccd_s),
            ("ccd_l", self.ccd_l),
            ("rcd", self.rcd),
            ("ras", self.ras),
            ("rp", self.rp),
            ("rc", self.rc),
            ("rrd", self.rrd),
            ("faw", self.faw),
            ("cl", self.cl),
            ("wl", self.wl),
            ("wtr", self.wtr),
            ("wr", self.wr),
            ("rtp", self.rtp),
            ("turnaround", self.turnaround),
            ("rfc", self.rfc),
        ]
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
        /// Cycles with accesses in the queues, or with data on the bus, which is taken to be there from the command on.
        busy_cycles: "DRAM cycles" = "",
        /// Accesses in the read queue, summed over cycles.
        read_queue_occupancy: "sector cycles" = "",
        /// Accesses in the write queue, summed over cycles.
        write_queue_occupancy: "sector cycles" = "",
        /// Times that writes were served before reads because of the high mark.
        drains: "times" = "",
    } with {
        /// Reads.
        read_latencies: ReadLatencies,
    }
}

crate::latencies! {
    /// Reads, those answered from the write queue among them, from their coming to the channel to the end of their data.
    pub struct ReadLatencies in "dram" { read_requests: "sectors", read_latency: "DRAM cycles" }
}
