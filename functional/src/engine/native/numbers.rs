//! Code of floating-point operations and conversions beside plain arithmetic in single precision.

use iced_x86::code_asm::ecx;
use iced_x86::{Code, Instruction, Register};

use super::emitter::{Emitted, Emitter, ymm, zmm};
use super::rows::{Unit, Vector};
use crate::engine::op::Op;

/// `vfpclass`: a subnormal number.
const SUBNORMAL: u32 = 0x20;
/// `vcmp`: one operand is a NaN; none is.
const UNORDERED: u32 = 3;
const ORDERED: u32 = 7;
/// `vcmp`: a is at least b, quietly.
const AT_LEAST: u32 = 0x1d;
/// `vrndscale`: no exception for an inexact result.
const QUIETLY: u8 = 8;
/// 1 and 2^31 in single precision.
const ONE: u32 = 0x3f80_0000;
const TWO_TO_31: u32 = 0x4f00_0000;

/// Approximation in single precision, of which the host's exact operations are the definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Approximation {
    /// 1 ÷ a.
    Reciprocal,
    /// √a.
    Root,
    /// 1 ÷ √a.
    ReciprocalRoot,
    /// a ÷ b.
    Quotient,
}

/// Change of a sign bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    /// |a|.
    Clear,
    /// -a.
    Flip,
}

