//! Emission of machine code: operands and results of ops in vector registers, masks, and calls of ops.
//!
//! Registers of the host while compiled code runs:
//!
//! | register | content |
//! |---|---|
//! | `rbx` | the [`crate::engine::warp_context::WarpContext`] |
//! | `r12`, `r13` | first row of the frame, first row of the constants |
//! | `r14d` | active lanes, which never change inside the code |
//! | `r15` | executed instructions without guard |
//! | `rbp` | executed lane instructions of instructions with a guard |
//! | `k1`, `k2` | executing lanes from 0 and from 16, for ops on words |
//! | `k1`, `k3`, `k2`, `k4` | executing lanes from 0, 8, 16, 24, for ops on double words |
//! | `k5` to `k7`, other general registers | scratch |

use iced_x86::code_asm::{CodeAssembler, CodeLabel, dword_ptr, qword_ptr};
use iced_x86::code_asm::{eax, ecx, r11, r12, r14d, r15, rbp, rbx, rcx, rsi, rsp};
use iced_x86::{Code, IcedError, Instruction, MemoryOperand, Register};

use super::facts::{Facts, Group};
use super::lanewise::Apart;
use super::layout;
use super::liveness::Units;
use super::rows::{Contents, Registers, Unit, Vector};
use crate::engine::op::{Op, PredicateSource};

/// Result of emission.
pub(crate) type Emitted<T = ()> = Result<T, IcedError>;

/// Stack slots of compiled code, in bytes from the stack pointer.
pub(super) mod stack {
    /// Executed instructions with a guard.
    pub(in super::super) const GUARDED: i32 = 0;
    /// First op of the program.
    pub(in super::super) const CODE: i32 = 8;
    /// Function that executes an op.
    pub(in super::super) const CALL: i32 = 16;
    /// Executing lanes of the current guard, and their number.
    pub(in super::super) const MASK: i32 = 24;
    pub(in super::super) const LANES: i32 = 32;
    /// Canonical NaN.
    pub(in super::super) const NAN: i32 = 40;
    /// The code's own constants.
    pub(in super::super) const POOL: i32 = 48;
    /// Facts about addresses.
    pub(in super::super) const FACTS: i32 = 56;
    /// Bytes of all slots, which keep calls aligned.
    pub(in super::super) const BYTES: i32 = SCRATCH + 1024;
    /// Vectors of one op.
    pub(in super::super) const SCRATCH: i32 =
        FACTS + super::super::facts::MOST as i32 * super::super::facts::BYTES;
}

/// Reason for which compiled code returns, beside the flows of a called op.
pub(super) mod exit {
    /// Continue at the program counter.
    pub(in super::super) const JUMP: u32 = 1;
    /// The op at the program counter, which the interpreter executes.
    pub(in super::super) const DECLINED: u32 = 3;
    /// The jump to the program counter has used up the fuel.
    pub(in super::super) const OUT_OF_FUEL: u32 = 4;
    /// The called op has panicked.
    pub(in super::super) const PANICKED: u32 = 5;
}

/// Lanes that an op's results are limited to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lanes {
    /// All lanes: no mask register.
    All,
    /// The active lanes.
    Active,
    /// The active lanes for which the guard holds.
    Guarded(PredicateSource),
}

/// A call of an op on a path that is rarely taken. All registers survive it.
struct SlowCall {
    start: CodeLabel,
    back: CodeLabel,
    pc: u32,
    lanes: Lanes,
    /// Instructions before the op that are not yet counted.
    pending: u32,
    /// Lanes in the mask registers.
    masked: Option<Lanes>,
    contents: Contents,
    results: Vec<(Unit, Vector)>,
}

/// A return from compiled code on a path that is rarely taken.
struct SideExit {
    start: CodeLabel,
    pc: u32,
    code: u32,
}

/// Emitter of one variant of a program.
pub(crate) struct Emitter<'a> {
    pub(super) a: &'a mut CodeAssembler,
    pub(super) registers: Registers,
    pub(super) facts: Facts,
    /// Common end of all returns.
    pub(super) leave: CodeLabel,
    /// True for code that runs with all lanes active.
    pub(super) is_full: bool,
    /// Op that is emitted.
    pub(super) pc: u32,
    /// This access and later ones of the block from the same row of addresses.
    pub(super) group: Group,
    /// Lanes of the current op.
    pub(super) lanes: Lanes,
    /// Lanes in the mask registers.
    masked: Option<Lanes>,
    /// Emitted instructions without guard that are not yet counted.
    pending: u32,
    slow_calls: Vec<SlowCall>,
    pub(super) aparts: Vec<Apart>,
    side_exits: Vec<SideExit>,
}

