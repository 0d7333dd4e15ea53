//! Forms that the emitter knows: for the function of an op, the machine code with the same result.
//!
//! Two functions with one address have one meaning, so the address is a sound key. A function that the table
//! lacks is called.

use std::collections::HashMap;

use iced_x86::{Code, Instruction, Register};

use super::access::Access;
use super::emitter::{Emitted, Emitter, xmm, ymm, zmm};
use super::rows::Vector;
use super::updates::Update;
use crate::engine::op::{Op, PredicateSource, Run};

/// Emits the code of an op.
pub(crate) type Emit = fn(&mut Emitter<'_>, &Op) -> Emitted;

/// Kind of an op for the emitter.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// Code for any lanes.
    Lanes(Emit),
    /// A load or store.
    Access(Access),
    /// A load or store of consecutive elements, of which the op's slot field names the number.
    Vector(Access),
    /// An atomic update.
    Update(Update),
    /// A branch to the low half of the immediate.
    Branch,
    /// A reconvergence point.
    Reconverge,
    /// No effect.
    Nothing,
}

/// The table of forms.
#[derive(Default)]
pub(crate) struct Forms {
    forms: HashMap<usize, Form>,
}

impl Forms {
    /// All forms of this host.
    pub(super) fn all() -> Forms {
        let mut forms = Forms::default();
        crate::ops::native_forms(&mut forms);
        forms.add(crate::bind::reconverge, Form::Reconverge);
        forms
    }

    /// Adds the form of a function.
    pub(crate) fn add(&mut self, run: Run, form: Form) {
        self.forms.insert(run as usize, form);
    }

    /// Adds the code of a function.
    pub(crate) fn lanes(&mut self, run: Run, emit: Emit) {
        self.add(run, Form::Lanes(emit));
    }

    /// Form of an op, if known.
    pub(super) fn of(&self, op: &Op) -> Option<Form> {
        self.forms.get(&(op.run as usize)).copied()
    }
}

/// Code of an operation on `N` units of each operand.
macro_rules! per_unit {
    ($e:ident, $op:ident, $n:literal, |$d:ident $(, $a:ident = $row:ident)*| $body:block) => {{
        $(let $a = $e.row::<$n>($op.$row)?;)*
        let results = $e.temporaries::<$n>()?;
        for part in 0..$n {
            let $d = results[part];
            $(let $a = $a[part];)*
            $body
        }
        $e.write($op.d, results)
    }};
}

