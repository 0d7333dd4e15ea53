//! Compilation of a program: the code of all blocks, for all lanes and for any active lanes.

use std::collections::BTreeSet;

use iced_x86::code_asm::{CodeAssembler, CodeLabel, dword_ptr, eax, qword_ptr, r14d, rax, rbx, rsp};
use iced_x86::{BlockEncoderOptions, IcedError};

use super::access::{self, Space};
use super::emitter::{Emitted, Emitter, Lanes, exit, stack};
use super::facts::Group;
use super::forms::{Form, Forms};
use super::layout;
use super::liveness::{DeadUnits, Units};
use crate::engine::op::{Op, PredicateSource};
use crate::engine::program::Program;

/// Machine code of a program.
pub(super) struct Compiled {
    pub(super) bytes: Vec<u8>,
    /// Bytes from the start to the entry of the code.
    pub(super) entry: usize,
    pub(super) heads: Vec<Head>,
}

/// An op at which compiled code can be entered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub(super) pc: u32,
    /// Bytes from the start to the code for all lanes.
    pub(super) full: usize,
    /// Bytes from the start to the code for any lanes.
    pub(super) any: usize,
}

/// Compiles a program.
pub(super) fn compile(program: &Program) -> Result<Compiled, IcedError> {
    let forms = Forms::all();
    let heads = heads(program, &forms);
    let dead = DeadUnits::of(program);
    let mut a = CodeAssembler::new(64)?;
    let (mut entry, leave, mut pool) = (a.create_label(), a.create_label(), a.create_label());
    let mut full = labels(&mut a, program, &heads);
    let mut any = labels(&mut a, program, &heads);
    a.set_label(&mut entry)?;
    Emitter::new(&mut a, leave, true).entry(pool)?;
    for (is_full, labels) in [(true, &mut full), (false, &mut any)] {
        let mut emitter = Emitter::new(&mut a, leave, is_full);
        Code { program, forms: &forms, dead: &dead, labels }.emit(&mut emitter)?;
        emitter.finish()?;
    }
    Emitter::new(&mut a, leave, true).ending()?;
    a.set_label(&mut pool)?;
    for chunk in access::pool().chunks(8) {
        a.db(chunk)?;
    }
    let options = BlockEncoderOptions::RETURN_NEW_INSTRUCTION_OFFSETS;
    let assembled = a.assemble_options(0, options)?;
    let place = |label: &CodeLabel| -> Result<usize, IcedError> { Ok(assembled.label_ip(label)? as usize) };
    let mut entries = Vec::with_capacity(heads.len());
    for (pc, labels) in (0..).zip(full.iter().zip(&any)) {
        if let (Some(full), Some(any)) = labels {
            entries.push(Head { pc, full: place(full)?, any: place(any)? });
        }
    }
    let entry = place(&entry)?;
    Ok(Compiled { bytes: assembled.inner.code_buffer, entry, heads: entries })
}

/// A label for each head, by op.
fn labels(a: &mut CodeAssembler, program: &Program, heads: &BTreeSet<u32>) -> Vec<Option<CodeLabel>> {
    let ops = 0..program.code.len() as u32;
    ops.map(|pc| heads.contains(&pc).then(|| a.create_label())).collect()
}

/// Ops at which code is entered: entries, targets, and successors of ops that may change the lanes.
fn heads(program: &Program, forms: &Forms) -> BTreeSet<u32> {
    let mut heads: BTreeSet<u32> = program.functions.iter().map(|function| function.entry).collect();
    heads.extend(program.branch_targets.iter().flatten());
    for (pc, op) in (0..).zip(&program.code) {
        match forms.of(op) {
            Some(Form::Branch) => heads.extend([op.immediate as u32, pc + 1]),
            Some(Form::Reconverge) => heads.extend([pc, pc + 1]),
            None => {
                heads.insert(pc + 1);
            }
            Some(_) => {}
        }
    }
    heads.retain(|head| (*head as usize) < program.code.len());
    heads
}

/// A variant of a program's code.
struct Code<'p> {
    program: &'p Program,
    forms: &'p Forms,
    dead: &'p DeadUnits,
    /// A label for each head, by op; the assembler notes its place in it.
    labels: &'p mut [Option<CodeLabel>],
}