/// Distance to a constant of the code's own constants, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pooled(pub(super) u32);

impl<'a> Emitter<'a> {
    /// An emitter for all lanes, or for any active lanes.
    pub(super) fn new(a: &'a mut CodeAssembler, leave: CodeLabel, is_full: bool) -> Emitter<'a> {
        Emitter {
            a,
            registers: Registers::new(),
            facts: Facts::default(),
            leave,
            is_full,
            pc: 0,
            group: Group::EMPTY,
            lanes: Lanes::All,
            masked: None,
            pending: 0,
            slow_calls: Vec::new(),
            aparts: Vec::new(),
            side_exits: Vec::new(),
        }
    }

    /// Appends an instruction.
    pub(super) fn put(&mut self, instruction: Result<Instruction, IcedError>) -> Emitted {
        self.a.add_instruction(instruction?)
    }

    /// d = operation(a).
    pub(super) fn unary(&mut self, code: Code, d: Vector, a: Vector) -> Emitted {
        self.put(Instruction::with2(code, zmm(d), zmm(a)))
    }

    /// d = operation(a, b).
    pub(super) fn binary(&mut self, code: Code, d: Vector, a: Vector, b: Vector) -> Emitted {
        self.put(Instruction::with3(code, zmm(d), zmm(a), zmm(b)))
    }

    /// [`Emitter::binary`] with an immediate operand.
    pub(super) fn with_immediate(
        &mut self,
        code: Code,
        d: Vector,
        a: Vector,
        b: Vector,
        value: u8,
    ) -> Emitted {
        self.put(Instruction::with4(code, zmm(d), zmm(a), zmm(b), u32::from(value)))
    }

    /// d = a.
    pub(super) fn copy(&mut self, d: Vector, a: Vector) -> Emitted {
        self.unary(Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512, d, a)
    }

    /// A register for an intermediate value or a result.
    pub(super) fn temporary(&mut self) -> Emitted<Vector> {
        let (register, left) = self.registers.take();
        if let Some(left) = left
            && left.dirty
        {
            self.store(register, left.unit, left.raw)?;
        }
        Ok(register)
    }

    /// Registers for the `N` units of a result.
    pub(super) fn temporaries<const N: usize>(&mut self) -> Emitted<[Vector; N]> {
        let mut taken = [Vector(0); N];
        for one in &mut taken {
            *one = self.temporary()?;
        }
        Ok(taken)
    }

    /// Register with a unit, whose NaNs may be raw.
    fn raw_unit(&mut self, unit: Unit) -> Emitted<Vector> {
        if let Some(register) = self.registers.find(unit) {
            return Ok(register);
        }
        let register = self.temporary()?;
        self.load(register, unit)?;
        self.registers.hold(register, unit, false, false);
        Ok(register)
    }

    /// Register with a unit.
    fn unit(&mut self, unit: Unit) -> Emitted<Vector> {
        let register = self.raw_unit(unit)?;
        let is_raw = self.registers.cached(register).is_some_and(|cached| std::mem::take(&mut cached.raw));
        if is_raw {
            self.canonicalise(register)?;
        }
        Ok(register)
    }

    /// Units of an operand row: two for words, four for double words.
    pub(super) fn row<const N: usize>(&mut self, row: u32) -> Emitted<[Vector; N]> {
        let mut units = [Vector(0); N];
        for (part, register) in (0..).zip(&mut units) {
            *register = self.unit(Unit::of(row, part))?;
        }
        Ok(units)
    }

    /// [`Emitter::row`] of single-precision numbers whose NaNs may be raw.
    pub(super) fn numbers(&mut self, row: u32) -> Emitted<[Vector; 2]> {
        Ok([self.raw_unit(Unit::of(row, 0))?, self.raw_unit(Unit::of(row, 1))?])
    }

    /// One of the code's own constants.
    pub(super) fn pooled(&mut self, Pooled(offset): Pooled) -> Emitted<Vector> {
        self.unit(Unit::Pool(offset))
    }

    /// Makes registers the result of the current op, in the executing lanes.
    pub(super) fn write<const N: usize>(&mut self, row: u32, values: [Vector; N]) -> Emitted {
        self.write_values(row, values, false)
    }

    /// [`Emitter::write`] of single-precision numbers whose NaNs are still to be replaced.
    pub(super) fn write_numbers(&mut self, row: u32, values: [Vector; 2]) -> Emitted {
        self.write_values(row, values, true)
    }

    fn write_values<const N: usize>(&mut self, row: u32, values: [Vector; N], raw: bool) -> Emitted {
        for (part, value) in (0..).zip(values) {
            let unit = Unit::of(row, part);
            self.facts.changed(unit);
            if self.lanes == Lanes::All {
                self.registers.hold(value, unit, true, raw);
                continue;
            }
            if raw {
                self.canonicalise(value)?;
            }
            let old = self.unit(unit)?;
            let (code, mask) = match N {
                2 => (Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512, [Register::K1, Register::K2][part as usize % 2]),
                _ => (
                    Code::EVEX_Vmovdqa64_zmm_k1z_zmmm512,
                    [Register::K1, Register::K3, Register::K2, Register::K4][part as usize % 4],
                ),
            };
            let mut merge = Instruction::with2(code, zmm(old), zmm(value))?;
            merge.set_op_mask(mask);
            self.a.add_instruction(merge)?;
            self.registers.hold(old, unit, true, false);
        }
        Ok(())
    }

    /// Replaces NaNs of single precision by the canonical one.
    fn canonicalise(&mut self, register: Vector) -> Emitted {
        let unordered = 3_u32;
        let code = Code::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae;
        self.put(Instruction::with4(code, Register::K7, zmm(register), zmm(register), unordered))?;
        let nan = MemoryOperand::with_base_displ(Register::RSP, i64::from(stack::NAN));
        let code = Code::EVEX_Vblendmps_zmm_k1z_zmm_zmmm512b32;
        let mut replace = Instruction::with3(code, zmm(register), zmm(register), nan)?;
        replace.set_is_broadcast(true);
        replace.set_op_mask(Register::K7);
        self.a.add_instruction(replace)
    }

    fn load(&mut self, register: Vector, unit: Unit) -> Emitted {
        let code = match unit {
            Unit::Pool(_) => Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512,
            _ => Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512,
        };
        let place = self.place(unit)?;
        self.put(Instruction::with2(code, zmm(register), place))
    }

    fn store(&mut self, register: Vector, unit: Unit, raw: bool) -> Emitted {
        if raw {
            self.canonicalise(register)?;
        }
        let place = self.place(unit)?;
        self.put(Instruction::with2(Code::EVEX_Vmovdqa32_zmmm512_k1z_zmm, place, zmm(register)))
    }

    fn place(&mut self, unit: Unit) -> Emitted<MemoryOperand> {
        let (base, offset) = match unit {
            Unit::Frame(offset) => (Register::R12, offset),
            Unit::Constant(offset) => (Register::R13, offset),
            Unit::Pool(offset) => {
                self.a.mov(r11, qword_ptr(rsp + stack::POOL))?;
                (Register::R11, offset)
            }
        };
        Ok(MemoryOperand::with_base_displ(base, i64::from(offset)))
    }

    /// Stores all dirty units, which stay in their registers.
    pub(super) fn flush(&mut self) -> Emitted {
        let contents = self.registers.contents();
        self.store_dirty(&contents)?;
        self.registers.note_flushed();
        Ok(())
    }

    fn store_dirty(&mut self, contents: &Contents) -> Emitted {
        for (number, cached) in (0..).zip(contents) {
            if let Some(cached) = cached
                && cached.dirty
            {
                self.store(Vector(number), cached.unit, cached.raw)?;
            }
        }
        Ok(())
    }

    /// [`Emitter::flush`] at the end of a block, after which no lane reads the dead units.
    pub(super) fn flush_live(&mut self, dead: Option<&Units>) -> Emitted {
        if let Some(dead) = dead {
            self.registers.drop_units(|unit| dead.contains(unit));
        }
        self.flush()
    }

    /// Begins code that can be entered: rows are in memory, and nothing is known of registers.
    pub(super) fn begin(&mut self, label: &mut CodeLabel, dead: Option<&Units>) -> Emitted {
        self.flush_live(dead)?;
        self.count()?;
        self.registers.forget();
        self.facts.forget();
        self.masked = None;
        self.a.set_label(label)?;
        // The assembler allows one label per instruction.
        self.a.nop()
    }

    /// Counts the instructions so far.
    pub(super) fn count(&mut self) -> Emitted {
        let pending = std::mem::take(&mut self.pending);
        if pending != 0 { self.a.add(r15, pending as i32) } else { Ok(()) }
    }

    /// Counts the current op with its lanes, and sets the mask registers.
    pub(super) fn enter_op(&mut self, op: &Op) -> Emitted {
        if op.guard == PredicateSource::TRUE {
            self.lanes = if self.is_full { Lanes::All } else { Lanes::Active };
            self.pending += 1;
        } else {
            self.lanes = Lanes::Guarded(op.guard);
            if self.masked != Some(self.lanes) {
                self.read_predicate(op.guard)?;
                if !self.is_full {
                    self.a.and(eax, r14d)?;
                }
                self.a.mov(dword_ptr(rsp + stack::MASK), eax)?;
                self.a.popcnt(ecx, eax)?;
                self.a.mov(qword_ptr(rsp + stack::LANES), rcx)?;
                self.set_masks()?;
            }
            self.a.add(rbp, qword_ptr(rsp + stack::LANES))?;
            self.a.inc(qword_ptr(rsp + stack::GUARDED))?;
        }
        if self.lanes == Lanes::Active && self.masked != Some(self.lanes) {
            self.a.mov(eax, r14d)?;
            self.set_masks()?;
        }
        Ok(())
    }

    /// Sets the mask registers to the lanes in `eax`.
    fn set_masks(&mut self) -> Emitted {
        self.masked = Some(self.lanes);
        self.put(Instruction::with2(Code::VEX_Kmovd_kr_r32, Register::K1, Register::EAX))?;
        for (d, a, by, code) in [
            (Register::K2, Register::K1, 16_u32, Code::VEX_Kshiftrd_kr_kr_imm8),
            (Register::K3, Register::K1, 8, Code::VEX_Kshiftrw_kr_kr_imm8),
            (Register::K4, Register::K2, 8, Code::VEX_Kshiftrw_kr_kr_imm8),
        ] {
            self.put(Instruction::with3(code, d, a, by))?;
        }
        Ok(())
    }

    /// Sets the mask registers to the lanes that they held before a call.
    fn restore_masks(&mut self, masked: Option<Lanes>) -> Emitted {
        match masked {
            Some(Lanes::Guarded(_)) => self.a.mov(eax, dword_ptr(rsp + stack::MASK))?,
            Some(_) => self.a.mov(eax, r14d)?,
            None => return Ok(()),
        }
        self.set_masks()
    }

    /// `eax` = a predicate, one bit per lane.
    pub(super) fn read_predicate(&mut self, source: PredicateSource) -> Emitted {
        self.a.mov(eax, dword_ptr(r12 + source.index() as i32 * 4))?;
        if source.inversion() != 0 { self.a.not(eax) } else { Ok(()) }
    }

    /// Predicate `index` = `eax`, in the executing lanes; changes `ecx`.
    pub(super) fn write_predicate(&mut self, index: u32) -> Emitted {
        let word = r12 + index as i32 * 4;
        match self.lanes {
            Lanes::All => {}
            lanes => {
                self.a.mov(ecx, dword_ptr(word))?;
                self.a.xor(eax, ecx)?;
                match lanes {
                    Lanes::Guarded(_) => self.a.and(eax, dword_ptr(rsp + stack::MASK))?,
                    _ => self.a.and(eax, r14d)?,
                }
                self.a.xor(eax, ecx)?;
            }
        }
        self.a.mov(dword_ptr(word), eax)?;
        if let Some(Lanes::Guarded(source)) = self.masked
            && source.index() == index
        {
            self.masked = None;
        }
        Ok(())
    }

    /// Calls the current op, which `enter_op` has counted, with all rows in memory.
    pub(crate) fn call_op(&mut self) -> Emitted {
        self.flush()?;
        self.count()?;
        self.registers.forget();
        self.facts.forget();
        self.masked = None;
        let mut next = self.a.create_label();
        if let Lanes::Guarded(_) = self.lanes {
            self.a.cmp(dword_ptr(rsp + stack::MASK), 0)?;
            self.a.je(next)?;
        }
        let stays = self.a.create_label();
        self.call(self.pc, self.lanes)?;
        self.leave_unless_next(self.pc, 0, stays)?;
        let mut stays = stays;
        self.a.set_label(&mut stays)?;
        self.a.nop()?;
        self.a.set_label(&mut next)?;
        self.a.nop()
    }

    /// Calls the op at `pc`; the flow comes back in `eax`.
    fn call(&mut self, pc: u32, lanes: Lanes) -> Emitted {
        self.a.mov(dword_ptr(rbx + layout::PC), pc)?;
        match lanes {
            Lanes::Guarded(_) => {
                self.a.mov(eax, dword_ptr(rsp + stack::MASK))?;
                self.a.mov(dword_ptr(rbx + layout::MASK), eax)?;
            }
            Lanes::All | Lanes::Active => self.a.mov(dword_ptr(rbx + layout::MASK), r14d)?,
        }
        self.a.mov(iced_x86::code_asm::rdi, rbx)?;
        self.a.mov(rsi, qword_ptr(rsp + stack::CODE))?;
        self.a.add(rsi, (pc as usize * size_of::<Op>()) as i32)?;
        // The interpreter's function executes the op, which the end of the code counts as its own.
        self.a.dec(qword_ptr(rbx + layout::NATIVE_INSTRUCTIONS))?;
        self.a.vzeroupper()?;
        self.a.call(qword_ptr(rsp + stack::CALL))
    }

    /// After a call: goes to `stays` if the warp continues with the next op and the same lanes, else returns
    /// with `pending` more instructions.
    fn leave_unless_next(&mut self, pc: u32, pending: u32, stays: CodeLabel) -> Emitted {
        let mut ends = self.a.create_label();
        self.a.test(eax, eax)?;
        self.a.jne(ends)?;
        self.a.cmp(dword_ptr(rbx + layout::ACTIVE), r14d)?;
        self.a.je(stays)?;
        self.a.mov(dword_ptr(rbx + layout::PC), pc + 1)?;
        self.a.mov(eax, exit::JUMP)?;
        self.a.set_label(&mut ends)?;
        self.a.nop()?;
        if pending != 0 {
            self.a.add(r15, pending as i32)?;
        }
        self.a.jmp(self.leave)
    }

    /// A label of a path that calls the current op instead of the code up to [`Emitter::slow_path_ends`].
    /// The path loads `results`, as the code does.
    pub(super) fn slow_path(&mut self, results: Vec<(Unit, Vector)>) -> CodeLabel {
        let (start, back) = (self.a.create_label(), self.a.create_label());
        self.slow_calls.push(SlowCall {
            start,
            back,
            pc: self.pc,
            lanes: self.lanes,
            pending: self.pending,
            masked: self.masked,
            contents: self.registers.contents(),
            results,
        });
        start
    }

    /// Place at which the last slow path joins the code.
    pub(super) fn slow_path_ends(&mut self) -> Emitted {
        if let Some(call) = self.slow_calls.last_mut() {
            self.a.set_label(&mut call.back)?;
            self.a.nop()?;
        }
        Ok(())
    }

    /// A label that returns from compiled code at `pc`, with rows in memory and all instructions counted.
    pub(super) fn side_exit(&mut self, pc: u32, code: u32) -> CodeLabel {
        let start = self.a.create_label();
        self.side_exits.push(SideExit { start, pc, code });
        start
    }

    /// Emits the paths that are rarely taken.
    pub(super) fn finish(&mut self) -> Emitted {
        for SideExit { mut start, pc, code } in std::mem::take(&mut self.side_exits) {
            self.a.set_label(&mut start)?;
            self.a.mov(dword_ptr(rbx + layout::PC), pc)?;
            self.a.mov(eax, code)?;
            self.a.jmp(self.leave)?;
        }
        self.emit_aparts()?;
        for mut slow in std::mem::take(&mut self.slow_calls) {
            self.a.set_label(&mut slow.start)?;
            self.a.nop()?;
            if let Lanes::Guarded(_) = slow.lanes {
                self.a.cmp(dword_ptr(rsp + stack::MASK), 0)?;
                self.a.je(slow.back)?;
            }
            self.store_dirty(&slow.contents)?;
            self.call(slow.pc, slow.lanes)?;
            let mut stays = self.a.create_label();
            self.leave_unless_next(slow.pc, slow.pending, stays)?;
            self.a.set_label(&mut stays)?;
            self.a.nop()?;
            for (number, cached) in (0..).zip(&slow.contents) {
                if let Some(cached) = cached {
                    self.load(Vector(number), cached.unit)?;
                }
            }
            for (unit, register) in slow.results {
                self.load(register, unit)?;
            }
            self.restore_masks(slow.masked)?;
            self.a.jmp(slow.back)?;
        }
        Ok(())
    }
}

/// Register of the assembler.
pub(super) fn zmm(Vector(number): Vector) -> Register {
    Register::ZMM0 + u32::from(number)
}

/// Lower half of a register.
pub(super) fn ymm(Vector(number): Vector) -> Register {
    Register::YMM0 + u32::from(number)
}

/// Lowest quarter of a register.
pub(super) fn xmm(Vector(number): Vector) -> Register {
    Register::XMM0 + u32::from(number)
}
