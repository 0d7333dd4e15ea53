//! Entry of compiled code, and the common end of all returns.

use iced_x86::code_asm::{CodeLabel, dword_ptr, eax, ebp, edx, qword_ptr, r12, r13, r14, r14d, r15};
use iced_x86::code_asm::{rax, rbp, rbx, rcx, rdi, rdx, rsi, rsp};

use super::emitter::{Emitted, Emitter, stack};
use super::layout;

impl Emitter<'_> {
    /// Emits the entry of compiled code, `fn(context, target, first op, function that executes an op)`.
    pub(super) fn entry(&mut self, pool: CodeLabel) -> Emitted {
        for register in [rbx, rbp, r12, r13, r14, r15] {
            self.a.push(register)?;
        }
        self.a.sub(rsp, stack::BYTES)?;
        self.a.mov(rbx, rdi)?;
        self.a.mov(qword_ptr(rsp + stack::CODE), rdx)?;
        self.a.mov(qword_ptr(rsp + stack::CALL), rcx)?;
        self.a.mov(qword_ptr(rsp + stack::GUARDED), 0)?;
        self.a.mov(dword_ptr(rsp + stack::NAN), crate::number::NAN_32)?;
        self.a.lea(rax, qword_ptr(pool))?;
        self.a.mov(qword_ptr(rsp + stack::POOL), rax)?;
        self.a.xor(ebp, ebp)?;
        self.a.xor(r15, r15)?;
        self.a.mov(r14d, dword_ptr(rbx + layout::ACTIVE))?;
        self.a.mov(r12, qword_ptr(rbx + layout::FRAME))?;
        self.a.mov(r13, qword_ptr(rbx + layout::CONSTANTS))?;
        self.a.mov(eax, 1_u32 << 31)?;
        self.a.add(r13, rax)?;
        self.a.jmp(rsi)
    }

    /// Emits the common end of all returns.
    pub(super) fn ending(&mut self) -> Emitted {
        let mut leave = self.leave;
        self.a.set_label(&mut leave)?;
        self.a.mov(rcx, qword_ptr(rsp + stack::GUARDED))?;
        self.a.add(rcx, r15)?;
        self.a.add(qword_ptr(rbx + layout::INSTRUCTIONS), rcx)?;
        self.a.add(qword_ptr(rbx + layout::NATIVE_INSTRUCTIONS), rcx)?;
        self.a.popcnt(edx, r14d)?;
        self.a.imul_2(rdx, r15)?;
        self.a.add(rdx, rbp)?;
        self.a.add(qword_ptr(rbx + layout::LANE_INSTRUCTIONS), rdx)?;
        self.a.vzeroupper()?;
        self.a.add(rsp, stack::BYTES)?;
        for register in [r15, r14, r13, r12, rbp, rbx] {
            self.a.pop(register)?;
        }
        self.a.ret()
    }
}
