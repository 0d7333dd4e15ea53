//! Accesses with a check of each lane: gathers, scatters, and masked moves of consecutive elements.
//!
//! Vectors hold the lanes' distances from the start of the allocation. One unsigned comparison checks both
//! the range and the alignment: a rotation moves the low bits, which must be zero, to the top.

use iced_x86::code_asm::{CodeLabel, dl, dword_ptr, eax, ecx, qword_ptr, r8, rax, rbx, rcx, rdx, rsp};
use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::access::{Access, Element, Space};
use super::emitter::{Emitted, Emitter, Lanes, stack, xmm, ymm, zmm};
use super::facts::{ALL_UNIFORM, UNIFORM_GROUP};
use super::layout;
use super::rows::{Contents, REGISTERS, Unit, Vector};
use crate::engine::op::Op;

/// Registers of a check and of the access after it.
#[derive(Debug, Clone)]
pub(super) struct Scratch {
    /// Distances of the lanes' elements from the start of the allocation, as many as addresses.
    pub(super) distances: Vec<Vector>,
    pub(super) spare: [Vector; 3],
}

/// The path of an access of all lanes that are neither consecutive nor equal.
pub(super) struct Apart {
    start: CodeLabel,
    back: CodeLabel,
    /// Path that calls the op.
    slow: CodeLabel,
    op: Op,
    access: Access,
    addresses: Vec<Vector>,
    /// Registers of each element's values.
    values: Vec<Vec<Vector>>,
    contents: Contents,
}

/// `vpcmpu`: a is not equal to b.
const NOT_EQUAL: u32 = 4;
/// `vpcmpu`: a is greater than b.
const GREATER: u32 = 6;

impl Space {
    /// True if addresses are words, else double words.
    pub(super) fn is_narrow(self) -> bool {
        self == Space::Shared
    }
}