impl Emitter<'_> {
    /// `register` = a word in all lanes.
    fn constant(&mut self, register: Vector, word: u32) -> Emitted {
        self.a.mov(ecx, word)?;
        let code = Code::EVEX_Vpbroadcastd_zmm_k1z_r32;
        self.put(Instruction::with2(code, zmm(register), Register::ECX))
    }

    /// `mask` = comparison of single-precision numbers.
    fn compare(&mut self, mask: Register, a: Vector, b: Vector, how: u32) -> Emitted {
        let code = Code::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae;
        self.put(Instruction::with4(code, mask, zmm(a), zmm(b), how))
    }

    /// d = operation(a) where `mask` holds.
    fn put_where(&mut self, mask: Register, instruction: Instruction) -> Emitted {
        let mut instruction = instruction;
        instruction.set_op_mask(mask);
        self.put(Ok(instruction))
    }

    /// Replaces subnormal numbers by zeros of the same sign.
    fn flush_numbers(&mut self, register: Vector) -> Emitted {
        let (number, mask) = (zmm(register), Register::K7);
        self.put(Instruction::with3(Code::EVEX_Vfpclassps_kr_k1_zmmm512b32_imm8, mask, number, SUBNORMAL))?;
        let right = Instruction::with3(Code::EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8, number, number, 31_u32)?;
        self.put_where(mask, right)?;
        let left = Instruction::with3(Code::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8, number, number, 31_u32)?;
        self.put_where(mask, left)
    }

    /// Copies of single-precision numbers with subnormal ones flushed; their NaNs may be raw.
    fn flushed(&mut self, row: u32) -> Emitted<[Vector; 2]> {
        let (a, d) = (self.numbers(row)?, self.temporaries::<2>()?);
        for (a, d) in a.into_iter().zip(d) {
            self.copy(d, a)?;
            self.flush_numbers(d)?;
        }
        Ok(d)
    }

    /// d = operation(a, b) with subnormal operands and results flushed.
    pub(crate) fn flushed_singles(&mut self, op: &Op, code: Code) -> Emitted {
        let (a, b) = (self.flushed(op.a)?, self.flushed(op.b)?);
        for (a, b) in a.into_iter().zip(b) {
            self.binary(code, a, a, b)?;
            self.flush_numbers(a)?;
        }
        self.write_numbers(op.d, a)
    }

    /// d = a b + c with subnormal operands and results flushed.
    pub(crate) fn flushed_fused_singles(&mut self, op: &Op) -> Emitted {
        let (a, b, c) = (self.flushed(op.a)?, self.flushed(op.b)?, self.flushed(op.c)?);
        for part in 0..2 {
            self.binary(Code::EVEX_Vfmadd213ps_zmm_k1z_zmm_zmmm512b32_er, a[part], b[part], c[part])?;
            self.flush_numbers(a[part])?;
        }
        self.write_numbers(op.d, a)
    }

    /// d = |a| or -a; flushes if `flushes`.
    pub(crate) fn change_signs(&mut self, op: &Op, sign: Sign, flushes: bool) -> Emitted {
        let (a, d) = (self.row::<2>(op.a)?, self.temporaries::<2>()?);
        let bits = self.temporary()?;
        let (word, code) = match sign {
            Sign::Clear => (0x7fff_ffff, Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32),
            Sign::Flip => (0x8000_0000, Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32),
        };
        self.constant(bits, word)?;
        for (a, d) in a.into_iter().zip(d) {
            self.copy(d, a)?;
            if flushes {
                self.flush_numbers(d)?;
            }
            self.binary(code, d, d, bits)?;
        }
        self.write(op.d, d)
    }

    /// d = |a| or -a, in double precision.
    pub(crate) fn change_signs_of_doubles(&mut self, op: &Op, sign: Sign) -> Emitted {
        let (a, d) = (self.row::<4>(op.a)?, self.temporaries::<4>()?);
        for (a, d) in a.into_iter().zip(d) {
            // Shifts make the sign bit without a constant.
            let (left, right) =
                (Code::EVEX_Vpsllq_zmm_k1z_zmmm512b64_imm8, Code::EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8);
            if sign == Sign::Clear {
                self.put(Instruction::with3(left, zmm(d), zmm(a), 1_u32))?;
                self.put(Instruction::with3(right, zmm(d), zmm(d), 1_u32))?;
            } else {
                self.with_immediate(Code::EVEX_Vpternlogq_zmm_k1z_zmm_zmmm512b64_imm8, d, d, d, 0xff)?;
                self.put(Instruction::with3(left, zmm(d), zmm(d), 63_u32))?;
                self.binary(Code::EVEX_Vpxorq_zmm_k1z_zmm_zmmm512b64, d, d, a)?;
            }
        }
        self.write(op.d, d)
    }

    /// d = the smaller or the larger of a and b: a number wins over a NaN, and -0 is smaller than +0.
    pub(crate) fn extremum(&mut self, op: &Op, larger: bool) -> Emitted {
        let (a, b) = (self.numbers(op.a)?, self.numbers(op.b)?);
        let (d, ranks) = (self.temporaries::<2>()?, self.temporaries::<2>()?);
        let code = match larger {
            true => Code::EVEX_Vpmaxsd_zmm_k1z_zmm_zmmm512b32,
            false => Code::EVEX_Vpminsd_zmm_k1z_zmm_zmmm512b32,
        };
        let turned = self.temporary()?;
        for part in 0..2 {
            let (a, b, d, rank) = (a[part], b[part], d[part], ranks[part]);
            self.rank(d, a, turned)?;
            self.rank(rank, b, turned)?;
            self.binary(code, rank, d, rank)?;
            self.rank(d, rank, turned)?;
            for (one, other) in [(a, b), (b, a)] {
                self.compare(Register::K5, one, one, UNORDERED)?;
                let chosen = Instruction::with2(Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512, zmm(d), zmm(other))?;
                self.put_where(Register::K5, chosen)?;
            }
        }
        self.write_numbers(op.d, d)
    }

    /// d = the rank of a among all numbers as an integer; the function is its own inverse.
    fn rank(&mut self, d: Vector, a: Vector, turned: Vector) -> Emitted {
        let (signs, shift) =
            (Code::EVEX_Vpsrad_zmm_k1z_zmmm512b32_imm8, Code::EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8);
        self.put(Instruction::with3(signs, zmm(turned), zmm(a), 31_u32))?;
        self.put(Instruction::with3(shift, zmm(turned), zmm(turned), 1_u32))?;
        self.binary(Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32, d, a, turned)
    }

    /// d = an approximation of a (and b); flushes if `flushes`.
    pub(crate) fn approximate(&mut self, op: &Op, what: Approximation, flushes: bool) -> Emitted {
        let operands = |e: &mut Self, row| if flushes { e.flushed(row) } else { e.numbers(row) };
        let a = operands(self, op.a)?;
        let b = if what == Approximation::Quotient { operands(self, op.b)? } else { a };
        let (d, one) = (self.temporaries::<2>()?, self.temporary()?);
        self.constant(one, ONE)?;
        let (root, divide) =
            (Code::EVEX_Vsqrtps_zmm_k1z_zmmm512b32_er, Code::EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er);
        for part in 0..2 {
            let (a, b, d) = (a[part], b[part], d[part]);
            match what {
                Approximation::Reciprocal => self.binary(divide, d, one, a)?,
                Approximation::Root => self.unary(root, d, a)?,
                Approximation::ReciprocalRoot => {
                    self.unary(root, d, a)?;
                    self.binary(divide, d, one, d)?;
                }
                Approximation::Quotient => self.binary(divide, d, a, b)?,
            }
            if flushes {
                self.flush_numbers(d)?;
            }
        }
        self.write_numbers(op.d, d)
    }

    /// d = operation(a, b) in double precision; the op handles NaNs.
    pub(crate) fn double_numbers(&mut self, op: &Op, code: Code) -> Emitted {
        let (a, b, d) = (self.row::<4>(op.a)?, self.row::<4>(op.b)?, self.temporaries::<4>()?);
        for part in 0..4 {
            self.binary(code, d[part], a[part], b[part])?;
        }
        self.write_unless_nan(op, d)
    }

    /// d = operation(a) in double precision.
    pub(crate) fn double_number(&mut self, op: &Op, code: Code) -> Emitted {
        let (a, d) = (self.row::<4>(op.a)?, self.temporaries::<4>()?);
        for (a, d) in a.into_iter().zip(d) {
            self.unary(code, d, a)?;
        }
        self.write_unless_nan(op, d)
    }

    /// d = a b + c in double precision.
    pub(crate) fn fused_doubles(&mut self, op: &Op) -> Emitted {
        let (a, b, c) = (self.row::<4>(op.a)?, self.row::<4>(op.b)?, self.row::<4>(op.c)?);
        let d = self.temporaries::<4>()?;
        for part in 0..4 {
            self.copy(d[part], a[part])?;
            self.binary(Code::EVEX_Vfmadd213pd_zmm_k1z_zmm_zmmm512b64_er, d[part], b[part], c[part])?;
        }
        self.write_unless_nan(op, d)
    }

    /// Writes results of double precision, unless a lane has a NaN: then the op is called.
    fn write_unless_nan(&mut self, op: &Op, d: [Vector; 4]) -> Emitted {
        let results = (0..).zip(d).map(|(part, d)| (Unit::of(op.d, part), d)).collect();
        let slow = self.slow_path(results);
        let code = Code::EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae;
        self.put(Instruction::with4(code, Register::K5, zmm(d[0]), zmm(d[1]), UNORDERED))?;
        self.put(Instruction::with4(code, Register::K6, zmm(d[2]), zmm(d[3]), UNORDERED))?;
        self.put(Instruction::with2(Code::VEX_Kortestb_kr_kr, Register::K5, Register::K6))?;
        self.a.jne(slow)?;
        self.slow_path_ends()?;
        self.write(op.d, d)
    }

    /// d = the signed or unsigned integer of a, rounded by `rounding` (an immediate of `vrndscaleps`).
    pub(crate) fn rounded_words(&mut self, op: &Op, rounding: u8, signed: bool) -> Emitted {
        let (a, d) = (self.numbers(op.a)?, self.temporaries::<2>()?);
        let bound = self.temporary()?;
        for (a, d) in a.into_iter().zip(d) {
            let round = Code::EVEX_Vrndscaleps_zmm_k1z_zmmm512b32_imm8_sae;
            self.put(Instruction::with3(round, zmm(d), zmm(a), u32::from(rounding | QUIETLY)))?;
            if signed {
                self.signed_words(d, bound)?;
            } else {
                // The maximum of a NaN and 0 is its second operand.
                self.binary(Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32, bound, bound, bound)?;
                self.binary(Code::EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae, d, d, bound)?;
                self.unary(Code::EVEX_Vcvttps2udq_zmm_k1z_zmmm512b32_sae, d, d)?;
            }
        }
        self.write(op.d, d)
    }

    /// Integral numbers to signed words: clamped, and 0 for a NaN.
    fn signed_words(&mut self, d: Vector, bound: Vector) -> Emitted {
        self.constant(bound, TWO_TO_31)?;
        self.compare(Register::K5, d, d, ORDERED)?;
        self.compare(Register::K6, d, bound, AT_LEAST)?;
        let mut convert = Instruction::with2(Code::EVEX_Vcvttps2dq_zmm_k1z_zmmm512b32_sae, zmm(d), zmm(d))?;
        convert.set_zeroing_masking(true);
        self.put_where(Register::K5, convert)?;
        self.a.mov(ecx, i32::MAX)?;
        let code = Code::EVEX_Vpbroadcastd_zmm_k1z_r32;
        self.put_where(Register::K6, Instruction::with2(code, zmm(d), Register::ECX)?)
    }

    /// d = words converted to double precision by `code`; subnormal operands are flushed if `flushes`.
    pub(crate) fn doubles_of_words(&mut self, op: &Op, code: Code, flushes: bool) -> Emitted {
        let mut a = self.row::<2>(op.a)?;
        if flushes {
            a = self.flushed(op.a)?;
        }
        let d = self.extend(a, code)?;
        self.write(op.d, d)
    }

    /// d = double words converted to single precision by `code`.
    pub(crate) fn singles_of_doubles(&mut self, op: &Op, code: Code) -> Emitted {
        let a = self.row::<4>(op.a)?;
        let (d, other) = (self.temporaries::<2>()?, self.temporary()?);
        for (half, d) in d.into_iter().enumerate() {
            self.put(Instruction::with2(code, ymm(d), zmm(a[half * 2])))?;
            self.put(Instruction::with2(code, ymm(other), zmm(a[half * 2 + 1])))?;
            self.join_halves(d, other)?;
        }
        self.write_numbers(op.d, d)
    }

    /// Copies of words with their low bits extended.
    fn parts(&mut self, row: u32, bits: u32, signed: bool) -> Emitted<[Vector; 2]> {
        let (a, d) = (self.row::<2>(row)?, self.temporaries::<2>()?);
        for (a, d) in a.into_iter().zip(d) {
            self.copy(d, a)?;
            self.extend_part(bits, signed, d)?;
        }
        Ok(d)
    }

    /// Words of d = the low bits of a, extended.
    pub(crate) fn resize(&mut self, op: &Op, bits: u32, signed: bool) -> Emitted {
        let d = self.parts(op.a, bits, signed)?;
        self.write(op.d, d)
    }

    /// d = the low bits of a, extended and converted by `code`.
    pub(crate) fn resize_to_singles(&mut self, op: &Op, bits: u32, signed: bool) -> Emitted {
        let d = self.parts(op.a, bits, signed)?;
        for d in d {
            self.unary(Code::EVEX_Vcvtdq2ps_zmm_k1z_zmmm512b32_er, d, d)?;
        }
        self.write(op.d, d)
    }

    /// Double words of d = the low bits of a's words, extended.
    pub(crate) fn resize_wide(&mut self, op: &Op, bits: u32, signed: bool) -> Emitted {
        let parts = self.parts(op.a, bits, signed)?;
        let d = self.extend(parts, Code::EVEX_Vpmovsxdq_zmm_k1z_ymmm256)?;
        self.write(op.d, d)
    }

    /// Double words of d = the low words of a's double words, extended.
    pub(crate) fn extend_low_words(&mut self, op: &Op, signed: bool) -> Emitted {
        let (a, d) = (self.row::<4>(op.a)?, self.temporaries::<4>()?);
        let right = match signed {
            true => Code::EVEX_Vpsraq_zmm_k1z_zmmm512b64_imm8,
            false => Code::EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8,
        };
        for (a, d) in a.into_iter().zip(d) {
            let left = Code::EVEX_Vpsllq_zmm_k1z_zmmm512b64_imm8;
            self.put(Instruction::with3(left, zmm(d), zmm(a), 32_u32))?;
            self.put(Instruction::with3(right, zmm(d), zmm(d), 32_u32))?;
        }
        self.write(op.d, d)
    }

    /// Words of d = the products of the low halves of a's and b's words.
    pub(crate) fn multiply_halves(&mut self, op: &Op, signed: bool) -> Emitted {
        let (a, b) = (self.parts(op.a, 16, signed)?, self.parts(op.b, 16, signed)?);
        for (a, b) in a.into_iter().zip(b) {
            self.binary(Code::EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32, a, a, b)?;
        }
        self.write(op.d, a)
    }
}
