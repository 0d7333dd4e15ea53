//! Wait chains for hang reports: from a warp through its instruction in flight to the awaited
//! lines.

use std::fmt;

use warp_stream::{MemorySpace, OperationClass};

use super::memory::l1::Stall;
use super::memory::{self, AwaitedLine, Holder, Request};
use super::program::{Named, Program};
use super::warp::{Status, Warp};
use super::{InFlight, Sm};
use crate::message::LINE_BYTES;

/// Wait reason of a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// None; the warp could issue.
    Nothing,
    /// A register with a pending write.
    Register(u16),
    /// A predicate with a pending write.
    Predicate(u16),
    /// A reply from memory.
    Memory {
        /// Memory space.
        space: MemorySpace,
        /// Reason of an L1 stall, if any.
        stall: Option<Stall>,
    },
    /// Accesses in flight, before a fence or the warp's end.
    Accesses(u32),
    /// Instruction fetch.
    Fetch,
    /// Other warps, or the effect of an atomic operation.
    Barrier,
    /// Sleeps until a given time.
    Sleep,
    /// Start of the CTA.
    Start,
}

/// A running warp.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingWarp {
    /// Launch index.
    pub launch: u32,
    /// Number of the CTA in its grid.
    pub cta: u64,
    /// Warp within the CTA.
    pub warp: u32,
    /// PTX line of the next instruction; 0 if unknown.
    pub line: u32,
    /// Wait reason.
    pub reason: Reason,
    /// Instructions in flight that the warp waits for.
    pub accesses: Vec<WaitingAccess>,
}

/// An instruction in flight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingAccess {
    /// Operation class.
    pub class: OperationClass,
    /// PTX line; 0 if unknown.
    pub line: u32,
    /// Progress of the instruction.
    pub stage: Stage,
}

/// Progress of an instruction in flight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// Queued for the memory pipeline behind this many instructions of its sub-core.
    Dispatch(usize),
    /// Waits for these lines.
    Lines(Vec<AwaitedLine>),
    /// Waits for write-back.
    WriteBack,
}

impl fmt::Display for WaitingWarp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WaitingWarp { launch, cta, warp, line, reason, .. } = self;
        write!(f, "launch {launch}, CTA {cta}, warp {warp}, line {line}: ")?;
        match reason {
            Reason::Nothing => write!(f, "could issue"),
            Reason::Register(number) => write!(f, "waits for register {number}"),
            Reason::Predicate(number) => write!(f, "waits for predicate {number}"),
            Reason::Memory { space, stall } => {
                write!(f, "waits for {space:?} memory")?;
                stall.map_or(Ok(()), |stall| write!(f, ", L1 stalls: {stall:?}"))
            }
            Reason::Accesses(count) => write!(f, "waits for {count} accesses"),
            Reason::Fetch => write!(f, "waits for instructions"),
            Reason::Barrier => write!(f, "waits for other warps"),
            Reason::Sleep => write!(f, "sleeps"),
            Reason::Start => write!(f, "is starting"),
        }
    }
}

impl fmt::Display for WaitingAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of line {}", self.class, self.line)?;
        match &self.stage {
            Stage::Dispatch(before) => write!(f, ": in the sub-core's queue behind {before} others"),
            Stage::Lines(_) => Ok(()),
            Stage::WriteBack => write!(f, ": result waits for write-back"),
        }
    }
}

impl Sm {
    pub(super) fn waiting_warps(&self) -> Vec<WaitingWarp> {
        let accesses = self.memory.waiting();
        let present = self.state.ctas.iter().zip(&self.programs).filter(|(cta, _)| cta.present);
        let mut warps = Vec::new();
        for (cta, program) in present {
            let Some(program) = program else { continue };
            for slot in cta.slots() {
                let warp = &self.state.warps[slot];
                if warp.status == Status::Absent && warp.accesses == 0 {
                    continue;
                }
                let decoded = program.instructions().get(warp.buffer.from as usize);
                warps.push(WaitingWarp {
                    launch: cta.launch,
                    cta: cta.number,
                    warp: u32::from(warp.number),
                    line: decoded.map_or(0, |decoded| decoded.line),
                    reason: self.reason(program, slot, &accesses),
                    accesses: self.awaited(program, slot, &accesses),
                });
            }
        }
        warps
    }

