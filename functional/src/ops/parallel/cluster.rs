//! `barrier.cluster` (PTX manual 9.7.13.3).
//!
//! A thread alternates between arrival and wait, so at most one phase ends in between. The parity of the
//! phase at arrival tells whether it has ended.

use ptx_frontend::ir::Instruction;

use crate::bind::Binder;
use crate::engine::barrier::CLUSTER_BARRIER;
use crate::engine::op::{Flow, Op};
use crate::engine::warp_context::WarpContext;
use crate::ops::Bound;

/// All ones for an odd number, else 0.
fn parity(generation: u32) -> u32 {
    (generation & 1).wrapping_neg()
}

fn arrive(w: &mut WarpContext<'_>, _: &Op) -> Flow {
    let mask = w.mask;
    let phase = parity(w.cluster.barrier.generation);
    w.cluster.arrive(mask.count_ones());
    w.divergence.cluster_parity = (w.divergence.cluster_parity & !mask) | (phase & mask);
    Flow::Next
}

fn wait(w: &mut WarpContext<'_>, _: &Op) -> Flow {
    w.divergence.released = false;
    let now = parity(w.cluster.barrier.generation);
    let waiting = !(w.divergence.cluster_parity ^ now) & w.mask;
    if waiting == 0 {
        return Flow::Next;
    }
    if w.mask != w.active {
        // Lanes excluded by the guard continue alone.
        let (lanes, next) = (w.mask, w.pc + 1);
        return w.wait_apart(CLUSTER_BARRIER as u32, lanes, next);
    }
    w.wait_at_barrier(CLUSTER_BARRIER as u32)
}

/// `barrier.cluster.arrive`.
pub fn barrier_cluster_arrive(b: &mut Binder<'_, '_>, _: &Instruction) -> Bound {
    let op = b.op(arrive);
    b.push(op);
    Ok(())
}

/// `barrier.cluster.wait`.
pub fn barrier_cluster_wait(b: &mut Binder<'_, '_>, _: &Instruction) -> Bound {
    let op = b.op(wait);
    b.push(op);
    Ok(())
}