impl Emitter<'_> {
    /// Emits an access of `elements` elements for lanes under a mask.
    pub(super) fn masked_access(&mut self, op: &Op, access: Access, elements: usize) -> Emitted {
        let addresses = self.addresses(op, access.space)?;
        let values = self.values(op, access, elements)?;
        let scratch = self.scratch(addresses.len())?;
        let steps = if elements == 1 { self.all_steps(access)? } else { Vec::new() };
        let slow = self.slow_path(results(op, access, &values));
        self.check_lanes(op, access, elements, (&addresses, &scratch), slow)?;
        if let [values] = &values[..] {
            let (mut apart, mut done) = (self.a.create_label(), self.a.create_label());
            self.branch_unless_consecutive(access, &scratch, &steps, apart)?;
            self.masked_move(access, values)?;
            self.a.jmp(done)?;
            self.a.set_label(&mut apart)?;
            self.a.nop()?;
            if access.stores && access.element.is_part_of_word() {
                self.a.jmp(slow)?;
            } else {
                self.move_lanes(access, 0, values, &scratch)?;
            }
            self.a.set_label(&mut done)?;
            self.a.nop()?;
        } else {
            self.move_elements(access, &values, &scratch)?;
        }
        self.slow_path_ends()?;
        self.write_elements(op, access, &values)
    }

    /// Emits an access to `elements` consecutive elements of each lane.
    pub(super) fn vector_access(&mut self, op: &Op, access: Access, elements: usize) -> Emitted {
        if access.stores || self.lanes != Lanes::All {
            return self.masked_access(op, access, elements);
        }
        let addresses = self.addresses(op, access.space)?;
        let bytes = access.element.bytes() * elements as u32;
        let (fact, group) = self.uniform_fact(op, (access.space, bytes), &addresses)?;
        let values = self.values(op, access, elements)?;
        let slow = self.slow_path(results(op, access, &values));
        let (apart, mut back) = self.apart(op, access, (&addresses, values.clone()), slow);
        let mut offset = access.space.offset(op);
        if group.covers(offset, bytes) {
            self.branch_unless(fact, UNIFORM_GROUP, apart)?;
            self.a.mov(rax, qword_ptr(rsp + fact.host(0)))?;
        } else {
            self.first_address(op, access.space, &[], Some(fact.address(0)))?;
            self.branch_unless(fact, ALL_UNIFORM, apart)?;
            self.check_aligned(op, access, bytes, bytes, slow)?;
            offset = 0;
        }
        for (element, values) in (0..).zip(&values) {
            let offset = offset + element * i64::from(access.element.bytes());
            self.load_one_from(access.element, &values[..1], offset)?;
            for &value in &values[1..] {
                self.copy(value, values[0])?;
            }
        }
        self.a.set_label(&mut back)?;
        self.a.nop()?;
        self.slow_path_ends()?;
        self.write_elements(op, access, &values)
    }

    /// Registers of the values: the operands of a store, or new ones for a load.
    fn values(&mut self, op: &Op, access: Access, elements: usize) -> Emitted<Vec<Vec<Vector>>> {
        let mut all = Vec::with_capacity(elements);
        for row in rows(op, access, elements) {
            all.push(match (access.stores, access.element == Element::Double) {
                (true, true) => self.row::<4>(row)?.to_vec(),
                (true, false) => self.row::<2>(row)?.to_vec(),
                (false, true) => self.temporaries::<4>()?.to_vec(),
                (false, false) => self.temporaries::<2>()?.to_vec(),
            });
        }
        Ok(all)
    }

    /// Makes loaded values the results of the op.
    fn write_elements(&mut self, op: &Op, access: Access, values: &[Vec<Vector>]) -> Emitted {
        if access.stores {
            return Ok(());
        }
        for (row, values) in rows(op, access, values.len()).into_iter().zip(values) {
            match values[..] {
                [a, b] => self.write(row, [a, b])?,
                [a, b, c, d] => self.write(row, [a, b, c, d])?,
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn scratch(&mut self, addresses: usize) -> Emitted<Scratch> {
        let mut distances = Vec::with_capacity(addresses);
        for _ in 0..addresses {
            distances.push(self.temporary()?);
        }
        Ok(Scratch { distances, spare: self.temporaries::<3>()? })
    }

    /// Mask register of part `part` of `parts` equal parts of a warp; none if all lanes execute.
    pub(super) fn mask_of(&self, part: usize, parts: usize) -> Option<Register> {
        let masks: &[Register] = match parts {
            2 => &[Register::K1, Register::K2],
            _ => &[Register::K1, Register::K3, Register::K2, Register::K4],
        };
        if self.lanes == Lanes::All { None } else { masks.get(part).copied() }
    }

    /// Appends an instruction under the mask of a part of the lanes.
    fn put_masked(&mut self, mut instruction: Instruction, mask: Option<Register>) -> Emitted {
        if let Some(mask) = mask {
            instruction.set_op_mask(mask);
        }
        self.a.add_instruction(instruction)
    }

    /// `register` = a word or double word in all lanes, from `ecx` or `rcx`.
    fn fill(&mut self, space: Space, register: Vector) -> Emitted {
        let (code, from) = match space.is_narrow() {
            true => (Code::EVEX_Vpbroadcastd_zmm_k1z_r32, Register::ECX),
            false => (Code::EVEX_Vpbroadcastq_zmm_k1z_r64, Register::RCX),
        };
        self.put(Instruction::with2(code, zmm(register), from))
    }

    /// Checks the addresses of the executing lanes; goes to `slow` if any lane's access is misaligned or
    /// lies outside of the op's allocation. `r8` becomes the host's address of distance 0.
    pub(super) fn check_lanes(
        &mut self,
        op: &Op,
        access: Access,
        elements: usize,
        (addresses, scratch): (&[Vector], &Scratch),
        slow: CodeLabel,
    ) -> Emitted {
        let space = access.space;
        let width = access.element.bytes() * elements as u32;
        let turn = width.trailing_zeros();
        let [limit, added, turned] = scratch.spare;
        // `rax` = last valid distance; `rcx` = distance of address 0, with the op's offset.
        if space == Space::Global {
            self.a.mov(rdx, qword_ptr(rbx + layout::VIEW))?;
            self.a.mov(rax, qword_ptr(rdx + layout::slot_end(op.slot)))?;
            self.a.mov(rdx, qword_ptr(rdx + layout::slot_start(op.slot)))?;
            self.a.sub(rax, rdx)?;
            self.a.jbe(slow)?;
            // A part of a word is loaded with the word around it.
            self.a.test(dl, (width.max(4) - 1) as i32)?;
            self.a.jne(slow)?;
            self.a.mov(rcx, op.immediate)?;
            self.a.sub(rcx, rdx)?;
            self.a.mov(r8, rdx)?;
        } else {
            self.a.mov(eax, dword_ptr(rbx + layout::SHARED_BYTES))?;
            self.a.mov(r8, qword_ptr(rbx + layout::SHARED))?;
            match space.is_narrow() {
                true => self.a.mov(ecx, op.immediate as u32)?,
                false => self.a.mov(rcx, op.immediate)?,
            }
        }
        self.a.sub(rax, width as i32)?;
        self.a.jb(slow)?;
        self.a.shr(rax, turn)?;
        self.fill(space, added)?;
        self.a.mov(rcx, rax)?;
        self.fill(space, limit)?;
        let (add, rotate, compare) = match space.is_narrow() {
            true => (
                Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32,
                Code::EVEX_Vprord_zmm_k1z_zmmm512b32_imm8,
                Code::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8,
            ),
            false => (
                Code::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64,
                Code::EVEX_Vprorq_zmm_k1z_zmmm512b64_imm8,
                Code::EVEX_Vpcmpuq_kr_k1_zmm_zmmm512b64_imm8,
            ),
        };
        for (part, (&address, &distance)) in addresses.iter().zip(&scratch.distances).enumerate() {
            self.binary(add, distance, address, added)?;
            let tested = if turn == 0 { distance } else { turned };
            if turn != 0 {
                self.put(Instruction::with3(rotate, zmm(turned), zmm(distance), turn))?;
            }
            let into = if part == 0 { Register::K5 } else { Register::K6 };
            let compare = Instruction::with4(compare, into, zmm(tested), zmm(limit), GREATER)?;
            self.put_masked(compare, self.mask_of(part, addresses.len()))?;
            if part > 0 {
                self.put(Instruction::with3(
                    Code::VEX_Korw_kr_kr_kr,
                    Register::K5,
                    Register::K5,
                    Register::K6,
                ))?;
            }
        }
        self.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, Register::K5, Register::K5))?;
        self.a.jne(slow)
    }

    /// Goes to `other` unless the executing lanes access consecutive elements, counted from lane 0, which
    /// need not execute. `rax` becomes the host's address of lane 0.
    fn branch_unless_consecutive(
        &mut self,
        access: Access,
        scratch: &Scratch,
        steps: &[Vector],
        other: CodeLabel,
    ) -> Emitted {
        let space = access.space;
        let [base, moved, _] = scratch.spare;
        let distances = &scratch.distances;
        let (add, compare, scalar, to) = match space.is_narrow() {
            true => (
                Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32,
                Code::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8,
                Code::EVEX_Vmovd_rm32_xmm,
                Register::EAX,
            ),
            false => (
                Code::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64,
                Code::EVEX_Vpcmpuq_kr_k1_zmm_zmmm512b64_imm8,
                Code::EVEX_Vmovq_rm64_xmm,
                Register::RAX,
            ),
        };
        self.broadcast(space.broadcast(), base, distances[0])?;
        for (part, (&distance, &step)) in distances.iter().zip(steps).enumerate() {
            self.binary(add, moved, base, step)?;
            let into = if part == 0 { Register::K5 } else { Register::K6 };
            let compare = Instruction::with4(compare, into, zmm(moved), zmm(distance), NOT_EQUAL)?;
            self.put_masked(compare, self.mask_of(part, distances.len()))?;
            if part > 0 {
                self.put(Instruction::with3(
                    Code::VEX_Korw_kr_kr_kr,
                    Register::K5,
                    Register::K5,
                    Register::K6,
                ))?;
            }
        }
        self.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, Register::K5, Register::K5))?;
        self.a.jne(other)?;
        self.put(Instruction::with2(scalar, to, xmm(distances[0])))?;
        if space.is_narrow() {
            // Lane 0, which need not execute, may lie before the start.
            self.a.movsxd(rax, eax)?;
        }
        self.a.add(rax, r8)
    }

    /// Moves the executing lanes of consecutive elements; `rax` is the address of lane 0.
    fn masked_move(&mut self, access: Access, values: &[Vector]) -> Emitted {
        let element = access.element;
        let step = i64::from(32 * element.bytes()) / values.len() as i64;
        let code = if access.stores { element.store_code() } else { element.load_code() };
        let zeroes = !access.stores;
        for (part, &value) in values.iter().enumerate() {
            let place = MemoryOperand::with_base_displ(Register::RAX, part as i64 * step);
            let code = match (element, access.stores) {
                (Element::Double, true) => Code::EVEX_Vmovdqu64_zmmm512_k1z_zmm,
                (Element::Double, false) => Code::EVEX_Vmovdqu64_zmm_k1z_zmmm512,
                _ => code,
            };
            let mut moved = match access.stores {
                true => Instruction::with2(code, place, zmm(value))?,
                false => Instruction::with2(code, zmm(value), place)?,
            };
            let mask = self.mask_of(part, values.len());
            moved.set_zeroing_masking(zeroes && mask.is_some());
            self.put_masked(moved, mask)?;
        }
        Ok(())
    }

    /// Gathers or scatters all elements.
    fn move_elements(&mut self, access: Access, values: &[Vec<Vector>], scratch: &Scratch) -> Emitted {
        for (element, values) in (0..).zip(values) {
            self.move_lanes(access, element * i64::from(access.element.bytes()), values, scratch)?;
        }
        Ok(())
    }

    /// `k5` = executing lanes of a part.
    fn copy_mask(&mut self, part: usize, parts: usize) -> Emitted {
        let k5 = Register::K5;
        match self.mask_of(part, parts) {
            Some(mask) => self.put(Instruction::with2(Code::VEX_Kmovw_kr_km16, k5, mask)),
            None => self.put(Instruction::with3(Code::VEX_Kxnorw_kr_kr_kr, k5, k5, k5)),
        }
    }

    /// Gathers or scatters the executing lanes' elements at their distances from `r8`, plus `offset`.
    fn move_lanes(&mut self, access: Access, offset: i64, values: &[Vector], scratch: &Scratch) -> Emitted {
        match (access.space.is_narrow(), access.element) {
            (true, Element::Double) => self.move_doubles_by_words(access, offset, values, scratch),
            (true, _) => self.move_words_by_words(access, offset, values, scratch),
            (false, Element::Double) => {
                for (part, (&value, &at)) in values.iter().zip(&scratch.distances).enumerate() {
                    self.copy_mask(part, 4)?;
                    self.move_part(access, value, at, offset)?;
                }
                Ok(())
            }
            (false, _) => self.move_words_by_doubles(access, offset, values, scratch),
        }
    }

    /// One gather or scatter under `k5`; `at` holds the distances.
    fn move_part(&mut self, access: Access, value: Vector, at: Vector, offset: i64) -> Emitted {
        let whole = zmm(value);
        let (is_narrow, is_double) = (access.space.is_narrow(), access.element == Element::Double);
        let at = if is_narrow && is_double { ymm(at) } else { zmm(at) };
        let value = if is_narrow || is_double { whole } else { ymm(value) };
        let size = u32::from(offset != 0);
        let place = MemoryOperand::with_base_index_scale_displ_size(Register::R8, at, 1, offset, size);
        let (load, store) = match (is_narrow, is_double) {
            (true, false) => (Code::EVEX_Vpgatherdd_zmm_k1_vm32z, Code::EVEX_Vpscatterdd_vm32z_k1_zmm),
            (true, true) => (Code::EVEX_Vpgatherdq_zmm_k1_vm32y, Code::EVEX_Vpscatterdq_vm32y_k1_zmm),
            (false, false) => (Code::EVEX_Vpgatherqd_ymm_k1_vm64z, Code::EVEX_Vpscatterqd_vm64z_k1_ymm),
            (false, true) => (Code::EVEX_Vpgatherqq_zmm_k1_vm64z, Code::EVEX_Vpscatterqq_vm64z_k1_zmm),
        };
        if access.stores {
            let mut scatter = Instruction::with2(store, place, value)?;
            scatter.set_op_mask(Register::K5);
            return self.a.add_instruction(scatter);
        }
        // A gather merges with the old value, on which it must not wait.
        self.put(Instruction::with3(Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32, whole, whole, whole))?;
        let mut gather = Instruction::with2(load, value, place)?;
        gather.set_op_mask(Register::K5);
        self.a.add_instruction(gather)
    }

    fn move_doubles_by_words(
        &mut self,
        access: Access,
        offset: i64,
        values: &[Vector],
        scratch: &Scratch,
    ) -> Emitted {
        let upper = scratch.spare[0];
        for (part, &value) in values.iter().enumerate() {
            let at = scratch.distances[part / 2];
            let at = if part % 2 == 0 {
                at
            } else {
                self.upper_half(upper, at)?;
                upper
            };
            self.copy_mask(part, 4)?;
            self.move_part(access, value, at, offset)?;
        }
        Ok(())
    }

    fn move_words_by_words(
        &mut self,
        access: Access,
        offset: i64,
        values: &[Vector],
        scratch: &Scratch,
    ) -> Emitted {
        let [around, shift, constant] = scratch.spare;
        let parts = access.element.is_part_of_word();
        for (part, (&value, &at)) in values.iter().zip(&scratch.distances).enumerate() {
            if parts {
                self.a.mov(ecx, -4)?;
                self.fill(access.space, constant)?;
                self.binary(Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32, around, at, constant)?;
            }
            self.copy_mask(part, 2)?;
            self.move_part(access, value, if parts { around } else { at }, offset)?;
            if parts {
                self.copy(shift, at)?;
                self.extract(access.element, value, shift, constant)?;
            }
        }
        Ok(())
    }

    fn move_words_by_doubles(
        &mut self,
        access: Access,
        offset: i64,
        values: &[Vector],
        scratch: &Scratch,
    ) -> Emitted {
        let [other, around, constant] = scratch.spare;
        let parts = access.element.is_part_of_word();
        for (half, &value) in values.iter().enumerate() {
            for (part, target) in [value, other].into_iter().enumerate() {
                let mut at = scratch.distances[half * 2 + part];
                if parts {
                    self.a.mov(rcx, -4_i64 as u64)?;
                    self.fill(access.space, constant)?;
                    self.binary(Code::EVEX_Vpandq_zmm_k1z_zmm_zmmm512b64, around, at, constant)?;
                    at = around;
                }
                if access.stores && part == 1 {
                    self.upper_half(other, value)?;
                }
                self.copy_mask(half * 2 + part, 4)?;
                self.move_part(access, target, at, offset)?;
            }
            if access.stores {
                continue;
            }
            self.join_halves(value, other)?;
            if parts {
                let narrow = Code::EVEX_Vpmovqd_ymmm256_k1z_zmm;
                self.put(Instruction::with2(narrow, ymm(around), zmm(scratch.distances[half * 2])))?;
                self.put(Instruction::with2(narrow, ymm(other), zmm(scratch.distances[half * 2 + 1])))?;
                self.join_halves(around, other)?;
                self.extract(access.element, value, around, constant)?;
            }
        }
        Ok(())
    }

    /// `value` = the part of the word at the low bits of the distance in `shift`, extended.
    fn extract(&mut self, element: Element, value: Vector, shift: Vector, constant: Vector) -> Emitted {
        self.put(Instruction::with3(
            Code::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8,
            zmm(shift),
            zmm(shift),
            3_u32,
        ))?;
        self.a.mov(ecx, 24)?;
        self.fill(Space::Shared, constant)?;
        self.binary(Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32, shift, shift, constant)?;
        self.binary(Code::EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32, value, value, shift)?;
        self.extend_part(element.bytes() * 8, element.is_signed(), value)
    }

    /// Extends the low bits of each word.
    pub(super) fn extend_part(&mut self, bits: u32, signed: bool, value: Vector) -> Emitted {
        let left = Code::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8;
        self.put(Instruction::with3(left, zmm(value), zmm(value), 32 - bits))?;
        let right = match signed {
            true => Code::EVEX_Vpsrad_zmm_k1z_zmmm512b32_imm8,
            false => Code::EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8,
        };
        self.put(Instruction::with3(right, zmm(value), zmm(value), 32 - bits))
    }

    /// Lower half of `d` = upper half of `a`.
    pub(super) fn upper_half(&mut self, d: Vector, a: Vector) -> Emitted {
        let code = Code::EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8;
        self.put(Instruction::with3(code, ymm(d), zmm(a), 1_u32))
    }

    /// Upper half of `d` = lower half of `a`.
    pub(super) fn join_halves(&mut self, d: Vector, a: Vector) -> Emitted {
        let code = Code::EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8;
        self.put(Instruction::with4(code, zmm(d), zmm(d), ymm(a), 1_u32))
    }

    /// Labels of a path for an access of all lanes apart from each other: its start, and the place at which
    /// it joins the code.
    pub(super) fn apart(
        &mut self,
        op: &Op,
        access: Access,
        (addresses, values): (&[Vector], Vec<Vec<Vector>>),
        slow: CodeLabel,
    ) -> (CodeLabel, CodeLabel) {
        let (start, back) = (self.a.create_label(), self.a.create_label());
        if access.stores && access.element.is_part_of_word() {
            return (slow, back);
        }
        let (addresses, contents) = (addresses.to_vec(), self.registers.contents());
        self.aparts.push(Apart { start, back, slow, op: *op, access, addresses, values, contents });
        (start, back)
    }

    /// Emits the paths of [`Emitter::apart`].
    pub(super) fn emit_aparts(&mut self) -> Emitted {
        for apart in std::mem::take(&mut self.aparts) {
            self.emit_apart(apart)?;
        }
        Ok(())
    }

    fn emit_apart(&mut self, apart: Apart) -> Emitted {
        let Apart { mut start, back, slow, op, access, addresses, values, contents } = apart;
        self.lanes = Lanes::All;
        self.a.set_label(&mut start)?;
        self.a.nop()?;
        let is_used = |register: &Vector| addresses.contains(register) || values.concat().contains(register);
        let is_full = |register: &Vector| contents[register.0 as usize].is_some();
        let mut free: Vec<Vector> =
            (0..REGISTERS as u8).map(Vector).filter(|register| !is_used(register)).collect();
        free.sort_by_key(is_full);
        free.truncate(addresses.len() + 3);
        let saved: Vec<Vector> = free.iter().copied().filter(is_full).collect();
        let (Some(distances), Some(&[a, b, c])) = (free.get(3..), free.first_chunk::<3>()) else {
            return self.a.jmp(slow);
        };
        let scratch = Scratch { distances: distances.to_vec(), spare: [a, b, c] };
        self.move_scratch(&saved, true)?;
        let mut refused = self.a.create_label();
        self.check_lanes(&op, access, values.len(), (&addresses, &scratch), refused)?;
        self.move_elements(access, &values, &scratch)?;
        self.move_scratch(&saved, false)?;
        self.a.jmp(back)?;
        self.a.set_label(&mut refused)?;
        self.a.nop()?;
        self.move_scratch(&saved, false)?;
        self.a.jmp(slow)
    }

    /// Stores registers to the stack's scratch, or loads them.
    pub(super) fn move_scratch(&mut self, registers: &[Vector], stores: bool) -> Emitted {
        for (number, &register) in (0..).zip(registers) {
            self.move_stack(register, stack::SCRATCH + number * 64, stores)?;
        }
        Ok(())
    }

    /// Stores a register to the stack, or loads it.
    pub(super) fn move_stack(&mut self, register: Vector, offset: i32, stores: bool) -> Emitted {
        let place = MemoryOperand::with_base_displ(Register::RSP, i64::from(offset));
        self.put(match stores {
            true => Instruction::with2(Code::EVEX_Vmovdqu32_zmmm512_k1z_zmm, place, zmm(register)),
            false => Instruction::with2(Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512, zmm(register), place),
        })
    }
}

/// Rows of an access's elements.
fn rows(op: &Op, access: Access, elements: usize) -> Vec<u32> {
    match (elements, access.stores) {
        (1, true) => vec![op.b],
        (1, false) => vec![op.d],
        _ => [op.d, op.b, op.c, op.e][..elements].to_vec(),
    }
}

/// Units and registers of loaded values.
fn results(op: &Op, access: Access, values: &[Vec<Vector>]) -> Vec<(Unit, Vector)> {
    if access.stores {
        return Vec::new();
    }
    let units = |(row, values): (u32, &Vec<Vector>)| {
        (0..).zip(values.clone()).map(move |(part, value)| (Unit::of(row, part), value)).collect::<Vec<_>>()
    };
    rows(op, access, values.len()).into_iter().zip(values).flat_map(units).collect()
}
