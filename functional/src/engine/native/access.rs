//! Loads and stores of all lanes. Each half of the warp may access consecutive elements or, in a load, one
//! element. Other patterns call the op, and so does every access that the check refuses.

use iced_x86::code_asm::{CodeLabel, dword_ptr, ecx, qword_ptr, r8, rax, rbx, rcx, rdx, rsp};
use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::emitter::{Emitted, Emitter, Pooled, xmm, zmm};
use super::facts::{Fact, STRIDED, STRIDED_GROUP, UNIFORM};
use super::layout;
use super::rows::{Unit, Vector};
use crate::engine::op::Op;

/// Lanes of a half.
pub(super) const HALF: u32 = 16;

/// A load or store that the emitter knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Access {
    /// Memory space.
    pub(crate) space: Space,
    /// Elements.
    pub(crate) element: Element,
    /// True for a store.
    pub(crate) stores: bool,
}

/// Memory space of an access, with the width of its addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    /// Global memory, or a generic address in it: 64-bit addresses, checked against the op's slot.
    Global,
    /// Shared memory with 32-bit addresses.
    Shared,
    /// Shared memory with 64-bit addresses.
    SharedWide,
}

/// Element in memory, and its extension to the register's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    /// A byte.
    Byte,
    /// A byte, sign-extended.
    SignedByte,
    /// A half word.
    Half,
    /// A half word, sign-extended.
    SignedHalf,
    /// A word.
    Word,
    /// A double word.
    Double,
}

impl Element {
    /// Size in memory.
    pub(super) fn bytes(self) -> u32 {
        match self {
            Element::Byte | Element::SignedByte => 1,
            Element::Half | Element::SignedHalf => 2,
            Element::Word => 4,
            Element::Double => 8,
        }
    }

    /// True for an element that is narrower than a register's word.
    pub(super) fn is_part_of_word(self) -> bool {
        self.bytes() < 4
    }

    /// True for an element that a load extends with its sign.
    pub(super) fn is_signed(self) -> bool {
        matches!(self, Element::SignedByte | Element::SignedHalf)
    }

    /// Load of consecutive elements into one register.
    pub(super) fn load_code(self) -> Code {
        match self {
            Element::Byte => Code::EVEX_Vpmovzxbd_zmm_k1z_xmmm128,
            Element::SignedByte => Code::EVEX_Vpmovsxbd_zmm_k1z_xmmm128,
            Element::Half => Code::EVEX_Vpmovzxwd_zmm_k1z_ymmm256,
            Element::SignedHalf => Code::EVEX_Vpmovsxwd_zmm_k1z_ymmm256,
            Element::Word | Element::Double => Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512,
        }
    }

    /// Store of consecutive elements from one register.
    pub(super) fn store_code(self) -> Code {
        match self {
            Element::Byte | Element::SignedByte => Code::EVEX_Vpmovdb_xmmm128_k1z_zmm,
            Element::Half | Element::SignedHalf => Code::EVEX_Vpmovdw_ymmm256_k1z_zmm,
            Element::Word | Element::Double => Code::EVEX_Vmovdqu32_zmmm512_k1z_zmm,
        }
    }

    /// Units of a half's values.
    pub(super) fn units_per_half(self) -> usize {
        if self == Element::Double { 2 } else { 1 }
    }
}

/// Distances of the lanes' elements in the code's own constants: for double words and for words.
pub(super) fn pool() -> Vec<u8> {
    let mut bytes = Vec::new();
    for width in [1_u64, 2, 4, 8] {
        (0..u64::from(2 * HALF)).for_each(|lane| bytes.extend((lane * width).to_le_bytes()));
        (0..2 * HALF).for_each(|lane| bytes.extend((lane * width as u32).to_le_bytes()));
    }
    bytes
}

/// Bytes of the constants for one width of elements.
const OF_WIDTH: u32 = 2 * HALF * 8 + 2 * HALF * 4;

