//! Saved state of deferred ops. Ops and widths come from the program.

use serde::{Deserialize, Serialize};
use warp_stream::{MemorySpace, WarpSlot};

use super::{Deferred, Pending, ROWS};
use crate::engine::frame::Row;
use crate::engine::lane::WARP;
use crate::engine::machine::{Addresses, Deferral, ModelInput};
use crate::engine::program::Program;

/// Saved state of a deferred op.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SavedPending {
    pc: u32,
    lanes: u32,
    /// Words of the saved rows.
    rows: Vec<u32>,
    /// Frame, and the function that it belongs to.
    frame: (u32, u32),
    /// CTA slot and warp.
    owner: (u32, u32),
    space: MemorySpace,
    addresses: [u64; WARP],
    done: bool,
}

/// Saved deferred ops of an SM's warps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedDeferred {
    /// Deferred op of each number; `None` for free numbers.
    pending: Vec<Option<SavedPending>>,
    /// Free numbers; the last one is used next.
    free: Vec<u32>,
}

/// Deferral of the op at `pc`, and the position of its machine instruction.
fn deferral_at(program: &Program, pc: u32) -> Option<(Deferral, u32)> {
    let machine = program.machine.as_ref()?;
    let position = machine.places.get(pc as usize)?.position();
    let note = machine.note(position).filter(|note| note.op == pc)?;
    match note.told {
        ModelInput::Access(Addresses::Row(_), Some(deferral)) => Some((deferral, position)),
        _ => None,
    }
}

impl SavedPending {
    /// Checks the op against the program, to whose code it must belong.
    fn check(&self, program: &Program) -> Result<(), &'static str> {
        if deferral_at(program, self.pc).is_none() {
            return Err("a deferred op that cannot be deferred");
        }
        let function = program.functions.get(self.frame.1 as usize);
        if !function.is_some_and(|function| (function.entry..function.end).contains(&self.pc)) {
            return Err("a deferred op outside of its function");
        }
        if self.rows.len() != ROWS * WARP {
            return Err("a deferred op with wrong operands");
        }
        Ok(())
    }

    /// Restores the op of a checked program; `None` if the program does not fit.
    fn restore(&self, program: &Program) -> Option<Pending> {
        let (deferral, position) = deferral_at(program, self.pc)?;
        let instruction = program.machine.as_ref()?.code.instructions.get(position as usize)?;
        let (cta, warp) = self.owner;
        let mut pending = Pending {
            pc: self.pc,
            lanes: self.lanes,
            deferral,
            frame: self.frame,
            owner: WarpSlot { cta, warp },
            destination: instruction.destination,
            space: self.space,
            addresses: self.addresses,
            width: instruction.memory?.width,
            done: self.done,
            live: true,
            ..Pending::empty(program.code[self.pc as usize])
        };
        for (row, words) in pending.rows.iter_mut().zip(self.rows.chunks_exact(WARP)) {
            *row = Row(std::array::from_fn(|lane| words[lane]));
        }
        pending.extent = pending.reached().extent();
        pending.name_kept_rows();
        Some(pending)
    }
}

impl SavedDeferred {
    /// Checks that `of_warp`, the numbers of a warp's deferred ops, are distinct and belong to the warp.
    pub(crate) fn check_warp(&self, owner: WarpSlot, of_warp: &[u32]) -> Result<(), &'static str> {
        let owner = (owner.cta, owner.warp);
        let is_own = |number: &u32| {
            let pending = self.pending.get(*number as usize).and_then(Option::as_ref);
            pending.is_some_and(|pending| pending.owner == owner)
        };
        let differ = of_warp.iter().enumerate().all(|(at, number)| !of_warp[..at].contains(number));
        if differ && of_warp.iter().all(is_own) {
            Ok(())
        } else {
            Err("a warp with deferred ops of another warp")
        }
    }

    /// Checks all ops against the program. `in_warps` is the number of ops that warps refer to.
    pub(crate) fn check(&self, program: &Program, in_warps: usize) -> Result<(), &'static str> {
        self.pending.iter().flatten().try_for_each(|pending| pending.check(program))?;
        let mut free = self.free.clone();
        free.sort_unstable();
        let unused = (0..).zip(&self.pending).filter(|(_, pending)| pending.is_none());
        if !unused.map(|(number, _): (u32, _)| number).eq(free) {
            return Err("inconsistent numbers of deferred ops");
        }
        let in_use = self.pending.len() - self.free.len();
        if in_use == in_warps { Ok(()) } else { Err("a deferred op without a warp") }
    }
}

impl Deferred {
    /// Saves all deferred ops.
    pub(crate) fn save(&self) -> SavedDeferred {
        let save = |pending: &Pending| SavedPending {
            pc: pending.pc,
            lanes: pending.lanes,
            rows: pending.rows.iter().flat_map(|row| row.0).collect(),
            frame: pending.frame,
            owner: (pending.owner.cta, pending.owner.warp),
            space: pending.space,
            addresses: pending.addresses,
            done: pending.done,
        };
        SavedDeferred {
            pending: self.pending.iter().map(|pending| pending.live.then(|| save(pending))).collect(),
            free: self.free.clone(),
        }
    }

    /// Restores deferred ops from checked data.
    pub(crate) fn restore(saved: &SavedDeferred, program: &Program) -> Deferred {
        let restore = |saved: &Option<SavedPending>| {
            let pending = saved.as_ref().and_then(|saved| saved.restore(program));
            pending.unwrap_or_else(|| Pending::empty(program.code[0]))
        };
        Deferred { pending: saved.pending.iter().map(restore).collect(), free: saved.free.clone() }
    }
}