    /// The register or predicate that the warp's next instruction waits for.
    fn missing(&self, program: &Program, warp: &Warp) -> Option<u16> {
        let decoded = program.instructions().get(warp.buffer.from as usize)?;
        warp.scoreboard.first_missing(program.needs(decoded), self.state.now)
    }

    fn reason(&self, program: &Program, slot: usize, accesses: &[memory::Waiting]) -> Reason {
        let warp = &self.state.warps[slot];
        let oldest = accesses.iter().find(|access| usize::from(access.warp) == slot);
        let memory = oldest.map(|access| Reason::Memory { space: access.space, stall: access.stall });
        let register = self.missing(program, warp).map(|number| match program.named(number) {
            Named::Predicate(predicate) => Reason::Predicate(predicate),
            Named::Register(number) => Reason::Register(number),
        });
        match warp.status {
            Status::Absent => Reason::Accesses(warp.accesses),
            Status::Ready => Reason::Nothing,
            Status::Scoreboard => register.unwrap_or(Reason::Nothing),
            Status::Memory => memory.or(register).unwrap_or(Reason::Accesses(warp.accesses)),
            Status::Fetch => Reason::Fetch,
            Status::Barrier => Reason::Barrier,
            Status::Sleep => Reason::Sleep,
            Status::Start => Reason::Start,
        }
    }

    /// Instructions in flight that a warp waits for: those that write the missing register,
    /// otherwise all. For a warp waiting for others, the deferred instructions.
    fn awaited(&self, program: &Program, slot: usize, accesses: &[memory::Waiting]) -> Vec<WaitingAccess> {
        let warp = &self.state.warps[slot];
        match warp.status {
            Status::Absent | Status::Memory | Status::Barrier => {}
            Status::Fetch => return self.fetched(program, warp).into_iter().collect(),
            _ => return Vec::new(),
        }
        let missing = self.missing(program, warp).map(|number| program.named(number));
        let writes = |position: u32| {
            let decoded = &program.instructions()[position as usize];
            let mut results = program.results(decoded).iter();
            missing.is_none_or(|missing| results.any(|result| program.named(*result) == missing))
        };
        let own = self.state.ctas[usize::from(warp.cta)].stores;
        let mut awaited = Vec::new();
        for number in self.state.in_flight.numbers() {
            let InFlight { slot: of, position, deferred, stores, .. } = self.state.in_flight[number];
            // An ended CTA may have stores in flight.
            let is_own = usize::from(of) == slot && stores.is_none_or(|stores| stores == own);
            let counts = if warp.status == Status::Barrier { deferred.is_some() } else { writes(position) };
            if !is_own || !counts {
                continue;
            }
            let decoded = &program.instructions()[position as usize];
            let stage = self.stage(slot, number, accesses);
            awaited.push(WaitingAccess { class: decoded.class, line: decoded.line, stage });
        }
        awaited
    }

    /// Progress of a warp's instruction.
    fn stage(&self, slot: usize, number: u32, accesses: &[memory::Waiting]) -> Stage {
        if let Some(access) = accesses.iter().find(|access| access.instruction == number) {
            return Stage::Lines(access.lines.clone());
        }
        let queue = &self.state.sub_cores[slot % memory::SUB_CORES].queue;
        let before = queue.iter().position(|(_, instruction)| *instruction == number);
        before.map_or(Stage::WriteBack, Stage::Dispatch)
    }

    /// The line of a warp's next instruction.
    fn fetched(&self, program: &Program, warp: &Warp) -> Option<WaitingAccess> {
        let decoded = program.instructions().get(warp.buffer.from as usize)?;
        let address = program.address(warp.buffer.from);
        let line = address - address % LINE_BYTES;
        let request = Some(Request::InstructionLine(line));
        let awaited = AwaitedLine { address: Some(line), holder: Holder::Instructions, request };
        Some(WaitingAccess { class: decoded.class, line: decoded.line, stage: Stage::Lines(vec![awaited]) })
    }

    /// Locations of the requests within the memory unit.
    pub fn locate(&self) -> Vec<crate::hang_report::Located> {
        self.memory.locate()
    }
}