impl Code<'_> {
    fn emit(&mut self, e: &mut Emitter<'_>) -> Emitted {
        for (pc, op) in (0..).zip(&self.program.code) {
            if let Some(Some(label)) = self.labels.get_mut(pc as usize) {
                e.begin(label, self.dead.at(pc))?;
            }
            e.pc = pc;
            self.emit_op(e, op)?;
            e.registers.release();
        }
        // Every function ends with an op that does not fall through.
        e.flush()?;
        e.count()?;
        let end = e.side_exit(self.program.code.len() as u32 - 1, exit::DECLINED);
        e.a.jmp(end)
    }

    fn emit_op(&self, e: &mut Emitter<'_>, op: &Op) -> Emitted {
        match self.forms.of(op) {
            Some(Form::Branch) => self.branch(e, op),
            Some(Form::Reconverge) => reconverge(e),
            Some(Form::Nothing) => e.enter_op(op),
            Some(Form::Lanes(emit)) => {
                e.enter_op(op)?;
                emit(e, op)
            }
            Some(Form::Access(access)) => {
                e.enter_op(op)?;
                match e.lanes {
                    Lanes::All => {
                        e.group = self.group(e.pc, op);
                        e.access(op, access)
                    }
                    _ => e.masked_access(op, access, 1),
                }
            }
            Some(Form::Vector(access)) => {
                e.enter_op(op)?;
                e.group = self.group(e.pc, op);
                e.vector_access(op, access, (op.slot >> 16) as usize)
            }
            Some(Form::Update(update)) => {
                e.enter_op(op)?;
                e.update(op, update)
            }
            None => {
                e.enter_op(op)?;
                e.call_op()
            }
        }
    }

    /// Offsets of the block's accesses from op `pc` on that start from the same row, until its next write.
    fn group(&self, pc: u32, op: &Op) -> Group {
        let mut group = Group::EMPTY;
        let Some(kind) = self.kind(op) else { return group };
        let block = self.program.code.iter().zip(self.labels.iter()).enumerate().skip(pc as usize);
        for (_, (later, _)) in block.take_while(|(at, (_, label))| *at == pc as usize || label.is_none()) {
            if later.a == op.a && self.kind(later) == Some(kind) {
                group.add(kind.0.offset(later), kind.1);
            }
            if later.d == op.a {
                break;
            }
        }
        group
    }

    /// Space and bytes of an op's access, and whether it is one of a vector.
    fn kind(&self, op: &Op) -> Option<(Space, u32, bool)> {
        match self.forms.of(op)? {
            Form::Access(access) => Some((access.space, access.element.bytes(), false)),
            Form::Vector(access) => Some((access.space, access.element.bytes() * (op.slot >> 16), true)),
            _ => None,
        }
    }

    /// Units that are dead after a branch, wherever its lanes go.
    fn dead_after(&self, pc: u32, op: &Op) -> Option<Units> {
        let taken = self.dead.at(op.immediate as u32)?;
        if op.guard == PredicateSource::TRUE {
            return Some(taken.clone());
        }
        Some(taken.intersection(self.dead.at(pc + 1)?))
    }

    /// A jump of all active lanes, or of none; other jumps are left to the interpreter.
    fn branch(&self, e: &mut Emitter<'_>, op: &Op) -> Emitted {
        let target = op.immediate as u32;
        let Some(label) = self.labels.get(target as usize).copied().flatten() else {
            e.enter_op(op)?;
            return e.call_op();
        };
        e.flush_live(self.dead_after(e.pc, op).as_ref())?;
        e.count()?;
        let out_of_fuel = e.side_exit(target, exit::OUT_OF_FUEL);
        if op.guard == PredicateSource::TRUE {
            e.a.add(iced_x86::code_asm::r15, 1)?;
            return jump(e, label, out_of_fuel);
        }
        let diverges = e.side_exit(e.pc, exit::DECLINED);
        let mut is_not_taken = e.a.create_label();
        e.read_predicate(op.guard)?;
        e.a.and(eax, r14d)?;
        e.a.je(is_not_taken)?;
        e.a.cmp(eax, r14d)?;
        e.a.jne(diverges)?;
        e.a.add(iced_x86::code_asm::r15, 1)?;
        jump(e, label, out_of_fuel)?;
        e.a.set_label(&mut is_not_taken)?;
        e.a.inc(qword_ptr(rsp + stack::GUARDED))
    }
}

/// Spends fuel and jumps.
fn jump(e: &mut Emitter<'_>, label: CodeLabel, out_of_fuel: CodeLabel) -> Emitted {
    e.a.sub(dword_ptr(rbx + layout::FUEL), 1)?;
    e.a.je(out_of_fuel)?;
    e.a.jmp(label)
}

/// A point at which lanes may wait: without a join they do not.
fn reconverge(e: &mut Emitter<'_>) -> Emitted {
    e.flush()?;
    e.count()?;
    let joins = e.side_exit(e.pc, exit::DECLINED);
    e.a.mov(rax, qword_ptr(rbx + layout::DIVERGENCE))?;
    e.a.cmp(dword_ptr(rax + layout::JOIN), -1)?;
    e.a.jne(joins)
}
