//! Machine code of a program: the machine instruction of each op, and the information for a timing model.
//!
//! Ops are stored in machine-code order. Each machine instruction has at least one op, so a program
//! counter is a position in the machine code. Reconvergence ops belong to no machine instruction.

use std::sync::{Arc, OnceLock};

use warp_stream::MachineCode;

use super::probe::SiteAddress;
use crate::memory::Memory;

/// Position of an op in the machine code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpPlace(u32);

impl OpPlace {
    /// Between two machine instructions.
    pub(crate) const BETWEEN: OpPlace = OpPlace(u32::MAX << 1);

    /// Inside the machine instruction at `position`.
    pub(crate) fn within(position: u32) -> OpPlace {
        OpPlace(position << 1)
    }

    /// This position, marked as the first op of its machine instruction.
    pub(crate) fn as_first(self) -> OpPlace {
        OpPlace(self.0 | 1)
    }

    /// True for the first op of a machine instruction.
    #[inline(always)]
    pub(crate) fn is_first(self) -> bool {
        self.0 & 1 != 0
    }

    /// Position of the machine instruction.
    #[inline(always)]
    pub(crate) fn position(self) -> u32 {
        self.0 >> 1
    }
}

/// Source of an access's addresses.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Addresses {
    /// A row.
    Row(SiteAddress),
    /// A row with addresses of one of several accesses that the machine instruction merges. The merged
    /// access starts at the preceding multiple of its width.
    Within(SiteAddress),
    /// A matrix tile: its number in the program, and the row with its address.
    Tile { site: SiteAddress, tile: u32 },
    /// An offset in the kernel's parameters, equal for all lanes.
    Parameter(u32),
}

/// Deferral of an op: its operands are saved, and the op runs on them later. The address is always saved.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deferral {
    /// True if accesses to shared memory are deferred too, not only to global memory.
    pub(crate) in_shared: bool,
    /// Number of source values, in operands `b` and `c`.
    pub(crate) sources: u8,
    /// Number of result values, in operands `d`, `b`, `c` and `e`.
    pub(crate) results: u8,
    /// True for 64-bit values.
    pub(crate) wide: bool,
}

/// Plain access of an op to memory shared between SMs, with 64-bit addresses in row `a`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpAccess {
    pub(crate) kind: AccessKind,
    /// True if the address selects the memory space.
    pub(crate) is_generic: bool,
    /// Bytes per element.
    pub(crate) element: u8,
    /// Bytes per lane.
    pub(crate) width: u8,
}

/// Direction of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccessKind {
    /// No access.
    None,
    /// Read.
    Load,
    /// Write.
    Store,
}

impl OpAccess {
    /// No access to memory shared between SMs.
    pub(crate) const NONE: OpAccess =
        OpAccess { kind: AccessKind::None, is_generic: false, element: 0, width: 0 };
}

/// Information for a timing model about a machine instruction, besides the lanes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ModelInput {
    /// Addresses of an access, and its deferral.
    Access(Addresses, Option<Deferral>),
    /// Addresses of texels, recorded by the op.
    Texels,
    /// Sleep time in nanoseconds, in a 32-bit row.
    Sleep(u32),
}

/// A note: information for a timing model at one op.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Note {
    /// The op; earlier ops fill the rows of the note.
    pub(crate) op: u32,
    pub(crate) told: ModelInput,
}

/// Alignment of programs in bytes.
const PROGRAM_ALIGNMENT: u64 = 4096;

/// Address of a program's machine code, allocated at the host's first launch. Kernels launched by kernels
/// get no address on their own. Such launches are not repeated after a resumption, yet all other code must
/// keep its address.
#[derive(Debug)]
pub(crate) struct CodePlace {
    bytes: u64,
    address: OnceLock<u64>,
}

impl CodePlace {
    /// Reserves nothing yet for `bytes` bytes.
    pub(crate) fn of(bytes: u64) -> CodePlace {
        CodePlace { bytes: bytes.next_multiple_of(PROGRAM_ALIGNMENT), address: OnceLock::new() }
    }
}

/// Machine code of a program.
#[derive(Debug)]
pub struct Machine {
    /// Machine instructions of all functions, the kernel's first.
    pub code: Arc<MachineCode>,
    pub(crate) place: CodePlace,
    /// Position of each op.
    pub(crate) places: Vec<OpPlace>,
    /// Plain access of each op.
    pub(crate) accesses: Vec<OpAccess>,
    /// True if an op changes memory, or takes resources that other SMs release, outside of `accesses` and
    /// deferred ops.
    pub(crate) needs_sm_order: bool,
    /// For each machine instruction, an index into `notes`, or [`Machine::NOTHING`].
    pub(crate) note_of: Vec<u32>,
    pub(crate) notes: Vec<Note>,
    /// Dependence of each machine instruction.
    pub(crate) needs: Vec<Needs>,
    /// Start of each machine instruction's rows in `touched`, and the end.
    pub(crate) touched_from: Vec<u32>,
    /// Rows of registers that machine instructions read or write.
    pub(crate) touched: Vec<u32>,
}

/// Dependence of a machine instruction, which decides whether the instruction can run ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Needs {
    /// Only the warp's registers, which are all that it changes.
    Registers,
    /// Memory too, without ordering against other warps.
    Memory,
    /// Time or other warps.
    #[default]
    Time,
}

impl Machine {
    /// Code positions that can run ahead; later ones count as [`Needs::Time`].
    pub(crate) const EARLY_POSITIONS: u32 = 1 << 25;

    /// Index for no note.
    pub(crate) const NOTHING: u32 = u32::MAX;

    /// Device address of the code, allocated on demand. Programs of a device have disjoint addresses.
    pub fn code_address(&self, memory: &Memory) -> u64 {
        let CodePlace { bytes, address } = &self.place;
        *address.get_or_init(|| memory.place_code(*bytes))
    }

    /// Allocates the code's address; returns `false` if there is one.
    pub(crate) fn take_place(&self, memory: &Memory) -> bool {
        let is_new = self.place.address.get().is_none();
        self.code_address(memory);
        is_new
    }

    /// Note of the machine instruction at `position`.
    #[inline(always)]
    pub(crate) fn note(&self, position: u32) -> Option<&Note> {
        self.notes.get(*self.note_of.get(position as usize)? as usize)
    }

    /// Dependence of the machine instruction at `position`.
    #[inline(always)]
    pub(crate) fn needs(&self, position: u32) -> Needs {
        self.needs.get(position as usize).copied().unwrap_or_default()
    }

    /// Plain access of op `op`.
    #[inline(always)]
    pub(crate) fn access(&self, op: u32) -> OpAccess {
        self.accesses.get(op as usize).copied().unwrap_or(OpAccess::NONE)
    }

    /// Frame rows that the machine instruction at `position` reads or writes, except predicates.
    pub(crate) fn touched(&self, position: u32) -> &[u32] {
        let from = |position: u32| self.touched_from.get(position as usize).map(|&from| from as usize);
        let range = from(position).zip(from(position + 1));
        range.and_then(|(from, to)| self.touched.get(from..to)).unwrap_or_default()
    }
}
