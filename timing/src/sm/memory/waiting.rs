//! Accesses in flight in an SM's memory unit and the lines they wait for, for hang reports.

use std::fmt;

use warp_stream::{AccessKind, MemorySpace};

use super::access::{NOT_ACCEPTED, Structure};
use super::l1::{AwaitedEntry, Stall};
use super::{FILL, MemoryUnit, NONE};
use crate::hang_report::{Located, Place};

/// An instruction in flight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Number of the instruction in the SM core.
    pub instruction: u32,
    /// Issuing sub-core.
    pub sub_core: u8,
    /// Warp slot of the SM.
    pub warp: u8,
    /// Memory space.
    pub space: MemorySpace,
    /// Kind of access.
    pub kind: AccessKind,
    /// Lines that the structure has not accepted.
    pub not_taken: u16,
    /// Lines without a reply.
    pub unanswered: u16,
    /// Reason of an L1 stall, if any.
    pub stall: Option<Stall>,
    /// Awaited lines, as far as known.
    pub lines: Vec<AwaitedLine>,
}

/// A line that an instruction waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AwaitedLine {
    /// Line address, if known.
    pub address: Option<u64>,
    /// Current location of the line.
    pub holder: Holder,
    /// Request for the line, if any.
    pub request: Option<Request>,
}

/// Location of an awaited line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// The memory pipeline: the structure has not accepted it.
    Pipeline {
        /// Reason of an L1 stall, if any.
        stall: Option<Stall>,
    },
    /// An entry of L1's table.
    Table {
        /// Mask of outstanding sectors.
        pending: u8,
        /// Number of waiting accesses.
        waiters: u32,
    },
    /// In the constant cache.
    Constants,
    /// In the instruction caches.
    Instructions,
    /// Outside the SM: L2 answers.
    Beyond,
}

/// Identification of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// Tag of the request.
    Tag(u32),
    /// Line of the instruction cache.
    InstructionLine(u64),
}

impl fmt::Display for AwaitedLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(address) = self.address {
            write!(f, "line {address:#x} ")?;
        }
        match self.holder {
            Holder::Pipeline { stall: None } => write!(f, "in the memory pipeline"),
            Holder::Pipeline { stall: Some(stall) } => {
                let cause = match stall {
                    Stall::Line => "a line of its set",
                    Stall::Miss => "an MSHR",
                    Stall::Merge => "a line with its maximum of waiting accesses",
                    Stall::Queue => "space in the queue out of the SM",
                };
                write!(f, "in the memory pipeline, L1 waits for {cause}")
            }
            Holder::Table { pending, waiters } => {
                write!(f, "in L1's table, sectors {pending:04b} outstanding, {waiters} accesses waiting")
            }
            Holder::Constants => write!(f, "of constants"),
            Holder::Instructions => write!(f, "of instructions"),
            Holder::Beyond => write!(f, "requested from L2"),
        }
    }
}

impl MemoryUnit {
    /// Accesses in flight with complete operands, in instruction order of the sub-cores.
    pub fn waiting(&self) -> Vec<Waiting> {
        let numbers = self.state.accesses.numbers().into_iter();
        let accepted = numbers.filter(|number| self.state.accesses[*number].start != NOT_ACCEPTED);
        let waiting = accepted.map(|number| {
            let access = &self.state.accesses[number];
            let not_taken = access.total - access.taken;
            let at_l1 = access.structure == Structure::L1 && not_taken > 0;
            let stall = self.state.stalled.map(|(stall, _)| stall).filter(|_| at_l1);
            Waiting {
                instruction: access.instruction,
                sub_core: access.sub_core,
                warp: access.warp,
                space: access.operation.space,
                kind: access.operation.kind,
                not_taken,
                unanswered: access.unanswered,
                stall,
                lines: self.lines(number, stall),
            }
        });
        waiting.collect()
    }

    /// The lines that an access waits for.
    fn lines(&self, number: u32, stall: Option<Stall>) -> Vec<AwaitedLine> {
        let mut lines = Vec::new();
        let mut next = self.state.accesses[number].first;
        while next != NONE {
            let line = &self.state.lines[next];
            let holder = Holder::Pipeline { stall };
            lines.push(AwaitedLine { address: Some(line.address), holder, request: None });
            next = line.next;
        }
        let access = &self.state.accesses[number];
        if lines.is_empty() && access.taken < access.total {
            lines.push(AwaitedLine { address: None, holder: Holder::Pipeline { stall }, request: None });
        }
        let of_table = |awaited: AwaitedEntry| AwaitedLine {
            address: Some(awaited.line),
            holder: Holder::Table { pending: awaited.pending, waiters: awaited.waiters },
            request: Some(Request::Tag(FILL | awaited.entry)),
        };
        lines.extend(self.state.l1.awaited(number).into_iter().map(of_table));
        lines.extend(self.state.constants.awaited(number).map(|line| AwaitedLine {
            address: Some(line),
            holder: Holder::Constants,
            request: Some(Request::InstructionLine(line)),
        }));
        let held = lines.iter().filter(|line| line.request.is_some()).count();
        if usize::from(access.unanswered) > held {
            let request = Some(Request::Tag(number));
            lines.push(AwaitedLine { address: None, holder: Holder::Beyond, request });
        }
        lines
    }

    /// Locations of the requests within the SM.
    pub fn locate(&self) -> Vec<Located> {
        let credits = self.state.credits;
        let untranslated = self.state.tlb.waiting().map(|request| (request, Place::Translation));
        let outgoing = self.state.outgoing.iter().enumerate();
        let outgoing = outgoing.map(|(before, request)| (request, Place::Outgoing { before, credits }));
        let located = untranslated.chain(outgoing);
        located.map(|(request, place)| Located { reply: request.reply(), place }).collect()
    }
}
