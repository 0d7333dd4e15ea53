//! Recursion beyond the stack limit that the program has set (`cudaLimitStackSize`). The engine's stacks
//! are larger, so the kernel continues.

use super::report::{Finding, Key, Party, Severity};
use super::{Check, Checker, threads};
use crate::engine::warp_context::WarpContext;

/// Checks a call to a function whose frame ends `bytes` bytes into local memory.
#[cold]
#[inline(never)]
pub(crate) fn called(w: &WarpContext<'_>, checker: &Checker, function: u32, bytes: u32) {
    // The driver sizes the stack for calls of statically known depth, so only recursion counts.
    if !checker.checks.has(Check::Memory) || !is_active(w, function) {
        return;
    }
    let grid = w.grid;
    let name = &grid.program.functions[function as usize].name;
    let key = Key { kind: "stack", program: grid.program.number, sites: [function, 0] };
    checker.findings.add(grid, key, || Finding {
        check: Check::Memory,
        severity: Severity::Error,
        title: format!("recursion needs {bytes} bytes of stack, more than the limit"),
        kernel: Some(grid.program.kernel().name.clone()),
        launch: None,
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
        host: Vec::new(),
    });
}

/// True if an activation of the function has not returned yet.
fn is_active(w: &WarpContext<'_>, function: u32) -> bool {
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
