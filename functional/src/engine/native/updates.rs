//! Atomic updates of shared memory, and of global memory that no other thread accesses. The lanes update
//! one after the other in ascending order, after a check of all addresses. Other updates call the op.

use iced_x86::code_asm::{
    AsmRegister32, byte_ptr, dword_ptr, eax, ecx, edi, edx, esi, qword_ptr, r8, r14d, rax, rbx, rdi, rdx,
    rsi, rsp,
};

use super::access::{Access, Element, Space};
use super::emitter::{Emitted, Emitter, Lanes, stack};
use super::layout;
use super::rows::{Unit, Vector};
use crate::engine::op::Op;

/// An atomic update that the emitter knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Update {
    /// Operation.
    pub(crate) kind: UpdateKind,
    /// True for double words, else words.
    pub(crate) wide: bool,
    /// True if the result receives the old value.
    pub(crate) keeps: bool,
}

/// Operation of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UpdateKind {
    /// old + b.
    Add,
    /// old and b.
    And,
    /// old or b.
    Or,
    /// old exclusive-or b.
    Xor,
    /// The smaller of old and b.
    Min,
    /// The smaller of old and b, with signs.
    SignedMin,
    /// The larger of old and b.
    Max,
    /// The larger of old and b, with signs.
    SignedMax,
}

/// Stack slots: distances, operands and old values of all lanes.
const DISTANCES: i32 = stack::SCRATCH;
const OPERANDS: i32 = stack::SCRATCH + 256;
const OLD: i32 = stack::SCRATCH + 512;

