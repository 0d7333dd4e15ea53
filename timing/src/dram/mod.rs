//! DRAM channels: banks with rows, command and data buses, refresh, scheduling.
//!
//! Times are in cycles of the command clock. A column command transfers a burst of 32 B, one
//! sector.

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
use crate::gpu_file::{Document, SpecificationError};
use crate::message::SECTOR_BYTES;
use crate::policy::address_map::AddressMap;
use crate::policy::dram_scheduler::Parameters;
pub use crate::policy::dram_scheduler::Scheduler;

crate::choice! {
    /// Queues of reads and writes.
    pub enum Queues {
        /// Separate queues. The channel serves reads until writes reach the high mark, then drains
        /// writes to the low mark.
        Apart = "apart",
        /// One queue. The access served next sets the bus direction (GPGPU-Sim 3, or 4 without its
        /// write queue).
        One = "one",
    }
}

impl Queues {
    /// The queue for a direction; with one queue, the first.
    fn of(self, direction: Direction) -> Direction {
        match self {
            Queues::Apart => direction,
            Queues::One => Direction::Read,
        }
    }
}

crate::choice! {
    /// Refresh of rows.
    pub enum RefreshMode {
        /// No refresh.
        None = "none",
        /// All banks at once.
        AllBank = "all-bank",
        /// One bank at a time, while the others work.
        PerBank = "per-bank",
    }
}

crate::specification! {
    /// DRAM channels. Timings carry their JEDEC names (tRCD is `rcd`).
    pub struct DramSpec in "dram" {
        /// Pseudo-channels of a channel: separate banks and data buses, a shared command bus.
        pseudo_channels: u32 ["pseudo-channels"],
        /// Width of the data bus (of a pseudo-channel).
        bus: u32 ["B"],
        /// Beats of a burst.
        burst: u32 ["beats"],
        /// Data beats a command-clock cycle.
        beats_per_cycle: u32 ["beats"],
        /// Banks (of a pseudo-channel).
        banks: u32 ["banks"],
        /// Bank groups.
        bank_groups: u32 ["groups"],
        /// Row size.
        row: u32 ["B"],
        /// Mapping of rows to banks.
        bank_hash: AddressMap ["choice"],
        /// Row commands and column commands have separate buses.
        dual_command_bus: bool ["flag"],
        /// DRAM scheduler: selects the access to serve next.
        scheduler: Scheduler ["choice"],
        /// Bytes that form one request under in-order scheduling.
        request: u32 ["B"],
        /// Queues of reads and writes.
        queues: Queues ["choice"],
        /// Read queue capacity of a channel (pseudo-channel); with one queue, its whole capacity.
        read_queue: u32 ["sectors"],
        /// Write queue capacity, with separate queues.
        write_queue: u32 ["sectors"],
        /// High mark: queued writes at which a write drain begins.
        write_high: u32 ["sectors"],
        /// Low mark: queued writes at which a write drain ends.
        write_low: u32 ["sectors"],
        /// Fixed time from the end of a read's burst to the sector's arrival at the slice.
        latency: u32 ["core cycles"],
        /// Column command to column command in another bank group.
        ccd_s: u32 ["DRAM cycles"],
        /// Column command to column command in the same bank group.
        ccd_l: u32 ["DRAM cycles"],
        /// Activation to column command.
        rcd: u32 ["DRAM cycles"],
        /// Activation to precharge.
        ras: u32 ["DRAM cycles"],
        /// Precharge to activation.
        rp: u32 ["DRAM cycles"],
        /// Activation to activation of the same bank.
        rc: u32 ["DRAM cycles"],
        /// Activation to activation of another bank.
        rrd: u32 ["DRAM cycles"],
        /// Window that holds at most four activations.
        faw: u32 ["DRAM cycles"],
        /// Read command to data.
        cl: u32 ["DRAM cycles"],
        /// Write command to data.
        wl: u32 ["DRAM cycles"],
        /// End of write data to read command.
        wtr: u32 ["DRAM cycles"],
        /// End of write data to precharge.
        wr: u32 ["DRAM cycles"],
        /// Read command to precharge.
        rtp: u32 ["DRAM cycles"],
        /// End of read data to start of write data on the bus.
        turnaround: u32 ["DRAM cycles"],
        /// Refresh of rows.
        refresh: RefreshMode ["choice"],
        /// Refresh interval: every bank is refreshed once in it.
        refi: u32 ["DRAM cycles"],
        /// Refresh to activation: of all banks, or of one bank with per-bank refresh.
        rfc: u32 ["DRAM cycles"],
    } with {
        /// Parameters of the schedulers.
        scheduling: Parameters,
    }
}

