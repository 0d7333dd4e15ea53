//! Unrolling of loops that PTX leaves rolled, as in ptxas 12.9 for `sm_70`. The typed code changes, so that
//! execution follows it. Measured rules (`docs/decisions/0011-unrolling.md`):
//!
//! * A short loop with a known number of iterations becomes straight code.
//! * A longer one is repeated within a loop of fewer iterations.
//! * A loop with an unknown number becomes a loop of four copies, then two copies, then one.
//! * `.pragma "nounroll"` keeps a loop.
//!
//! Contraction comes first, so that results equal those of the rolled code. ptxas contracts also between
//! copies.

mod copy;
mod counter;
mod find;
mod layout;
mod size;

use std::sync::Arc;

use crate::analyse::{ControlFlow, Liveness};
use crate::ir::Function;

use super::contract::Replacements;
use layout::Layout;

/// Unrolls the loops of a contracted function, with its replacements. Returns false if nothing changed.
pub fn unroll(source: &mut Arc<Function>, flow: &ControlFlow, replacements: &mut Replacements) -> bool {
    let loops = find::loops(source, flow);
    if loops.is_empty() {
        return false;
    }
    let sizes = size::Sizes::of(source, flow, replacements);
    let planned: Vec<_> = loops
        .into_iter()
        .filter_map(|found| {
            let plan = size::plan(&found, &sizes)?;
            Some((found, plan))
        })
        .collect();
    if planned.is_empty() {
        return false;
    }
    let liveness = Liveness::of(source, flow);
    let planned = planned.into_iter().filter(|(found, _)| layout::ends_its_test(found, flow, &liveness));
    let mut layout = Layout::new(source, flow, &liveness, replacements);
    for (found, plan) in planned {
        layout.advance_to(found.header);
        layout.unrolled(&found, plan);
    }
    let (function, moved) = layout.finish();
    *source = Arc::new(function);
    *replacements = moved;
    true
}