impl Emitter<'_> {
    /// Emits an atomic update; the op's field `e` is the space.
    pub(super) fn update(&mut self, op: &Op, update: Update) -> Emitted {
        let Some(space) = space(op.e) else {
            return self.call_op();
        };
        let element = if update.wide { Element::Double } else { Element::Word };
        let access = Access { space, element, stores: true };
        let addresses = self.addresses(op, space)?;
        let operands = self.units(op.b, update.wide)?;
        let scratch = self.scratch(addresses.len())?;
        let mut old = Vec::new();
        for _ in 0..if update.keeps { operands.len() } else { 0 } {
            old.push(self.temporary()?);
        }
        let slow = self.slow_path((0..).zip(&old).map(|(part, old)| (Unit::of(op.d, part), *old)).collect());
        if space == Space::Global {
            self.a.mov(rax, qword_ptr(rbx + layout::GRID))?;
            self.a.cmp(byte_ptr(rax + layout::HAS_ONE_WORKER), 0)?;
            self.a.je(slow)?;
        }
        self.check_lanes(op, access, 1, (&addresses, &scratch), slow)?;
        self.spill(&scratch.distances, DISTANCES)?;
        self.spill(&operands, OPERANDS)?;
        self.update_lanes(space, update)?;
        for (part, &old) in (0..).zip(&old) {
            self.move_stack(old, OLD + part * 64, false)?;
        }
        self.slow_path_ends()?;
        match old[..] {
            [a, b] => self.write(op.d, [a, b]),
            [a, b, c, d] => self.write(op.d, [a, b, c, d]),
            _ => Ok(()),
        }
    }

    /// Units of a row of words or double words.
    fn units(&mut self, row: u32, wide: bool) -> Emitted<Vec<Vector>> {
        Ok(if wide { self.row::<4>(row)?.to_vec() } else { self.row::<2>(row)?.to_vec() })
    }

    fn spill(&mut self, registers: &[Vector], at: i32) -> Emitted {
        (0..).zip(registers).try_for_each(|(part, &register)| self.move_stack(register, at + part * 64, true))
    }

    /// Updates the executing lanes' values at their distances from `r8`.
    fn update_lanes(&mut self, space: Space, update: Update) -> Emitted {
        match self.lanes {
            Lanes::All if update.kind == UpdateKind::Add => {
                return (0..32).try_for_each(|lane| self.update_lane(space, update, Some(lane)));
            }
            Lanes::All => self.a.mov(ecx, -1)?,
            Lanes::Active => self.a.mov(ecx, r14d)?,
            Lanes::Guarded(_) => self.a.mov(ecx, dword_ptr(rsp + stack::MASK))?,
        }
        let (mut next, mut done) = (self.a.create_label(), self.a.create_label());
        self.a.test(ecx, ecx)?;
        self.a.je(done)?;
        self.a.set_label(&mut next)?;
        self.a.tzcnt(edx, ecx)?;
        self.update_lane(space, update, None)?;
        self.a.blsr(ecx, ecx)?;
        self.a.jne(next)?;
        self.a.set_label(&mut done)?;
        self.a.nop()
    }

    /// Updates the value of a lane, by default the one in `edx`.
    fn update_lane(&mut self, space: Space, update: Update, lane: Option<i32>) -> Emitted {
        let at = |slot: i32, bytes: i32| match lane {
            Some(lane) => rsp + (slot + lane * bytes),
            None => rsp + rdx * bytes + slot,
        };
        match space.is_narrow() {
            true => self.a.mov(eax, dword_ptr(at(DISTANCES, 4)))?,
            false => self.a.mov(rax, qword_ptr(at(DISTANCES, 8)))?,
        }
        if update.wide {
            self.a.mov(rsi, qword_ptr(at(OPERANDS, 8)))?;
            if update.kind == UpdateKind::Add && !update.keeps {
                return self.a.add(qword_ptr(r8 + rax), rsi);
            }
            self.a.mov(rdi, qword_ptr(r8 + rax))?;
            if update.keeps {
                self.a.mov(qword_ptr(at(OLD, 8)), rdi)?;
            }
            self.combine_wide(update.kind)?;
            return self.a.mov(qword_ptr(r8 + rax), rdi);
        }
        self.a.mov(esi, dword_ptr(at(OPERANDS, 4)))?;
        if update.kind == UpdateKind::Add && !update.keeps {
            return self.a.add(dword_ptr(r8 + rax), esi);
        }
        self.a.mov(edi, dword_ptr(r8 + rax))?;
        if update.keeps {
            self.a.mov(dword_ptr(at(OLD, 4)), edi)?;
        }
        self.combine(update.kind, edi, esi)?;
        self.a.mov(dword_ptr(r8 + rax), edi)
    }

    fn combine(&mut self, kind: UpdateKind, old: AsmRegister32, b: AsmRegister32) -> Emitted {
        match kind {
            UpdateKind::Add => return self.a.add(old, b),
            UpdateKind::And => return self.a.and(old, b),
            UpdateKind::Or => return self.a.or(old, b),
            UpdateKind::Xor => return self.a.xor(old, b),
            _ => self.a.cmp(b, old)?,
        }
        match kind {
            UpdateKind::Min => self.a.cmovb(old, b),
            UpdateKind::SignedMin => self.a.cmovl(old, b),
            UpdateKind::Max => self.a.cmova(old, b),
            _ => self.a.cmovg(old, b),
        }
    }

    /// `rdi` = the new value of `rdi` with the operand `rsi`.
    fn combine_wide(&mut self, kind: UpdateKind) -> Emitted {
        match kind {
            UpdateKind::Add => return self.a.add(rdi, rsi),
            UpdateKind::And => return self.a.and(rdi, rsi),
            UpdateKind::Or => return self.a.or(rdi, rsi),
            UpdateKind::Xor => return self.a.xor(rdi, rsi),
            _ => self.a.cmp(rsi, rdi)?,
        }
        match kind {
            UpdateKind::Min => self.a.cmovb(rdi, rsi),
            UpdateKind::SignedMin => self.a.cmovl(rdi, rsi),
            UpdateKind::Max => self.a.cmova(rdi, rsi),
            _ => self.a.cmovg(rdi, rsi),
        }
    }
}

/// Space of an atomic op, by its field `e`, for the spaces that have machine code.
fn space(field: u32) -> Option<Space> {
    use crate::ops::atomic::{GENERIC, GLOBAL, SHARED, SHARED_WIDE};
    match field {
        SHARED => Some(Space::Shared),
        SHARED_WIDE => Some(Space::SharedWide),
        GLOBAL | GENERIC => Some(Space::Global),
        _ => None,
    }
}