fn steps_of_doubles(width: u32, part: u32) -> Pooled {
    Pooled(width.trailing_zeros() * OF_WIDTH + part * 64)
}

fn steps_of_words(width: u32, part: u32) -> Pooled {
    Pooled(width.trailing_zeros() * OF_WIDTH + 2 * HALF * 8 + part * 64)
}

impl Emitter<'_> {
    /// Emits an access of all lanes.
    pub(super) fn access(&mut self, op: &Op, access: Access) -> Emitted {
        if access.stores { self.store_halves(op, access) } else { self.load_halves(op, access) }
    }

    fn load_halves(&mut self, op: &Op, access: Access) -> Emitted {
        let Access { space, element, .. } = access;
        let addresses = self.addresses(op, space)?;
        let fact = self.fact(op, access, &addresses)?;
        let per_half = element.units_per_half();
        let mut values = Vec::new();
        for _ in 0..2 * per_half {
            values.push(self.temporary()?);
        }
        let is_covered = fact.is_some_and(|(_, group)| group.covers(space.offset(op), element.bytes()));
        let patterns = if is_covered { None } else { Some(self.patterns(access)?) };
        let results = (0..).zip(&values).map(|(part, value)| (Unit::of(op.d, part), *value)).collect();
        let slow = self.slow_path(results);
        let (apart, mut back) = self.apart(op, access, (&addresses, vec![values.clone()]), slow);
        match (fact, patterns) {
            (Some((fact, _)), None) => self.load_of_group(op, access, fact, &values, apart)?,
            (fact, Some(patterns)) => {
                let fact = fact.map(|(fact, _)| fact);
                for half in 0..2 {
                    let values = &values[half * per_half..][..per_half];
                    let lanes = space.lanes(&addresses, half);
                    self.load_half(op, access, (half, lanes, values), (fact, &patterns), (apart, slow))?;
                }
            }
            (None, None) => {}
        }
        self.a.set_label(&mut back)?;
        self.a.nop()?;
        self.slow_path_ends()?;
        for (part, value) in (0..).zip(values) {
            self.facts.changed(Unit::of(op.d, part));
            self.registers.hold(value, Unit::of(op.d, part), true, false);
        }
        Ok(())
    }

    /// Loads a half of the lanes, of consecutive elements or of one.
    fn load_half(
        &mut self,
        op: &Op,
        access: Access,
        (half, lanes, values): (usize, &[Vector], &[Vector]),
        (fact, patterns): (Option<Fact>, &Patterns),
        (apart, slow): (CodeLabel, CodeLabel),
    ) -> Emitted {
        let Access { space, element, .. } = access;
        let (mut is_uniform, mut done) = (self.a.create_label(), self.a.create_label());
        self.first_address(op, space, lanes, fact.map(|fact| fact.address(half)))?;
        match fact {
            Some(fact) => self.branch_unless(fact, STRIDED << half, is_uniform)?,
            None => self.branch_unless_strided(space, lanes, patterns, is_uniform)?,
        }
        self.check(op, access, HALF * element.bytes(), slow)?;
        self.load_consecutive_from(element, values, 0)?;
        self.a.jmp(done)?;
        self.a.set_label(&mut is_uniform)?;
        match fact {
            Some(fact) => self.branch_unless(fact, UNIFORM << half, apart)?,
            None => self.branch_unless_equal(space, lanes, patterns.base, apart)?,
        }
        self.check(op, access, element.bytes(), slow)?;
        self.load_one_from(element, values, 0)?;
        self.a.set_label(&mut done)?;
        self.a.nop()
    }

    pub(super) fn patterns(&mut self, access: Access) -> Emitted<Patterns> {
        let (base, moved) = (self.temporary()?, self.temporary()?);
        Ok(Patterns { base, moved, steps: self.steps(access.space, access.element)? })
    }

    fn store_halves(&mut self, op: &Op, access: Access) -> Emitted {
        let Access { space, element, .. } = access;
        let per_half = element.units_per_half();
        let values: Vec<Vector> = match element {
            Element::Double => self.row::<4>(op.b)?.to_vec(),
            _ => self.row::<2>(op.b)?.to_vec(),
        };
        let addresses = self.addresses(op, space)?;
        let fact = self.fact(op, access, &addresses)?;
        let is_covered = fact.is_some_and(|(_, group)| group.covers(space.offset(op), element.bytes()));
        let patterns = if is_covered { None } else { Some(self.patterns(access)?) };
        let slow = self.slow_path(Vec::new());
        let (apart, mut back) = self.apart(op, access, (&addresses, vec![values.clone()]), slow);
        if let (Some((fact, _)), None) = (fact, &patterns) {
            self.branch_unless(fact, STRIDED_GROUP, apart)?;
            for (half, values) in values.chunks(per_half).enumerate() {
                self.a.mov(rax, qword_ptr(rsp + fact.host(half)))?;
                self.store_consecutive(element, values, (Register::RAX, space.offset(op)))?;
            }
        }
        if let Some(patterns) = patterns {
            for half in 0..2 {
                let lanes = space.lanes(&addresses, half);
                self.first_address(op, space, lanes, fact.map(|(fact, _)| fact.address(half)))?;
                match fact {
                    Some((fact, _)) => self.branch_unless(fact, STRIDED << half, apart)?,
                    None => self.branch_unless_strided(space, lanes, &patterns, apart)?,
                }
                self.check(op, access, HALF * element.bytes(), slow)?;
                // Nothing is stored before both halves are checked.
                if half == 0 {
                    self.a.mov(rdx, rax)?;
                }
            }
            for (values, place) in values.chunks(per_half).zip([Register::RDX, Register::RAX]) {
                self.store_consecutive(element, values, (place, 0))?;
            }
        }
        self.a.set_label(&mut back)?;
        self.a.nop()?;
        self.slow_path_ends()
    }

    /// Registers with the addresses of all lanes, without the op's offset.
    pub(super) fn addresses(&mut self, op: &Op, space: Space) -> Emitted<Vec<Vector>> {
        Ok(match space {
            Space::Shared => self.row::<2>(op.a)?.to_vec(),
            Space::Global | Space::SharedWide => self.row::<4>(op.a)?.to_vec(),
        })
    }

    /// Distances of all lanes' consecutive elements from the first.
    pub(super) fn all_steps(&mut self, access: Access) -> Emitted<Vec<Vector>> {
        let width = access.element.bytes();
        match access.space.is_narrow() {
            true => (0..2).map(|part| self.pooled(steps_of_words(width, part))).collect(),
            false => (0..4).map(|part| self.pooled(steps_of_doubles(width, part))).collect(),
        }
    }

    fn steps(&mut self, space: Space, element: Element) -> Emitted<Vec<Vector>> {
        let width = element.bytes();
        match space {
            Space::Shared => Ok(vec![self.pooled(steps_of_words(width, 0))?]),
            Space::Global | Space::SharedWide => {
                (0..2).map(|part| self.pooled(steps_of_doubles(width, part))).collect()
            }
        }
    }

    /// `rax` = address of a half's first lane, with the op's offset; `known` is its place on the stack.
    pub(super) fn first_address(
        &mut self,
        op: &Op,
        space: Space,
        lanes: &[Vector],
        known: Option<i32>,
    ) -> Emitted {
        match (known, lanes.first()) {
            (Some(known), _) => self.a.mov(rax, qword_ptr(rsp + known))?,
            (None, Some(lane)) => self.scalar(space, *lane)?,
            (None, None) => {}
        }
        if space == Space::Shared {
            return match op.immediate as i32 {
                0 => Ok(()),
                offset => self.a.add(iced_x86::code_asm::eax, offset),
            };
        }
        match i32::try_from(op.immediate as i64) {
            Ok(0) => Ok(()),
            Ok(offset) => self.a.add(rax, offset),
            Err(_) => {
                self.a.mov(rcx, op.immediate)?;
                self.a.add(rax, rcx)
            }
        }
    }

    /// `rax` = the lowest address of a register.
    pub(super) fn scalar(&mut self, space: Space, lanes: Vector) -> Emitted {
        let (code, register) = match space {
            Space::Shared => (Code::EVEX_Vmovd_rm32_xmm, Register::EAX),
            _ => (Code::EVEX_Vmovq_rm64_xmm, Register::RAX),
        };
        self.put(Instruction::with2(code, register, xmm(lanes)))
    }

    /// Goes to `other` unless the lanes of a half access consecutive elements.
    fn branch_unless_strided(
        &mut self,
        space: Space,
        lanes: &[Vector],
        patterns: &Patterns,
        other: CodeLabel,
    ) -> Emitted {
        self.compare_strided(space, lanes, patterns)?;
        self.branch_unless_all(space, other)
    }

    /// `k5` = lanes of a half whose addresses follow the first; `base` gets the first address.
    pub(super) fn compare_strided(&mut self, space: Space, lanes: &[Vector], patterns: &Patterns) -> Emitted {
        let (base, moved) = (patterns.base, patterns.moved);
        self.broadcast(space.broadcast(), base, lanes[0])?;
        let add = match space {
            Space::Shared => Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32,
            _ => Code::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64,
        };
        for (part, (&lanes, &step)) in lanes.iter().zip(&patterns.steps).enumerate() {
            self.binary(add, moved, base, step)?;
            self.equal(space, part, moved, lanes)?;
        }
        Ok(())
    }

    /// Goes to `other` unless the lanes of a half have the address in `base`.
    fn branch_unless_equal(
        &mut self,
        space: Space,
        lanes: &[Vector],
        base: Vector,
        other: CodeLabel,
    ) -> Emitted {
        self.compare_equal(space, lanes, base)?;
        self.branch_unless_all(space, other)
    }

    /// `k5` = lanes of a half with the address in `base`.
    pub(super) fn compare_equal(&mut self, space: Space, lanes: &[Vector], base: Vector) -> Emitted {
        (0..).zip(lanes).try_for_each(|(part, &lanes)| self.equal(space, part, base, lanes))
    }

    /// `k5` = lanes with equal addresses; part 1 keeps the lanes of part 0 only if they are equal too.
    fn equal(&mut self, space: Space, part: usize, a: Vector, b: Vector) -> Emitted {
        let code = match space {
            Space::Shared => Code::EVEX_Vpcmpeqd_kr_k1_zmm_zmmm512b32,
            _ => Code::EVEX_Vpcmpeqq_kr_k1_zmm_zmmm512b64,
        };
        let mut compare = Instruction::with3(code, Register::K5, zmm(a), zmm(b))?;
        if part > 0 {
            compare.set_op_mask(Register::K5);
        }
        self.put(Ok(compare))
    }

    pub(super) fn branch_unless_all(&mut self, space: Space, other: CodeLabel) -> Emitted {
        let code = match space {
            Space::Shared => Code::VEX_Kortestw_kr_kr,
            _ => Code::VEX_Kortestb_kr_kr,
        };
        self.put(Instruction::with2(code, Register::K5, Register::K5))?;
        self.a.jae(other)
    }

    /// Goes to `slow` unless `bytes` bytes from the address in `rax` are accessible and the address is
    /// aligned; `rax` becomes the host's address.
    fn check(&mut self, op: &Op, access: Access, bytes: u32, slow: CodeLabel) -> Emitted {
        self.check_aligned(op, access, bytes, access.element.bytes(), slow)
    }

    /// [`Emitter::check`] of an access of lanes that are `width` bytes wide.
    pub(super) fn check_aligned(
        &mut self,
        op: &Op,
        access: Access,
        bytes: u32,
        width: u32,
        slow: CodeLabel,
    ) -> Emitted {
        if width > 1 {
            self.a.test(iced_x86::code_asm::al, (width - 1) as i32)?;
            self.a.jne(slow)?;
        }
        self.a.mov(rcx, rax)?;
        self.a.add(rcx, bytes as i32)?;
        self.a.jb(slow)?;
        if access.space == Space::Global {
            self.a.mov(r8, qword_ptr(rbx + layout::VIEW))?;
            self.a.cmp(rax, qword_ptr(r8 + layout::slot_start(op.slot)))?;
            self.a.jb(slow)?;
            self.a.cmp(rcx, qword_ptr(r8 + layout::slot_end(op.slot)))?;
            return self.a.ja(slow);
        }
        self.a.mov(r8, rcx)?;
        self.a.mov(ecx, dword_ptr(rbx + layout::SHARED_BYTES))?;
        self.a.cmp(r8, rcx)?;
        self.a.ja(slow)?;
        self.a.add(rax, qword_ptr(rbx + layout::SHARED))
    }

    /// Loads the consecutive elements at `rax` plus `offset`.
    pub(super) fn load_consecutive_from(
        &mut self,
        element: Element,
        values: &[Vector],
        offset: i64,
    ) -> Emitted {
        let code = element.load_code();
        for (part, &value) in (0..).zip(values) {
            let place = MemoryOperand::with_base_displ(Register::RAX, offset + part * 64);
            self.put(Instruction::with2(code, zmm(value), place))?;
        }
        Ok(())
    }

    /// Loads the element at `rax` plus `offset` for all lanes of the half.
    pub(super) fn load_one_from(&mut self, element: Element, values: &[Vector], offset: i64) -> Emitted {
        let place = MemoryOperand::with_base_displ(Register::RAX, offset);
        let scalar = match element {
            Element::Byte => Some(Code::Movzx_r32_rm8),
            Element::SignedByte => Some(Code::Movsx_r32_rm8),
            Element::Half => Some(Code::Movzx_r32_rm16),
            Element::SignedHalf => Some(Code::Movsx_r32_rm16),
            Element::Word | Element::Double => None,
        };
        if let Some(scalar) = scalar {
            self.put(Instruction::with2(scalar, Register::ECX, place))?;
            let code = Code::EVEX_Vpbroadcastd_zmm_k1z_r32;
            return self.put(Instruction::with2(code, zmm(values[0]), Register::ECX));
        }
        let code = match element {
            Element::Double => Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64,
            _ => Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32,
        };
        for &value in values {
            self.put(Instruction::with2(code, zmm(value), place))?;
        }
        Ok(())
    }

    /// Stores consecutive elements from the address in a register on, plus an offset.
    fn store_consecutive(
        &mut self,
        element: Element,
        values: &[Vector],
        (base, offset): (Register, i64),
    ) -> Emitted {
        for (part, &value) in (0..).zip(values) {
            let place = MemoryOperand::with_base_displ(base, offset + part * 64);
            self.put(Instruction::with2(element.store_code(), place, zmm(value)))?;
        }
        Ok(())
    }
}

/// Registers that recognise consecutive elements.
pub(super) struct Patterns {
    pub(super) base: Vector,
    pub(super) moved: Vector,
    pub(super) steps: Vec<Vector>,
}

impl Space {
    /// Offset of an op from its row of addresses.
    pub(super) fn offset(self, op: &Op) -> i64 {
        match self {
            Space::Shared => i64::from(op.immediate as i32),
            Space::Global | Space::SharedWide => op.immediate as i64,
        }
    }

    /// Registers with the addresses of a half.
    pub(super) fn lanes(self, addresses: &[Vector], half: usize) -> &[Vector] {
        match self {
            Space::Shared => &addresses[half..=half],
            Space::Global | Space::SharedWide => &addresses[half * 2..][..2],
        }
    }

    pub(super) fn broadcast(self) -> Code {
        match self {
            Space::Shared => Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32,
            Space::Global | Space::SharedWide => Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64,
        }
    }
}
