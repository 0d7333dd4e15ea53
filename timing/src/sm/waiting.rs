//! Who waits for what, for the watchdog.

use std::fmt;

use warp_stream::MemorySpace;

use super::Sm;
use super::memory::l1::Stall;
use super::program::Named;
use super::warp::Status;

/// What a warp waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Nothing: it could issue.
    Nothing,
    /// A register that an instruction has yet to write.
    Register(u16),
    /// A predicate that an instruction has yet to write.
    Predicate(u16),
    /// An answer from memory.
    Memory {
        /// Which memory.
        space: MemorySpace,
        /// First line that has not been taken.
        line: Option<u64>,
        /// Why L1 takes no line, if it is that.
        stall: Option<Stall>,
    },
    /// Its accesses that are under way: a fence, or its end.
    Accesses(u32),
    /// Instructions.
    Fetch,
    /// Other warps, or the effect of an atomic operation.
    Barrier,
    /// Time to pass.
    Sleep,
    /// The start of its CTA.
    Start,
}

/// A warp that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitingWarp {
    /// Index of its launch's source.
    pub launch: u32,
    /// Number of its CTA in the grid.
    pub cta: u64,
    /// Warp within the CTA.
    pub warp: u32,
    /// Line of the PTX text of its next instruction; 0 where there is none.
    pub line: u32,
    /// What it waits for.
    pub reason: Reason,
}

impl fmt::Display for WaitingWarp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WaitingWarp { launch, cta, warp, line, reason } = self;
        write!(f, "launch {launch}, CTA {cta}, warp {warp}, line {line}: ")?;
        match reason {
            Reason::Nothing => write!(f, "could issue"),
            Reason::Register(number) => write!(f, "waits for register {number}"),
            Reason::Predicate(number) => write!(f, "waits for predicate {number}"),
            Reason::Memory { space, line, stall } => {
                write!(f, "waits for {space:?} memory")?;
                if let Some(line) = line {
                    write!(f, ", line {line:#x}")?;
                }
                stall.map_or(Ok(()), |stall| write!(f, ", L1 stalls: {stall:?}"))
            }
            Reason::Accesses(count) => write!(f, "waits for {count} accesses"),
            Reason::Fetch => write!(f, "waits for instructions"),
            Reason::Barrier => write!(f, "waits for other warps"),
            Reason::Sleep => write!(f, "sleeps"),
            Reason::Start => write!(f, "is being started"),
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
                let ended = warp.status == Status::Absent;
                if ended && warp.accesses == 0 {
                    continue;
                }
                let decoded = program.instructions().get(warp.buffer.from as usize);
                let oldest = accesses.iter().find(|access| usize::from(access.warp) == slot);
                let memory = oldest.map(|access| Reason::Memory {
                    space: access.space,
                    line: access.line,
                    stall: access.stall,
                });
                let missing = decoded.and_then(|decoded| {
                    warp.scoreboard.first_missing(program.needs(decoded), self.state.now)
                });
                let register = missing.map(|number| match program.named(number) {
                    Named::Predicate(predicate) => Reason::Predicate(predicate),
                    Named::Register(number) => Reason::Register(number),
                });
                let reason = match warp.status {
                    Status::Absent => Reason::Accesses(warp.accesses),
                    Status::Ready => Reason::Nothing,
                    Status::Scoreboard => register.unwrap_or(Reason::Nothing),
                    Status::Memory => memory.or(register).unwrap_or(Reason::Accesses(warp.accesses)),
                    Status::Fetch => Reason::Fetch,
                    Status::Barrier => Reason::Barrier,
                    Status::Sleep => Reason::Sleep,
                    Status::Start => Reason::Start,
                };
                warps.push(WaitingWarp {
                    launch: cta.launch,
                    cta: cta.number,
                    warp: u32::from(warp.number),
                    line: decoded.map_or(0, |decoded| decoded.line),
                    reason,
                });
            }
        }
        warps
    }
}
