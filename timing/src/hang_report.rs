//! Locations of outstanding requests for the hang report, from an SM's queues through crossbar and
//! slice to the bank.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::message::MemoryReply;

/// Stall reason of a slice's first request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SliceStall {
    /// All MSHRs are in use.
    Mshr,
    /// A sector has its maximum of waiting requests.
    Merge,
    /// Every line of the set has outstanding sectors.
    Set,
    /// The queue to DRAM is full.
    Dram,
    /// The crossbar has no room for its reply.
    Reply,
}

impl fmt::Display for SliceStall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SliceStall::Mshr => "an MSHR",
            SliceStall::Merge => "a sector with too many waiting requests",
            SliceStall::Set => "a line of its set",
            SliceStall::Dram => "room on the way to DRAM",
            SliceStall::Reply => "room for its reply",
        })
    }
}

/// A request in flight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// Reply that it awaits.
    pub reply: MemoryReply,
    /// Location of the request or its reply.
    pub place: Place,
}

/// Location of a request or its reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In the SM, without a translation.
    Translation,
    /// In the SM's queue to the crossbar.
    Outgoing {
        /// Requests ahead of it.
        before: usize,
        /// Credits of the SM.
        credits: u32,
    },
    /// In a page walk.
    PageWalk,
    /// At the crossbar's input, or on the way to it.
    ToSlice {
        /// Input port.
        port: u8,
        /// Output.
        slice: u8,
        /// Credits of the output.
        room: u32,
    },
    /// In the slice's queue.
    SliceQueue {
        /// Slice.
        slice: u32,
        /// Requests ahead of it.
        before: usize,
        /// Stall reason of the queue's first request.
        stall: Option<SliceStall>,
    },
    /// At its slice, waiting for DRAM sectors.
    Sectors {
        /// Slice.
        slice: u32,
        /// Outstanding sectors.
        missing: Vec<MissingSector>,
    },
    /// Reply at the crossbar's input, or on the way to it.
    ToSm {
        /// Input.
        slice: u8,
        /// Output port.
        port: u8,
        /// Credits of the output.
        room: u32,
    },
    /// Reply in the SM's inbox.
    Inbox,
}

/// A sector that a slice expects from DRAM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingSector {
    /// Sector of the line.
    pub sector: u8,
    /// Location of the read.
    pub read: SectorRead,
}

/// Location of a sector's read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SectorRead {
    /// In the slice, because the channel's queue is full.
    MissQueue {
        /// Accesses of the slice ahead of it.
        before: usize,
    },
    /// In the channel, or lost.
    Channel {
        /// Channel.
        channel: ChannelName,
        /// Bank queue, if found.
        bank: Option<BankQueue>,
    },
    /// Read and on the way back.
    Coming {
        /// L2 cycle of the arrival at the slice.
        cycle: u64,
    },
}

/// A DRAM channel, or a part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelName {
    /// Channel.
    pub number: u32,
    /// Pseudo-channel, if there are several.
    pub part: Option<u32>,
}

impl fmt::Display for ChannelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "channel {}", self.number)?;
        self.part.map_or(Ok(()), |part| write!(f, ", part {part}"))
    }
}

/// State of an access's bank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BankQueue {
    /// Bank.
    pub bank: u8,
    /// Row of the access.
    pub row: u64,
    /// Accesses of the bank ahead of it.
    pub before: usize,
    /// Open row.
    pub open: Option<u64>,
    /// True if the bank must refresh first.
    pub refreshes: bool,
    /// True if the channel serves writes first.
    pub writes_first: bool,
}

/// A bank with waiting accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitingBank {
    /// Bank.
    pub bank: u8,
    /// Waiting reads and writes.
    pub queued: [usize; 2],
    /// Row of the oldest one.
    pub row: u64,
    /// Open row.
    pub open: Option<u64>,
    /// True if the bank must refresh first.
    pub refreshes: bool,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let full = |room: &u32| if *room == 0 { ", whose buffer is full" } else { "" };
        match self {
            Place::Translation => write!(f, "waits for its translation"),
            Place::Outgoing { before, credits } => {
                write!(f, "queued in the SM after {before} requests; {credits} may leave")
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
                write!(f, "reply in the crossbar from slice {slice} to port {port}{}", full(room))
            }
            Place::Inbox => write!(f, "reply at the SM"),
        }
    }
}

impl fmt::Display for SectorRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SectorRead::MissQueue { before } => {
                write!(f, "waits for room in the channel after {before} accesses of the slice")
            }
            SectorRead::Channel { channel, bank: None } => write!(f, "requested from {channel}"),
            SectorRead::Channel { channel, bank: Some(queue) } => {
                let BankQueue { bank, row, before, open, refreshes, writes_first } = queue;
                write!(f, "at {channel}, bank {bank} for row {row} after {before} accesses (")?;
                write_open(f, *open, *refreshes)?;
                f.write_str(if *writes_first { ", writes are served first)" } else { ")" })
            }
            SectorRead::Coming { cycle } => write!(f, "arrives at L2 cycle {cycle}"),
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
