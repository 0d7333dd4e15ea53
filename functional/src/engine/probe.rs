//! Probes: ops that the binder puts before instructions which somebody wants to watch. A device without watchers has
//! none, so they cost nothing there.

use std::fmt;
use std::sync::Arc;

use ptx_frontend::ir::{Function, Instruction};

use super::op::{Flow, Op};
use super::running::Running;

/// Somebody who watches kernels run.
pub trait Watcher: Send + Sync + fmt::Debug {
    /// What is to be told when warps come to this instruction? Asked once, when the kernel is bound.
    fn watch(&self, function: &Function, instruction: &Instruction) -> Option<Arc<dyn Probe>>;
}

/// Is told when warps come to an instruction.
pub trait Probe: Send + Sync + fmt::Debug {
    /// The lanes in [`Running::mask`] are about to execute the instruction that `op` stands before. A fault stops them;
    /// everything else goes on with [`Flow::Next`].
    fn reached(&self, warp: &mut Running<'_>, op: &Op) -> Flow;
}

/// Tells the probe that the immediate names.
pub(crate) fn reach(w: &mut Running<'_>, op: &Op) -> Flow {
    w.discount();
    let grid = w.grid;
    grid.program.probes[op.immediate as usize].reached(w, op)
}
