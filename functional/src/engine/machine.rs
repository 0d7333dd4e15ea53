//! A program's machine side: which machine instruction each op belongs to, and what a timing model is told of it.
//!
//! The ops of such a program lie in the order of the machine instructions, each of which has at least one op, so that a
//! program counter is a place in the machine code. Ops that meet lanes belong to none.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use warp_stream::MachineCode;

use super::probe::SiteAddress;

/// Where an op stands in the machine code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpPlace(u32);

impl OpPlace {
    /// Between two machine instructions.
    pub(crate) const BETWEEN: OpPlace = OpPlace(u32::MAX << 1);

    /// In the machine instruction at this position.
    pub(crate) fn within(position: u32) -> OpPlace {
        OpPlace(position << 1)
    }

    /// The same place, as the first op of its machine instruction.
    pub(crate) fn as_first(self) -> OpPlace {
        OpPlace(self.0 | 1)
    }

    /// Is it the first op of its machine instruction?
    #[inline(always)]
    pub(crate) fn is_first(self) -> bool {
        self.0 & 1 != 0
    }

    /// The machine instruction's position.
    #[inline(always)]
    pub(crate) fn position(self) -> u32 {
        self.0 >> 1
    }
}

/// Where the addresses of an access stand.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Addresses {
    /// In a row.
    Row(SiteAddress),
    /// In a row, of the first of several accesses that the machine instruction makes in one, which begins at the multiple of its
    /// width before that.
    Within(SiteAddress),
    /// A tile of a matrix: that of this number of the program, at the address in a row.
    Tile { site: SiteAddress, tile: u32 },
    /// At an offset of the kernel's parameters, for all lanes.
    Parameter(u32),
}

/// How an op is put off: its operands are kept, and it is executed on them later. An address is always one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deferral {
    /// In shared memory too; otherwise only in global memory.
    pub(crate) in_shared: bool,
    /// Values read, of operands `b` and `c`.
    pub(crate) sources: u8,
    /// Values written, of operands `d`, `b`, `c` and `e`.
    pub(crate) results: u8,
    /// Values are double words.
    pub(crate) wide: bool,
}

/// An op's plain access to memory that other SMs reach, with addresses of double words in its row `a`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpAccess {
    pub(crate) kind: AccessKind,
    /// The address decides the memory.
    pub(crate) is_generic: bool,
    /// Bytes of an element.
    pub(crate) element: u8,
    /// Bytes of a lane's access.
    pub(crate) width: u8,
}

/// Which way an access goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccessKind {
    /// There is no access.
    None,
    /// From memory.
    Load,
    /// To memory.
    Store,
}

impl OpAccess {
    /// Of an op that accesses nothing that other SMs reach.
    pub(crate) const NONE: OpAccess =
        OpAccess { kind: AccessKind::None, is_generic: false, element: 0, width: 0 };
}

/// What a model is told of a machine instruction beside its lanes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Told {
    /// The addresses of an access.
    Access(Addresses, Option<Deferral>),
    /// The addresses of texels, which the op has noted.
    Texels,
    /// A time to rest, nanoseconds, in a row of words.
    Sleep(u32),
}

/// What a model is told when warps come to an op.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Note {
    /// The op; what it is told of stands in rows before it.
    pub(crate) op: u32,
    pub(crate) told: Told,
}

/// Where machine code lies in memory: apart from what a host gives as device memory.
const CODE_START: u64 = 1 << 45;

/// Programs begin at multiples of so many bytes.
const PROGRAM_ALIGNMENT: u64 = 4096;

/// Bytes of machine code that programs have a place for so far.
static CODE_BYTES: AtomicU64 = AtomicU64::new(0);

/// The place of a program's machine code in memory, once it has one: from the first time that the host launches it. What kernels
/// launch has none until then, as those launches are not executed again in a run that goes on from a checkpoint, in which all other
/// code has to lie where it lay.
#[derive(Debug)]
pub(crate) struct CodePlace {
    bytes: u64,
    address: OnceLock<u64>,
}

impl CodePlace {
    /// For so many bytes.
    pub(crate) fn of(bytes: u64) -> CodePlace {
        CodePlace { bytes: bytes.next_multiple_of(PROGRAM_ALIGNMENT), address: OnceLock::new() }
    }
}

/// The machine side of a program.
#[derive(Debug)]
pub struct Machine {
    /// The machine instructions of all functions, the kernel's first.
    pub code: Arc<MachineCode>,
    pub(crate) place: CodePlace,
    /// By op.
    pub(crate) places: Vec<OpPlace>,
    /// By op.
    pub(crate) accesses: Vec<OpAccess>,
    /// Some op changes memory, or takes what other SMs give up, in another way than by `accesses` and deferred ops.
    pub(crate) needs_sm_order: bool,
    /// By machine instruction: an index into `notes`, or [`Machine::NOTHING`].
    pub(crate) note_of: Vec<u32>,
    pub(crate) notes: Vec<Note>,
    /// By machine instruction.
    pub(crate) needs: Vec<Needs>,
    /// By machine instruction, and at the end: where its rows begin in `touched`.
    pub(crate) touched_from: Vec<u32>,
    /// Rows of the registers that the instructions read or write which take effect with a machine instruction.
    pub(crate) touched: Vec<u32>,
}

/// What a machine instruction needs, and so whether it can be executed early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Needs {
    /// Its warp's registers, which are all that it changes.
    Registers,
    /// Memory as well, in no order with what others do there.
    Memory,
    /// Its time, or that of others.
    #[default]
    Time,
}

impl Machine {
    /// Positions from which on all is taken to need its time.
    pub(crate) const EARLY_POSITIONS: u32 = 1 << 25;

    /// No note.
    pub(crate) const NOTHING: u32 = u32::MAX;

    /// Where the code lies in memory, bytes; no two programs have the same. It is given a place if it has none.
    pub fn code_address(&self) -> u64 {
        let CodePlace { bytes, address } = &self.place;
        *address.get_or_init(|| CODE_START + CODE_BYTES.fetch_add(*bytes, Ordering::Relaxed))
    }

    /// Gives the code a place in memory; `false` if it has one.
    pub(crate) fn take_place(&self) -> bool {
        let is_new = self.place.address.get().is_none();
        self.code_address();
        is_new
    }

    /// What is told of the machine instruction at this position.
    #[inline(always)]
    pub(crate) fn note(&self, position: u32) -> Option<&Note> {
        self.notes.get(*self.note_of.get(position as usize)? as usize)
    }

    /// What the machine instruction at this position needs.
    #[inline(always)]
    pub(crate) fn needs(&self, position: u32) -> Needs {
        self.needs.get(position as usize).copied().unwrap_or_default()
    }

    /// The plain access of an op.
    #[inline(always)]
    pub(crate) fn access(&self, op: u32) -> OpAccess {
        self.accesses.get(op as usize).copied().unwrap_or(OpAccess::NONE)
    }

    /// The rows of the frame that the machine instruction at this position reads or writes, predicates aside.
    pub(crate) fn touched(&self, position: u32) -> &[u32] {
        let from = |position: u32| self.touched_from.get(position as usize).map(|&from| from as usize);
        let range = from(position).zip(from(position + 1));
        range.and_then(|(from, to)| self.touched.get(from..to)).unwrap_or_default()
    }
}
