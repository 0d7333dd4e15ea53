//! Recursion that needs more stack than the program has set (`cudaLimitStackSize`). The engine's
//! own stacks are larger, so that the kernel goes on.

use super::report::{Finding, Key, Party, Severity};
use super::{Check, Checker, threads};
use crate::engine::running::Running;

/// A function is about to be called, whose frame ends `bytes` bytes into the threads' local memory.
#[cold]
#[inline(never)]
pub(crate) fn called(w: &Running<'_>, checker: &Checker, function: u32, bytes: u32) {
    // The driver sizes the stack of calls whose depth the compiler knows.
    if !checker.checks.has(Check::Memory) || !is_active(w, function) {
        return;
    }
    let grid = w.grid;
    let name = &grid.program.functions[function as usize].name;
    let key = Key { kind: "stack", program: grid.program.number, sites: [function, 0] };
    checker.findings.add(key, || Finding {
        check: Check::Memory,
        severity: Severity::Error,
        title: format!("recursion needs {bytes} bytes of stack, more than the limit"),
        kernel: grid.program.kernel().name.clone(),
        parties: vec![Party {
            role: format!("call of {name}"),
            threads: threads::threads(grid, w.warp, w.mask),
            cta: w.cta.id,
            spot: grid.program.spot_at(w.pc),
        }],
        details: vec![format!(
            "a thread has {} bytes: set cudaLimitStackSize to more before the launch",
            grid.owner.stack_limit()
        )],
    });
}

/// An activation of the function has not returned yet.
fn is_active(w: &Running<'_>, function: u32) -> bool {
    let frames = &w.divergence.frames;
    let mut at = w.divergence.frame;
    while at != 0 {
        let frame = frames.get(at);
        if frame.function == function {
            return true;
        }
        at = frame.caller;
    }
    false
}
