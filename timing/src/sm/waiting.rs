//! Who waits for what, for the watchdog.

use std::fmt;

use warp_stream::MemorySpace;

use super::memory::l1::Stall;

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
        }
    }
}