impl DramSpec {
    pub(crate) fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        let wrong = |name, reason| Err(document.wrong("dram", name, reason));
        if let Some((name, _)) = self.latencies().into_iter().find(|(_, cycles)| *cycles > 1 << 16) {
            return wrong(name, "must be at most 65,536 cycles");
        }
        let positive = [
            ("pseudo_channels", self.pseudo_channels),
            ("beats_per_cycle", self.beats_per_cycle),
            ("bank_groups", self.bank_groups),
            ("read_queue", self.read_queue),
            ("write_high", self.write_high),
        ];
        if let Some((name, _)) = positive.iter().find(|(_, value)| *value == 0) {
            return wrong(name, "must be at least 1");
        }
        if !(1..=64).contains(&self.banks) {
            return wrong("banks", "must be 1 to 64");
        }
        if self.row < 128 || !self.row.is_power_of_two() || self.row > 1 << 20 {
            return wrong("row", "must be a power of two from 128 B to 1 MiB");
        }
        if !self.request.is_power_of_two() || !(32..=128).contains(&self.request) {
            return wrong("request", "must be 32, 64 or 128 B");
        }
        self.check_together(document)
    }

    /// Columns per request.
    fn columns_of_request(&self) -> u16 {
        (u64::from(self.request) / SECTOR_BYTES) as u16
    }

    /// Checks the consistency of several values.
    fn check_together(&self, document: &Document) -> Result<(), SpecificationError> {
        let disagree = |names: &[&'static str], reason| {
            let keys: Vec<_> = names.iter().map(|name| ("dram", *name)).collect();
            Err(document.disagree(&keys, reason))
        };
        self.check_banks(document)?;
        self.scheduling.check(document)?;
        if u64::from(self.bus) * u64::from(self.burst) != SECTOR_BYTES {
            return disagree(&["burst", "bus"], "bus width times burst must be 32 B");
        }
        if !self.burst.is_multiple_of(self.beats_per_cycle) {
            return disagree(&["beats_per_cycle", "burst"], "a burst must take a whole number of cycles");
        }
        if self.ccd_s < self.burst / self.beats_per_cycle {
            return disagree(&["ccd_s", "burst", "beats_per_cycle"], "`ccd_s` must cover a burst");
        }
        if self.ccd_l < self.ccd_s {
            return disagree(&["ccd_l", "ccd_s"], "`ccd_l` must be at least `ccd_s`");
        }
        if self.write_high > self.write_queue {
            return disagree(
                &["write_high", "write_queue"],
                "the high mark must be at most the queue's capacity",
            );
        }
        if self.write_low >= self.write_high {
            return disagree(&["write_low", "write_high"], "the low mark must be below the high mark");
        }
        if self.ras > self.rc {
            return disagree(&["ras", "rc"], "`ras` must be at most `rc`");
        }
        let busy = u64::from(self.rfc) + u64::from(self.rp) + u64::from(self.ras);
        if self.refresh != RefreshMode::None && Timing::new(self).refresh_interval <= busy {
            let keys = ["refi", "rfc", "rp", "ras", "banks", "refresh"];
            return disagree(&keys, "refresh must leave time for accesses");
        }
        Ok(())
    }

    /// Checks that banks divide evenly.
    fn check_banks(&self, document: &Document) -> Result<(), SpecificationError> {
        let slices: u32 = document.get("partition", "slices", "slices")?;
        if !slices.is_multiple_of(self.pseudo_channels) {
            let keys = [("dram", "pseudo_channels"), ("partition", "slices")];
            return Err(
                document.disagree(&keys, "the pseudo-channels must divide the channel's slices evenly")
            );
        }
        if !self.banks.is_multiple_of(slices / self.pseudo_channels) {
            let keys = [("dram", "banks"), ("partition", "slices"), ("dram", "pseudo_channels")];
            return Err(document.disagree(&keys, "the slices must divide the banks evenly"));
        }
        if !self.banks.is_multiple_of(self.bank_groups) {
            let keys = [("dram", "bank_groups"), ("dram", "banks")];
            return Err(document.disagree(&keys, "the bank groups must divide the banks evenly"));
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

    /// Bank, row and column of a sector in a slice's memory. `slice` counts within the
    /// (pseudo-)channel.
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

/// Position of a sector in a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Cell {
    /// Bank.
    pub bank: u8,
    /// Row.
    pub row: u64,
    /// Column: number of the sector within its row.
    pub column: u16,
}

crate::counters! {
    /// DRAM channels.
    pub struct DramCounters in "dram" {
        /// Sectors read.
        reads: "sectors" = "dram__sectors_read.sum",
        /// Sectors written.
        writes: "sectors" = "dram__sectors_write.sum",
        /// Reads served from the write queue.
        forwarded: "sectors" = "",
        /// Rows activated.
        activates: "commands" = "",
        /// Rows precharged.
        precharges: "commands" = "",
        /// Refresh commands.
        refreshes: "commands" = "",
        /// Reads whose row was open at arrival.
        read_row_hits: "sectors" = "",
        /// Reads whose row had to be activated.
        read_row_misses: "sectors" = "",
        /// Writes whose row was open at service.
        write_row_hits: "sectors" = "",
        /// Writes whose row had to be activated.
        write_row_misses: "sectors" = "",
        /// Cycles with data on the bus.
        bus_cycles: "DRAM cycles" = "dram__cycles_active.sum",
        /// Cycles with queued accesses or with a burst pending or on the bus.
        busy_cycles: "DRAM cycles" = "",
        /// Read queue occupancy, summed over cycles.
        read_queue_occupancy: "sector cycles" = "",
        /// Write queue occupancy, summed over cycles.
        write_queue_occupancy: "sector cycles" = "",
        /// Write drains begun because the queue reached the high mark.
        drains: "times" = "",
    } with {
        /// Read latencies.
        read_latencies: ReadLatencies,
    }
}

crate::latencies! {
    /// Read latency: arrival at the channel to end of data, reads served from the write queue
    /// included.
    pub struct ReadLatencies in "dram" { read_requests: "sectors", read_latency: "DRAM cycles" }
}