impl Emitter<'_> {
    /// d = operation(a, b), on words.
    pub(crate) fn words(&mut self, op: &Op, code: Code) -> Emitted {
        per_unit!(self, op, 2, |d, a = a, b = b| { self.binary(code, d, a, b)? })
    }

    /// d = operation(a, b), on double words.
    pub(crate) fn doubles(&mut self, op: &Op, code: Code) -> Emitted {
        per_unit!(self, op, 4, |d, a = a, b = b| { self.binary(code, d, a, b)? })
    }

    /// d = operation(a), on words.
    pub(crate) fn word(&mut self, op: &Op, code: Code) -> Emitted {
        per_unit!(self, op, 2, |d, a = a| { self.unary(code, d, a)? })
    }

    /// d = operation(a), on double words.
    pub(crate) fn double(&mut self, op: &Op, code: Code) -> Emitted {
        per_unit!(self, op, 4, |d, a = a| { self.unary(code, d, a)? })
    }

    /// d = a.
    pub(crate) fn move_words(&mut self, op: &Op) -> Emitted {
        self.word(op, Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512)
    }

    /// d = a, of double words.
    pub(crate) fn move_doubles(&mut self, op: &Op) -> Emitted {
        self.double(op, Code::EVEX_Vmovdqa64_zmm_k1z_zmmm512)
    }

    /// d = a b + c with these codes, on words.
    pub(crate) fn multiply_add_words(&mut self, op: &Op) -> Emitted {
        per_unit!(self, op, 2, |d, a = a, b = b, c = c| {
            self.binary(Code::EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32, d, a, b)?;
            self.binary(Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, d, d, c)?;
        })
    }

    /// d = a b + c, on double words.
    pub(crate) fn multiply_add_doubles(&mut self, op: &Op) -> Emitted {
        per_unit!(self, op, 4, |d, a = a, b = b, c = c| {
            self.binary(Code::EVEX_Vpmullq_zmm_k1z_zmm_zmmm512b64, d, a, b)?;
            self.binary(Code::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64, d, d, c)?;
        })
    }

    /// d = -a, on words.
    pub(crate) fn negate_words(&mut self, op: &Op) -> Emitted {
        per_unit!(self, op, 2, |d, a = a| {
            self.binary(Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32, d, d, d)?;
            self.binary(Code::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32, d, d, a)?;
        })
    }

    /// d = -a, on double words.
    pub(crate) fn negate_doubles(&mut self, op: &Op) -> Emitted {
        per_unit!(self, op, 4, |d, a = a| {
            self.binary(Code::EVEX_Vpxorq_zmm_k1z_zmm_zmmm512b64, d, d, d)?;
            self.binary(Code::EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64, d, d, a)?;
        })
    }

    /// d = not a, on words.
    pub(crate) fn invert_words(&mut self, op: &Op) -> Emitted {
        per_unit!(self, op, 2, |d, a = a| {
            self.with_immediate(Code::EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8, d, a, a, 0x55)?
        })
    }

    /// d = not a, on double words.
    pub(crate) fn invert_doubles(&mut self, op: &Op) -> Emitted {
        per_unit!(self, op, 4, |d, a = a| {
            self.with_immediate(Code::EVEX_Vpternlogq_zmm_k1z_zmm_zmmm512b64_imm8, d, a, a, 0x55)?
        })
    }

    /// Words of d = the truth table applied to the bits of a, b and c.
    pub(crate) fn truth_table(&mut self, op: &Op, table: u8) -> Emitted {
        per_unit!(self, op, 2, |d, a = a, b = b, c = c| {
            self.copy(d, a)?;
            self.with_immediate(Code::EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8, d, b, c, table)?;
        })
    }

    /// Extends 16 words (of two units) to double words in four new registers.
    pub(crate) fn extend(&mut self, words: [Vector; 2], code: Code) -> Emitted<[Vector; 4]> {
        let results = self.temporaries::<4>()?;
        for (part, &d) in results.iter().enumerate() {
            let a = words[part / 2];
            if part % 2 == 0 {
                self.put(Instruction::with2(code, zmm(d), ymm(a)))?;
            } else {
                let upper = Code::EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8;
                self.put(Instruction::with3(upper, ymm(d), zmm(a), 1_u32))?;
                self.put(Instruction::with2(code, zmm(d), ymm(d)))?;
            }
        }
        Ok(results)
    }

    /// Double words of d = words of a, extended.
    pub(crate) fn widen(&mut self, op: &Op, code: Code) -> Emitted {
        let a = self.row::<2>(op.a)?;
        let d = self.extend(a, code)?;
        self.write(op.d, d)
    }

    /// Words of d = low words of a, or high words.
    pub(crate) fn narrow(&mut self, op: &Op, high: bool) -> Emitted {
        let a = self.row::<4>(op.a)?;
        let d = self.narrowed(a, high)?;
        self.write(op.d, d)
    }

    /// Low or high words of double words, in two new registers.
    fn narrowed(&mut self, a: [Vector; 4], high: bool) -> Emitted<[Vector; 2]> {
        let d = self.temporaries::<2>()?;
        let shifted = self.temporary()?;
        for (part, a) in a.into_iter().enumerate() {
            let a = if high {
                self.put(Instruction::with3(
                    Code::EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8,
                    zmm(shifted),
                    zmm(a),
                    32_u32,
                ))?;
                shifted
            } else {
                a
            };
            let d = d[part / 2];
            let code = Code::EVEX_Vpmovqd_ymmm256_k1z_zmm;
            if part % 2 == 0 {
                self.put(Instruction::with2(code, ymm(d), zmm(a)))?;
            } else {
                self.put(Instruction::with2(code, ymm(shifted), zmm(a)))?;
                let join = Code::EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8;
                self.put(Instruction::with4(join, zmm(d), zmm(d), ymm(shifted), 1_u32))?;
            }
        }
        Ok(d)
    }

    /// Double words of d = words of a times words of b, with or without signs, plus c if `adds`.
    pub(crate) fn multiply_wide(&mut self, op: &Op, signed: bool, adds: bool) -> Emitted {
        let a = self.products(op, signed)?;
        if adds {
            for (a, c) in a.into_iter().zip(self.row::<4>(op.c)?) {
                self.binary(Code::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64, a, a, c)?;
            }
        }
        self.write(op.d, a)
    }

    /// Words of d = the high words of the products of a and b.
    pub(crate) fn multiply_high(&mut self, op: &Op, signed: bool) -> Emitted {
        let a = self.products(op, signed)?;
        let d = self.narrowed(a, true)?;
        self.write(op.d, d)
    }

    /// Products of words of a and b as double words in new registers.
    fn products(&mut self, op: &Op, signed: bool) -> Emitted<[Vector; 4]> {
        let (a, b) = (self.row::<2>(op.a)?, self.row::<2>(op.b)?);
        // The product reads the low words of the double words alone.
        let extension = Code::EVEX_Vpmovzxdq_zmm_k1z_ymmm256;
        let (a, b) = (self.extend(a, extension)?, self.extend(b, extension)?);
        let code = match signed {
            true => Code::EVEX_Vpmuldq_zmm_k1z_zmm_zmmm512b64,
            false => Code::EVEX_Vpmuludq_zmm_k1z_zmm_zmmm512b64,
        };
        for (a, b) in a.into_iter().zip(b) {
            self.binary(code, a, a, b)?;
        }
        Ok(a)
    }

    /// Double words of d = a shifted by the words of b.
    pub(crate) fn shift_doubles(&mut self, op: &Op, code: Code) -> Emitted {
        let a = self.row::<4>(op.a)?;
        let b = self.row::<2>(op.b)?;
        let by = self.extend(b, Code::EVEX_Vpmovzxdq_zmm_k1z_ymmm256)?;
        for (a, by) in a.into_iter().zip(by) {
            self.binary(code, by, a, by)?;
        }
        self.write(op.d, by)
    }

    /// d = operation(a, b), on single-precision numbers; every NaN becomes the canonical one.
    pub(crate) fn singles(&mut self, op: &Op, code: Code) -> Emitted {
        let (a, b) = (self.numbers(op.a)?, self.numbers(op.b)?);
        let d = self.temporaries::<2>()?;
        for part in 0..2 {
            self.binary(code, d[part], a[part], b[part])?;
        }
        self.write_numbers(op.d, d)
    }

    /// d = operation(a), on single-precision numbers.
    pub(crate) fn single(&mut self, op: &Op, code: Code) -> Emitted {
        let a = self.numbers(op.a)?;
        let d = self.temporaries::<2>()?;
        for part in 0..2 {
            self.unary(code, d[part], a[part])?;
        }
        self.write_numbers(op.d, d)
    }

    /// d = a b + c, on single-precision numbers.
    pub(crate) fn fused_singles(&mut self, op: &Op) -> Emitted {
        let (a, b, c) = (self.numbers(op.a)?, self.numbers(op.b)?, self.numbers(op.c)?);
        let d = self.temporaries::<2>()?;
        for part in 0..2 {
            self.copy(d[part], a[part])?;
            self.binary(Code::EVEX_Vfmadd213ps_zmm_k1z_zmm_zmmm512b32_er, d[part], b[part], c[part])?;
        }
        self.write_numbers(op.d, d)
    }

    /// `eax` = the comparison of words of a and b, one bit per lane.
    fn compare_words(&mut self, a: [Vector; 2], b: [Vector; 2], code: Code, how: u8) -> Emitted {
        for (part, mask) in [Register::K5, Register::K6].into_iter().enumerate() {
            self.put(Instruction::with4(code, mask, zmm(a[part]), zmm(b[part]), u32::from(how)))?;
        }
        self.join_masks(Code::VEX_Kunpckwd_kr_kr_kr, Register::K6, Register::K5)?;
        self.put(Instruction::with2(Code::VEX_Kmovd_r32_kr, Register::EAX, Register::K5))
    }

    /// `low` = `high` and `low`, one after the other.
    fn join_masks(&mut self, code: Code, high: Register, low: Register) -> Emitted {
        self.put(Instruction::with3(code, low, high, low))
    }

    /// Predicate d = the comparison of words of a and b.
    pub(crate) fn test_words(&mut self, op: &Op, code: Code, how: u8) -> Emitted {
        let (a, b) = (self.row::<2>(op.a)?, self.row::<2>(op.b)?);
        self.compare_words(a, b, code, how)?;
        self.write_predicate(op.d)
    }

    /// Predicate d = the comparison of single-precision numbers a and b.
    pub(crate) fn test_singles(&mut self, op: &Op, how: u8) -> Emitted {
        let (a, b) = (self.numbers(op.a)?, self.numbers(op.b)?);
        self.compare_words(a, b, Code::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae, how)?;
        self.write_predicate(op.d)
    }

    /// Predicate d = the comparison of double words of a and b.
    pub(crate) fn test_doubles(&mut self, op: &Op, code: Code, how: u8) -> Emitted {
        let (a, b) = (self.row::<4>(op.a)?, self.row::<4>(op.b)?);
        for (half, joined) in [Register::K5, Register::K7].into_iter().enumerate() {
            for (part, mask) in [joined, Register::K6].into_iter().enumerate() {
                let unit = half * 2 + part;
                self.put(Instruction::with4(code, mask, zmm(a[unit]), zmm(b[unit]), u32::from(how)))?;
            }
            self.join_masks(Code::VEX_Kunpckbw_kr_kr_kr, Register::K6, joined)?;
        }
        self.join_masks(Code::VEX_Kunpckwd_kr_kr_kr, Register::K7, Register::K5)?;
        self.put(Instruction::with2(Code::VEX_Kmovd_r32_kr, Register::EAX, Register::K5))?;
        self.write_predicate(op.d)
    }

    /// d = a where predicate c holds, else b.
    pub(crate) fn select<const N: usize>(&mut self, op: &Op) -> Emitted {
        let (a, b) = (self.row::<N>(op.a)?, self.row::<N>(op.b)?);
        let d = self.temporaries::<N>()?;
        self.read_predicate(PredicateSource::decode(op.c))?;
        self.put(Instruction::with2(Code::VEX_Kmovd_kr_r32, Register::K5, Register::EAX))?;
        let (code, shift, by) = match N {
            2 => (Code::EVEX_Vpblendmd_zmm_k1z_zmm_zmmm512b32, Code::VEX_Kshiftrd_kr_kr_imm8, 16_u32),
            _ => (Code::EVEX_Vpblendmq_zmm_k1z_zmm_zmmm512b64, Code::VEX_Kshiftrd_kr_kr_imm8, 8),
        };
        for part in 0..N {
            let mut blend = Instruction::with3(code, zmm(d[part]), zmm(b[part]), zmm(a[part]))?;
            blend.set_op_mask(Register::K5);
            self.put(Ok(blend))?;
            if part + 1 < N {
                self.put(Instruction::with3(shift, Register::K5, Register::K5, by))?;
            }
        }
        self.write(op.d, d)
    }

    /// Predicate d = `combine` applied to the predicates a and b.
    pub(crate) fn combine_predicates(&mut self, op: &Op, combine: Combine) -> Emitted {
        use iced_x86::code_asm::{eax, edx};
        self.read_predicate(PredicateSource::decode(op.b))?;
        self.a.mov(edx, eax)?;
        self.read_predicate(PredicateSource::decode(op.a))?;
        match combine {
            Combine::And => self.a.and(eax, edx)?,
            Combine::Or => self.a.or(eax, edx)?,
            Combine::Xor => self.a.xor(eax, edx)?,
            Combine::NotAnd => {
                self.a.not(eax)?;
                self.a.and(eax, edx)?;
            }
        }
        self.write_predicate(op.d)
    }

    /// Predicate d = predicate a.
    pub(crate) fn copy_predicate(&mut self, op: &Op) -> Emitted {
        self.read_predicate(PredicateSource::decode(op.a))?;
        self.write_predicate(op.d)
    }

    /// d = the parameter at the immediate, in `N` units.
    pub(crate) fn parameter<const N: usize>(&mut self, op: &Op) -> Emitted {
        use iced_x86::code_asm::{qword_ptr, rax, rbx};
        let d = self.temporaries::<N>()?;
        self.a.mov(rax, qword_ptr(rbx + super::layout::PARAMETERS))?;
        let code = match N {
            2 => Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32,
            _ => Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64,
        };
        let place = iced_x86::MemoryOperand::with_base_displ(Register::RAX, op.immediate as i64);
        self.put(Instruction::with2(code, zmm(d[0]), place))?;
        for part in 1..N {
            self.copy(d[part], d[0])?;
        }
        self.write(op.d, d)
    }

    /// `d` = the lowest word or double word of `a` in all lanes.
    pub(super) fn broadcast(&mut self, code: Code, d: Vector, a: Vector) -> Emitted {
        self.put(Instruction::with2(code, zmm(d), xmm(a)))
    }
}

/// Combination of two predicates.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Combine {
    /// a and b.
    And,
    /// a or b.
    Or,
    /// a exclusive-or b.
    Xor,
    /// b without a.
    NotAnd,
}
