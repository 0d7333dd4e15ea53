//! Where requests are that have no answer yet, for the watchdog: from an SM's queues through crossbar and slice to the bank.

use std::fmt;

use crate::l2::Stall;
use crate::message::MemoryReply;

/// A request that is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// What will answer it.
    pub reply: MemoryReply,
    /// Where it is, or its reply.
    pub place: Place,
}

/// Where a request is, or its reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In its SM, without a translation.
    Translation,
    /// In its SM's queue to the crossbar.
    Outgoing {
        /// Requests that leave before it.
        before: usize,
        /// How many may leave.
        credits: u32,
    },
    /// Its page is being walked to.
    PageWalk,
    /// At the crossbar's input, or on the way to it.
    ToSlice {
        /// Input.
        port: u8,
        /// Output.
        slice: u8,
        /// Packets that the output has room for.
        room: u32,
    },
    /// In its slice's queue.
    SliceQueue {
        /// The slice.
        slice: u32,
        /// Requests before it.
        before: usize,
        /// What the first of the queue waits for.
        stall: Option<Stall>,
    },
    /// At its slice, for sectors from DRAM.
    Sectors {
        /// The slice.
        slice: u32,
        /// Those that are missing.
        missing: Vec<MissingSector>,
    },
    /// Its reply is at the crossbar's input, or on the way to it.
    ToSm {
        /// Input.
        slice: u8,
        /// Output.
        port: u8,
        /// Packets that the output has room for.
        room: u32,
    },
    /// Its reply is at its SM, which has not taken it.
    Inbox,
}

/// A sector that a slice expects from DRAM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingSector {
    /// Sector of its line.
    pub sector: u8,
    /// Where its read is.
    pub read: SectorRead,
}

/// Where the read of a sector is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SectorRead {
    /// In the slice, as its channel has no room.
    MissQueue {
        /// Accesses of the slice before it.
        before: usize,
    },
    /// In its channel, or nowhere to be found.
    Channel {
        /// The channel.
        channel: ChannelName,
        /// The bank's queue.
        bank: Option<BankQueue>,
    },
    /// Read, on its way back.
    Coming {
        /// When it is at its slice. L2 cycles.
        cycle: u64,
    },
}

/// A DRAM channel, or a part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelName {
    /// Channel.
    pub number: u32,
    /// Pseudo-channel, where there are several.
    pub part: Option<u32>,
}

impl fmt::Display for ChannelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "channel {}", self.number)?;
        self.part.map_or(Ok(()), |part| write!(f, ", part {part}"))
    }
}

/// What an access finds at its bank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BankQueue {
    /// The bank.
    pub bank: u8,
    /// Row of the access.
    pub row: u64,
    /// Accesses of the bank before it.
    pub before: usize,
    /// The row that is open.
    pub open: Option<u64>,
    /// Whether the bank is served only when it has been refreshed.
    pub refreshes: bool,
    /// Whether its channel serves writes before.
    pub writes_first: bool,
}

/// A bank with accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitingBank {
    /// The bank.
    pub bank: u8,
    /// Reads and writes that wait.
    pub queued: [usize; 2],
    /// Row of the oldest of them.
    pub row: u64,
    /// The row that is open.
    pub open: Option<u64>,
    /// Whether it is served only when it has been refreshed.
    pub refreshes: bool,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let full = |room: &u32| if *room == 0 { ", which has no room" } else { "" };
        match self {
            Place::Translation => write!(f, "waits for its translation"),
            Place::Outgoing { before, credits } => {
                write!(f, "leaves the SM after {before} requests; {credits} may leave")
            }
            Place::PageWalk => write!(f, "waits for a page walk"),
            Place::ToSlice { port, slice, room } => {
                write!(f, "in the crossbar from port {port} to slice {slice}{}", full(room))
            }
            Place::SliceQueue { slice, before, stall } => {
                write!(f, "queued at slice {slice} after {before} requests")?;
                stall.map_or(Ok(()), |stall| write!(f, "; the first waits for {stall}"))
            }
            Place::Sectors { slice, missing } => {
                write!(f, "at slice {slice}")?;
                for MissingSector { sector, read } in missing {
                    write!(f, ", sector {sector} {read}")?;
                }
                Ok(())
            }
            Place::ToSm { slice, port, room } => {
                write!(f, "its reply in the crossbar from slice {slice} to port {port}{}", full(room))
            }
            Place::Inbox => write!(f, "its reply at the SM"),
        }
    }
}

impl fmt::Display for SectorRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SectorRead::MissQueue { before } => {
                write!(f, "waits for room in the channel after {before} accesses of the slice")
            }
            SectorRead::Channel { channel, bank: None } => write!(f, "asked of {channel}"),
            SectorRead::Channel { channel, bank: Some(queue) } => {
                let BankQueue { bank, row, before, open, refreshes, writes_first } = queue;
                write!(f, "at {channel}, bank {bank} for row {row} after {before} accesses (")?;
                write_open(f, *open, *refreshes)?;
                f.write_str(if *writes_first { ", writes are served first)" } else { ")" })
            }
            SectorRead::Coming { cycle } => write!(f, "comes at L2 cycle {cycle}"),
        }
    }
}

impl fmt::Display for WaitingBank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WaitingBank { bank, queued: [reads, writes], row, open, refreshes } = self;
        write!(f, "bank {bank}: ")?;
        write_open(f, *open, *refreshes)?;
        write!(f, ", {reads} reads and {writes} writes wait, the oldest for row {row}")
    }
}

fn write_open(f: &mut fmt::Formatter<'_>, open: Option<u64>, refreshes: bool) -> fmt::Result {
    match open {
        Some(open) => write!(f, "row {open} is open")?,
        None => write!(f, "no row is open")?,
    }
    f.write_str(if refreshes { ", refresh is pending" } else { "" })
}
