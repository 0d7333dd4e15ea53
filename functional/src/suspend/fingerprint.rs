//! Fingerprints of bound programs: program counters and rows of one are meaningless in another.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use crate::engine::op::Op;
use crate::engine::program::{BoundFunction, CallSite, ParameterPlace, Program};

/// Hash that is equal for equally bound programs: ops, rows, constants (including addresses of variables),
/// and calls.
pub(super) fn fingerprint(program: &Program) -> u64 {
    let mut hasher = FxHasher::default();
    program.code.len().hash(&mut hasher);
    program.code.iter().for_each(|op| add_op(op, &mut hasher));
    program.constants.rows().iter().for_each(|row| row.0.hash(&mut hasher));
    program.functions.len().hash(&mut hasher);
    program.functions.iter().for_each(|function| add_function(function, &mut hasher));
    for CallSite { function, arguments, results } in &program.call_sites {
        function.hash(&mut hasher);
        add_places(arguments, &mut hasher);
        add_places(results, &mut hasher);
    }
    program.branch_targets.hash(&mut hasher);
    program.function_addresses.hash(&mut hasher);
    (program.static_shared, program.reserved_shared, program.parameter_bytes).hash(&mut hasher);
    (program.needs_stack, program.machine.is_some()).hash(&mut hasher);
    hasher.finish()
}

fn add_op(op: &Op, hasher: &mut FxHasher) {
    // The function depends on the host, so the instruction stands for it.
    let Op { run: _, guard, d, a, b, c, e, immediate, slot, instruction } = *op;
    (guard.encode(), d, a, b, c, e, immediate, slot, instruction).hash(hasher);
}

fn add_function(function: &BoundFunction, hasher: &mut FxHasher) {
    function.name.hash(hasher);
    (function.entry, function.end, function.local_bytes).hash(hasher);
    let layout = &function.layout;
    (layout.predicate_rows, layout.register_rows, layout.scratch_rows).hash(hasher);
    function.specials.iter().for_each(|&(register, row)| (register as u32, row).hash(hasher));
    add_places(&function.parameters, hasher);
    add_places(&function.returns, hasher);
    for instruction in &function.source.instructions {
        (instruction.place.line, instruction.operands.len()).hash(hasher);
        std::mem::discriminant(&instruction.op).hash(hasher);
    }
}

fn add_places(places: &[ParameterPlace], hasher: &mut FxHasher) {
    places.hash(hasher);
}
