//! Groups of accesses: a block's accesses from one row of addresses. They share one recognition of the
//! pattern, and one check of the range of all their offsets.

use iced_x86::code_asm::{CodeLabel, dword_ptr, ecx, edx, qword_ptr, r8, r8d, rax, rbx, rcx, rsp};

use super::access::{Access, HALF, Space};
use super::emitter::{Emitted, Emitter};
use super::facts::{ALL_UNIFORM, Fact, Group, STRIDED, STRIDED_GROUP, Subject, UNIFORM, UNIFORM_GROUP};
use super::layout;
use super::rows::Vector;
use crate::engine::op::Op;

/// Summand of a fact's width for accesses of vectors.
const VECTOR_WIDTH: u32 = 1 << 16;

impl Emitter<'_> {
    /// Loads all lanes of an access that a group's check covers.
    pub(super) fn load_of_group(
        &mut self,
        op: &Op,
        access: Access,
        fact: Fact,
        values: &[Vector],
        apart: CodeLabel,
    ) -> Emitted {
        let (element, offset) = (access.element, access.space.offset(op));
        let per_half = element.units_per_half();
        let (mut is_uniform, mut done) = (self.a.create_label(), self.a.create_label());
        self.branch_unless(fact, STRIDED_GROUP, is_uniform)?;
        for (half, values) in values.chunks(per_half).enumerate() {
            self.a.mov(rax, qword_ptr(rsp + fact.host(half)))?;
            self.load_consecutive_from(element, values, offset)?;
        }
        self.a.jmp(done)?;
        self.a.set_label(&mut is_uniform)?;
        self.branch_unless(fact, UNIFORM_GROUP, apart)?;
        for (half, values) in values.chunks(per_half).enumerate() {
            self.a.mov(rax, qword_ptr(rsp + fact.host(half)))?;
            self.load_one_from(element, values, offset)?;
        }
        self.a.set_label(&mut done)?;
        self.a.nop()
    }

    /// The fact about an op's addresses: the known one, or a new one if a later access will use it.
    pub(super) fn fact(
        &mut self,
        op: &Op,
        access: Access,
        addresses: &[Vector],
    ) -> Emitted<Option<(Fact, Group)>> {
        let Access { space, element, .. } = access;
        let units = addresses.len() as u32;
        let subject = Subject { row: op.a, units, width: element.bytes() };
        if let Some(known) = self.facts.find(subject) {
            return Ok(Some(known));
        }
        let group = self.group;
        if group.count < 2 {
            return Ok(None);
        }
        let fact = self.facts.add(subject, group);
        let patterns = self.patterns(access)?;
        self.a.xor(edx, edx)?;
        for half in 0..2 {
            let lanes = space.lanes(addresses, half);
            self.scalar(space, lanes[0])?;
            self.a.mov(qword_ptr(rsp + fact.address(half)), rax)?;
            self.compare_strided(space, lanes, &patterns)?;
            self.note_if_all(space, STRIDED << half)?;
            self.compare_equal(space, lanes, patterns.base)?;
            self.note_if_all(space, UNIFORM << half)?;
        }
        for (both, bit, bytes) in [
            (STRIDED * 3, STRIDED_GROUP, HALF * element.bytes()),
            (UNIFORM * 3, UNIFORM_GROUP, element.bytes()),
        ] {
            let mut other = self.a.create_label();
            self.a.mov(ecx, edx)?;
            self.a.and(ecx, both)?;
            self.a.cmp(ecx, both)?;
            self.a.jne(other)?;
            for half in 0..2 {
                self.check_group(op, (space, element.bytes()), (fact, half), (group, bytes), other)?;
            }
            self.a.or(edx, bit)?;
            self.a.set_label(&mut other)?;
            self.a.nop()?;
        }
        self.a.mov(dword_ptr(rsp + fact.bits()), edx)?;
        Ok(Some((fact, group)))
    }

    /// Goes to `other` unless a half's first address is aligned to `width`, and `bytes` bytes are accessible
    /// at all offsets of the group from there. Notes the host's address.
    fn check_group(
        &mut self,
        op: &Op,
        (space, width): (Space, u32),
        (fact, half): (Fact, usize),
        (group, bytes): (Group, u32),
        other: CodeLabel,
    ) -> Emitted {
        self.a.mov(rax, qword_ptr(rsp + fact.address(half)))?;
        self.a.mov(rcx, rax)?;
        if width > 1 {
            self.a.test(iced_x86::code_asm::al, (width - 1) as i32)?;
            self.a.jne(other)?;
        }
        self.a.add(rax, group.first as i32)?;
        if space == Space::Global {
            self.a.mov(r8, qword_ptr(rbx + layout::VIEW))?;
            self.a.cmp(rax, qword_ptr(r8 + layout::slot_start(op.slot)))?;
            self.a.jb(other)?;
            self.a.add(rax, (group.last - group.first) as i32 + bytes as i32)?;
            self.a.jb(other)?;
            self.a.cmp(rax, qword_ptr(r8 + layout::slot_end(op.slot)))?;
        } else {
            // An address from 2^63 up counts as negative.
            self.a.test(rax, rax)?;
            self.a.js(other)?;
            self.a.add(rax, (group.last - group.first) as i32 + bytes as i32)?;
            self.a.mov(r8d, dword_ptr(rbx + layout::SHARED_BYTES))?;
            self.a.add(rcx, qword_ptr(rbx + layout::SHARED))?;
            self.a.cmp(rax, r8)?;
        }
        self.a.ja(other)?;
        self.a.mov(qword_ptr(rsp + fact.host(half)), rcx)
    }

    /// The fact whether all lanes have one address, with that address.
    pub(super) fn uniform_fact(
        &mut self,
        op: &Op,
        (space, bytes): (Space, u32),
        addresses: &[Vector],
    ) -> Emitted<(Fact, Group)> {
        let subject = Subject { row: op.a, units: addresses.len() as u32, width: VECTOR_WIDTH + bytes };
        if let Some(known) = self.facts.find(subject) {
            return Ok(known);
        }
        let group = self.group;
        let fact = self.facts.add(subject, group);
        let base = self.temporary()?;
        self.broadcast(space.broadcast(), base, addresses[0])?;
        self.a.xor(edx, edx)?;
        self.compare_equal(space, addresses, base)?;
        self.note_if_all(space, ALL_UNIFORM)?;
        self.scalar(space, addresses[0])?;
        self.a.mov(qword_ptr(rsp + fact.address(0)), rax)?;
        if group.count > 0 {
            let mut other = self.a.create_label();
            self.a.test(edx, edx)?;
            self.a.je(other)?;
            self.check_group(op, (space, bytes), (fact, 0), (group, bytes), other)?;
            self.a.or(edx, UNIFORM_GROUP)?;
            self.a.set_label(&mut other)?;
            self.a.nop()?;
        }
        self.a.mov(dword_ptr(rsp + fact.bits()), edx)?;
        Ok((fact, group))
    }

    /// Goes to `other` unless a bit of the fact is set.
    pub(super) fn branch_unless(&mut self, fact: Fact, bit: u32, other: CodeLabel) -> Emitted {
        self.a.test(dword_ptr(rsp + fact.bits()), bit)?;
        self.a.je(other)
    }

    /// Sets `bits` of `edx` if all lanes of the last comparison are equal.
    fn note_if_all(&mut self, space: Space, bits: u32) -> Emitted {
        let mut next = self.a.create_label();
        self.branch_unless_all(space, next)?;
        self.a.or(edx, bits)?;
        self.a.set_label(&mut next)?;
        self.a.nop()
    }
}
